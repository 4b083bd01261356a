//! How do retries cost tokens that success earns, as in the AWS SDKs?

use super::account::{Account, Fill, Level};
use super::balance::{Balance, fill, part};
use super::config::Tokens;
use super::kind::Budget;
use crate::classify::{Class, Failure};
use crate::sync::{AtomicU32, Ordering};
use crate::time::Instant;

impl Budget {
    /// The quota of the AWS SDKs: the newest generation, [`Tokens::AWS_2026_11`].
    pub const fn tokens() -> Self {
        Self::aws_2026_11()
    }

    /// The quota of the AWS SDKs since November 2026: 500 tokens, 14 a retry, 5 a throttled one.
    pub const fn aws_2026_11() -> Self {
        Self::Tokens(Tokens::AWS_2026_11)
    }

    /// The quota of the AWS SDKs before (v2.0): 500 tokens, 5 a retry.
    pub const fn aws_v2() -> Self {
        Self::Tokens(Tokens::AWS_V2)
    }

    /// The quota of the AWS common runtime: 500 tokens, 10 a retry, 5 a throttled one.
    pub const fn aws_crt() -> Self {
        Self::Tokens(Tokens::AWS_CRT)
    }
}

/// The quota: one word of tokens, and what things cost.
///
/// A success while it is full writes nothing.
#[derive(Debug, Default)]
#[repr(align(128))] // two cache lines: neighbours must not share the word's line
pub(super) struct TokenBudget {
    available: Balance,
    capacity: AtomicU32,
    cost: AtomicU32,
    throttled_cost: AtomicU32,
    clean_success: AtomicU32,
    /// 1 where a success after retries returns its last cost.
    refund_last: AtomicU32,
}

impl TokenBudget {
    #[inline]
    fn deposit(&self, generation: Option<u32>, tokens: impl Fn() -> u32) {
        self.available.change(generation, &mut |available| {
            let next = available
                .saturating_add(tokens())
                .min(self.capacity.load(Ordering::Relaxed));
            (next != available).then_some(next)
        });
    }
}

impl Account for TokenBudget {
    fn open(&self, generation: u32, own: Option<Budget>, fill: Fill, _now: Instant) {
        let Some(Budget::Tokens(config)) = own else {
            return;
        };
        let store = |field: &AtomicU32, value: u32| field.store(value, Ordering::Relaxed);
        store(&self.capacity, config.capacity);
        store(&self.cost, config.cost);
        store(&self.throttled_cost, config.throttled_cost);
        store(&self.clean_success, config.clean_success);
        store(&self.refund_last, config.refund_last.into());
        self.available
            .open(generation, part(config.capacity, fill.usable));
    }

    fn close(&self, _now: Instant) -> Fill {
        Fill::of(fill(
            self.available.close(),
            self.capacity.load(Ordering::Relaxed),
        ))
    }

    /// In whole tokens, all of them or nothing.
    fn take(&self, generation: u32, _now: Instant, failure: &Failure) -> Option<u32> {
        let mut cost = 0;
        let taken = self.available.change(Some(generation), &mut |available| {
            cost = match failure.class {
                Class::Throttled => self.throttled_cost.load(Ordering::Relaxed),
                _ => self.cost.load(Ordering::Relaxed),
            };
            available.checked_sub(cost)
        });
        taken.then_some(cost)
    }

    fn put_back(&self, generation: u32, taken: u32) {
        self.deposit(Some(generation), || taken);
    }

    fn level(&self, _now: Instant) -> Level {
        let left = self.available.amount();
        let most = self.capacity.load(Ordering::Relaxed);
        Level {
            left: left.into(),
            most: most.into(),
            fill: fill(left, most),
        }
    }

    fn call_succeeded(&self, is_clean: bool) {
        if is_clean {
            self.deposit(None, || self.clean_success.load(Ordering::Relaxed));
        }
    }

    fn ended(&self, generation: u32, taken: u32, succeeded: bool) {
        if succeeded {
            self.deposit(Some(generation), || {
                taken * self.refund_last.load(Ordering::Relaxed)
            });
        }
    }
}
