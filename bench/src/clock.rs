//! How often does a call read the clock, and does it make a timer?

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use becalm::time::{Sleep, Sleeper, TokioSleeper};
use becalm::{Policy, time::Instant};

use crate::drive::complete;
use crate::operation::succeed;

/// Calls before the one that is looked at: a quantile is known then.
const SERVED: u32 = 1000;

#[derive(Debug, Default)]
struct Counting {
    clock: TokioSleeper,
    uses: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    reads: AtomicU64,
    timers: AtomicU64,
}

/// What a call does with its clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uses {
    /// Reads of the time.
    pub reads: u64,
    /// Timers made.
    pub timers: u64,
}

impl Counts {
    fn now(&self) -> Uses {
        Uses {
            reads: self.reads.load(Ordering::Relaxed),
            timers: self.timers.load(Ordering::Relaxed),
        }
    }
}

impl Sleeper for Counting {
    fn now(&self) -> Instant {
        self.uses.reads.fetch_add(1, Ordering::Relaxed);
        self.clock.now()
    }

    fn sleep_until(&self, at: Instant) -> Sleep {
        self.uses.timers.fetch_add(1, Ordering::Relaxed);
        self.clock.sleep_until(at)
    }
}

/// What one successful async call and one blocking call with this policy do with the clock,
/// whichever does more; once the retrier has served some.
pub fn uses_per_success(policy: Policy) -> Uses {
    let counting = Counting::default();
    let uses = Arc::clone(&counting.uses);
    let retrier = policy.builder().sleeper(counting).build();
    let retrier = retrier.expect("constants within their ranges");
    let asynchronous = || assert!(complete(retrier.retry(|_| succeed())).is_ok());
    let blocking = || assert!(retrier.retry_blocking(|_| complete(succeed())).is_ok());
    let taken = |call: &dyn Fn()| {
        for _ in 0..SERVED {
            call();
        }
        let before = uses.now();
        call();
        let after = uses.now();
        Uses {
            reads: after.reads - before.reads,
            timers: after.timers - before.timers,
        }
    };
    let [one, other] = [taken(&asynchronous), taken(&blocking)];
    Uses {
        reads: one.reads.max(other.reads),
        timers: one.timers.max(other.timers),
    }
}

#[cfg(test)]
mod tests {
    use becalm::Policy;
    use std::time::Duration;

    use super::*;

    #[test]
    fn reads_and_timers_are_counted() {
        let uses = uses_per_success(Policy::default().deadline(Duration::from_secs(1)));
        assert_eq!(
            uses,
            Uses {
                reads: 1,
                timers: 0
            }
        );
        let counting = Counting::default();
        let _timer = counting.sleep_until(counting.now());
        assert_eq!(
            counting.uses.now(),
            Uses {
                reads: 1,
                timers: 1
            }
        );
    }
}
