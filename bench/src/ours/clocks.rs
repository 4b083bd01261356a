//! What is left of a cost when reading the clock is free, or nearly?
//!
//! Windows must still move on, latencies still differ, and two threads still agree on the time.
//! Subtracting the measured cost of a real reading would not do: the processor reads its clock
//! beside other work, so that a call with two readings costs less than its work and twice a reading.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use becalm::time::Instant;
use becalm::time::{Sleep, Sleeper, TokioSleeper};

/// A clock as one thread holds it.
pub trait Clock: Clone + Send + 'static {
    /// The time.
    fn now(&mut self) -> Instant;
}

/// The clock that a retrier has by default.
impl Clock for TokioSleeper {
    #[inline]
    fn now(&mut self) -> Instant {
        Sleeper::now(self)
    }
}

/// A clock that is really read only once in 64 times.
#[derive(Clone)]
pub struct Coarse {
    now: Instant,
    left: u32,
}

impl Coarse {
    /// Not read yet.
    pub const UNREAD: Self = Self {
        now: Instant::ZERO,
        left: 0,
    };
}

impl Clock for Coarse {
    #[inline]
    fn now(&mut self) -> Instant {
        if self.left == 0 {
            self.left = 64;
            self.now = Sleeper::now(&TokioSleeper::new());
        }
        self.left -= 1;
        self.now
    }
}

/// A time of its own, in which a millisecond passes between two readings.
#[derive(Clone)]
pub struct Ticks(Instant);

impl Ticks {
    /// Starts at zero.
    pub const START: Self = Self(Instant::ZERO);
}

impl Clock for Ticks {
    #[inline]
    fn now(&mut self) -> Instant {
        self.0 = self.0.after(Duration::from_millis(1));
        self.0
    }
}

/// The clock of a retrier on one thread: 100 ns pass between two readings, by a load and a store.
/// Its timer is tokio's.
#[derive(Debug, Clone, Default)]
pub struct Ticking(Arc<AtomicU64>);

impl Sleeper for Ticking {
    #[inline]
    fn now(&self) -> Instant {
        let now = self.0.load(Ordering::Relaxed) + 100;
        self.0.store(now, Ordering::Relaxed);
        Instant::from_nanos(now)
    }

    fn sleep_until(&self, at: Instant) -> Sleep {
        let clock = Arc::clone(&self.0);
        let wait = at.since(self.now());
        Box::pin(async move {
            tokio::time::sleep(wait).await;
            clock.fetch_max(at.as_nanos(), Ordering::Relaxed);
        })
    }
}
