//! How do retries cost tokens that success earns, as in the AWS SDKs?

use super::account::{Account, Fill, Level};
use super::balance::{Balance, fill, part};
use super::config::AllOf;
use crate::atomic::{AtomicU64, Ordering};
use crate::classify::{Class, Failure};
use crate::time::Instant;

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

    #[inline]
    fn deposit(&self, generation: Option<u32>, tokens: impl Fn() -> u32) {
        self.available.change(generation, |available| {
            let next = available.saturating_add(tokens()).min(of(&self.capacity));
            (next != available).then_some(next)
        });
    }
}

impl Account for TokenBudget {
    fn open(&self, generation: u32, all: &AllOf, fill: Fill, _now: Instant) {
        let Some(config) = all.tokens else {
            return;
        };
        let store = |field: &AtomicU64, value: u32| field.store(value.into(), Ordering::Relaxed);
        store(&self.capacity, config.capacity);
        store(&self.cost, config.cost);
        store(&self.throttled_cost, config.throttled_cost);
        store(&self.clean_success, config.clean_success);
        store(&self.refund_last, config.refund_last.into());
        self.available
            .open(generation, part(config.capacity, fill.usable));
    }

    fn close(&self, _now: Instant) -> Fill {
        Fill::of(fill(self.available.close(), of(&self.capacity)))
    }

    /// In whole tokens, all of them or nothing.
    fn take(&self, generation: u32, _now: Instant, failure: &Failure) -> Option<u32> {
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

    fn put_back(&self, generation: u32, taken: u32) {
        self.deposit(Some(generation), || taken);
    }

    fn level(&self, _now: Instant) -> Level {
        Level::of(self.available.amount(), of(&self.capacity))
    }

    fn call_succeeded(&self, is_clean: bool) {
        if is_clean {
            self.deposit(None, || of(&self.clean_success));
        }
    }

    fn ended(&self, generation: u32, taken: u32, succeeded: bool) {
        if succeeded {
            self.deposit(Some(generation), || taken * of(&self.refund_last));
        }
    }
}

fn of(field: &AtomicU64) -> u32 {
    u32::try_from(field.load(Ordering::Relaxed)).unwrap_or(u32::MAX)
}
