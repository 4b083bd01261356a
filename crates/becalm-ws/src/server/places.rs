//! How many connections may be open, how many in a handshake, and how many of those of one address?

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use becalm::time::Instant;
use becalm_admission::AddressGroup;

/// The places of a server's connections, shared by its listeners.
#[derive(Debug, Clone)]
pub(crate) struct Places(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    open: usize,
    most_open: usize,
    /// Those that go on, by their numbers: whose share each uses up, and its deadline.
    handshakes: BTreeMap<u64, (Option<AddressGroup>, Instant)>,
    begun: u64,
    most_handshakes: usize,
    /// Of one address.
    most_of_one: usize,
    of_one: HashMap<AddressGroup, usize>,
    /// Listeners that wait for a place.
    wakers: Vec<Waker>,
}

/// An open connection.
#[derive(Debug)]
pub(crate) struct Open(Places);

/// A handshake that goes on, by its number.
#[derive(Debug)]
pub(crate) struct Handshake(Places, u64);

impl Places {
    pub fn new(most_open: usize, most_handshakes: usize, most_of_one: usize) -> Self {
        Self(Arc::new(Mutex::new(State {
            open: 0,
            most_open,
            handshakes: BTreeMap::new(),
            begun: 0,
            most_handshakes,
            most_of_one,
            of_one: HashMap::new(),
            wakers: Vec::new(),
        })))
    }

    /// Whether one more connection may be open.
    pub fn have_room(&self) -> bool {
        let state = self.lock();
        state.open < state.most_open
    }

    /// Takes the place of a connection that was accepted. Two listeners that looked at once may be one above the bound; a place that is
    /// taken before the accept and given back after would wake the other for ever.
    pub fn open(&self) -> Open {
        self.lock().open += 1;
        Open(self.clone())
    }

    /// Whether another handshake of this address may begin. An address has as many at most as it leaves free, so that
    /// four with all that one may have do not keep all others out: the last place is for one that has none. With 256 in
    /// all and 64 of one it takes ten that come one after another, since each leaves half of what is free.
    pub fn handshake(&self, group: Option<AddressGroup>, ends: Instant) -> Option<Handshake> {
        let mut state = self.lock();
        let free = state.most_handshakes.checked_sub(state.handshakes.len());
        let free = free.filter(|free| *free > 0)?;
        let most_of_one = state.most_of_one.min(free);
        if let Some(group) = group {
            let of_one = state.of_one.entry(group).or_default();
            if *of_one >= most_of_one {
                return None;
            }
            *of_one += 1;
        }
        let number = state.begun;
        state.begun += 1;
        state.handshakes.insert(number, (group, ends));
        Some(Handshake(self.clone(), number))
    }

    /// Takes back the places of handshakes that are past their deadline, and returns that of the next: whose connection nobody reads or
    /// writes would keep it for good.
    pub fn take_back_late(&self, now: Instant) -> Option<Instant> {
        let mut state = self.lock();
        while let Some((number, (_, ends))) = state.handshakes.first_key_value() {
            if *ends > now {
                return Some(*ends);
            }
            let number = *number;
            state.end(number);
        }
        None
    }

    /// Whether every handshake's place is taken.
    pub fn is_full(&self) -> bool {
        let state = self.lock();
        state.handshakes.len() >= state.most_handshakes
    }

    pub fn handshakes(&self) -> usize {
        self.lock().handshakes.len()
    }

    /// Wakes this task when a place falls free, once.
    pub fn wake_when_free(&self, waker: &Waker) {
        let wakers = &mut self.lock().wakers;
        if !wakers.iter().any(|known| known.will_wake(waker)) {
            wakers.push(waker.clone());
        }
    }

    fn free(&self, take_back: impl FnOnce(&mut State)) {
        let wakers = {
            let mut state = self.lock();
            take_back(&mut state);
            std::mem::take(&mut state.wakers)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.free(|state| state.open -= 1);
    }
}

impl Drop for Handshake {
    fn drop(&mut self) {
        let Self(places, number) = self;
        places.free(|state| state.end(*number));
    }
}

impl State {
    fn end(&mut self, number: u64) {
        let Some((Some(group), _)) = self.handshakes.remove(&number) else {
            return;
        };
        if let Some(of_one) = self.of_one.get_mut(&group) {
            *of_one -= 1;
            if *of_one == 0 {
                self.of_one.remove(&group);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATER: Instant = Instant::from_nanos(9);

    #[test]
    fn no_more_than_all_and_no_more_of_one_than_its_share() {
        let places = Places::new(2, 3, 2);
        let one = places.open();
        assert!(places.have_room());
        let _two = places.open();
        assert!(!places.have_room());
        drop(one);
        assert!(places.have_room());

        let [greedy, other] = [7, 8].map(|key| Some(AddressGroup::new(key)));
        let first = places.handshake(greedy, LATER);
        let second = places.handshake(greedy, LATER);
        assert!(first.is_some() && second.is_some());
        assert!(places.handshake(greedy, LATER).is_none() && !places.is_full());
        let third = places.handshake(other, LATER);
        assert!(third.is_some() && places.handshake(None, LATER).is_none() && places.is_full());
        drop(first);
        assert_eq!(places.handshakes(), 2);
        // The last is for one that has none.
        assert!(places.handshake(greedy, LATER).is_none());
        assert!(
            places
                .handshake(Some(AddressGroup::new(9)), LATER)
                .is_some()
        );
        drop((second, third));
        assert!(places.lock().of_one.is_empty());
    }

    #[test]
    fn a_handshake_past_its_deadline_keeps_no_place() {
        let places = Places::new(9, 1, 1);
        let group = Some(AddressGroup::new(7));
        let late = places.handshake(group, LATER);
        assert_eq!(places.take_back_late(Instant::from_nanos(8)), Some(LATER));
        assert!(places.is_full());
        assert_eq!(places.take_back_late(LATER), None);
        let next = places.handshake(group, LATER);
        drop(late);
        assert!(next.is_some() && places.is_full());
        drop(next);
        assert!(places.lock().of_one.is_empty() && !places.is_full());
    }
}
