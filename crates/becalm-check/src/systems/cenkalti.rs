//! How long does a system wait that waits by github.com/cenkalti/backoff?
//!
//! `exponential.go` of version 4.3.0, with the default `RandomizationFactor` of 0.5 and `MaxElapsedTime` of 15 minutes.

use std::time::Duration;

use becalm::hint::HintMode;
use becalm::{Backoff, Budget, Jitter, Policy};

/// After this time it gives up, before the next wait.
pub const MAX_ELAPSED: Duration = Duration::from_secs(15 * 60);

/// Waits that are drawn from half of an interval to one and a half of it, which grows up to `most`.
pub fn exponential(first: Duration, multiplier: f64, most: Duration) -> Policy {
    bare()
        .backoff(Backoff::Exponential)
        .base(first)
        .multiplier(multiplier)
        // What is drawn may lie above the longest interval.
        .cap(first.max(most).mul_f64(1.5))
        .jitter(Jitter::Proportional(0.5))
        .deadline(MAX_ELAPSED)
}

/// A constant wait, as both name it.
pub fn constant(wait: Duration) -> Policy {
    let policy = bare().backoff(Backoff::Fixed).base(wait);
    if wait.is_zero() {
        return policy;
    }
    policy.cap(wait)
}

fn bare() -> Policy {
    Policy::fixed(Duration::ZERO)
        .jitter(Jitter::None)
        .hint(HintMode::Ignore)
        .budget(Budget::None)
}
