//! How does one request with a key go?

use std::future::{poll_fn, ready};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use becalm::Scope;
use bytes::Bytes;
use futures_channel::oneshot;
use http::{Extensions, Request, Response};
use http_body::Body;
use tower_service::Service;

use super::answer::Answer;
use super::name::{Caller, Fingerprint, Name};
use super::refusal::Refusal;
use super::rules::Rules;
use super::store::{Claim, Store};
use crate::server::admission::Seat;
use crate::server::body::BufferedBody;
use crate::server::grpc;

/// A service that does once what comes several times: see [`IdempotencyLayer`](super::IdempotencyLayer).
pub struct Idempotent<S, T> {
    service: S,
    keeper: Keeper<T>,
}

impl<S, T> Idempotent<S, T> {
    pub(super) fn new(service: S, store: Arc<T>, rules: Arc<Rules>) -> Self {
        let keeper = Keeper { store, rules };
        Self { service, keeper }
    }
}

impl<S: Clone, T> Clone for Idempotent<S, T> {
    fn clone(&self) -> Self {
        Self {
            service: self.service.clone(),
            keeper: self.keeper.clone(),
        }
    }
}

impl<S, T, B, D> Service<Request<B>> for Idempotent<S, T>
where
    S: Service<Request<BufferedBody<B>>, Response = Response<D>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Send + 'static,
    T: Store,
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Send,
    D: Body<Data = Bytes> + Send + Unpin + 'static,
    D::Error: Send,
{
    type Response = Response<BufferedBody<D>>;
    type Error = S::Error;
    type Future = IdempotencyFuture<S::Future, D, S::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (mut head, body) = request.into_parts();
        let is_done_once = Outer::of(&head.extensions).has(&*self.keeper.store);
        let named = if is_done_once {
            Ok(None)
        } else {
            self.keeper.rules.name(&head)
        };
        let future: Keyed<D, S::Error> = match named {
            Ok(None) => {
                let request = Request::from_parts(head, BufferedBody::untouched(body));
                let future = self.service.call(request);
                return IdempotencyFuture::Passing { future };
            }
            Err(refusal) => {
                let grpc = grpc::kind(&head.headers);
                Box::pin(ready(Ok(self.keeper.rules.refuse(refusal, grpc))))
            }
            Ok(Some(name)) => {
                // The one that is ready goes, and its clone stays.
                let clone = self.service.clone();
                let service = std::mem::replace(&mut self.service, clone);
                let keeper = self.keeper.clone();
                let outer = Outer::of(&head.extensions).and(&*keeper.store);
                head.extensions.insert(outer);
                Box::pin(async move {
                    let rules = Arc::clone(&keeper.rules);
                    let caller = rules.share_of(&head);
                    let limits = rules.of_bodies(caller);
                    let (body, end) = BufferedBody::read(body, limits, |_| false).await;
                    if let Some(refusal) = Refusal::of(end) {
                        return Ok(rules.refuse(refusal, grpc::kind(&head.headers)));
                    }
                    let request = Request::from_parts(head, body);
                    keeper.answer(service, (name, caller), request).await
                })
            }
        };
        IdempotencyFuture::Keyed { future }
    }
}

/// The stores of the layers around this one, which have the request done once: it has its key with them.
#[derive(Debug, Clone, Default)]
struct Outer(Vec<usize>);

impl Outer {
    fn of(extensions: &Extensions) -> Self {
        extensions.get().cloned().unwrap_or_default()
    }

    fn has<T: Store>(&self, store: &T) -> bool {
        self.0.contains(&store.address())
    }

    fn and<T: Store>(mut self, store: &T) -> Self {
        self.0.push(store.address());
        self
    }
}

/// Has requests done once.
struct Keeper<T> {
    store: Arc<T>,
    rules: Arc<Rules>,
}

impl<T> Clone for Keeper<T> {
    fn clone(&self) -> Self {
        Self {
            store: Arc::clone(&self.store),
            rules: Arc::clone(&self.rules),
        }
    }
}

impl<T: Store> Keeper<T> {
    /// Has the request answered by a task of its own, which outlives its client.
    async fn answer<S, B, D>(
        self,
        service: S,
        (name, caller): (Name, Caller),
        request: Request<BufferedBody<B>>,
    ) -> Result<Response<BufferedBody<D>>, S::Error>
    where
        S: Service<Request<BufferedBody<B>>, Response = Response<D>> + Send + 'static,
        S::Future: Send,
        S::Error: Send + 'static,
        B: Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Send,
        D: Body<Data = Bytes> + Send + Unpin + 'static,
        D::Error: Send,
    {
        let rules = Arc::clone(&self.rules);
        let grpc = grpc::kind(request.headers()).cloned();
        if request.body().is_broken() {
            return Ok(rules.refuse(Refusal::BodyBroken, grpc.as_ref()));
        }
        let (head, body) = request.into_parts();
        let Some((payload, _)) = body.all() else {
            return Ok(rules.refuse(Refusal::BodyTooLong, grpc.as_ref()));
        };
        let fingerprint = rules.fingerprint(&head, payload);
        let request = Request::from_parts(head, body);
        let (told, hears) = oneshot::channel();
        let (_waits, client) = oneshot::channel();
        // Of a layer outside of this one, which else would have others in while the handler goes on.
        let kept = Seat::of(request.extensions()).map(|seat| seat.keep());
        // From the claim on: one that is dropped in between would be held for ever.
        let work =
            Scope::current().wrap(self.work(service, (name, fingerprint, caller), request, client));
        (rules.spawn)(Box::pin(async move {
            let ended = work.with_scope().await;
            drop(kept);
            let _ = told.send(ended);
        }));
        let Ok((ended, scope)) = hears.await else {
            return Ok(rules.refuse(Refusal::HandlerGone, grpc.as_ref()));
        };
        scope.report();
        ended
    }

