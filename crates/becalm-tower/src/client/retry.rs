//! How does an HTTP client repeat its requests? Each attempt is a clone of the request's head, a body
//! that is read from the beginning, and a clone of the service below.

use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use becalm::classify::{ByTrait, Classifier};
use becalm::run::{Copies, Core, Engine, Last};
use becalm::{Attempt, GaveUp, Keyed, Operation, Retrier};
use http::header::CONTENT_LENGTH;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Request, Response};
use http_body::Body;
use tower_layer::Layer;
use tower_service::Service;

use super::attempt::{Refused, Stage, Try};
use super::body::ReplayBody;
use super::drain::Drain;
use super::failed::{Failed, NoAnswer};
use super::hosts::Retriers;
use super::options::RetryOptions;
use super::source::Source;
use super::transport::Transport;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// How much of a request's body is kept for a repetition, by default: 64 KiB, as Linkerd keeps.
const REPLAY_LIMIT: usize = 64 * 1024;

/// Repeats the requests of the HTTP client below.
///
/// - **What is repeated**: what a status, the headers of an answer (`Retry-After` and its kin,
///   "do not retry" in any form: [`becalm::http::hint`]), a gRPC status without a body, or an error of the
///   service below ([`Transport`]) says may pass.
/// - **What is not**: a request that may have been done and is neither idempotent by its method nor
///   keyed (RFC 9110 section 9.2.2); see [`RetryOptions`], which goes into a request's extensions.
/// - **The body** is kept while it streams, up to [`replay_limit`](Self::replay_limit). It is `Unpin`, as
///   hyper-util wants it, too; `Box::pin` makes any body that.
/// - **At the end** the caller has the last answer as it came, be it a 503, with the
///   [`Stopped`](becalm::run::Stopped) of the call in its extensions; and an error ([`NoAnswer`])
///   only where the last attempt brought no answer.
/// - **Every attempt** carries its [`Attempt`] in the extensions of its request: OpenTelemetry's
///   `http.request.resend_count` is `attempt.number() - 1`, absent on the first.
/// - **Time limits** hold up to the head of the answer; its body is the caller's. If the client below has a
///   time-out of its own, the lesser holds. Set an
///   [attempt time-out](becalm::Policy::attempt_timeout): a client may wait for ever on a connection that
///   is gone.
/// - **An answer that is followed by another attempt** is read to its end beside the wait, for at most
///   100 ms and 16 KiB, so that its connection serves again; otherwise it is dropped, and HTTP/1
///   closes the connection.
///
/// Clients that repeat by themselves multiply the attempts: switch that off (of hyper-util's,
/// `retry_canceled_requests(false)`).
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

#[derive(Debug, Clone, Copy)]
struct Settings {
    replay_limit: usize,
    answers_are_errors: bool,
}

impl RetryLayer {
    /// A layer that repeats as this retrier says: one dependency, one budget.
    pub fn new(retrier: &Retrier) -> Self {
        Self::classify_by(&retrier.classify_by(Transport))
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
}

impl<S, C: Clone> Layer<S> for RetryLayer<C> {
    type Service = Retry<S, C>;

    fn layer(&self, service: S) -> Retry<S, C> {
        Retry {
            service,
            retriers: self.retriers.clone(),
            settings: self.settings,
        }
    }
}

/// An HTTP client whose requests are repeated: see [`RetryLayer`].
#[derive(Debug, Clone)]
pub struct Retry<S, C = Transport> {
    service: S,
    retriers: Retriers<C>,
    settings: Settings,
}

impl<S, B, D, C> Service<Request<B>> for Retry<S, C>
where
    S: Service<Request<ReplayBody<B>>, Response = Response<D>> + Clone,
    B: Body + Unpin,
    D: Body,
    C: Classifier<S::Error> + Clone,
    S::Error: std::fmt::Display,
{
    type Response = Response<D>;
    type Error = NoAnswer<S::Error>;
    type Future = RetryFuture<S, B, D, C>;

    /// Always: each attempt waits until the service below is ready, within its own time limit.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (head, body) = request.into_parts();
        let length = head.headers.get(CONTENT_LENGTH).and_then(length);
        RetryFuture {
            copies: Copies::none(),
            drain: None,
            last: None,
            engine: None,
            retrier: self.retriers.of(&head),
            service: self.service.clone(),
            source: Source::new(body, self.settings.replay_limit, length),
            operation: Operation::NotIdempotent,
            head,
            answers_are_errors: self.settings.answers_are_errors,
        }
    }
}

fn length(value: &HeaderValue) -> Option<u64> {
    value.to_str().ok()?.trim().parse().ok()
}

