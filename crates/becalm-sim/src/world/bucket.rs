//! May a request be accepted now? A token bucket.

use crate::scenario::Limit;

/// The state of a limit: full at the start.
#[derive(Debug, Clone)]
pub(super) struct TokenBucket {
    limit: Limit,
    tokens: f64,
    /// When `tokens` was right, in nanoseconds.
    at: u64,
}

impl TokenBucket {
    pub fn new(limit: Limit) -> Self {
        Self {
            limit,
            tokens: limit.burst,
            at: 0,
        }
    }

    /// Takes a token, if there is one.
    #[expect(clippy::cast_precision_loss)] // times far below 2^53 ns lose nothing
    pub fn accepts(&mut self, now: u64) -> bool {
        let passed = now.saturating_sub(self.at) as f64 * 1e-9;
        self.at = now;
        self.tokens = (self.tokens + passed * self.limit.rate).min(self.limit.burst);
        let is_accepted = self.tokens >= 1.0;
        if is_accepted {
            self.tokens -= 1.0;
        }
        is_accepted
    }
}
