//! How does a call sleep in tokio? On its runtime's own timer and clock.

use core::time::Duration;

use super::std_sleeper::{on_std_clock, since_zero};
use super::{ClockId, Instant, Sleep, Sleeper, StdSleeper};

/// Tokio's clock and timer, so that a paused test works; outside of a runtime, [`StdSleeper`]'s.
///
/// A runtime built without its time driver (`enable_time`) panics in tokio when a call sleeps: give
/// such a retrier a [`StdSleeper`].
#[derive(Debug, Clone, Copy)]
pub struct TokioSleeper {
    tick: Duration,
}

impl TokioSleeper {
    /// Tokio's timer, whose tick is 1 ms.
    pub const fn new() -> Self {
        Self {
            tick: Duration::from_millis(1),
        }
    }

    /// Sleeps on tokio's timer with this tick: 15.6 ms on Windows with its default timer resolution.
    #[must_use]
    pub const fn with_tick(tick: Duration) -> Self {
        Self { tick }
    }
}

impl Default for TokioSleeper {
    fn default() -> Self {
        Self::new()
    }
}

impl Sleeper for TokioSleeper {
    fn now(&self) -> Instant {
        since_zero(tokio::time::Instant::now().into_std())
    }

    fn sleep_until(&self, at: Instant) -> Sleep {
        if tokio::runtime::Handle::try_current().is_err() {
            return StdSleeper::new().sleep_until(at);
        }
        match on_std_clock(at) {
            Some(at) => Box::pin(tokio::time::sleep_until(tokio::time::Instant::from_std(at))),
            None => Box::pin(core::future::pending()),
        }
    }

    /// Parks on the process's clock, for tokio's timer may be this thread's to turn: as long as it
    /// would last on tokio's clock, which a test may have paused far from the other.
    fn park_until(&self, at: Instant) -> bool {
        let std = StdSleeper::new();
        std.park_until(std.now().after(at.since(self.now())))
    }

    fn granularity(&self) -> Duration {
        self.tick
    }

    fn clock(&self) -> ClockId {
        ClockId::TOKIO
    }
}
