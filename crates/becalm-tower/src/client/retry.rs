//! How does an HTTP client repeat its requests? Each attempt is a clone of the request's head, a body
//! that is read from the beginning, and a clone of the service below.

use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use becalm::call::CallOptions;
use becalm::classify::{ByTrait, Classifier};
use becalm::http::Retriers;
use becalm::run::{Copies, Core, Engine, Last};
use becalm::{Attempt, GaveUp, Retrier};
use http::header::{CONTENT_LENGTH, HOST};
use http::request::Parts;
use http::{HeaderValue, Request, Response};
use http_body::Body;
use tower_service::Service;

use super::attempt::{Refused, Stage, Try};
use super::body::ReplayBody;
use super::drain::Drain;
use super::failed::{Failed, NoAnswer};
use super::knows::Knows;
use super::options::RetryOptions;
use super::source::Source;
use super::transport::Transport;
use super::unready::Unready;

/// An HTTP client whose requests are repeated: see
/// [`RetryLayer`](super::RetryLayer).
///
/// If the compiler says that its trait bounds were not satisfied (E0599) and no more, since another layer stands above, then most often the
/// service below has a boxed error, which is no `Error`: put `.map_err(Boxed::new)` right below `.layer(RetryLayer::new(..))`, above
/// `.timeout(..)`, `.buffer(..)` or `.load_shed()` ([`Boxed`](super::Boxed)).
#[derive(Debug, Clone)]
pub struct Retry<S, C = Transport> {
    service: S,
    pub(super) retriers: Retriers<C>,
    settings: Settings,
    unready: Unready,
}

/// What the layer sets for all requests.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub replay_limit: usize,
    pub answers_are_errors: bool,
}

impl<S, C> Retry<S, C> {
    pub(super) fn new(service: S, retriers: Retriers<C>, settings: Settings) -> Self {
        Self {
            service,
            retriers,
            settings,
            unready: Unready::default(),
        }
    }
}

impl<E, S, C: Classifier<E> + Clone> Knows<E> for Retry<S, C> {
    type Classifier = C;

    fn retriers(&self) -> &Retriers<C> {
        &self.retriers
    }
}

impl<S, B, D, C> Service<Request<B>> for Retry<S, C>
where
    S: Service<Request<ReplayBody<B>>, Response = Response<D>> + Clone,
    B: Body + Unpin,
    D: Body,
    S::Error: std::fmt::Display + Send + 'static,
    Self: Knows<S::Error>,
{
    type Response = Response<D>;
    type Error = NoAnswer<S::Error>;
    type Future = RetryFuture<S, B, D, <Self as Knows<S::Error>>::Classifier>;

    /// As soon as the service below is, so that what is above may shed: the first attempt takes that place, unless a guard of
    /// the policy makes it wait. If the service cannot become ready, the first attempt has failed.
    ///
    /// A caller need not ask. Each attempt waits until the service below is ready, within its own time limit; what was waited
    /// here is no part of that.
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        if !self.unready.is_some() {
            if let Err(error) = ready!(self.service.poll_ready(context)) {
                self.unready.set(error);
            }
        }
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let own = request.extensions().get().copied().unwrap_or_default();
        let another = self.service.clone();
        let service = mem::replace(&mut self.service, another);
        let unready = self.unready.take();
        begin(
            service,
            unready,
            self.retriers(),
            self.settings,
            request,
            own,
        )
    }
}

impl<S, C: Clone> Retry<S, C> {
    /// Sends one request with these options, for a driver that makes the service below anew for each: as a call does,
    /// without a clone of the service, and whatever options are in the extensions. If the service below could not become
    /// ready, the first attempt has failed with that error.
    pub fn send<B, D>(
        self,
        request: Request<B>,
        unready: Option<S::Error>,
        own: RetryOptions,
    ) -> RetryFuture<S, B, D, C>
    where
        S: Service<Request<ReplayBody<B>>, Response = Response<D>>,
        B: Body + Unpin,
    {
        begin(
            self.service,
            unready,
            &self.retriers,
            self.settings,
            request,
            own,
        )
    }
}

