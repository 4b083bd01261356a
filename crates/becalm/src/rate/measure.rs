//! How many requests per second does the client make?

use crate::time::Instant;

/// The time over which answers are counted: half a second.
const SLOT: u64 = 500_000_000;
/// What the newest slots weigh against all before.
const SMOOTHING: f64 = 0.8;

/// The smoothed rate of answers, from counts of half seconds (AWS retry specification).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Measure {
    /// Answers per second; 0 until the first slot has ended.
    pub rate: f64,
    /// The slot, counted from the clock's zero, that the count began in.
    pub slot: u64,
}

impl Measure {
    /// Starts at the whole second, as the AWS SDKs do.
    pub fn new(now: Instant) -> Self {
        Self {
            rate: 0.0,
            slot: now.as_nanos() / (2 * SLOT) * 2,
        }
    }

    /// The first nanosecond behind the slot.
    pub fn slot_ends(self) -> Instant {
        Instant::from_nanos(self.slot.saturating_add(1).saturating_mul(SLOT))
    }

    /// So many answers came since the count began, the one that ends it among them.
    #[must_use]
    pub fn counted(self, answers: u64, now: Instant) -> Self {
        let slot = now.as_nanos() / SLOT;
        if slot <= self.slot {
            return self;
        }
        #[expect(clippy::cast_precision_loss)]
        let rate = answers as f64 / ((slot - self.slot) as f64 / 2.0);
        Self {
            rate: rate * SMOOTHING + self.rate * (1.0 - SMOOTHING),
            slot,
        }
    }
}
