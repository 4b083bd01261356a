//! How does a client keep a session?

use std::time::Duration;

use super::ledger::EACH;

/// How a socket keeps a session: for [`Client::resume`](crate::Client::resume).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resume {
    /// How many bytes of messages are sent and not confirmed at most, 64 more counted for each; what is beyond waits in
    /// the outbox. A message that is longer alone is refused. Default 256 KiB: two seconds at a megabit a second.
    pub window: usize,
    /// How long a message that has come waits to be confirmed with one that goes. Default 500 ms.
    pub confirm_after: Duration,
}

impl Default for Resume {
    fn default() -> Self {
        Self {
            window: 256 * 1024,
            confirm_after: Duration::from_millis(500),
        }
    }
}

impl Resume {
    /// With this window.
    #[must_use]
    pub const fn window(mut self, bytes: usize) -> Self {
        self.window = bytes;
        self
    }

    /// With this delay.
    #[must_use]
    pub const fn confirm_after(mut self, delay: Duration) -> Self {
        self.confirm_after = delay;
        self
    }

    /// The longest message that fits.
    pub(crate) fn longest(&self) -> usize {
        self.window.saturating_sub(EACH)
    }
}
