//! How many bytes of bodies may be held that are not all there yet, and how many of them of one caller?

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::idempotency::Caller;

/// The bytes that all bodies hold together while they are read, or wait for their handler.
///
/// All bodies of a caller may hold an eighth of what is left free then, and its only body as much as that (dynamic thresholds: Choudhury
/// and Hahne, IEEE/ACM Transactions on Networking 6, 1998). n callers with many bodies each, one after another, leave (8/9)^n.
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

/// The part of what is left free that the bodies of one caller may hold, if they are several. With 1, callers that fill one after another
/// leave 1/2^n: 15 of them with 164 sockets left nothing. With this one they leave a sixth, and a lone caller has 7 of 64 MiB.
const PART: usize = 8;

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
        let free = self.waiting.most.saturating_sub(all);
        // One body of the longest is read even where an eighth is less.
        let is_only = of_one == self.bytes;
        let may_hold = if is_only { free } else { free / PART };
        if of_one.saturating_add(more) > may_hold {
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
    fn a_caller_holds_an_eighth_of_what_it_leaves_or_one_body() {
        let waiting = Waiting::new(900);
        let [greedy, second, third] = [b"1", b"2", b"3"].map(|says| Caller::of(says));
        let mut holds: Vec<Hold> = (0..10).map(|_| waiting.hold(greedy)).collect();
        assert!(holds.iter_mut().all(|hold| hold.grow(10)));
        assert!(!waiting.hold(greedy).grow(1));
        // Of 800 that are free.
        let mut seconds = [waiting.hold(second), waiting.hold(second)];
        assert!(seconds[0].grow(40) && seconds[1].grow(48) && !seconds[1].grow(1));
        // One body may be as long as what it leaves.
        let mut third = waiting.hold(third);
        assert!(third.grow(300) && third.grow(56) && !third.grow(1));
        drop((holds, seconds, third));
        let held = waiting.lock();
        assert!(held.all == 0 && held.of_one.is_empty());
    }
}
