//! What does an engine need of time? One trait.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::Context;
use core::time::Duration;
use std::sync::{Arc, LazyLock};
use std::time::SystemTime;

use super::{ClockId, Instant, Parker};

/// A timer under way.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Clock and timer in one object, so that a test or a simulator replaces both at once.
pub trait Sleeper: fmt::Debug + Send + Sync + 'static {
    /// The monotonic time.
    fn now(&self) -> Instant;

    /// The wall-clock time, for hints that are dates.
    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }

    /// A future that is ready at `at`, and not before.
    fn sleep_until(&self, at: Instant) -> Sleep;

    /// Blocks the thread until `at`, or until the parker is woken. May return early. Tells to which
    /// time the wait has come.
    ///
    /// The default waits on [`sleep_until`](Self::sleep_until): where that needs a runtime to turn
    /// its timer, this must not, for the thread may be the runtime's only one.
    fn block_until(&self, at: Instant, parker: &Parker) -> Instant {
        let mut sleep = self.sleep_until(at);
        let mut context = Context::from_waker(parker.waker());
        if sleep.as_mut().poll(&mut context).is_pending() {
            parker.park(None);
        }
        self.now()
    }

    /// The tick of the timer: delays are rounded to it, at random, so that a window narrower than a
    /// tick is still spread. Zero for a timer that needs no rounding.
    fn granularity(&self) -> Duration {
        Duration::ZERO
    }

    /// Which clock the instants belong to: retriers on one clock hand deadlines down.
    fn clock(&self) -> ClockId {
        ClockId::UNKNOWN
    }
}

/// The sleeper of retriers that set none: tokio's with the feature `tokio`, otherwise std's.
pub(crate) fn default_sleeper() -> Arc<dyn Sleeper> {
    static DEFAULT: LazyLock<Arc<dyn Sleeper>> = LazyLock::new(|| {
        #[cfg(feature = "tokio")]
        return Arc::new(super::TokioSleeper::new());
        #[cfg(not(feature = "tokio"))]
        return Arc::new(super::StdSleeper::new());
    });
    Arc::clone(&DEFAULT)
}
