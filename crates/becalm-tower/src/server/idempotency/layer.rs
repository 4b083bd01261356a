//! How is it set which requests are done once?

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use becalm::time::Sleeper;
use http::Method;
use http::request::Parts;
use tower_layer::Layer;

use super::rules::{Rules, Task};
use super::service::Idempotent;
use super::store::Store;
use crate::server::waiting::Waiting;

/// Does the request of an `Idempotency-Key` once, and answers its repetitions with the first answer
/// (draft-ietf-httpapi-idempotency-key-header-07).
///
/// | a request | gets |
/// |---|---|
/// | without a key, where the method [requires](Self::required) one | 400 |
/// | with a malformed key, or with none that belongs to a [caller](Self::caller) | 400 |
/// | with a body beyond the [limit](Self::body_limit) | 413 |
/// | with a body that is not there [in time](Self::body_time) | 408 |
/// | with a body for which there is no [room](Self::waiting_bytes) | 503 and `Retry-After` |
/// | whose key came with another payload | 422 |
/// | whose key came with other credentials, where no [caller](Self::caller) is set | 409 and "do not retry" |
/// | whose key is being worked on | 409 and [`Retry-After`](Self::retry_after) |
/// | whose handler gave no head [in time](Self::handler_time), now or before | 504 and "do not retry" |
/// | whose key is done | the first answer, with `idempotency-replayed: true` |
/// | that the store knows nothing of because it is full or down | 503 and `Retry-After` |
///
/// A key is the caller's own: it is kept under a digest of caller, method, path and key, so that no caller sees the answer
/// to another. [`caller`](Self::caller) says who that is. Without it, the layer cannot tell a renewed token from another
/// user: a key belongs to the `Authorization` that it first came with, and with any other it is refused, neither done
/// nor answered. The layer stands inside of what authenticates, which is to let in repetitions as it did the first, and
/// where it sees the whole path. Requests of safe methods (GET, HEAD, OPTIONS, TRACE) pass untouched, and so do those without a key.
///
/// A handler whose client has left runs to its end, as a task of its own, and its answer is there for the repetition. One that gives no head
/// [in time](Self::handler_time) is dropped, and nobody knows whether it has had its effect: so its key stays taken as that of one that is
/// done is, and a repetition is told not to retry.
/// An answer is handed on once it is complete and kept, longer than the [limit](Self::answer_limit), or not over [in
/// time](Self::answer_time); one that is longer or later is not kept, and a repetition gets 409 with "do not retry".
///
/// **What has failed is not kept**: 5xx, 401, 408, 425, 429, an error of the service, a body that broke off, a panic (which is
/// answered with 500). The draft leaves that to the server. Who gets one of these sends the request again to have it
/// done, and an answer that is kept would be the same failure for as long as it is kept. So a handler that has had its effect
/// must not answer with one of these, or undo the effect: it would be had twice.
///
/// **A call of gRPC**, by its content type, is judged by its own status, wherever that is (head, trailers, the end of a body of
/// gRPC-Web): `OK`, `INVALID_ARGUMENT`, `NOT_FOUND`, `ALREADY_EXISTS`, `PERMISSION_DENIED`, `FAILED_PRECONDITION` and `OUT_OF_RANGE` are
/// kept, trailers included, and any other is done anew. Of an answer that is longer than the limit the status is not known: it counts as
/// done. What is not run is refused in gRPC's words: 409 is `UNAVAILABLE` with a pushback, and where it says "do not retry"
/// `ALREADY_EXISTS` or `FAILED_PRECONDITION` with a pushback of -1; 503 is `UNAVAILABLE`, 500 `INTERNAL`, any other `INVALID_ARGUMENT`.
#[must_use = "a layer does nothing until it is around a service"]
pub struct IdempotencyLayer<T> {
    store: Arc<T>,
    rules: Arc<Rules>,
}

