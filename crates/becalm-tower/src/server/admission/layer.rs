//! How is it set what a server takes on? So many at once, and of those that wait the ones that need not wait
//! long.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use becalm::bulkhead::{Bulkhead, InvalidBulkhead, Semaphore};
use becalm::rng::Seed;
use becalm::throttle::Priority;
use becalm::time::{Instant, Sleeper, StdSleeper};
use http::request::Parts;

use super::retries::RetryShare;

/// Lets a bounded number of requests run at once and a bounded number wait, and sheds those that would wait too long.
///
/// **How many run** is a number, or follows what the service shows: [`Bulkhead::adaptive`] finds the number beyond which
/// more of them only take longer. What counts is the time until the head of the answer; a 429, 503 or 504, of gRPC 8, 14 or 4, counts as too
/// much. A request whose client leaves before that teaches nothing, so a limit to begin with should be one at which clients are
/// answered in time: the default is 20.
///
/// **How long a request may wait** is what `CoDel` makes of it (Nichols and Jacobson, ACM Queue 2012) as Facebook applied
/// it to servers (Maurer, *Fail at Scale*, ACM Queue 2015): 100 ms while the queue was empty within the last 100 ms, which
/// is a burst and no overload; 5 ms otherwise. A queue that stands buys latency alone.
///
/// **Who is shed** is first what is least critical ([`priority`](Self::priority)): the queue serves the most critical
/// requests first, of those the oldest, and if it is full the newest of the least critical goes for one that is more so.
///
/// **What is shed** gets 503 with `Retry-After`, drawn for each from a [range](Self::retry_after), so that clients do not come
/// back in step. A gRPC request gets `RESOURCE_EXHAUSTED` without a body (`Trailers-Only`), with the pushback in
/// `grpc-retry-pushback-ms`.
///
/// **When retries dominate**, it is told not to come back at all: when more than half of the last hundred or so requests of
/// known callers are retries, one that is shed carries `becalm-retry: do-not-retry` and `x-should-retry: false`, or a pushback
/// of -1. A [`ScopeLayer`](crate::server::ScopeLayer) outside of this one names the callers that are known, counted and told; without
/// it nobody is.
///
/// **Where it stands.** Inside of a [`ScopeLayer`](crate::server::ScopeLayer), and of an [`IdempotencyLayer`](crate::server::IdempotencyLayer), which
/// answers repetitions without a place. Outside of that it works as well: a handler whose client has left keeps its place until it has ended. A
/// second layer with the same places, a clone, does nothing where a request has one already. Where a `ScopeLayer` is inside, that is
/// [told](Self::misplaced). `becalm_ws::server::AdmissionLayer`, for WebSockets, is outside of it.
///
/// **What a client holds.** A request has its place until the head of its answer, or until its client leaves. A client that does not read its
/// answer holds no place, unless [bodies are held](Self::hold_bodies). One that does not send the body of its request holds it for
/// [100 ms](Self::body_wait); from then on others have the place while the client is silent. When more has come, its request waits for a place
/// as the newest of its class, and gets 503 if it has none within a second.
///
/// **Two time-outs the server needs beside it**, for what is held before and after a place (tasks, sockets, buffers): one for heads, hyper's
/// `header_read_timeout` with a `timer`, and one for reads and writes of a connection that has stopped, such as of `tokio-io-timeout` around its
/// stream. A time-out of tower ends with the head of the answer.
///
/// ```
/// use becalm::Bulkhead;
/// use becalm_tower::server::AdmissionLayer;
///
/// let layer = AdmissionLayer::new(Bulkhead::adaptive().waiting(256))?;
/// # let _ = layer;
/// # Ok::<(), becalm::bulkhead::InvalidBulkhead>(())
/// ```
#[derive(Clone)]
#[must_use = "a layer does nothing until it is around a service"]
pub struct AdmissionLayer {
    pub(super) places: Semaphore,
    target: Duration,
    interval: Duration,
    /// The least, and how much more it may be.
    pub(super) retry_after: (Duration, Duration),
    priority: Option<Arc<Classes>>,
    pub(super) holds_bodies: bool,
    pub(super) body_wait: Duration,
    pub(super) retries: Arc<RetryShare>,
    pub(super) clock: Arc<dyn Sleeper>,
    pub(super) seed: Arc<Seed>,
    /// Requests whose callers it does not know, since what would tell it stands inside.
    misplaced: Arc<AtomicU64>,
    /// When nobody waited, the last time that somebody looked: nanoseconds of the clock.
    last_empty: Arc<AtomicU64>,
}

