//! How are the retries in progress kept to a share of the calls in progress, as in Envoy?

use super::account::{Account, Fill, Level};
use super::kind::{Budget, InvalidBudget, part};
use crate::classify::Failure;
use crate::grammar::Kind as Text;
use crate::reasons::require;
use crate::setters::setters;
use crate::sync::{AtomicU64, MILLION, Ordering, change, millionths};
use crate::time::Instant;

/// Retries in progress are a share of the calls in progress: the budget of Envoy.
///
/// Whenever a retry is granted: retries in progress, itself among them <= `share` x calls in progress,
/// or `floor` if that is more.
///
/// Envoy's retry budget, and with a share of 0 its `max_retries`. A retry is in progress from the start
/// of its wait until it ends, in whatever way; nothing else comes back, nothing is saved up. It
/// bounds what runs at once, not the traffic: at low rates the floor alone may grant every call its
/// retry, which is linted.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Concurrency {
    /// Retries for each call in progress, first tries and retries alike. From 0 to 1 in steps of a
    /// millionth. Default 0.2, Envoy's `budget_percent`.
    pub share: f64,
    /// Retries that may be in progress whatever the traffic. From 0 to 1 000 000, and from 1 where the
    /// share is 0. Default 3, Envoy's `min_retry_concurrency`.
    pub floor: u32,
}

impl Concurrency {
    pub(crate) const DEFAULT: Self = Self {
        share: 0.2,
        floor: 3,
    };

    pub(super) fn validate(self) -> Result<(), InvalidBudget> {
        let is_share = self.share == 0.0 || (1e-6..=1.0).contains(&self.share);
        let is_bound = self.share != 0.0 || self.floor > 0;
        require([
            (is_share, InvalidBudget::ConcurrencyShare),
            (
                self.floor <= 1_000_000 && is_bound,
                InvalidBudget::ConcurrencyFloor,
            ),
        ])
    }
}

impl Default for Concurrency {
    fn default() -> Self {
        Self::DEFAULT
    }
}

setters! {
    /// Setters: each returns the kind with one field changed.
    impl Concurrency;
    /// Sets the retries for each call in progress.
    share: f64;
    /// Sets the retries that may be in progress whatever the traffic.
    floor: u32;
}

impl Budget {
    /// Retries in progress are at most this share of the calls in progress, or `floor` if that is more.
    pub const fn concurrency(share: f64, floor: u32) -> Self {
        Self::Concurrency(Concurrency { share, floor })
    }
}

/// How it is written.
pub(super) const TEXT: Text<Budget> = Text {
    name: "concurrency",
    example: "concurrency:0.2",
    start: || Budget::Concurrency(Concurrency::default()),
    first: Some(part!(Concurrency, Number, share)),
    parameters: &[&[("floor", part!(Concurrency, Whole, floor))]],
};

/// Slots for retries, each held from the start of its wait until it ends, and the calls in progress.
///
/// Both are counts of what is, so they stay as they are when the limit changes.
#[derive(Debug, Default)]
#[repr(align(128))] // two cache lines: neighbours must not share them
pub(super) struct ConcurrencyBudget {
    taken: AtomicU64,
    active: AtomicU64,
    share: AtomicU64,
    floor: AtomicU64,
}

impl ConcurrencyBudget {
    /// Slots in all: whole ones, so that `taken < limit` is exact.
    fn limit(&self) -> u64 {
        let share = self.share.load(Ordering::Relaxed);
        let of_calls = share.saturating_mul(self.active.load(Ordering::Relaxed)) / MILLION;
        of_calls.max(self.floor.load(Ordering::Relaxed))
    }
}

impl Account for ConcurrencyBudget {
    /// Its slots stay: they are held by retries that are really in progress.
    fn open(&self, _generation: u32, own: Option<Budget>, _fill: Fill, _now: Instant) {
        let Some(Budget::Concurrency(config)) = own else {
            return;
        };
        let share = millionths(config.share).min(MILLION);
        self.share.store(share, Ordering::Relaxed);
        self.floor.store(config.floor.into(), Ordering::Relaxed);
    }

    /// Takes a slot, if one is free.
    fn take(&self, _generation: u32, _now: Instant, _failure: &Failure) -> Option<u32> {
        let limit = self.limit();
        change(&self.taken, |taken| (taken < limit).then(|| taken + 1)).map(|_| 1)
    }

    fn put_back(&self, _generation: u32, _taken: u32) {
        decrement(&self.taken);
    }

    fn level(&self, _now: Instant) -> Level {
        let most = self.limit();
        let left = most.saturating_sub(self.taken.load(Ordering::Relaxed));
        #[expect(clippy::cast_precision_loss)] // a gauge
        let (left, most) = (left as f64, most as f64);
        let fill = if left < most { left / most } else { 1.0 };
        Level { left, most, fill }
    }

    fn call_began(&self) {
        self.active.fetch_add(1, Ordering::Relaxed);
    }

    fn call_ended(&self) {
        decrement(&self.active);
    }

    fn ended(&self, _generation: u32, _taken: u32, _succeeded: bool) {
        decrement(&self.taken);
    }

    fn is_held(&self) -> bool {
        self.active.load(Ordering::Relaxed) > 0 || self.taken.load(Ordering::Relaxed) > 0
    }
}

/// Never below zero: a caller that tells of an end without a beginning must not free slots for ever.
fn decrement(count: &AtomicU64) {
    change(count, |count| count.checked_sub(1));
}
