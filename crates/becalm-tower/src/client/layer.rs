//! What is set for all requests of an HTTP client that repeats them?

use std::sync::Arc;

use becalm::http::Retriers;
use becalm::policy::InvalidPolicy;
use becalm::{Breaker, Hedge, Keyed, Policy, Retrier};
use tower_layer::Layer;

use super::retry::{Retry, Settings};
use super::transport::Transport;

/// How much of a request's body is kept for a repetition, by default: 64 KiB, as Linkerd keeps.
const REPLAY_LIMIT: usize = 64 * 1024;

/// Repeats the requests of the HTTP client below.
///
/// - **What is repeated**: what a status, the headers of an answer (`Retry-After` and its kin,
///   "do not retry" in any form: [`becalm::http::hint`]), a gRPC status without a body, or an error of the
///   service below ([`Transport`]) says may pass.
///   A service below that knows better puts a [`Verdict`](becalm::classify::Verdict) into the extensions of its
///   answer, which then counts: [`CollectLayer::judge`](super::CollectLayer::judge) does, by a function of yours that sees status,
///   headers and body.
/// - **What is not**: a request that may have been done and is neither idempotent by its method nor
///   keyed (RFC 9110 section 9.2.2); see [`RetryOptions`](super::RetryOptions), which goes into a request's extensions.
/// - **The body** is kept while it streams, up to [`replay_limit`](Self::replay_limit). It is `Unpin`, as
///   hyper-util wants it, too; `Box::pin` makes any body that.
/// - **At the end** the caller has the last answer as it came, be it a 503, with the
///   [`Stopped`](becalm::run::Stopped) of the call in its extensions; and an error ([`NoAnswer`](super::NoAnswer))
///   only where the last attempt brought no answer. A success that a later attempt brought has that
///   [`Attempt`](becalm::Attempt) in its extensions; without one it was the first.
/// - **Readiness** is that of the service below: a `load_shed` above sheds while a `concurrency_limit` below has no place. The
///   first attempt takes the place that the caller has waited for, every later one waits for its own.
/// - **Boxed errors**, as tower's time-outs, buffers and `load_shed` have them, become errors by `.map_err(Boxed::new)` right below
///   this layer ([`Boxed`](super::Boxed)).
/// - **Every attempt** carries its [`Attempt`](becalm::Attempt) in its body ([`ReplayBody::attempt`](super::ReplayBody::attempt)): its
///   number, and by [`timeout`](becalm::Attempt::timeout) how long it may take. One after the first has it in the extensions of its request,
///   too; for the first see [`tell_first_attempts`](Self::tell_first_attempts). `SpanLayer` makes a span of it.
/// - **Time limits** hold up to the head of the answer; its body is the caller's, or with
///   [`CollectLayer`](super::CollectLayer) a part of the attempt. If the client below has a time-out of its own, the lesser holds. Set an
///   [attempt time-out](becalm::Policy::attempt_timeout): a client may wait for ever on a connection that
///   is gone.
/// - **An answer that is followed by another attempt** is read to its end beside the wait, for at most
///   100 ms and 16 KiB, so that its connection serves again; otherwise it is dropped, and HTTP/1
///   closes the connection.
///
/// Clients that repeat by themselves multiply the attempts: switch that off (of hyper-util's,
/// `retry_canceled_requests(false)`). What follows redirects goes above this layer: each hop is then a request of its own, and a
/// key that this layer has written stays with its server. Below, `Idempotency-Key` would go along to another. A request with a key and an
/// effect that is redirected is an error ([`Failed::Redirected`](super::Failed::Redirected)), for who asked alone knows whether the
/// other address is meant.
///
/// ```
/// use becalm::{Policy, Retrier};
/// use becalm_tower::client::RetryLayer;
/// let layer = RetryLayer::new(&Policy::default().retrier()?).replay_limit(1 << 20);
/// # let _ = layer;
/// # Ok::<(), becalm::policy::InvalidPolicy>(())
/// ```
#[derive(Debug, Clone)]
pub struct RetryLayer<C = Transport> {
    retriers: Retriers<C>,
    settings: Settings,
}

impl RetryLayer {
    /// A layer that repeats as this retrier says: one dependency, one budget.
    pub fn new(retrier: &Retrier) -> Self {
        Self::classify_by(&retrier.classify_by(Transport))
    }

