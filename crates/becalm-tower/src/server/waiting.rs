//! How many bytes of bodies may be held that are not all there yet, and how many of them of one caller?

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::idempotency::Caller;

/// The bytes that all bodies hold together while they are read, or wait for their handler.
///
/// A caller may hold as many as all leave free: n callers leave a part of n + 1 to others (dynamic thresholds: Choudhury and
/// Hahne, IEEE/ACM Transactions on Networking 6, 1998).
#[derive(Debug)]
pub(super) struct Waiting {
    most: usize,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    all: usize,
    of_one: HashMap<Caller, usize>,
}

/// What one body holds, given back when it is dropped.
#[derive(Debug)]
pub(super) struct Hold {
    waiting: Arc<Waiting>,
    caller: Caller,
    bytes: usize,
}

/// What a request takes besides its body: its head, and what waits for it.
const EACH: usize = 2048;

impl Waiting {
    pub fn new(most: usize) -> Arc<Self> {
        let held = Mutex::default();
        Arc::new(Self { most, held })
    }

    pub fn hold(self: &Arc<Self>, caller: Caller) -> Hold {
        Hold {
            waiting: Arc::clone(self),
            caller,
            bytes: 0,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hold {
    /// Whether there is room for one more. If so, it is counted.
    pub fn begin(&mut self) -> bool {
        self.grow(EACH)
    }

    /// Whether so many more may be held. If so, they are.
    pub fn grow(&mut self, more: usize) -> bool {
        let mut held = self.waiting.lock();
        let of_one = held.of_one.get(&self.caller).copied().unwrap_or_default();
        let all = held.all.saturating_add(more);
        if of_one.saturating_add(more) > self.waiting.most.saturating_sub(all) {
            return false;
        }
        held.all = all;
        held.of_one.insert(self.caller, of_one + more);
        self.bytes += more;
        true
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut held = self.waiting.lock();
        held.all -= self.bytes;
        if let Some(of_one) = held.of_one.get_mut(&self.caller) {
            *of_one -= self.bytes;
            if *of_one == 0 {
                held.of_one.remove(&self.caller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_holds_no_more_than_it_leaves_to_others() {
        let waiting = Waiting::new(120);
        let [greedy, second, third] = [b"1", b"2", b"3"].map(|says| Caller::of(says));
        let mut holds: Vec<Hold> = (0..6).map(|_| waiting.hold(greedy)).collect();
        assert!(holds.iter_mut().all(|hold| hold.grow(10)));
        assert!(!waiting.hold(greedy).grow(1));
        let mut second = waiting.hold(second);
        assert!(second.grow(30) && !second.grow(1));
        let mut third = waiting.hold(third);
        assert!(third.grow(15) && !third.grow(1));
        drop((holds, second, third));
        let held = waiting.lock();
        assert!(held.all == 0 && held.of_one.is_empty());
    }
}
