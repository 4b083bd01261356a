//! Is an answer the end, or may it be a proxy's word while what is behind the proxy restarts? That depends on what came before.

use std::time::Duration;

use becalm::time::Instant;

/// What a socket knows of its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// No connection was open yet.
    Untried,
    /// One was open, and no answer has said otherwise since.
    Worked,
    /// The first answer since then that is the end at an address that never worked, and not at one that did, came at this moment.
    Doubted(Instant),
}

impl Trust {
    /// An answer that is the end at an address that never worked, and not at one that did, has come.
    pub fn doubt(&mut self, now: Instant) {
        if *self == Self::Worked {
            *self = Self::Doubted(now);
        }
    }

    /// Whether such answers are a proxy's word for now.
    pub fn lasts(self, patience: Duration, now: Instant) -> bool {
        match self {
            Self::Untried => false,
            Self::Worked => !patience.is_zero(),
            Self::Doubted(since) => now < since.after(patience),
        }
    }
}
