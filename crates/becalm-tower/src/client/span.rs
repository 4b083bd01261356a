//! What does each attempt look like in a trace?

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use becalm::Attempt;
use becalm::http::ClientSpan;
use http::{Request, Response};
use tower_layer::Layer;
use tower_service::Service;

/// Makes a client span of each attempt, as OpenTelemetry has it ([`ClientSpan`]), with `http.request.resend_count`. It ends with the
/// head of the answer.
///
/// It goes directly below [`RetryLayer`](super::RetryLayer), and above whatever hands the trace on in a header.
///
/// ```
/// use becalm::Policy;
/// use becalm_tower::client::{RetryLayer, SpanLayer};
/// use tower::ServiceBuilder;
/// let stack = ServiceBuilder::new()
///     .layer(RetryLayer::new(&Policy::default().retrier()?))
///     .layer(SpanLayer);
/// # let _ = stack;
/// # Ok::<(), becalm::policy::InvalidPolicy>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct SpanLayer;

impl<S> Layer<S> for SpanLayer {
    type Service = WithSpan<S>;

    fn layer(&self, service: S) -> WithSpan<S> {
        WithSpan { service }
    }
}

/// An HTTP client whose requests are spans: see [`SpanLayer`].
#[derive(Debug, Clone)]
pub struct WithSpan<S> {
    service: S,
}

impl<S, B, D> Service<Request<B>> for WithSpan<S>
where
    S: Service<Request<B>, Response = Response<D>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = SpanFuture<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let attempt = request.extensions().get().map_or(1, Attempt::number);
        let span = ClientSpan::new(request.method(), request.uri(), attempt - 1);
        SpanFuture {
            future: span.enter(|| self.service.call(request)),
            span,
        }
    }
}

pin_project_lite::pin_project! {
    /// The future of a request that is a span.
    #[must_use = "futures do nothing unless polled"]
    pub struct SpanFuture<F> {
        #[pin]
        future: F,
        span: ClientSpan,
    }
}

impl<F, D, E> Future for SpanFuture<F>
where
    F: Future<Output = Result<Response<D>, E>>,
{
    type Output = Result<Response<D>, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let ended = ready!(this.span.enter(|| this.future.poll(context)));
        let head = ended.as_ref().map(|it| (it.status(), it.headers()));
        this.span.end(head);
        Poll::Ready(ended)
    }
}
