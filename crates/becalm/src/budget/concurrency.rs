//! How are the retries in progress kept to a share of the calls in progress, as in Envoy?

use super::account::{Account, Fill, Level};
use super::config::AllOf;
use crate::atomic::{AtomicU64, Ordering, load_to_exchange};
use crate::classify::Failure;
use crate::time::Instant;

/// In millionths, the unit of the share.
const ONE: u64 = 1_000_000;

/// Slots for retries, each held from the start of its wait until it ends, and the calls in progress.
///
/// Both are counts of what is, so they stay as they are when the limit changes.
#[derive(Debug)]
#[repr(align(128))] // two cache lines: neighbours must not share them
pub(super) struct ConcurrencyBudget {
    taken: AtomicU64,
    active: AtomicU64,
    share: AtomicU64,
    floor: AtomicU64,
}

impl ConcurrencyBudget {
    pub fn closed() -> Self {
        Self {
            taken: AtomicU64::new(0),
            active: AtomicU64::new(0),
            share: AtomicU64::new(0),
            floor: AtomicU64::new(0),
        }
    }

    /// Slots in all: whole ones, so that `taken < limit` is exact.
    fn limit(&self) -> u64 {
        let share = self.share.load(Ordering::Relaxed);
        let of_calls = share.saturating_mul(self.active.load(Ordering::Relaxed)) / ONE;
        of_calls.max(self.floor.load(Ordering::Relaxed))
    }
}

impl Account for ConcurrencyBudget {
    /// Its slots stay: they are held by retries that are really in progress.
    fn open(&self, _generation: u32, all: &AllOf, _fill: Fill, _now: Instant) {
        let Some(config) = all.concurrency else {
            return;
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let share = (config.share * 1e6 + 0.5) as u64;
        self.share.store(share.min(ONE), Ordering::Relaxed);
        self.floor.store(config.floor.into(), Ordering::Relaxed);
    }

    fn close(&self, now: Instant) -> Fill {
        Fill::of(self.level(now).fill)
    }

    /// Takes a slot, if one is free.
    fn take(&self, _generation: u32, _now: Instant, _failure: &Failure) -> Option<u32> {
        let limit = self.limit();
        change(&self.taken, |taken| (taken < limit).then(|| taken + 1)).then_some(1)
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

/// Whether `next` named another count, and it was set.
fn change(count: &AtomicU64, next: impl Fn(u64) -> Option<u64>) -> bool {
    let mut seen = load_to_exchange(count);
    while let Some(next) = next(seen) {
        match count.compare_exchange_weak(seen, next, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return true,
            Err(other) => seen = other,
        }
    }
    false
}
