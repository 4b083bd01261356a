//! How does an HTTP client repeat its requests? The first attempt is the request as it came, and each further one has a copy
//! of its head; each has a body that is read from the beginning.

use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use becalm::call::CallOptions;
use becalm::classify::{ByTrait, Classifier};
use becalm::http::Retriers;
use becalm::run::{Attempts, Core, Engine, Last};
use becalm::{Attempt, GaveUp, Operation, Retrier};
use http::header::{CONTENT_LENGTH, HOST};
use http::request::Parts;
use http::{HeaderValue, Request, Response};
use http_body::Body;
use tower_service::Service;

use super::attempt::{Call, Refused, Stage, Waiting};
use super::body::ReplayBody;
use super::drain::Drain;
use super::failed::{Failed, NoAnswer};
use super::head::KeptHead;
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
    pub tells_attempts: bool,
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
    let retrier = retriers.of(authority(&head));
    let options = own.of_call(retrier.as_ref(), &mut head);
    let length = head.headers.get(CONTENT_LENGTH).and_then(length);
    RetryFuture {
        state: State::New {
            head: Some(head),
            options,
        },
        drain: None,
        retrier,
        service,
        may_hold_place: true,
        unready,
        source: Source::new(body, settings.replay_limit, length),
        answers_are_errors: settings.answers_are_errors,
        tells_attempts: settings.tells_attempts,
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
        // What is left of the last answer that was not handed on. Before the call: what is held is back before anybody is
        // told of the end.
        drain: Option<Pin<Box<Drain<D>>>>,
        #[pin]
        state: State<S, B, D>,
        retrier: Retrier<C>,
        service: S,
        // The one that the caller waited for: until the first poll.
        may_hold_place: bool,
        // Of the first attempt.
        unready: Option<S::Error>,
        source: Option<Arc<Source<B>>>,
        answers_are_errors: bool,
        tells_attempts: bool,
    }
}

pin_project_lite::pin_project! {
    #[project = StateProjection]
    enum State<S: Service<Request<ReplayBody<B>>>, B, D> {
        // Until the first poll: the call's deadline starts there.
        New { head: Option<Parts>, options: CallOptions },
        Runs {
            #[pin]
            attempts: Attempts<Core, Stage<S, B>, Refused<D, S::Error>>,
            head: Head,
            // All that an answer is judged by, of what repeating the request does.
            is_keyed: bool,
            // It has a key and an effect: a redirect is not what it was sent for.
            is_for_this_server: bool,
            // Another attempt may be made of it.
            is_kept: bool,
        },
    }
}

/// The head of the request.
enum Head {
    /// It went with the first attempt.
    Sent,
    Kept(KeptHead),
    /// The first attempt waits for a guard.
    Whole(Box<Parts>),
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
        let retrier = &*this.retrier;
        let mut whole = this.state.as_mut().begin(retrier);
        let StateProjection::Runs {
            mut attempts,
            head,
            is_keyed,
            is_for_this_server,
            is_kept,
        } = this.state.project()
        else {
            return Poll::Pending; // polled again after a panic
        };
        let (service, unready, waker) = (this.service, this.unready, context.waker());
        let (source, tells_attempts) = (this.source.as_ref(), *this.tells_attempts);
        let start = |attempt: Attempt| {
            if !can_send(source, attempt) {
                return Stage::BodyGone;
            }
            let body = ReplayBody::of(source.cloned(), attempt);
            // Where it lies: a head is moved once.
            if let Some(parts) = &mut whole {
                if *is_kept {
                    *head = Head::Kept(KeptHead::of(parts));
                }
                if tells_attempts {
                    parts.extensions.insert(attempt);
                } else {
                    // One of a layer above.
                    parts.extensions.remove::<Attempt>();
                }
            }
            let request = if let Some(parts) = whole.take() {
                Request::from_parts(parts, body)
            } else if let Head::Kept(kept) = head {
                let mut request = kept.request(body);
                request.extensions_mut().insert(attempt);
                request
            } else {
                return Stage::BodyGone;
            };
            stage(service, unready, request, waker)
        };
        let call = Call {
            operation: if *is_keyed {
                Operation::KeyedByCaller
            } else {
                Operation::Idempotent
            },
            is_for_this_server: *is_for_this_server,
            retrier,
            source: source.map(|source| &**source),
        };
        let poll = |attempt, stage: Pin<&mut Stage<S, B>>, context: &mut Context<'_>| {
            call.poll(attempt, stage, context)
        };
        let polled = attempts.as_mut().poll_call(&ByTrait, context, start, poll);
        if let (Poll::Ready(_), Some(source)) = (&polled, source) {
            source.release();
        }
        match polled {
            Poll::Ready(Ok(answer)) => return Poll::Ready(Ok(answer)),
            Poll::Ready(Err(gave_up)) => {
                let answers_are_errors = *this.answers_are_errors;
                return Poll::Ready(failed(gave_up, retrier, answers_are_errors));
            }
            Poll::Pending => (),
        }
        if let Some(parts) = whole {
            *head = Head::Whole(Box::new(parts));
        }
        // A guard makes the first attempt wait, perhaps for a retry that has passed the guard and now needs the
        // place below. So every attempt passes the guards first, and takes that place after them.
        let begun = attempts.engine().map(Engine::attempts);
        if mem::take(this.may_hold_place) && begun == Some(0) {
            *service = service.clone();
        }
        if let Some((source, begun)) = source.zip(begun) {
            source.give_up_held(begun);
        }
        // Another attempt follows, or runs: of this answer nothing is held but its head. One that is the last,
        // unless a hedge succeeds, stays.
        let stays = attempts.engine().is_none_or(Engine::has_failed_for_good);
        if let Some((_, Failed::Answer(answer))) = attempts.last().filter(|_| !stays) {
            if let Some(body) = mem::take(answer.body_mut()) {
                *this.drain = Drain::new(body, retrier.sleeper()).map(Box::pin);
            }
        }
        this.drain
            .take_if(|drain| drain.as_mut().poll(context).is_ready());
        Poll::Pending
    }
}