    /// A layer that hedges: it sends a copy of a request that may be repeated and is slow, and the first good answer wins.
    /// A copy draws on the default budget, so that copies are no storm; and a failure that may pass is repeated in place
    /// of a copy that was not sent. It is short for the policy `attempts(1 + copies)` with this hedge.
    ///
    /// ```
    /// use std::time::Duration;
    /// use becalm::Hedge;
    /// use becalm_tower::client::RetryLayer;
    /// let layer = RetryLayer::hedging(Hedge::after(Duration::from_millis(50)))?;
    /// # let _ = layer;
    /// # Ok::<(), becalm::policy::InvalidPolicy>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The hedge is not valid.
    #[doc(alias = "HedgeLayer")]
    pub fn hedging(hedge: Hedge) -> Result<Self, InvalidPolicy> {
        let attempts = hedge.copies.saturating_add(1);
        Self::of(Policy::default().attempts(attempts).hedge(hedge))
    }

    /// A layer that breaks the circuit: while the breaker is open no request is sent, and
    /// [`NoAnswer`](super::NoAnswer) says [`BreakerOpen`](becalm::StopReason::BreakerOpen). Nothing is repeated. It is short for the
    /// policy `attempts(1)` with this breaker.
    ///
    /// ```
    /// use becalm::Breaker;
    /// use becalm_tower::client::RetryLayer;
    /// let layer = RetryLayer::breaking(Breaker::consecutive(5))?;
    /// # let _ = layer;
    /// # Ok::<(), becalm::policy::InvalidPolicy>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The breaker is not valid.
    #[doc(alias = "BreakerLayer")]
    #[doc(alias = "CircuitBreakerLayer")]
    pub fn breaking(breaker: Breaker) -> Result<Self, InvalidPolicy> {
        Self::of(Policy::default().attempts(1).breaker(breaker))
    }

    fn of(policy: Policy) -> Result<Self, InvalidPolicy> {
        Ok(Self::new(&policy.retrier()?))
    }
}

impl<C: Clone> RetryLayer<C> {
    /// A layer that repeats as this retrier says, whose classifier knows the errors of the service
    /// below.
    pub fn classify_by(retrier: &Retrier<C>) -> Self {
        Self::with(Retriers::One(retrier.clone()))
    }

    /// A layer with a retrier for each host and port, as the request's URI or else its `Host` names them, in
    /// small letters: a host that is down spends no other's budget, and opens no other's breaker.
    ///
    /// ```
    /// use becalm::{Keyed, Policy};
    /// use becalm_tower::client::{RetryLayer, Transport};
    ///
    /// let policy = Policy::default();
    /// policy.validate()?;
    /// let hosts = Keyed::new(1000, move |_: Option<&String>| {
    ///     let retrier = policy.clone().retrier().expect("it was validated");
    ///     retrier.classify_by(Transport)
    /// });
    /// let layer = RetryLayer::per_host(hosts);
    /// # let _ = layer;
    /// # Ok::<(), becalm::policy::InvalidPolicy>(())
    /// ```
    pub fn per_host(hosts: Keyed<String, Retrier<C>>) -> Self {
        Self::with(Retriers::PerHost(Arc::new(hosts)))
    }

    fn with(retriers: Retriers<C>) -> Self {
        let settings = Settings {
            replay_limit: REPLAY_LIMIT,
            answers_are_errors: false,
            tells_attempts: false,
        };
        Self { retriers, settings }
    }

    /// Sets how many bytes of a request's body are kept for a repetition, for each request. Default 64 KiB. 0
    /// repeats only what has no body, or whose body was not touched.
    ///
    /// A body that is longer by its `Content-Length` or its size hint is not kept at all. It is sent
    /// whole; once the client below has begun to read it the request is not repeated, and the give-up says
    /// [`BodyNotReplayable`](becalm::StopReason::BodyNotReplayable). Of a body of unknown length up to the
    /// limit is kept.
    #[must_use]
    pub fn replay_limit(mut self, bytes: usize) -> Self {
        self.settings.replay_limit = bytes;
        self
    }

    /// Makes a last answer that means failure an error, with its head alone. Default: it is handed on as
    /// it came.
    #[must_use]
    pub fn answers_are_errors(mut self) -> Self {
        self.settings.answers_are_errors = true;
        self
    }

    /// Puts the [`Attempt`](becalm::Attempt) of first attempts into the extensions of their requests, too, for layers below that look
    /// there. Default: a request without one is a first attempt, which saves three allocations of each request.
    #[must_use]
    pub fn tell_first_attempts(mut self) -> Self {
        self.settings.tells_attempts = true;
        self
    }
}

impl<S, C: Clone> Layer<S> for RetryLayer<C> {
    type Service = Retry<S, C>;

    fn layer(&self, service: S) -> Retry<S, C> {
        Retry::new(service, self.retriers.clone(), self.settings)
    }
}