pin_project_lite::pin_project! {
    /// The future of a request that is repeated.
    #[must_use = "futures do nothing unless polled"]
    pub struct RetryFuture<S: Service<Request<ReplayBody<B>>>, B, D, C> {
        // Before the engine: what attempts hold is back before anybody is told of the end.
        #[pin]
        copies: Copies<Try<S, B, C>>,
        // What is left of the last answer that was not handed on.
        #[pin]
        drain: Option<Drain<D>>,
        last: Option<Refused<D, S::Error>>,
        // From the first poll on: the call's deadline starts there.
        engine: Option<Engine<Core>>,
        retrier: Retrier<C>,
        service: S,
        source: Option<Arc<Source<B>>>,
        operation: Operation,
        head: Parts,
        answers_are_errors: bool,
    }
}

impl<S, B, D, C> Future for RetryFuture<S, B, D, C>
where
    S: Service<Request<ReplayBody<B>>, Response = Response<D>> + Clone,
    B: Body + Unpin,
    D: Body,
    C: Classifier<S::Error> + Clone,
    S::Error: std::fmt::Display,
{
    type Output = Result<Response<D>, NoAnswer<S::Error>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let (retrier, operation) = (&*this.retrier, this.operation);
        let engine = this.engine.get_or_insert_with(|| {
            let options = RetryOptions::of_call(this.head);
            *operation = options.operation;
            retrier.engine().options(options).begin()
        });
        let start = |attempt: Attempt| Try {
            stage: stage(this.service, this.head, this.source.as_ref(), attempt),
            attempt,
            operation: *operation,
            retrier: retrier.clone(),
            source: this.source.clone(),
        };
        let polled = this
            .copies
            .poll_call(engine, &ByTrait, this.last, context, start);
        match polled {
            Poll::Ready(ended) => {
                if let Some(source) = this.source {
                    source.release();
                }
                let as_it_came = |gave_up| as_it_came(gave_up, *this.answers_are_errors);
                Poll::Ready(ended.or_else(as_it_came))
            }
            Poll::Pending => {
                if let Some(source) = this.source {
                    source.give_up_held(engine.attempts());
                }
                // Another attempt follows, or runs: of this answer nothing is held but its head.
                if let Some((_, Failed::Answer(answer))) = this.last {
                    if let Some(body) = mem::take(answer.body_mut()) {
                        this.drain.set(Drain::new(body, retrier.sleeper()));
                    }
                }
                if let Some(drain) = this.drain.as_mut().as_pin_mut() {
                    if drain.poll(context).is_ready() {
                        this.drain.set(None);
                    }
                }
                Poll::Pending
            }
        }
    }
}

/// The attempt as it begins.
fn stage<S, B>(
    service: &S,
    head: &Parts,
    source: Option<&Arc<Source<B>>>,
    attempt: Attempt,
) -> Stage<S, B>
where
    S: Service<Request<ReplayBody<B>>> + Clone,
    B: Body + Unpin,
{
    if let Some(source) = source {
        let can_send = if attempt.is_hedge() {
            source.is_certain()
        } else {
            source.give_up_before(attempt.number());
            source.is_repeatable()
        };
        if !can_send {
            return Stage::BodyGone;
        }
    }
    let mut head = head.clone();
    head.extensions.insert(attempt);
    if let Some(key) = attempt.key() {
        if let Ok(value) = HeaderValue::try_from(format!("\"{key}\"")) {
            head.headers.insert(IDEMPOTENCY_KEY, value);
        }
    }
    let body = ReplayBody::of(source.cloned(), attempt.number());
    Stage::Waits {
        service: service.clone(),
        request: Some(Request::from_parts(head, body)),
    }
}

/// An answer that means failure is an answer nevertheless.
fn as_it_came<D, E>(
    gave_up: GaveUp<Failed<Response<Option<D>>, E>>,
    answers_are_errors: bool,
) -> Result<Response<D>, NoAnswer<E>> {
    let (stopped, failed) = gave_up.into_parts();
    let is_last = stopped.last() == Last::Error(()) && !answers_are_errors;
    match failed {
        Some(Failed::Answer(answer)) if is_last => {
            let (mut head, body) = answer.into_parts();
            match body {
                Some(body) => {
                    head.extensions.insert(stopped);
                    Ok(Response::from_parts(head, body))
                }
                // It was let go for an attempt that then was refused.
                None => {
                    Err(stopped.with_error(Some(Failed::Answer(Response::from_parts(head, ())))))
                }
            }
        }
        failed => Err(stopped.with_error(failed.map(Failed::without_body))),
    }
}