impl<T: Store> IdempotencyLayer<T> {
    /// A layer whose handlers are tasks of the tokio runtime that serves their requests.
    ///
    /// A runtime that ends takes them along. A server that is to end when they have ended counts them: see
    /// [`with_executor`](Self::with_executor).
    #[cfg(feature = "tokio")]
    pub fn new(store: T) -> Self {
        Self::with_executor(store, |task| {
            // None is there when a runtime ends, and takes its tasks with it.
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                runtime.spawn(task);
            }
        })
    }

    /// A layer whose handlers are run by this executor, which must not drop them when their client leaves: such as a
    /// `TaskTracker` of tokio-util, for which the end of the server waits.
    pub fn with_executor(store: T, spawn: impl Fn(Task) + Send + Sync + 'static) -> Self {
        Self {
            store: Arc::new(store),
            rules: Arc::new(Rules::new(spawn)),
        }
    }

    /// Sets the methods whose requests must have a key. Default: none.
    pub fn required(self, methods: impl IntoIterator<Item = Method>) -> Self {
        self.with(|rules| rules.required = methods.into_iter().collect())
    }

    /// Takes keys without quotes, too, as most clients of today send them; the draft wants the quotes. Such a key
    /// has no blanks, quotes, commas, semicolons or backslashes, and is the same key as the one between quotes.
    pub fn bare_keys(self) -> Self {
        self.with(|rules| rules.takes_bare_keys = true)
    }

    /// Sets who the caller of a request is, such as the user that a layer outside has found and put into the
    /// extensions. `None` refuses the request with 400. What stays the same is the user, not the token.
    ///
    /// Requests of one caller share keys. Where one service answers for several hosts, the host belongs into it.
    ///
    /// **Set it.** By default a request needs an `Authorization`, and all share keys: a repetition with a renewed token gets
    /// 409 in place of the first answer, and so does another user who comes with the same key (or 422). Neither is done, so that nothing
    /// is paid twice; but users who choose keys that others guess can take them from each other.
    ///
    /// ```
    /// # #[derive(Clone)] struct User { id: String }
    /// # #[cfg(feature = "tokio")] {
    /// # use becalm_tower::server::{IdempotencyLayer, MemoryStore};
    /// let layer = IdempotencyLayer::new(MemoryStore::new())
    ///     .caller(|head| head.extensions.get::<User>().map(|user| user.id.clone()));
    /// # let _ = layer;
    /// # }
    /// ```
    pub fn caller<C: Into<Vec<u8>>>(
        self,
        caller: impl Fn(&Parts) -> Option<C> + Send + Sync + 'static,
    ) -> Self {
        self.with(|rules| rules.caller = Some(Arc::new(move |head| caller(head).map(Into::into))))
    }

    /// Sets where a request comes from, such as the address that a server of axum puts into the extensions, or the one that your
    /// proxy names in a header. Where no [`caller`](Self::caller) is set, an address (of IPv6 a /64) is then one caller in the shares
    /// that a [`Store`] gives to each. Default: an `Authorization` is, and who makes up many of them has many shares.
    ///
    /// ```
    /// # struct ConnectInfo<T>(T);
    /// # use std::net::SocketAddr;
    /// # #[cfg(feature = "tokio")] {
    /// # use becalm_tower::server::{IdempotencyLayer, MemoryStore};
    /// let layer = IdempotencyLayer::new(MemoryStore::new()).peer(|head| {
    ///     let peer = head.extensions.get::<ConnectInfo<SocketAddr>>();
    ///     peer.map(|ConnectInfo(peer)| peer.ip())
    /// });
    /// # let _ = layer;
    /// # }
    /// ```
    pub fn peer(self, peer: impl Fn(&Parts) -> Option<IpAddr> + Send + Sync + 'static) -> Self {
        self.with(|rules| rules.peer = Some(Arc::new(peer)))
    }

    /// Sets how many bytes the body of a request with a key may have: it is held in memory, because another
    /// payload under the same key is told by it. Default 1 MiB.
    pub fn body_limit(self, bytes: usize) -> Self {
        self.with(|rules| rules.body_limit = bytes)
    }

    /// Sets in which time the body of a request with a key is to be there; later it gets 408. Default 30 s: 1 MiB over 300 kbit/s.
    pub fn body_time(self, time: Duration) -> Self {
        self.with(|rules| rules.body_time = time)
    }

    /// Sets how many bytes all bodies may hold together that are read, or wait for a handler, in all services that this layer is
    /// put around: of requests, and of answers until they are kept. Default 64 MiB, 64 of the longest.
    ///
    /// The bodies of one caller hold an eighth of what they leave free: 7 MiB where no other has any. A body that is its caller's only one holds as much
    /// as it leaves free. A request beyond gets 503 with `Retry-After`, and an answer is handed on and not kept.
    pub fn waiting_bytes(self, bytes: usize) -> Self {
        self.with(|rules| rules.waiting = Waiting::new(bytes))
    }

    /// Sets how many bytes of an answer's body are kept. Default 256 KiB.
    pub fn answer_limit(self, bytes: usize) -> Self {
        self.with(|rules| rules.answer_limit = bytes)
    }

    /// Sets in which time after its head the body of an answer is to be over; later it is handed on as it comes, and not kept. Default 10 s.
    ///
    /// A body without a known length whose client has left is dropped a second later. An answer that never ends, such as of server-sent
    /// events, holds its key no longer than that.
    pub fn answer_time(self, time: Duration) -> Self {
        self.with(|rules| rules.answer_time = time)
    }

    /// Sets in which time a handler is to give the head of its answer. Default 10 min: ten times what proxies and clients wait for (60 s), and
    /// longer than a handler that works takes.
    ///
    /// Later it is dropped where it waits, and gives its task, its place and what it holds back. What it did until then is done, or half of it,
    /// as where a process is killed. So its key is never released: this client, and any that comes with it while the store keeps it, gets 504 and "do
    /// not retry". A handler with a shorter time-out of its own can say more: undo its effect and answer with 5xx, or answer with what it knows. Layers
    /// of time-outs belong inside of this one.
    pub fn handler_time(self, time: Duration) -> Self {
        self.with(|rules| rules.handler_time = time)
    }

    /// Sets the clock and the timers of these limits. Default: the process's own.
    pub fn clock(self, clock: impl Sleeper) -> Self {
        self.with(|rules| rules.clock = Arc::new(clock))
    }

    /// Sets when a request is to come again whose key is being worked on; whole seconds, rounded up. Default
    /// one second.
    pub fn retry_after(self, wait: Duration) -> Self {
        self.with(|rules| rules.retry_after = wait)
    }

    fn with(mut self, set: impl FnOnce(&mut Rules)) -> Self {
        set(Arc::make_mut(&mut self.rules));
        self
    }
}

impl<T> Clone for IdempotencyLayer<T> {
    fn clone(&self) -> Self {
        Self {
            store: Arc::clone(&self.store),
            rules: Arc::clone(&self.rules),
        }
    }
}

impl<S, T> Layer<S> for IdempotencyLayer<T> {
    type Service = Idempotent<S, T>;

    fn layer(&self, service: S) -> Idempotent<S, T> {
        let (store, rules) = (Arc::clone(&self.store), Arc::clone(&self.rules));
        Idempotent::new(service, store, rules)
    }
}
