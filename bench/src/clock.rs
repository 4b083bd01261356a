//! How often does a call read the clock?

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use becalm::time::{Sleep, Sleeper, TokioSleeper};
use becalm::{Instant, Policy};

use crate::drive::complete;
use crate::operation::succeed;

#[derive(Debug, Default)]
struct Counting {
    clock: TokioSleeper,
    reads: Arc<AtomicU64>,
}

impl Sleeper for Counting {
    fn now(&self) -> Instant {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.clock.now()
    }

    fn sleep_until(&self, at: Instant) -> Sleep {
        self.clock.sleep_until(at)
    }
}

/// Clock reads of one successful async call and one blocking call with this policy, whichever
/// reads more.
pub fn reads_per_success(policy: Policy) -> u64 {
    let counting = Counting::default();
    let reads = Arc::clone(&counting.reads);
    let retrier = policy.builder().sleeper(counting).build();
    let retrier = retrier.expect("constants within their ranges");
    let taken = |call: &dyn Fn()| {
        let before = reads.load(Ordering::Relaxed);
        call();
        reads.load(Ordering::Relaxed) - before
    };
    let asynchronous = taken(&|| assert!(complete(retrier.retry(|_| succeed())).is_ok()));
    let blocking = taken(&|| assert!(retrier.retry_blocking(|_| complete(succeed())).is_ok()));
    asynchronous.max(blocking)
}
