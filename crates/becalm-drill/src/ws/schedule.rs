//! When do the clients of a variant dial again?

use std::time::Duration;

use becalm::hint::HintMode;
use becalm::reconnect::Reconnect;
use becalm::{Jitter, Policy};
use serde::{Deserialize, Serialize};

/// A schedule of dials: plain data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Schedule {
    /// After this wait, always.
    Fixed(Duration),
    /// After waits that double from the first to the second.
    Exponential(Duration, Duration),
    /// After a part of such a wait that is drawn.
    FullJitter(Duration, Duration),
}

impl Schedule {
    /// The schedule as becalm's clients take it, who come when the server says, or do not.
    pub fn reconnect(self, heeds: bool) -> Reconnect {
        let policy = match self {
            Self::Fixed(wait) => Policy::fixed(wait).jitter(Jitter::None),
            Self::Exponential(base, cap) => Policy::exponential(base).cap(cap).jitter(Jitter::None),
            Self::FullJitter(base, cap) => Policy::exponential(base).cap(cap).jitter(Jitter::Full),
        };
        let hint = if heeds {
            HintMode::default()
        } else {
            HintMode::Ignore
        };
        Reconnect::new(policy.attempts(Policy::UNLIMITED).hint(hint))
    }
}
