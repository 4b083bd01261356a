//! Which requests does a server take on that gets more than it can do? So many at once, and of those that wait
//! the ones that need not wait long.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use becalm::Bulkhead;
use becalm::bulkhead::{InvalidBulkhead, Semaphore, Waiter};
use becalm::rng::{Random, Seed};
use becalm::time::{Instant, Sleep, Sleeper, StdSleeper};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use tower_layer::Layer;
use tower_service::Service;

use super::place::{AdmittedBody, Place};

/// Lets a bounded number of requests run at once and a bounded number wait, and sheds those that would wait too long.
///
/// How long a request may wait is what `CoDel` makes of it (Nichols and Jacobson, ACM Queue 2012) as Facebook applied
/// it to servers (Maurer, *Fail at Scale*, ACM Queue 2015): 100 ms while the queue was empty within the last 100 ms, which
/// is a burst and no overload; 5 ms otherwise. A queue that stands buys latency alone.
///
/// What is shed gets 503 with `Retry-After`, drawn for each from a [range](Self::retry_after), so that clients do not come back
/// in step. A gRPC request gets `RESOURCE_EXHAUSTED` without a body (`Trailers-Only`), with the pushback in
/// `grpc-retry-pushback-ms`. A request has its place until the body of its answer is over or dropped, so the layer stands inside of
/// an [`IdempotencyLayer`](super::IdempotencyLayer), whose handlers go on when their clients leave.
///
/// ```
/// use becalm::Bulkhead;
/// use becalm_tower::server::AdmissionLayer;
///
/// let layer = AdmissionLayer::new(Bulkhead::calls(64).waiting(256))?;
/// # let _ = layer;
/// # Ok::<(), becalm::bulkhead::InvalidBulkhead>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a layer does nothing until it is around a service"]
pub struct AdmissionLayer {
    places: Semaphore,
    target: Duration,
    interval: Duration,
    /// The least, and how much more it may be.
    retry_after: (Duration, Duration),
    clock: Arc<dyn Sleeper>,
    seed: Arc<Seed>,
    /// When nobody waited, the last time that somebody looked: nanoseconds of the clock.
    last_empty: Arc<AtomicU64>,
}

impl AdmissionLayer {
    /// A layer with these places, fixed or learned, for all services that it is put around.
    ///
    /// # Errors
    ///
    /// The bulkhead is invalid.
    pub fn new(bulkhead: Bulkhead) -> Result<Self, InvalidBulkhead> {
        bulkhead.validate()?;
        Ok(Self {
            places: Semaphore::new(bulkhead),
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            retry_after: (Duration::from_secs(1), Duration::from_secs(2)),
            clock: Arc::new(StdSleeper::new()),
            seed: Arc::new(Seed::entropy()),
            last_empty: Arc::default(),
        })
    }

    /// Sets how long a request may wait in a queue that stands. Default 5 ms.
    pub fn target(mut self, target: Duration) -> Self {
        self.target = target;
        self
    }

    /// Sets how long a queue may go without being empty before it stands, and how long a request may wait until
    /// then. Default 100 ms.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// Sets the range of what shed requests are told to wait; HTTP's field has whole seconds, rounded up. Default 1 s to 3 s.
    pub fn retry_after(mut self, least: Duration, most: Duration) -> Self {
        self.retry_after = (least, most.saturating_sub(least));
        self
    }

    /// Sets the clock, and the timers of what waits. Default: the process's own.
    pub fn clock(mut self, clock: impl Sleeper) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Sets where the draws of `Retry-After` come from. Default: the operating system's entropy.
    pub fn seed(mut self, seed: Seed) -> Self {
        self.seed = Arc::new(seed);
        self
    }

    /// The end of the wait that begins now.
    fn patience(&self, now: Instant) -> Instant {
        let last_empty = Instant::from_nanos(self.last_empty.load(Ordering::Relaxed));
        let stands = now.since(last_empty) > self.interval;
        let wait = if stands { self.target } else { self.interval };
        now.after(self.places.max_wait().map_or(wait, |most| most.min(wait)))
    }

    fn look(&self, now: Instant) {
        if self.places.waiting() == 0 {
            self.last_empty.fetch_max(now.as_nanos(), Ordering::Relaxed);
        }
    }

