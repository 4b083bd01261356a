//! Which clock does a point in time belong to?

/// Which clock an [`Instant`](crate::time::Instant) belongs to: deadlines of different clocks are not
/// compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockId(u16);

impl ClockId {
    /// A clock that equals no other, not even itself: deadlines are not handed down.
    pub const UNKNOWN: Self = Self(0);
    /// The process's own monotonic clock.
    pub const PROCESS: Self = Self(1);
    /// Tokio's clock: the process's own unless a test has paused it.
    #[cfg(feature = "tokio")]
    pub(crate) const TOKIO: Self = Self(2);

    /// An identity that no other clock of this process has (the last of 65 000 are unknown).
    #[cfg(feature = "std")]
    pub fn unique() -> Self {
        use core::sync::atomic::{AtomicU16, Ordering::Relaxed};
        static NEXT: AtomicU16 = AtomicU16::new(3);
        let next = NEXT.fetch_update(Relaxed, Relaxed, |id| id.checked_add(1));
        next.map_or(Self::UNKNOWN, Self)
    }

    /// Whether instants of both clocks compare.
    pub const fn is(self, other: Self) -> bool {
        self.0 == other.0 && self.0 != Self::UNKNOWN.0
    }

    /// Whether instants of both clocks compare at present: tokio's clock and the process's do,
    /// unless tokio's is paused on this thread. Reads clocks only to tell those two apart.
    pub(crate) fn agrees(self, other: Self) -> bool {
        #[cfg(feature = "tokio")]
        if self != other && self.is_real() && other.is_real() {
            return tokio_runs_on_the_process_clock();
        }
        self.is(other)
    }

    #[cfg(feature = "tokio")]
    fn is_real(self) -> bool {
        self == Self::PROCESS || self == Self::TOKIO
    }

    pub(crate) const fn to_bits(self) -> u16 {
        self.0
    }

    pub(crate) const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }
}

/// Whether tokio's clock, as this thread sees it, is the process's own: it is unless a test has
/// paused it, which tokio does not tell. A paused one stands still, so that its present does not lie
/// between two readings of the other but for the moment at which it was paused, when the two agree.
#[cfg(feature = "tokio")]
fn tokio_runs_on_the_process_clock() -> bool {
    let before = std::time::Instant::now();
    let tokio = tokio::time::Instant::now().into_std();
    before <= tokio && tokio <= std::time::Instant::now()
}
