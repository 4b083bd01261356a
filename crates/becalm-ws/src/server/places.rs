//! How many connections may be open, how many in a handshake, and how many of each of one address?

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
    /// Of one address.
    most_open_of_one: usize,
    open_of_one: HashMap<AddressGroup, usize>,
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
pub(crate) struct Open(Places, Option<OfOne>);

/// What an address has of the open connections: one more while this is there.
#[derive(Debug)]
pub(crate) struct OfOne(Places, AddressGroup);

/// A handshake that goes on, by its number.
#[derive(Debug)]
pub(crate) struct Handshake(Places, u64);

impl Places {
    pub fn new(
        (most_open, most_open_of_one): (usize, usize),
        most_handshakes: usize,
        most_of_one: usize,
    ) -> Self {
        Self(Arc::new(Mutex::new(State {
            open: 0,
            most_open,
            most_open_of_one,
            open_of_one: HashMap::new(),
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

    /// Takes the place of a connection that was accepted, if its address has not its share. Two listeners that looked at once may be
    /// one above the bound; a place that is taken before the accept and given back after would wake the other for ever.
    pub fn open(&self, group: Option<AddressGroup>) -> Option<Open> {
        let mut state = self.lock();
        let free = state.most_open.saturating_sub(state.open);
        if group.is_some_and(|group| !state.may_have_one_of(free, group)) {
            return None;
        }
        state.open += 1;
        Some(Open(
            self.clone(),
            group.map(|group| OfOne(self.clone(), group)),
        ))
    }

    /// Counts an open connection for the address that a proxy has named, if that has not its share.
    pub fn of_one(&self, group: AddressGroup) -> Option<OfOne> {
        let mut state = self.lock();
        // Its own place is taken.
        let free = state.most_open.saturating_sub(state.open).saturating_add(1);
        let may = state.may_have_one_of(free, group);
        may.then(|| OfOne(self.clone(), group))
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

impl State {
    /// Counts one more for this address, if it may have one of these free places. The last eighth of all is for addresses that have less than is
    /// free: one that has many gets none of it, and the last place is for one that has none.
    fn may_have_one_of(&mut self, free: usize, group: AddressGroup) -> bool {
        let is_scarce = self.most_open > 1 && free <= self.most_open.div_ceil(8);
        let most = if is_scarce { free } else { usize::MAX };
        let of_one = self.open_of_one.get(&group).copied().unwrap_or_default();
        let may = of_one < most.min(self.most_open_of_one);
        if may {
            self.open_of_one.insert(group, of_one + 1);
        }
        may
    }

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

impl Drop for OfOne {
    fn drop(&mut self) {
        let Self(places, group) = self;
        let mut state = places.lock();
        if let Some(of_one) = state.open_of_one.get_mut(group) {
            *of_one -= 1;
            if *of_one == 0 {
                state.open_of_one.remove(group);
            }
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        drop(self.1.take());
        self.0.free(|state| state.open -= 1);
    }
}

impl Drop for Handshake {
    fn drop(&mut self) {
        let Self(places, number) = self;
        places.free(|state| state.end(*number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATER: Instant = Instant::from_nanos(9);

    #[test]
    fn no_more_than_all_and_no_more_of_one_than_its_share() {
        let places = Places::new((2, usize::MAX), 3, 2);
        let one = places.open(None);
        assert!(places.have_room());
        let _two = places.open(None);
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
        let places = Places::new((9, usize::MAX), 1, 1);
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

    #[test]
    fn one_address_does_not_hold_all_connections() {
        let places = Places::new((80, usize::MAX), 1, 1);
        let group = |key| Some(AddressGroup::new(key));
        let hold = |most: usize, key: u64| -> Vec<Open> {
            (0..most).map_while(|_| places.open(group(key))).collect()
        };
        // All but the last eighth, though nobody else is there.
        let greedy = hold(80, 0);
        assert_eq!(greedy.len(), 70);
        // An office behind one address has its part of that.
        let office = hold(10, 1);
        assert_eq!(office.len(), 5);
        // Each that comes alone gets in, and the last place is for one that has none.
        let others: Vec<_> = (2..7).map(|key| places.open(group(key))).collect();
        assert!(others.iter().all(Option::is_some) && !places.have_room());
        drop(others);
        drop(office);
        // A proxy names its clients when they are connected.
        let through: Vec<_> = (0..9).map(|_| places.open(None)).collect();
        assert!(places.of_one(AddressGroup::new(0)).is_none());
        let two = [7, 7].map(|key| places.of_one(AddressGroup::new(key)));
        assert_eq!(two.map(|one| one.is_some()), [true; 2]);
        drop((greedy, through));
        assert!(places.lock().open_of_one.is_empty());

        let places = Places::new((80, 3), 1, 1);
        let few: Vec<_> = (0..9).map(|_| places.open(group(0))).collect();
        assert_eq!(few.iter().flatten().count(), 3);
        assert!(places.open(group(1)).is_some());
        // A server with one place gives it to anybody.
        let places = Places::new((1, usize::MAX), 1, 1);
        assert!(places.open(group(0)).is_some());
    }
}
