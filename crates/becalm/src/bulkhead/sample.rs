//! What does a finished call tell an adaptive limit?

use core::time::Duration;

use crate::time::Instant;

/// How long a call took, and whether overload ended it.
///
/// Make none of a call that was cancelled, or that failed for a reason of its own at once: its
/// time says nothing of the dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// From the start of the operation to its end, the wait for a place not counted.
    pub took: Duration,
    /// When it ended.
    pub now: Instant,
    /// How it ended.
    pub outcome: Outcome,
}

/// How a call ended, as far as an adaptive limit is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The dependency answered, well or not: the time that it took counts.
    Completed,
    /// Overload ended it: it timed out, or the dependency shed or throttled it.
    Dropped,
}

impl Sample {
    /// When the call began.
    pub(super) fn began(&self) -> Instant {
        let took = crate::duration::nanos(self.took);
        Instant::from_nanos(self.now.as_nanos().saturating_sub(took))
    }

    pub(super) fn is_dropped(&self) -> bool {
        self.outcome == Outcome::Dropped
    }
}
