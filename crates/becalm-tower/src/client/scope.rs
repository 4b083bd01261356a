//! How does a server learn that it is asked by a retry, and how do the layers above hear that it wants
//! no more? By headers, to servers that are known.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use becalm::Scope;
use becalm::http::{self as semantics, InvalidOrigin, Origin};
use becalm::scope::ScopeHeader;
use becalm::time::{Sleeper, StdSleeper};
use http::{HeaderName, Request, Response};
use tower_layer::Layer;
use tower_service::Service;

static SCOPE: HeaderName = HeaderName::from_static(ScopeHeader::NAME);

/// Tells servers of the attempt that a request belongs to, and of the time that it has left
/// (`becalm-scope`), and hears what they tell of layers below them (`becalm-retry`).
///
/// It goes below [`RetryLayer`](super::RetryLayer), or into whatever a [`Retrier`](becalm::Retrier) repeats. The
/// header goes to the origins that it is given, and to no other: for a request to any other, a `becalm-scope`
/// that is there is taken away, and what the answer tells is not heard. Put it below what follows redirects.
///
/// ```
/// use becalm_tower::client::ScopeLayer;
/// let layer = ScopeLayer::to(["https://orders.internal", "http://stock.internal:8080"])?;
/// # let _ = layer;
/// # Ok::<(), becalm::http::InvalidOrigin>(())
/// ```
#[derive(Debug, Clone)]
pub struct ScopeLayer {
    origins: Arc<[Origin]>,
    clock: Arc<dyn Sleeper>,
}

impl ScopeLayer {
    /// A layer that speaks to these origins.
    ///
    /// # Errors
    ///
    /// One of them is no origin.
    pub fn to<'a>(origins: impl IntoIterator<Item = &'a str>) -> Result<Self, InvalidOrigin> {
        let origins = origins.into_iter().map(str::parse);
        Ok(Self {
            origins: origins.collect::<Result<_, _>>()?,
            clock: Arc::new(StdSleeper::new()),
        })
    }

    /// Sets the clock by which the time that is left is counted: that of the retriers above. Default: the
    /// process's own, which is tokio's, too.
    #[must_use]
    pub fn clock(mut self, clock: impl Sleeper) -> Self {
        self.clock = Arc::new(clock);
        self
    }
}

impl<S> Layer<S> for ScopeLayer {
    type Service = WithScope<S>;

    fn layer(&self, service: S) -> WithScope<S> {
        WithScope {
            service,
            layer: self.clone(),
        }
    }
}

/// An HTTP client that tells and hears of the layers around it: see [`ScopeLayer`].
#[derive(Debug, Clone)]
pub struct WithScope<S> {
    service: S,
    layer: ScopeLayer,
}

impl<S, B, D> Service<Request<B>> for WithScope<S>
where
    S: Service<Request<B>, Response = Response<D>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = ScopeFuture<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let ScopeLayer { origins, clock } = &self.layer;
        let is_known = origins.iter().any(|origin| origin.is_of(request.uri()));
        let headers = request.headers_mut();
        if is_known {
            semantics::write_scope(headers, Scope::current(), clock.now(), clock.clock());
        } else {
            headers.remove(&SCOPE);
        }
        ScopeFuture {
            future: self.service.call(request),
            is_known,
        }
    }
}

pin_project_lite::pin_project! {
    /// The future of a request that tells of the layers above it.
    #[must_use = "futures do nothing unless polled"]
    pub struct ScopeFuture<F> {
        #[pin]
        future: F,
        is_known: bool,
    }
}

impl<F, D, E> Future for ScopeFuture<F>
where
    F: Future<Output = Result<Response<D>, E>>,
{
    type Output = Result<Response<D>, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let ended = ready!(this.future.poll(context));
        if let Ok(answer) = &ended {
            // A success has nothing to tell, whatever its headers say. gRPC answers 200 with its own status.
            let of_grpc = semantics::grpc_code(answer.headers());
            let has_failed =
                answer.status().as_u16() >= 400 || of_grpc.is_some_and(|code| code != 0);
            if *this.is_known && has_failed {
                if let Some(reason) = semantics::told(answer.headers()) {
                    Scope::NONE.telling(reason).report();
                }
            }
        }
        Poll::Ready(ended)
    }
}
