//! Are most of the requests that arrive retries?

use std::sync::atomic::{AtomicU32, Ordering};

use becalm::Scope;

/// The share of retries among the last requests of callers that say which attempt theirs are: a mean in which each request
/// counts 1/128 less than the next one.
#[derive(Debug, Default)]
pub(super) struct RetryShare(AtomicU32);

/// A share of 1.
const ALL: u32 = 1 << 24;
/// What one request counts.
const ONE: u32 = ALL / 128;

impl RetryShare {
    /// A request with this scope arrives. Nothing is known of one with none.
    pub fn count(&self, scope: Scope) {
        if scope == Scope::NONE {
            return;
        }
        let one = if scope.is_first_try() { 0 } else { ONE };
        let next = |share: u32| Some(share - share / (ALL / ONE) + one);
        let _ = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    }

    /// Whether they are more than half.
    pub fn is_most(&self) -> bool {
        self.0.load(Ordering::Relaxed) > ALL / 2
    }
}

#[cfg(test)]
mod tests {
    use becalm::time::{Sleeper, StdSleeper};

    use super::*;

    fn scope(said: &str) -> Scope {
        let clock = StdSleeper::new();
        Scope::decode(said.as_bytes(), clock.now(), clock.clock())
    }

    #[test]
    fn most_are_retries_when_more_than_half_of_the_last_hundred_are() {
        let (first, retry) = (scope("attempt=1"), scope("attempt=2"));
        let share = RetryShare::default();
        for _ in 0..10_000 {
            share.count(first);
            share.count(retry);
            share.count(first);
        }
        assert!(!share.is_most(), "a third");
        let mut needed = 0;
        while !share.is_most() {
            share.count(retry);
            needed += 1;
            share.count(Scope::NONE);
        }
        assert!((20..100).contains(&needed), "{needed}");
        for _ in 0..10_000 {
            share.count(retry);
        }
        let mut needed = 0;
        while share.is_most() {
            share.count(first);
            needed += 1;
        }
        assert!((80..100).contains(&needed), "{needed}");
    }
}