fn begin<S, B, D, C: Clone>(
    service: S,
    unready: Option<S::Error>,
    retriers: &Retriers<C>,
    settings: Settings,
    request: Request<B>,
    own: RetryOptions,
) -> RetryFuture<S, B, D, C>
where
    S: Service<Request<ReplayBody<B>>, Response = Response<D>>,
    B: Body + Unpin,
{
    let (mut head, body) = request.into_parts();
    let length = head.headers.get(CONTENT_LENGTH).and_then(length);
    let retrier = retriers.of(authority(&head));
    RetryFuture {
        copies: Copies::none(),
        drain: None,
        last: None,
        engine: None,
        service,
        may_hold_place: true,
        unready,
        source: Source::new(body, settings.replay_limit, length),
        options: own.of_call(retrier.as_ref(), &mut head),
        retrier,
        head,
        answers_are_errors: settings.answers_are_errors,
    }
}

/// The text of the URI's, or else of `Host`.
fn authority(head: &Parts) -> &str {
    let of_uri = head.uri.authority().map(http::uri::Authority::as_str);
    let of_header = || head.headers.get(HOST)?.to_str().ok();
    of_uri.or_else(of_header).unwrap_or_default()
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
        // The one that the caller waited for: until the first poll.
        may_hold_place: bool,
        // Of the first attempt.
        unready: Option<S::Error>,
        source: Option<Arc<Source<B>>>,
        options: CallOptions,
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
        let (retrier, options) = (&*this.retrier, *this.options);
        let begin = || retrier.engine().options(options).begin();
        let engine = this.engine.get_or_insert_with(begin);
        let waker = context.waker();
        let start = |attempt: Attempt| Try {
            stage: stage(
                this.service,
                this.unready,
                this.head,
                this.source.as_ref(),
                attempt,
                waker,
            ),
            attempt,
            operation: options.operation,
            is_for_this_server: options.operation.is_keyed() && !this.head.method.is_safe(),
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
                Poll::Ready(ended.or_else(as_it_came).map_err(|gave_up| {
                    gave_up.with_causes_of(|failed| match failed {
                        Failed::Transport(error) => retrier.classifier().as_error(error),
                        Failed::Answer(_) | Failed::Redirected(_) | Failed::BodyGone => None,
                    })
                }))
            }
            Poll::Pending => {
                // A guard makes the first attempt wait, perhaps for a retry that has passed the guard and now needs the
                // place below. So every attempt passes the guards first, and takes that place after them.
                if mem::take(this.may_hold_place) && engine.attempts() == 0 {
                    *this.service = this.service.clone();
                }
                if let Some(source) = this.source {
                    source.give_up_held(engine.attempts());
                }
                // Another attempt follows, or runs: of this answer nothing is held but its head. One that is the last,
                // unless a hedge succeeds, stays.
                let stays = engine.has_failed_for_good();
                if let Some((_, Failed::Answer(answer))) = this.last.as_mut().filter(|_| !stays) {
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

/// The attempt as it begins. A service that is ready is called at once; one that is not goes with the attempt, since what
/// it has reserved for who waits is lost with it, and a clone takes its place.
fn stage<S, B>(
    service: &mut S,
    unready: &mut Option<S::Error>,
    head: &Parts,
    source: Option<&Arc<Source<B>>>,
    attempt: Attempt,
    waker: &Waker,
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
    let body = ReplayBody::of(source.cloned(), attempt.number());
    let request = Request::from_parts(head, body);
    let ready = match unready.take() {
        Some(error) => Poll::Ready(Err(error)),
        None => service.poll_ready(&mut Context::from_waker(waker)),
    };
    match ready {
        Poll::Ready(Ok(())) => Stage::Called {
            future: service.call(request),
        },
        Poll::Ready(Err(error)) => {
            // What it has reserved meanwhile goes with it.
            *service = service.clone();
            Stage::NotReady { error: Some(error) }
        }
        Poll::Pending => {
            let another = service.clone();
            Stage::Waits {
                service: mem::replace(service, another),
                request: Some(request),
            }
        }
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