impl<S: Service<Request<ReplayBody<B>>>, B, D> State<S, B, D> {
    /// Begins the call, if it has not begun. The head of the request, where no attempt has had it.
    fn begin<C>(mut self: Pin<&mut Self>, retrier: &Retrier<C>) -> Option<Parts> {
        match self.as_mut().project() {
            StateProjection::New { head, options } => {
                let (whole, options) = (head.take(), *options);
                let mut builder = retrier.engine();
                // Without any it may be begun in a handful of instructions.
                if options != CallOptions::new() {
                    builder = builder.options(options);
                }
                let is_keyed = options.operation.is_keyed();
                let is_safe = whole.as_ref().is_none_or(|head| head.method.is_safe());
                self.set(Self::Runs {
                    attempts: Attempts::new(builder),
                    head: Head::Sent,
                    is_keyed,
                    is_for_this_server: is_keyed && !is_safe,
                    is_kept: options.attempts.is_none_or(|attempts| attempts > 1),
                });
                whole
            }
            StateProjection::Runs { head, .. } => match mem::replace(head, Head::Sent) {
                Head::Whole(parts) => Some(*parts),
                other => {
                    *head = other;
                    None
                }
            },
        }
    }
}

/// Whether there is a body for this attempt.
fn can_send<B: Body + Unpin>(source: Option<&Arc<Source<B>>>, attempt: Attempt) -> bool {
    source.is_none_or(|source| {
        if attempt.is_hedge() {
            source.is_certain()
        } else {
            source.give_up_before(attempt.number());
            source.is_repeatable()
        }
    })
}

/// The attempt as it begins. A service that is ready is called at once; one that is not goes with the attempt, since what
/// it has reserved for who waits is lost with it, and a clone takes its place.
fn stage<S, B>(
    service: &mut S,
    unready: &mut Option<S::Error>,
    request: Request<ReplayBody<B>>,
    waker: &Waker,
) -> Stage<S, B>
where
    S: Service<Request<ReplayBody<B>>> + Clone,
{
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
            let waiting = Waiting {
                service: mem::replace(service, another),
                request: Some(request),
            };
            Stage::Waits {
                waiting: Box::new(waiting),
            }
        }
    }
}

/// The end without success.
#[cold]
#[inline(never)]
fn failed<D, E: std::fmt::Display, C: Classifier<E>>(
    gave_up: GaveUp<Failed<Response<Option<D>>, E>>,
    retrier: &Retrier<C>,
    answers_are_errors: bool,
) -> Result<Response<D>, NoAnswer<E>> {
    as_it_came(gave_up, answers_are_errors).map_err(|gave_up| {
        gave_up.with_causes_of(|failed| match failed {
            Failed::Transport(error) => retrier.classifier().as_error(error),
            Failed::Answer(_) | Failed::Redirected(_) | Failed::BodyGone => None,
        })
    })
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
