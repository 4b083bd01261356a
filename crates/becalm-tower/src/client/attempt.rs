//! What is one attempt? The service becomes ready, it is called, and its answer is judged.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use becalm::classify::{Cause, Classifier, FailureKind, Verdict};
use becalm::http::{self as semantics, Exchange};
use becalm::scope::body_is_consumed;
use becalm::{Attempt, Failure, Operation, Retrier};
use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use super::body::ReplayBody;
use super::failed::Failed;
use super::source::Source;

/// How an attempt failed, and what that means. Of a response that is not handed on the body is let
/// go.
pub(super) type Refused<D, E> = (Failure, Failed<Response<Option<D>>, E>);

/// What an attempt ends with.
type Judged<D, E> = Result<Response<D>, Refused<D, E>>;

pin_project_lite::pin_project! {
    /// Where one attempt is.
    #[project = StageProjection]
    pub(super) enum Stage<S: Service<Request<ReplayBody<B>>>, B> {
        Called { #[pin] future: S::Future },
        // In a box, which no attempt pays for whose service is ready.
        Waits { waiting: Box<Waiting<S, B>> },
        // It did not become ready when the attempt began.
        NotReady { error: Option<S::Error> },
        // There is nothing to send: an earlier attempt has used up the body.
        BodyGone,
    }
}

/// A service that is not ready, with what it is to send.
pub(super) struct Waiting<S, B> {
    pub service: S,
    pub request: Option<Request<ReplayBody<B>>>,
}

/// What all attempts of a request share.
pub(super) struct Call<'a, B, C> {
    pub operation: Operation,
    /// It has a key and an effect: a redirect is not what it was sent for.
    pub is_for_this_server: bool,
    pub retrier: &'a Retrier<C>,
    /// What the bodies are read from, if there is anything to read.
    pub source: Option<&'a Source<B>>,
}

impl<B: Body + Unpin, C> Call<'_, B, C> {
    /// Polls this attempt, in its scope.
    #[inline]
    pub fn poll<S, D>(
        &self,
        attempt: Attempt,
        stage: Pin<&mut Stage<S, B>>,
        context: &mut Context<'_>,
    ) -> Poll<Judged<D, S::Error>>
    where
        S: Service<Request<ReplayBody<B>>, Response = Response<D>>,
        C: Classifier<S::Error>,
    {
        let polled = stage.poll(context);
        // In time for the decision, or for a time-out that cuts this attempt.
        let can_follow = |source: &Source<B>| match &polled {
            // What is hedged has a body of which all have enough.
            Poll::Ready(_) if !attempt.is_hedge() => source.hold(),
            _ => source.is_repeatable(),
        };
        if !self.source.is_none_or(can_follow) {
            body_is_consumed();
        }
        let classify = |error: &S::Error| self.retrier.classifier().classify(attempt, error);
        let mut ended = ready!(polled);
        // Where it lies: a response is moved once.
        let judged = match &mut ended {
            Ended::Called(Ok(response)) => self.judge(response, attempt),
            _ => None,
        };
        Poll::Ready(match ended {
            Ended::Called(Ok(response)) => match judged {
                None => Ok(response),
                Some((failure, true)) => Err((failure, Failed::Redirected(response.map(|_| None)))),
                Some((failure, false)) => Err((failure, Failed::Answer(response.map(Some)))),
            },
            Ended::Called(Err(error)) => Err((classify(&error), Failed::Transport(error))),
            Ended::NotReady(error) => {
                let unsent = classify(&error).unsent();
                let failure = unsent.because(Cause::Kind(FailureKind::Connect));
                Err((failure, Failed::Transport(error)))
            }
            Ended::BodyGone => Err((Failure::transient().unsent(), Failed::BodyGone)),
        })
    }

    /// The failure that this answer means, and whether it is a redirect of what is for this server.
    fn judge<D>(&self, response: &mut Response<D>, attempt: Attempt) -> Option<(Failure, bool)> {
        if self.is_for_this_server && redirects(response) {
            return Some((Failure::permanent(), true));
        }
        let exchange = Exchange::new(self.operation, attempt.number());
        let (status, headers) = (response.status(), response.headers());
        let wall = || self.retrier.sleeper().wall();
        let by_head = || semantics::verdict(status, headers, exchange, wall);
        let verdict = response.extensions().get().copied();
        if let Verdict::Failure(failure) = verdict.unwrap_or_else(by_head) {
            return Some((failure, false));
        }
        // A request that succeeds at once pays nothing for it.
        if attempt.number() > 1 {
            response.extensions_mut().insert(attempt);
        }
        None
    }
}

/// How it went.
enum Ended<R, E> {
    Called(Result<R, E>),
    /// The service did not become ready, so that it never had the request.
    NotReady(E),
    /// There was no body to send.
    BodyGone,
}

impl<S, B> Stage<S, B>
where
    S: Service<Request<ReplayBody<B>>>,
{
    #[inline]
    fn poll(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Ended<S::Response, S::Error>> {
        loop {
            let future = match self.as_mut().project() {
                StageProjection::Called { future } => {
                    return future.poll(context).map(Ended::Called);
                }
                StageProjection::NotReady { error } => {
                    return error
                        .take()
                        .map_or(Poll::Pending, |error| Poll::Ready(Ended::NotReady(error)));
                }
                StageProjection::BodyGone => return Poll::Ready(Ended::BodyGone),
                StageProjection::Waits { waiting } => {
                    let Waiting { service, request } = &mut **waiting;
                    if let Err(error) = ready!(service.poll_ready(context)) {
                        return Poll::Ready(Ended::NotReady(error));
                    }
                    let Some(request) = request.take() else {
                        return Poll::Pending; // polled again after a panic
                    };
                    service.call(request)
                }
            };
            self.set(Self::Called { future });
        }
    }
}

/// Whether the server has done nothing, and names another address. What knows better has judged the answer; a 303 says that it was done.
fn redirects<D>(response: &Response<D>) -> bool {
    let is_judged = response.extensions().get::<Verdict>().is_some();
    !is_judged && matches!(response.status().as_u16(), 301 | 302 | 307 | 308)
}
