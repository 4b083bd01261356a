//! How are the retries under way kept to a share of the calls under way, as in Envoy?

use super::config::Concurrency;
use crate::atomic::{AtomicU64, Ordering, load_to_exchange};

/// In millionths, the unit of the share.
const ONE: u64 = 1_000_000;

/// Slots for retries, each held from the start of its wait until it ends, and the calls under way.
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

    pub fn open(&self, config: Concurrency) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let share = (config.share * 1e6 + 0.5) as u64;
        self.share.store(share.min(ONE), Ordering::Relaxed);
        self.floor.store(config.floor.into(), Ordering::Relaxed);
    }

    pub fn call_began(&self) {
        self.active.fetch_add(1, Ordering::Relaxed);
    }

    pub fn call_ended(&self) {
        decrement(&self.active);
    }

    /// Takes a slot, if one is free.
    pub fn take(&self) -> bool {
        let limit = self.limit();
        change(&self.taken, |taken| (taken < limit).then(|| taken + 1))
    }

    /// A retry that held a slot has ended, or never starts.
    pub fn give_back(&self) {
        decrement(&self.taken);
    }

    /// Slots in all: whole ones, so that `taken < limit` is exact.
    fn limit(&self) -> u64 {
        let share = self.share.load(Ordering::Relaxed);
        let of_calls = share.saturating_mul(self.active.load(Ordering::Relaxed)) / ONE;
        of_calls.max(self.floor.load(Ordering::Relaxed))
    }

    /// Slots that are free, and all.
    pub fn level(&self) -> (u64, u64) {
        let limit = self.limit();
        let taken = self.taken.load(Ordering::Relaxed);
        (limit.saturating_sub(taken), limit)
    }

    /// Whether no call is under way and no slot is taken.
    pub fn is_idle(&self) -> bool {
        self.active.load(Ordering::Relaxed) == 0 && self.taken.load(Ordering::Relaxed) == 0
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
