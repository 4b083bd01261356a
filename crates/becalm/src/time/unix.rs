//! What does the wall clock show? A date, without a standard library.

use core::time::Duration;

/// A moment of the wall clock: how long it is after the beginning of 1970 in UTC, leap seconds not
/// counted. The moments before are not told apart.
///
/// The one kind of "now" that hints take. The monotonic [`Instant`](super::Instant) of decisions
/// knows no date, a bare `Duration` does not say from when it counts, and `SystemTime` needs a
/// standard library. With one, `SystemTime` converts, and what takes a wall clock takes
/// `SystemTime::now` as it stands.
///
/// ```
/// use becalm::time::UnixTime;
/// use core::time::Duration;
///
/// let sunday = UnixTime::from_epoch(Duration::from_secs(784_111_777));
/// assert_eq!(sunday.since_epoch().as_secs(), 784_111_777);
/// # #[cfg(feature = "std")]
/// assert_eq!(UnixTime::from(std::time::SystemTime::UNIX_EPOCH), UnixTime::EPOCH);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct UnixTime(Duration);

impl UnixTime {
    /// The beginning of 1970 in UTC.
    pub const EPOCH: Self = Self(Duration::ZERO);

    /// The moment this long after the beginning of 1970.
    pub const fn from_epoch(after: Duration) -> Self {
        Self(after)
    }

    /// How long after the beginning of 1970 it is.
    pub const fn since_epoch(self) -> Duration {
        self.0
    }

    /// How long it is from an earlier moment to this one; zero if that one is the later.
    pub const fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

/// A clock that is set before 1970 shows the beginning of 1970.
#[cfg(feature = "std")]
impl From<std::time::SystemTime> for UnixTime {
    fn from(wall: std::time::SystemTime) -> Self {
        let since = wall.duration_since(std::time::UNIX_EPOCH);
        Self(since.unwrap_or_default())
    }
}
