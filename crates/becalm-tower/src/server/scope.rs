//! How do the retries of a caller and those inside its request know of each other? By headers, from callers
//! that are known.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use becalm::http as semantics;
use becalm::scope::{self, ScopeHeader};
use becalm::time::{Sleeper, StdSleeper};
use becalm::{Scope, StopReason};
use http::request::Parts;
use http::{HeaderMap, Request, Response, StatusCode};
use tower_layer::Layer;
use tower_service::Service;

use super::admission::Seat;

/// Makes what a caller says of its attempt and of the time that it has left the scope of the request, in which all
/// retries on the way to the answer run; and tells the caller in a failed answer what was told in it: "do not
/// retry", or why a layer below could not ([`becalm::http::write_told`]).
///
/// [`becalm::http::scope`] says which headers are read, of becalm, Envoy, gRPC and others. They are believed of the callers
/// that are named here, and of no other: whoever may say "attempt 2, 5 ms left" turns the retries of the service off. For
/// the requests of others nothing stands above, a `becalm-scope` is taken away, and nothing is told to them.
///
/// Put it outermost, so that everything runs inside. Tasks that a handler spawns are not in it without
/// [`Scope::wrap`].
///
/// ```
/// use becalm_tower::server::ScopeLayer;
/// # #[derive(Clone)] struct Peer { is_internal: bool }
/// let layer = ScopeLayer::from_callers(|head| {
///     head.extensions.get::<Peer>().is_some_and(|peer| peer.is_internal)
/// })
/// .on_attempt(|attempt| println!("attempt {attempt}"));
/// # let _ = layer;
/// ```
#[derive(Clone)]
#[must_use = "a layer does nothing until it is around a service"]
pub struct ScopeLayer {
    is_known: Arc<dyn Fn(&Parts) -> bool + Send + Sync>,
    attempt: Arc<dyn Fn(u32) + Send + Sync>,
    clock: Arc<dyn Sleeper>,
}

impl ScopeLayer {
    /// A layer that believes the callers of requests for which this is true: by what a layer outside has found out and
    /// put into the extensions, such as the peer's address or certificate. A header proves nothing.
    pub fn from_callers(is_known: impl Fn(&Parts) -> bool + Send + Sync + 'static) -> Self {
        Self {
            is_known: Arc::new(is_known),
            attempt: Arc::new(|_| ()),
            clock: Arc::new(StdSleeper::new()),
        }
    }

    /// Sets what is told the number of the attempt that each request of a known caller is, from 1 to 255, for a histogram:
    /// what is above 1 are retries. A request that does not say is a first attempt.
    ///
    /// ```
    /// # use becalm_tower::server::ScopeLayer;
    /// # let layer = ScopeLayer::from_callers(|_| true);
    /// let layer = layer.on_attempt(|attempt| metrics::histogram!("attempts").record(attempt));
    /// # let _ = layer;
    /// ```
    pub fn on_attempt(mut self, told: impl Fn(u32) + Send + Sync + 'static) -> Self {
        self.attempt = Arc::new(told);
        self
    }

    /// Sets the clock by which the time that is left is counted: that of the retriers inside. Default: the process's
    /// own, which is tokio's, too.
    pub fn clock(mut self, clock: impl Sleeper) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// The scope of a request with this head.
    fn scope(&self, head: &mut Parts) -> Scope {
        if !(self.is_known)(head) {
            head.headers.remove(ScopeHeader::NAME);
            return Scope::NONE;
        }
        let scope = semantics::scope(&head.headers, self.clock.now(), self.clock.clock());
        (self.attempt)(scope.attempt().max(1));
        scope
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

/// An HTTP server whose requests have the scope that their caller tells: see [`ScopeLayer`].
#[derive(Clone)]
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

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (mut head, body) = request.into_parts();
        if let Some(seat) = Seat::of(&head.extensions) {
            seat.layer().scope_is_inside();
        }
        let scope = self.layer.scope(&mut head);
        let request = Request::from_parts(head, body);
        let (future, scope) = scope.enter_with_scope(|| self.service.call(request));
        let future = scope.wrap(future).with_scope();
        ScopeFuture { future }
    }
}

pin_project_lite::pin_project! {
    /// The future of a request that runs in the scope of its caller.
    #[must_use = "futures do nothing unless polled"]
    pub struct ScopeFuture<F> {
        #[pin]
        future: scope::WithScope<F>,
    }
}

impl<F, D, E> Future for ScopeFuture<F>
where
    F: Future<Output = Result<Response<D>, E>>,
{
    type Output = Result<Response<D>, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let (mut ended, scope) = ready!(self.project().future.poll(context));
        if let Ok(response) = &mut ended {
            if let Some(reason) = scope.told_below() {
                tell(response.status(), response.headers_mut(), reason);
            }
        }
        Poll::Ready(ended)
    }
}

/// A success has nothing to tell: what was told in it was dealt with.
fn tell(status: StatusCode, headers: &mut HeaderMap, reason: StopReason) {
    let is_grpc_error = semantics::grpc_code(headers).is_some_and(|code| code != 0);
    if is_grpc_error || status.as_u16() >= 400 {
        semantics::write_told(headers, reason);
    }
}
