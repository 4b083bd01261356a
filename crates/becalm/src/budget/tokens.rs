//! How do retries cost tokens that success earns, as in the AWS SDKs?

use super::balance::{Balance, fill, part};
use super::config::Tokens;
use crate::atomic::{AtomicU64, Ordering};
use crate::classify::{Class, Failure};

/// The quota: one word of tokens, and what things cost.
///
/// A success while it is full writes nothing.
#[derive(Debug)]
#[repr(align(128))] // two cache lines: neighbours must not share the word's line
pub(super) struct TokenBudget {
    available: Balance,
    capacity: AtomicU64,
    cost: AtomicU64,
    throttled_cost: AtomicU64,
    clean_success: AtomicU64,
    /// 1 where a success after retries returns its last cost.
    refund_last: AtomicU64,
}

impl TokenBudget {
    pub fn closed() -> Self {
        Self {
            available: Balance::closed(),
            capacity: AtomicU64::new(0),
            cost: AtomicU64::new(0),
            throttled_cost: AtomicU64::new(0),
            clean_success: AtomicU64::new(0),
            refund_last: AtomicU64::new(0),
        }
    }

    /// Denies everything until it is opened, and tells how full it was.
    pub fn close(&self) -> f64 {
        fill(self.available.close(), of(&self.capacity))
    }

    pub fn open(&self, generation: u32, config: Tokens, fill: f64) {
        let store = |field: &AtomicU64, value: u32| field.store(value.into(), Ordering::Relaxed);
        store(&self.capacity, config.capacity);
        store(&self.cost, config.cost);
        store(&self.throttled_cost, config.throttled_cost);
        store(&self.clean_success, config.clean_success);
        store(&self.refund_last, config.refund_last.into());
        self.available.open(generation, part(config.capacity, fill));
    }

    /// Takes what a retry after this failure costs, all of it or nothing.
    pub fn withdraw(&self, generation: u32, failure: &Failure) -> Option<u32> {
        let mut cost = 0;
        let taken = self.available.change(Some(generation), |available| {
            cost = match failure.class {
                Class::Throttled => of(&self.throttled_cost),
                _ => of(&self.cost),
            };
            available.checked_sub(cost)
        });
        taken.then_some(cost)
    }

    /// What a retry took comes back: it never starts.
    pub fn refund(&self, generation: u32, cost: u32) {
        self.deposit(Some(generation), || cost);
    }

    /// A call has succeeded whose last retry took this.
    pub fn succeeded_after_retries(&self, generation: u32, last_cost: u32) {
        self.deposit(Some(generation), || last_cost * of(&self.refund_last));
    }

    /// A call has succeeded without a retry.
    #[inline]
    pub fn succeeded_at_once(&self) {
        self.deposit(None, || of(&self.clean_success));
    }

    #[inline]
    fn deposit(&self, generation: Option<u32>, tokens: impl Fn() -> u32) {
        self.available.change(generation, |available| {
            let next = available.saturating_add(tokens()).min(of(&self.capacity));
            (next != available).then_some(next)
        });
    }

    /// Tokens left, and at most.
    pub fn level(&self) -> (u32, u32) {
        (self.available.amount(), of(&self.capacity))
    }
}

fn of(field: &AtomicU64) -> u32 {
    u32::try_from(field.load(Ordering::Relaxed)).unwrap_or(u32::MAX)
}
