//! What is one attempt? The service becomes ready, it is called, and its answer is judged.

use std::pin::Pin;
use std::sync::Arc;
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

pin_project_lite::pin_project! {
    /// One attempt.
    pub(super) struct Try<S: Service<Request<ReplayBody<B>>>, B, C> {
        #[pin]
        pub stage: Stage<S, B>,
        pub attempt: Attempt,
        pub operation: Operation,
        // It has a key and an effect: a redirect is not what it was sent for.
        pub is_for_this_server: bool,
        pub retrier: Retrier<C>,
        // What its body is read from, if there is anything to read.
        pub source: Option<Arc<Source<B>>>,
    }
}

pin_project_lite::pin_project! {
    #[project = StageProjection]
    pub(super) enum Stage<S: Service<Request<ReplayBody<B>>>, B> {
        Waits { service: S, request: Option<Request<ReplayBody<B>>> },
        Called { #[pin] future: S::Future },
        // It did not become ready when the attempt began.
        NotReady { error: Option<S::Error> },
        // There is nothing to send: an earlier attempt has used up the body.
        BodyGone,
    }
}

impl<S, B, C, D> Future for Try<S, B, C>
where
    S: Service<Request<ReplayBody<B>>, Response = Response<D>>,
    B: Body + Unpin,
    C: Classifier<S::Error>,
{
    type Output = Result<Response<D>, Refused<D, S::Error>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let polled = this.stage.poll(context);
        // In time for the decision, or for a time-out that cuts this attempt.
        let can_follow = |source: &Source<B>| match &polled {
            // What is hedged has a body of which all have enough.
            Poll::Ready(_) if !this.attempt.is_hedge() => source.hold(),
            _ => source.is_repeatable(),
        };
        if !this.source.as_deref().is_none_or(can_follow) {
            body_is_consumed();
        }
        let (attempt, retrier) = (*this.attempt, this.retrier);
        let classify = |error: &S::Error| retrier.classifier().classify(attempt, error);
        Poll::Ready(match ready!(polled) {
            Ended::Called(Ok(response)) if *this.is_for_this_server && redirects(&response) => {
                Err((
                    Failure::permanent(),
                    Failed::Redirected(response.map(|_| None)),
                ))
            }
            Ended::Called(Ok(response)) => judge(response, attempt, *this.operation, retrier),
            Ended::Called(Err(error)) => Err((classify(&error), Failed::Transport(error))),
            Ended::NotReady(error) => {
                let unsent = classify(&error).unsent();
                let failure = unsent.because(Cause::Kind(FailureKind::Connect));
                Err((failure, Failed::Transport(error)))
            }
            Ended::BodyGone => Err((Failure::transient().unsent(), Failed::BodyGone)),
        })
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
                StageProjection::Waits { service, request } => {
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

#[expect(
    clippy::result_large_err,
    reason = "the error is the answer, and no larger than the success"
)]
fn judge<D, E, C>(
    mut response: Response<D>,
    attempt: Attempt,
    operation: Operation,
    retrier: &Retrier<C>,
) -> Result<Response<D>, Refused<D, E>> {
    let exchange = Exchange::new(operation, attempt.number());
    let (status, headers) = (response.status(), response.headers());
    let by_head = || semantics::verdict(status, headers, exchange, || retrier.sleeper().wall());
    let verdict = response.extensions().get().copied();
    if let Verdict::Failure(failure) = verdict.unwrap_or_else(by_head) {
        return Err((failure, Failed::Answer(response.map(Some))));
    }
    // A request that succeeds at once pays nothing for it.
    if attempt.number() > 1 {
        response.extensions_mut().insert(attempt);
    }
    Ok(response)
}
