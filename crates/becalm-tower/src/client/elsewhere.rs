//! What if a connection that many requests share is dead without a word? The attempt that follows a time-out goes on another.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use becalm::Attempt;
use becalm::support::{Lanes, Trip};
use http::{Request, Response};
use tower_service::Service;

/// A client that can go elsewhere: it makes clients with connections of their own, and sends the attempt that follows a time-out
/// on another than those before. For clients that send many requests on one connection: HTTP/2, gRPC.
///
/// It goes below [`RetryLayer`](super::RetryLayer), in place of the client. A connection may be dead without a word, where a proxy
/// forwards nothing any more and nobody closes; all attempts on it time out then.
///
/// - **The attempt after a time-out** of a call goes to a second client, which is made for the first that needs it. It stays
///   where it was if a request that was sent later than the one that timed out has been answered there: the connection lives, and the
///   request alone is slow. After a second time-out it goes elsewhere in any case.
/// - **Other calls** go on as they did, until the first client is proved silent: the second has answered, or of two requests,
///   the second sent after the first had timed out, neither was answered, nor was one sent later. Then all that begins goes to the second. What runs on the first
///   runs on: nothing is cancelled.
/// - **There are two clients at most**, beside one that is left and ends what it has begun. The second is forgotten where it was not
///   used for ten seconds, and the first is not left twice in ten. So a slow request costs one dial, and a server that
///   hangs two in ten seconds.
///
/// hyper and tonic can send the pings of HTTP/2 at fixed intervals alone (`http2_keep_alive_interval`), which some servers punish
/// (gRPC's refuse more than one in five minutes, by default). becalm does not set them, and takes the answers for pings.
///
/// ```
/// # use http_body_util::Empty;
/// # use hyper::body::Bytes;
/// use becalm_tower::client::Elsewhere;
/// use hyper_util::client::legacy::Client;
/// use hyper_util::rt::TokioExecutor;
///
/// let client = Elsewhere::new(|| {
///     Client::builder(TokioExecutor::new())
///         .retry_canceled_requests(false)
///         .http2_only(true)
///         .build_http::<Empty<Bytes>>()
/// });
/// # let _ = client;
/// ```
pub struct Elsewhere<S> {
    lanes: Arc<Lanes<S>>,
    /// The client of this lane, which is asked whether it is ready.
    asked: Option<(u64, S)>,
}

impl<S: Clone + 'static> Elsewhere<S> {
    /// A client that this function makes, now and whenever another is needed. Each is to have connections of its own, so the
    /// function does not clone one.
    pub fn new(make: impl Fn() -> S + Send + Sync + 'static) -> Self {
        let first = make();
        Self {
            lanes: Lanes::new(first, move || Some(make())),
            asked: None,
        }
    }
}

/// Its clones have the same clients.
impl<S> Clone for Elsewhere<S> {
    fn clone(&self) -> Self {
        Self {
            lanes: Arc::clone(&self.lanes),
            asked: None,
        }
    }
}

impl<S> fmt::Debug for Elsewhere<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Elsewhere").finish_non_exhaustive()
    }
}

impl<S, B, D> Service<Request<B>> for Elsewhere<S>
where
    S: Service<Request<B>, Response = Response<D>> + Clone,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = ElsewhereFuture<S, B>;

    /// As soon as the client is that takes first attempts.
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        let current = self.lanes.current();
        match &mut self.asked {
            Some((lane, client)) if *lane == current.0 => client.poll_ready(context),
            asked => asked.insert(current).1.poll_ready(context),
        }
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let attempt = request.extensions().get::<Attempt>();
        let (trip, client) = self.lanes.begin(attempt);
        let stage = match self.asked.take() {
            Some((lane, mut client)) if lane == trip.lane() => Stage::Called {
                future: client.call(request),
            },
            _ => Stage::Waits {
                client,
                request: Some(request),
            },
        };
        ElsewhereFuture { stage, trip }
    }
}

pin_project_lite::pin_project! {
    /// The future of a request that may go elsewhere.
    #[must_use = "futures do nothing unless polled"]
    pub struct ElsewhereFuture<S: Service<Request<B>>, B> {
        #[pin]
        stage: Stage<S, B>,
        trip: Trip<S>,
    }
}

pin_project_lite::pin_project! {
    #[project = StageProjection]
    enum Stage<S: Service<Request<B>>, B> {
        // Until the client is ready.
        Waits { client: S, request: Option<Request<B>> },
        Called { #[pin] future: S::Future },
    }
}

impl<S, B, D> Future for ElsewhereFuture<S, B>
where
    S: Service<Request<B>, Response = Response<D>>,
{
    type Output = Result<Response<D>, S::Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let future = match this.stage.as_mut().project() {
                StageProjection::Called { future } => {
                    let ended = ready!(future.poll(context));
                    if ended.is_ok() {
                        this.trip.answered();
                    }
                    return Poll::Ready(ended);
                }
                StageProjection::Waits { client, request } => {
                    ready!(client.poll_ready(context))?;
                    let Some(request) = request.take() else {
                        return Poll::Pending; // polled again after a panic
                    };
                    client.call(request)
                }
            };
            this.stage.set(Stage::Called { future });
        }
    }
}