/// Says how critical a request is.
type Classes = dyn Fn(&Parts) -> Priority + Send + Sync;

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
            priority: None,
            holds_bodies: false,
            body_wait: Duration::from_millis(100),
            retries: Arc::default(),
            clock: Arc::new(StdSleeper::new()),
            seed: Arc::new(Seed::entropy()),
            misplaced: Arc::default(),
            last_empty: Arc::default(),
        })
    }

    /// Sets how long a request may wait in a queue that stands, and the least that it may wait in a burst. Default 5 ms.
    ///
    /// If a place falls free more rarely, by the time that a request takes over the number of places, set it to a few
    /// times that: otherwise the most critical are shed as well, for want of a place in time. A handler of 1 s with two
    /// places frees one each 500 ms, and wants 2 s.
    pub fn target(mut self, target: Duration) -> Self {
        self.target = target;
        self
    }

    /// Sets how long a queue may go without being empty before it stands, and how long a request may wait until
    /// then, unless the [target](Self::target) is longer. Default 100 ms.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// Sets the range of what shed requests are told to wait; HTTP's field has whole seconds, rounded up. Default 1 s to 3 s.
    pub fn retry_after(mut self, least: Duration, most: Duration) -> Self {
        self.retry_after = (least, most.saturating_sub(least));
        self
    }

    /// Sets how critical a request is. Default: all are equal.
    ///
    /// Say it by what callers cannot choose as they like, such as the path, or what a layer outside has found out
    /// of the caller: who may call itself critical is.
    ///
    /// ```
    /// # use becalm::Bulkhead;
    /// # use becalm_tower::server::AdmissionLayer;
    /// use becalm::throttle::Priority;
    ///
    /// let layer = AdmissionLayer::new(Bulkhead::calls(64).waiting(256))?.priority(|head| {
    ///     match head.uri.path() {
    ///         "/payments" => Priority::CriticalPlus,
    ///         "/reports" => Priority::Sheddable,
    ///         _ => Priority::Critical,
    ///     }
    /// });
    /// # let _ = layer;
    /// # Ok::<(), becalm::bulkhead::InvalidBulkhead>(())
    /// ```
    pub fn priority(
        mut self,
        priority: impl Fn(&Parts) -> Priority + Send + Sync + 'static,
    ) -> Self {
        self.priority = Some(Arc::new(priority));
        self
    }

    /// Has a request hold its place until the body of its answer is over or dropped: where making the body is most of the work.
    /// Clients that do not read then hold places, so the server needs a time-out of its writes.
    pub fn hold_bodies(mut self) -> Self {
        self.holds_bodies = true;
        self
    }

    /// Sets how long, in all, a request keeps its place while its client sends no more of its body. Default 100 ms, about
    /// the way there and back between continents. Then others have it, until more has come.
    pub fn body_wait(mut self, wait: Duration) -> Self {
        self.body_wait = wait;
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

    /// How many requests may run at once, as of now: for a gauge of what an adaptive limit has learned.
    pub fn limit(&self) -> u32 {
        self.places.limit()
    }

    /// How many requests run.
    pub fn running(&self) -> u32 {
        self.places.in_flight()
    }

    /// How many requests wait.
    pub fn waiting(&self) -> u32 {
        self.places.waiting()
    }

    /// How many requests came to a [`ScopeLayer`](crate::server::ScopeLayer) inside of this layer, which then cannot tell retries from first tries: 0 where
    /// it is outside, as it should be. The first is also a warning in the program's log (of `tracing`).
    pub fn misplaced(&self) -> u64 {
        self.misplaced.load(Ordering::Relaxed)
    }

    pub(in crate::server) fn scope_is_inside(&self) {
        if self.misplaced.fetch_add(1, Ordering::Relaxed) == 0 {
            tracing::warn!(
                "a ScopeLayer stands inside of an AdmissionLayer, which so does not know which requests are retries: \
                 put it outside, in axum by .layer(AdmissionLayer) before .layer(ScopeLayer)"
            );
        }
    }

    /// Whether this is a clone of the other, with the same places.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.retries, &other.retries)
    }

    /// In which class a request with this head waits.
    pub(super) fn class(&self, head: &Parts) -> u8 {
        let priority = self.priority.as_ref().map(|priority| priority(head));
        // The most critical is the first of its variants.
        priority.unwrap_or_default() as u8
    }

    /// The end of the wait that begins now.
    pub(super) fn patience(&self, now: Instant) -> Instant {
        let last_empty = Instant::from_nanos(self.last_empty.load(Ordering::Relaxed));
        let stands = now.since(last_empty) > self.interval;
        let burst = self.interval.max(self.target);
        let wait = if stands { self.target } else { burst };
        now.after(self.places.max_wait().map_or(wait, |most| most.min(wait)))
    }

    pub(super) fn look(&self, now: Instant) {
        if self.places.waiting() == 0 {
            self.last_empty.fetch_max(now.as_nanos(), Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for AdmissionLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdmissionLayer")
            .field("limit", &self.limit())
            .field("running", &self.running())
            .field("waiting", &self.waiting())
            .finish_non_exhaustive()
    }
}
