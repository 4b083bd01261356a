//! How does a tower `Service` retry? A whole driver, over becalm's public names and `tower-service`
//! alone: events, records, hedges, both time limits, and no allocation for a call that succeeds.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use becalm::classify::Judge;
use becalm::run::{Copies, Core, Engine};
use becalm::{GaveUp, Retrier};
use tower_service::Service;

/// A service whose calls are retried. Each attempt is a clone of the request, on a clone of the
/// service that is ready.
#[derive(Debug, Clone)]
pub struct Retried<S, C> {
    /// The service below.
    pub service: S,
    /// Its policy, and what its errors mean.
    pub retrier: Retrier<C>,
}

impl<S, R, C> Service<R> for Retried<S, C>
where
    S: Service<R> + Clone,
    R: Clone,
    C: Judge<S::Error> + Clone,
{
    type Response = S::Response;
    type Error = GaveUp<C::Error>;
    type Future = RetryFuture<S, R, C>;

    /// Always: each attempt waits until the service below is ready, within its own time limit.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: R) -> Self::Future {
        RetryFuture {
            copies: Copies::none(),
            error: None,
            engine: None,
            retried: self.clone(),
            request,
        }
    }
}

pin_project_lite::pin_project! {
    /// The future of a call that is retried.
    pub struct RetryFuture<S: Service<R>, R, C> {
        // Before the engine: what attempts hold is back before anybody is told of the end.
        #[pin]
        copies: Copies<WhenReady<S, R>>,
        error: Option<S::Error>,
        // From the first poll on: the call's deadline starts there.
        engine: Option<Engine<Core>>,
        retried: Retried<S, C>,
        request: R,
    }
}

impl<S, R, C> Future for RetryFuture<S, R, C>
where
    S: Service<R> + Clone,
    R: Clone,
    C: Judge<S::Error>,
{
    type Output = Result<S::Response, GaveUp<C::Error>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let Retried { service, retrier } = this.retried;
        let engine = this.engine.get_or_insert_with(|| retrier.engine().begin());
        let start = |_| WhenReady::Waits {
            service: service.clone(),
            request: Some(this.request.clone()),
        };
        let classifier = retrier.classifier();
        this.copies
            .poll_call(engine, classifier, this.error, context, start)
    }
}

pin_project_lite::pin_project! {
    /// One attempt: the service becomes ready, then it is called.
    #[project = WhenReadyProjection]
    enum WhenReady<S: Service<R>, R> {
        Waits { service: S, request: Option<R> },
        Called { #[pin] future: S::Future },
    }
}

impl<S: Service<R>, R> Future for WhenReady<S, R> {
    type Output = Result<S::Response, S::Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let future = match self.as_mut().project() {
                WhenReadyProjection::Called { future } => return future.poll(context),
                WhenReadyProjection::Waits { service, request } => {
                    ready!(service.poll_ready(context))?;
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
