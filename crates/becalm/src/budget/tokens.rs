//! How do retries cost tokens that success earns, as in the AWS SDKs?

use super::account::{Account, Fill, Level};
use super::balance::{Balance, fill, part};
use super::kind::{Budget, InvalidBudget, part};
use crate::classify::{Class, Failure};
use crate::grammar::{Kind as Text, Slot};
use crate::reasons::require;
use crate::setters::setters;
use crate::sync::{AtomicU32, Ordering};
use crate::time::Instant;

/// Retries cost tokens, and successes bring them back: the quota of the AWS SDKs.
///
/// Over any interval: what retries cost <= `capacity` + `clean_success` x clean successes + what came
/// back in the interval.
///
/// The retry quota of the AWS SDKs. A clean success is one without a retry. What comes back: the
/// whole cost of a retry that never starts, and with `refund_last`, to a call that succeeds after
/// retries, the cost of its own last one; never another call's. Time adds nothing: an idle client
/// stays as poor as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tokens {
    /// Tokens that a full budget holds; it starts full. From 1 to 1 000 000. Default 500.
    pub capacity: u32,
    /// What a retry costs after a transient failure. From 1 to `capacity`. Default 14.
    pub cost: u32,
    /// What a retry costs after a throttled failure. From 1 to `capacity`. Default 5.
    pub throttled_cost: u32,
    /// Whether a success after retries returns its last cost. Default `true`.
    pub refund_last: bool,
    /// Tokens that a success without retries deposits. From 0 to `capacity`. Default 1.
    pub clean_success: u32,
}

impl Tokens {
    /// AWS SDKs, retry mode `standard`, November 2026. Sustained, one retry for 14 clean successes.
    pub const AWS_2026_11: Self = Self {
        capacity: 500,
        cost: 14,
        throttled_cost: 5,
        refund_last: true,
        clean_success: 1,
    };

    /// AWS SDKs, retry mode `standard` before that (v2.0).
    ///
    /// Several of those SDKs charge 10 for a retry after a time-out. A failure here does not say
    /// that it was one: [`AWS_CRT`](Self::AWS_CRT) errs on the other side.
    pub const AWS_V2: Self = Self {
        cost: 5,
        ..Self::AWS_2026_11
    };

    /// The AWS common runtime (aws-c-io): 10 for every transient failure, time-outs among them.
    pub const AWS_CRT: Self = Self {
        cost: 10,
        ..Self::AWS_2026_11
    };

    pub(super) fn validate(self) -> Result<(), InvalidBudget> {
        let costs = 1..=self.capacity;
        require([
            (
                (1..=1_000_000).contains(&self.capacity),
                InvalidBudget::Capacity,
            ),
            (costs.contains(&self.cost), InvalidBudget::Cost),
            (
                costs.contains(&self.throttled_cost),
                InvalidBudget::ThrottledCost,
            ),
            (
                self.clean_success <= self.capacity,
                InvalidBudget::CleanSuccess,
            ),
        ])
    }
}

impl Default for Tokens {
    fn default() -> Self {
        Self::AWS_2026_11
    }
}

setters! {
    /// Setters: each returns the kind with one field changed.
    impl Tokens;
    /// Sets the tokens of a full budget.
    capacity: u32;
    /// Sets what a retry costs after a transient failure.
    cost: u32;
    /// Sets what a retry costs after a throttled failure.
    throttled_cost: u32;
    /// Sets whether a success after retries returns its last cost.
    refund_last: bool;
    /// Sets the tokens that a success without retries deposits.
    clean_success: u32;
}

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

/// What a success after retries gets back.
const LAST: &str = "last";
const NOTHING: &str = "none";

/// How it is written.
pub(super) const TEXT: Text<Budget> = Text {
    name: "tokens",
    example: "tokens:500",
    start: || Budget::Tokens(Tokens::default()),
    first: Some(part!(Tokens, Whole, capacity)),
    parameters: &[&[
        ("cost", part!(Tokens, Whole, cost)),
        ("throttled", part!(Tokens, Whole, throttled_cost)),
        ("refund", REFUND),
        ("clean", part!(Tokens, Whole, clean_success)),
    ]],
};

const REFUND: Slot<Budget> = Slot::Word(
    &[
        (LAST, |it| set_refund(it, true)),
        (NOTHING, |it| set_refund(it, false)),
    ],
    |it| match it {
        Budget::Tokens(tokens) if tokens.refund_last => Some(LAST),
        _ => Some(NOTHING),
    },
);

fn set_refund(budget: &mut Budget, last: bool) {
    if let Budget::Tokens(tokens) = budget {
        tokens.refund_last = last;
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
        self.available.change(generation, |available| {
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
        let taken = self.available.change(Some(generation), |available| {
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
