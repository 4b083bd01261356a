//! How are the retries in progress kept to a share of the calls in progress, as in Envoy?

use super::account::{Account, Fill, Level};
use super::config::Concurrency;
use super::kind::Budget;
use crate::classify::Failure;
use crate::sync::{AtomicU64, MILLION, Ordering, change, millionths};
use crate::time::Instant;

impl Budget {
    /// Retries in progress are at most this share of the calls in progress, or `floor` if that is more.
    pub const fn concurrency(share: f64, floor: u32) -> Self {
        Self::Concurrency(Concurrency { share, floor })
    }
}

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
