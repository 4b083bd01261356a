//! How are retries kept to so many in any minute?
//!
//! Counted in 61 slices of a second. Any interval of a minute touches at most 61 of them, so the
//! bound that holds for those holds for it.

use super::account::{Account, Fill, Level};
use super::balance;
use super::config::AllOf;
use super::slices::{Slice, Slices};
use crate::atomic::{AtomicU64, Ordering, fence};
use crate::classify::Failure;
use crate::time::Instant;

const SECOND: u64 = 1_000_000_000;
/// A minute, and the current slice. The model checker has a minute of two seconds: the same code.
const LIVE: usize = if cfg!(becalm_loom) { 3 } else { 61 };

/// The retries of the last minute, and how many may be made in one.
#[derive(Debug)]
pub(super) struct MinuteBudget {
    retries: Slices<LIVE>,
    generation: AtomicU64,
    most: AtomicU64,
}

impl MinuteBudget {
    pub fn closed() -> Self {
        Self {
            retries: Slices::new(),
            generation: AtomicU64::new(0),
            most: AtomicU64::new(0),
        }
    }

    fn generation(&self) -> u32 {
        u32::try_from(self.generation.load(Ordering::Acquire)).unwrap_or_default()
    }
}

impl Account for MinuteBudget {
    fn open(&self, generation: u32, all: &AllOf, fill: Fill, now: Instant) {
        let Some(config) = all.per_minute else {
            return;
        };
        let slice = Slice::at(generation, now.as_nanos(), SECOND);
        self.most.store(config.retries.into(), Ordering::Relaxed);
        self.retries.renew(slice, false);
        // What is not left counts as made just now.
        let made = config.retries - balance::part(config.retries, fill.usable);
        self.retries.set(slice, made.into());
        self.generation.store(generation.into(), Ordering::Release);
    }

    fn close(&self, now: Instant) -> Fill {
        Fill::of(self.level(now).fill)
    }

    /// Counts a retry, if the minute allows it; tells the number of its slice.
    fn take(&self, generation: u32, now: Instant, _failure: &Failure) -> Option<u32> {
        let slice = Slice::at(generation, now.as_nanos(), SECOND);
        let allowed = |retries| retries <= self.most.load(Ordering::Relaxed);
        self.retries.add_if(slice, allowed).map(Slice::number)
    }

    fn put_back(&self, generation: u32, slice: u32) {
        if self.generation() == generation {
            self.retries.remove(Slice::numbered(generation, slice));
        }
    }

    fn level(&self, now: Instant) -> Level {
        // A retry that is counted after this fence finds out if the budget is closed.
        fence(Ordering::SeqCst);
        let slice = Slice::at(self.generation(), now.as_nanos(), SECOND);
        let most = self.most.load(Ordering::Relaxed);
        let left = most.saturating_sub(self.retries.sum(slice));
        let count = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        Level::of(count(left), count(most))
    }
}