    /// What the handler gives, unless it takes too long: then it is dropped.
    async fn in_time<F: Future>(&self, handler: F) -> Option<F::Output> {
        let clock = &self.rules.clock;
        let mut timer = clock.sleep_until(clock.now().after(self.rules.handler_time));
        let mut handler = pin!(handler);
        poll_fn(|context| {
            if let Poll::Ready(ended) = handler.as_mut().poll(context) {
                return Poll::Ready(Some(ended));
            }
            timer.as_mut().poll(context).map(|()| None)
        })
        .await
    }

    async fn work<S, B, D>(
        self,
        mut service: S,
        (name, fingerprint, caller): (Name, Fingerprint, Caller),
        request: Request<BufferedBody<B>>,
        mut client: oneshot::Receiver<()>,
    ) -> Result<Response<BufferedBody<D>>, S::Error>
    where
        S: Service<Request<BufferedBody<B>>, Response = Response<D>>,
        B: Body<Data = Bytes>,
        D: Body<Data = Bytes> + Unpin,
    {
        let Self { store, rules } = &self;
        let grpc = grpc::kind(request.headers()).cloned();
        let refuse = |refusal| rules.refuse(refusal, grpc.as_ref());
        let held = match store.claim(name, fingerprint, caller).await {
            Claim::Held(held) => held,
            Claim::Unavailable => return Ok(refuse(Refusal::StoreUnavailable)),
            Claim::Taken {
                fingerprint: first,
                answer,
            } => {
                return Ok(match answer {
                    _ if first != fingerprint => refuse(rules.other(first, fingerprint)),
                    None => refuse(Refusal::InFlight),
                    Some(answer) if answer.is_unknown() => refuse(Refusal::HandlerLate),
                    Some(answer) => answer
                        .replay()
                        .unwrap_or_else(|| refuse(Refusal::AnswerNotKept)),
                });
            }
        };
        let mut running = Running {
            held: Some(held),
            keeper: self.clone(),
        };
        let ended = match self.in_time(service.call(request)).await {
            None => {
                // The handler is dropped by now, and the claim never released.
                if let Some(held) = running.held.take() {
                    store.complete(held, Answer::unknown()).await;
                }
                return Ok(refuse(Refusal::HandlerLate));
            }
            Some(Ok(response)) => {
                let (parts, body) = response.into_parts();
                // What is never sent to it, ends only with the client.
                let is_left =
                    |context: &mut Context<'_>| Pin::new(&mut client).poll(context).is_ready();
                let limits = rules.of_answers(caller);
                let (body, _) = BufferedBody::read(body, limits, is_left).await;
                Ok(Response::from_parts(parts, body))
            }
            Some(Err(error)) => Err(error),
        };
        let answer = ended.as_ref().ok().and_then(Answer::to_keep);
        match (running.held.take(), answer) {
            (Some(held), Some(answer)) => store.complete(held, answer).await,
            (Some(held), None) => store.release(held).await,
            (None, _) => (),
        }
        ended
    }
}

/// A handler that runs. If it panics, or is dropped with its executor, its operation is released.
struct Running<T: Store> {
    held: Option<T::Held>,
    keeper: Keeper<T>,
}

impl<T: Store> Drop for Running<T> {
    fn drop(&mut self) {
        if let Some(held) = self.held.take() {
            let store = Arc::clone(&self.keeper.store);
            (self.keeper.rules.spawn)(Box::pin(async move { store.release(held).await }));
        }
    }
}

type Keyed<D, E> = Pin<Box<dyn Future<Output = Result<Response<BufferedBody<D>>, E>> + Send>>;

pin_project_lite::pin_project! {
    /// The future of a request that is perhaps a repetition.
    #[project = Projection]
    #[must_use = "futures do nothing unless polled"]
    pub enum IdempotencyFuture<F, D: Body, E> {
        /// It is none of the layer's business.
        #[doc(hidden)]
        Passing { #[pin] future: F },
        /// It has a key.
        #[doc(hidden)]
        Keyed { future: Keyed<D, E> },
    }
}

impl<F, D, E> Future for IdempotencyFuture<F, D, E>
where
    F: Future<Output = Result<Response<D>, E>>,
    D: Body,
{
    type Output = Result<Response<BufferedBody<D>>, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project() {
            Projection::Keyed { future } => future.as_mut().poll(context),
            Projection::Passing { future } => future
                .poll(context)
                .map_ok(|response| response.map(BufferedBody::untouched)),
        }
    }
}
