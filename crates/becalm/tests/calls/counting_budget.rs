//! A budget of a fixed number of tokens that counts what it is asked.

use std::sync::atomic::{AtomicU64, Ordering};

use becalm::budget::{RetryBudget, Withdrawal};
use becalm::{Failure, time::Instant};

#[derive(Debug, Default)]
pub struct CountingBudget {
    tokens: AtomicU64,
    first_tries: AtomicU64,
    deposits: AtomicU64,
    asked: AtomicU64,
}

impl CountingBudget {
    pub fn of(tokens: u64) -> Self {
        Self {
            tokens: tokens.into(),
            ..Self::default()
        }
    }

    pub fn first_tries(&self) -> u64 {
        self.first_tries.load(Ordering::Relaxed)
    }

    pub fn deposits(&self) -> u64 {
        self.deposits.load(Ordering::Relaxed)
    }

    /// Withdrawals that were asked for, granted or not.
    pub fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    pub fn tokens(&self) -> u64 {
        self.tokens.load(Ordering::Relaxed)
    }
}

impl RetryBudget for CountingBudget {
    fn first_try(&self, _now: Instant) {
        self.first_tries.fetch_add(1, Ordering::Relaxed);
    }

    fn deposit(&self, _now: Instant) {
        self.deposits.fetch_add(1, Ordering::Relaxed);
    }

    fn withdraw(&self, _now: Instant, _failure: &Failure) -> Option<Withdrawal> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let one_less = |tokens: u64| tokens.checked_sub(1);
        let taken = self
            .tokens
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
        taken.ok().map(|_| Withdrawal::of_micros(1_000_000))
    }

    fn refund(&self, withdrawal: Withdrawal) {
        assert_eq!(withdrawal.micros(), 1_000_000, "what was withdrawn");
        self.tokens.fetch_add(1, Ordering::Relaxed);
    }

    fn fill(&self, _now: Instant) -> f64 {
        1.0
    }
}
