//! Who is to be woken when? Wakers by time, then by arrival.
//!
//! A waker runs foreign code when it is cloned, woken or dropped, and that code may come back to the
//! lock under which this lies. So nothing here clones, wakes or drops one: what is taken out is handed
//! out.

use core::task::Waker;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Instant;

#[derive(Debug, Default)]
pub(super) struct Alarms {
    next: u64,
    by_time: BTreeMap<(Instant, u64), Waker>,
}

impl Alarms {
    pub const fn new() -> Self {
        Self {
            next: 0,
            by_time: BTreeMap::new(),
        }
    }

    /// Sets an alarm, or changes the waker of the one with this number; returns the old one.
    pub fn set(&mut self, at: Instant, id: &mut Option<u64>, waker: Waker) -> Option<Waker> {
        let id = *id.get_or_insert_with(|| {
            self.next += 1;
            self.next
        });
        self.by_time.insert((at, id), waker)
    }

    pub fn remove(&mut self, at: Instant, id: u64) -> Option<Waker> {
        self.by_time.remove(&(at, id))
    }

    /// When the first of them is due.
    pub fn first(&self) -> Option<Instant> {
        self.by_time.first_key_value().map(|(&(at, _), _)| at)
    }

    /// Takes out those that are due, in order.
    pub fn take_due(&mut self, now: Instant) -> Vec<Waker> {
        if self.first().is_none_or(|first| first > now) {
            return Vec::new();
        }
        let later = self.by_time.split_off(&(now, u64::MAX));
        let due = std::mem::replace(&mut self.by_time, later);
        due.into_values().collect()
    }

    pub fn len(&self) -> usize {
        self.by_time.len()
    }
}

/// Wakes all of them. One that panics, of which the panic hook has told, takes nothing from the
/// others.
pub(super) fn wake_all(wakers: impl IntoIterator<Item = Waker>) {
    for waker in wakers {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
            // What it panicked with may panic when it is dropped.
            std::mem::forget(panic);
        }
    }
}
