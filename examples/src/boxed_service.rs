//! How does a tower `Service` retry, if a box for each call is no matter? Over `Retrier::retry`.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use becalm::classify::Judge;
use becalm::{GaveUp, Retrier};
use tower_service::Service;

/// A service whose calls are retried, each in a box.
#[derive(Debug, Clone)]
pub struct Boxed<S, C> {
    /// The service below.
    pub service: S,
    /// Its policy, and what its errors mean.
    pub retrier: Retrier<C>,
}

impl<S, R, C> Service<R> for Boxed<S, C>
where
    S: Service<R, Response: Send, Error: Send, Future: Send> + Clone + Send + Sync + 'static,
    R: Clone + Send + Sync + 'static,
    C: Judge<S::Error, Error: Send> + Clone + Send + Sync + 'static,
{
    type Response = S::Response;
    type Error = GaveUp<C::Error>;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: R) -> Self::Future {
        let Self { service, retrier } = self.clone();
        Box::pin(async move {
            let attempt = |_| {
                let (mut service, request) = (service.clone(), request.clone());
                async move {
                    poll_fn(|context| service.poll_ready(context)).await?;
                    service.call(request).await
                }
            };
            retrier.retry(attempt).await
        })
    }
}
