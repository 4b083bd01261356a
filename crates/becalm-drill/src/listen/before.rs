//! Was the service well before the fault? Calls that still wait for their answer say nothing of it.

use std::time::Duration;

use super::retried::Tries;
use crate::fault::{Bucket, Seen};
use crate::staging::{ENOUGH, GOOD};
use crate::statistics::count;

/// The calls before the fault.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Before {
    pub calls: u64,
    /// Of these, those that have an answer, or were given up.
    pub known: u64,
    good: u64,
}

impl Before {
    pub fn of(seen: &Seen) -> Self {
        let total = |of: fn(&Bucket) -> u32| seen.buckets.iter().map(of).map(u64::from).sum();
        let calls: u64 = total(|it| it.calls);
        Self {
            calls,
            known: calls.saturating_sub(Tries::of(seen).running()),
            good: total(|it| it.good),
        }
    }

    pub const fn is_enough(&self) -> bool {
        self.known >= ENOUGH
    }

    pub fn is_well(&self) -> bool {
        self.share() >= GOOD
    }

    /// Twice what an answer takes in the mean, as seen in this time: of calls that come, those that wait (Little's law).
    pub fn grace(&self, time: Duration) -> Duration {
        let waiting = count(self.calls.saturating_sub(self.known));
        time.mul_f64(2.0 * waiting / count(self.calls.max(1)))
    }

    /// The share of good calls.
    pub fn share(&self) -> f64 {
        count(self.good.min(self.known)) / count(self.known.max(1))
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::fault::Counts;

    /// So many calls, with so many good answers and so many bad ones.
    pub fn seen(calls: u32, good: u32, bad: u32) -> Before {
        let bucket = Bucket {
            calls,
            good,
            attempts: calls,
            answers: good,
        };
        let counts = Counts {
            answered: u64::from(good + bad),
            ..Counts::default()
        };
        Before::of(&Seen {
            counts,
            buckets: vec![bucket],
            ..Seen::default()
        })
    }

    #[test]
    fn calls_that_still_wait_are_neither_good_nor_bad() {
        let slow = seen(300, 100, 0);
        assert_eq!(
            (slow.known, slow.is_enough(), slow.is_well()),
            (100, true, true)
        );
        // 100 calls a second, and 200 that wait: 2 s each.
        assert_eq!(slow.grace(Duration::from_secs(3)), Duration::from_secs(4));
        assert_eq!(seen(0, 0, 0).grace(Duration::MAX), Duration::ZERO);
        let unwell = seen(300, 90, 10);
        assert!(unwell.is_enough() && !unwell.is_well());
        assert!((unwell.share() - 0.9).abs() < 1e-9);
        assert!(!seen(300, 9, 0).is_enough());
        assert!(!seen(0, 0, 0).is_enough());
    }
}
