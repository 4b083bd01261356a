//! Who is to be woken when? Wakers by time, then by arrival.
//!
//! A waker runs foreign code when it is cloned, woken or dropped, and that code may come back to the
//! lock under which these lie. So none of that happens under it.

use core::ops::Deref;
use core::task::Waker;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Instant;

#[derive(Debug, Default)]
pub(super) struct Alarms {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    /// By nanoseconds, then by number.
    by_time: BTreeMap<(u64, u64), Waker>,
}

impl Alarms {
    pub const fn new() -> Self {
        Self {
            state: Mutex::new(State {
                next: 0,
                by_time: BTreeMap::new(),
            }),
        }
    }

    /// When the first of them is due.
    pub fn first(&self) -> Option<Instant> {
        let state = self.state();
        let first = state.by_time.first_key_value();
        first.map(|(&(at, _), _)| Instant::from_nanos(at))
    }

    /// Wakes those that are due, in order; whether there were any. One that panics, of which the panic
    /// hook has told, takes nothing from the others.
    pub fn wake_due(&self, now: Instant) -> bool {
        self.wake_first(now, usize::MAX)
    }

    /// Wakes at most this number of those that are due, the first ones.
    pub fn wake_first(&self, now: Instant, most: usize) -> bool {
        let mut due = Vec::new();
        let mut state = self.state();
        while due.len() < most {
            let Some((&(at, id), _)) = state.by_time.first_key_value() else {
                break;
            };
            if at > now.as_nanos() {
                break;
            }
            if let Some(waker) = state.by_time.remove(&(at, id)) {
                due.push(waker);
            }
        }
        drop(state);
        let any_due = !due.is_empty();
        for waker in due {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
                // What it panicked with may panic when it is dropped.
                std::mem::forget(panic);
            }
        }
        any_due
    }

    pub fn len(&self) -> usize {
        self.state().by_time.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One who waits for a point in time. Dropped, nobody is woken.
#[derive(Debug)]
pub(super) struct Waiting<A: Deref<Target = Alarms>> {
    pub alarms: A,
    pub at: Instant,
    id: Option<u64>,
}

impl<A: Deref<Target = Alarms>> Waiting<A> {
    pub const fn new(alarms: A, at: Instant) -> Self {
        Self {
            alarms,
            at,
            id: None,
        }
    }

    /// From here on this waker is woken, and no other.
    pub fn wake(&mut self, waker: &Waker) {
        let waker = waker.clone();
        let mut state = self.alarms.state();
        let id = *self.id.get_or_insert_with(|| {
            state.next += 1;
            state.next
        });
        let old = state.by_time.insert((self.at.as_nanos(), id), waker);
        drop(state);
        drop(old);
    }
}

impl<A: Deref<Target = Alarms>> Drop for Waiting<A> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            let key = (self.at.as_nanos(), id);
            let left = self.alarms.state().by_time.remove(&key);
            drop(left);
        }
    }
}