    fn shed<D>(&self, is_grpc: bool) -> Response<AdmittedBody<D>> {
        let (least, spread) = self.retry_after;
        let share = (self.seed.stream().next_u64() >> 32) as u32;
        let wait = least + spread.mul_f64(f64::from(share) / f64::from(u32::MAX));
        let mut response = Response::new(AdmittedBody::empty());
        let headers = response.headers_mut();
        if is_grpc {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
            headers.insert("grpc-status", HeaderValue::from_static("8"));
            headers.insert("grpc-message", HeaderValue::from_static("overloaded"));
            let millis = i32::try_from(wait.as_millis()).unwrap_or(i32::MAX);
            headers.insert("grpc-retry-pushback-ms", millis.into());
        } else {
            let seconds = wait
                .as_secs()
                .saturating_add(u64::from(wait.subsec_nanos() > 0));
            headers.insert(RETRY_AFTER, seconds.into());
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        }
        response
    }
}

fn is_grpc(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    content_type.is_some_and(|kind| kind.starts_with(b"application/grpc"))
}

impl<S> Layer<S> for AdmissionLayer {
    type Service = Admission<S>;

    fn layer(&self, service: S) -> Admission<S> {
        let layer = self.clone();
        Admission { service, layer }
    }
}

/// A service that takes on what it can do: see [`AdmissionLayer`].
#[derive(Debug, Clone)]
pub struct Admission<S> {
    service: S,
    layer: AdmissionLayer,
}

impl<S, B, D> Service<Request<B>> for Admission<S>
where
    S: Service<Request<B>, Response = Response<D>> + Clone,
{
    type Response = Response<AdmittedBody<D>>;
    type Error = S::Error;
    type Future = AdmissionFuture<S, B, S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // The one that is ready goes, and its clone stays.
        let clone = self.service.clone();
        let service = std::mem::replace(&mut self.service, clone);
        AdmissionFuture {
            layer: self.layer.clone(),
            waits: Some((service, request, Waiter::new())),
            timer: None,
            running: None,
            place: None,
        }
    }
}

pin_project_lite::pin_project! {
    /// The future of a request that waits for its place, or has one.
    #[must_use = "futures do nothing unless polled"]
    pub struct AdmissionFuture<S, B, F> {
        layer: AdmissionLayer,
        waits: Option<(S, Request<B>, Waiter)>,
        timer: Option<Sleep>,
        #[pin]
        running: Option<F>,
        place: Option<Place>,
    }
}

impl<S, B, D> Future for AdmissionFuture<S, B, S::Future>
where
    S: Service<Request<B>, Response = Response<D>>,
{
    type Output = Result<Response<AdmittedBody<D>>, S::Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if let Some((mut service, request, mut waiter)) = this.waits.take() {
            let layer = &*this.layer;
            let has_place = match layer.places.poll_acquire(&mut waiter, context.waker()) {
                Poll::Ready(entered) => entered.is_ok(),
                Poll::Pending => {
                    let until = || layer.clock.sleep_until(layer.patience(layer.clock.now()));
                    let timer = this.timer.get_or_insert_with(until);
                    if timer.as_mut().poll(context).is_pending() {
                        *this.waits = Some((service, request, waiter));
                        return Poll::Pending;
                    }
                    false
                }
            };
            *this.timer = None;
            if !has_place {
                return Poll::Ready(Ok(layer.shed(is_grpc(request.headers()))));
            }
            let began = layer.clock.now();
            layer.look(began);
            *this.place = Some(Place::taken(layer.places.clone(), began));
            this.running.set(Some(service.call(request)));
        }
        let Some(running) = this.running.as_mut().as_pin_mut() else {
            return Poll::Pending; // polled again after its end
        };
        let ended = ready!(running.poll(context));
        this.running.set(None);
        let mut place = this.place.take();
        if let Some(place) = &mut place {
            place.ended(
                this.layer.clock.now(),
                ended.as_ref().ok().map(Response::status),
            );
        }
        Poll::Ready(ended.map(|response| response.map(|body| AdmittedBody::new(body, place))))
    }
}
