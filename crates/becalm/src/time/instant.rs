//! What is a point in time, for code that owns no clock?

use core::time::Duration;

use crate::duration::nanos;

/// A point on a sleeper's monotonic clock: nanoseconds since the clock's own zero.
///
/// Only instants of one sleeper compare. All arithmetic saturates (at about 584 years).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

impl Instant {
    /// The clock's zero.
    pub const ZERO: Self = Self(0);
    /// The end of time: never reached.
    pub const NEVER: Self = Self(u64::MAX);

    /// The point this many nanoseconds after the clock's zero.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the clock's zero.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The point this much later.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        self.after_nanos(nanos(duration))
    }

    /// The point this many nanoseconds later.
    pub(crate) const fn after_nanos(self, nanos: u64) -> Self {
        Self(self.0.saturating_add(nanos))
    }

    /// The point this much earlier; the clock's zero where that is later.
    #[must_use]
    pub fn before(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(duration)))
    }

    /// The time from `earlier` to here; zero if `earlier` is not earlier.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}
