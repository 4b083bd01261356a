//! What time is it, for several processes at once?

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// The step in which everything is counted.
pub const BUCKET: Duration = Duration::from_millis(100);

/// The time since a moment that the drill's processes share. The system's monotonic clock is one for all of them
/// (`clock_gettime(2)`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    origin: Duration,
}

impl Clock {
    /// A clock that begins now.
    pub fn start() -> Self {
        Self { origin: system() }
    }

    /// The time since its beginning.
    pub fn now(self) -> Duration {
        system().saturating_sub(self.origin)
    }
}

/// The bucket in which a moment lies.
pub fn bucket(at: Duration) -> usize {
    usize::try_from(at.as_nanos() / BUCKET.as_nanos()).unwrap_or(usize::MAX)
}

fn system() -> Duration {
    // It fails only where there is no such clock.
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from)
}
