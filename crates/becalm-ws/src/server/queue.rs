//! Which connections wait for the place of a handshake, and for whom is there none even to wait?

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use becalm::time::Instant;
use becalm_admission::AddressGroup;

/// Connections that were accepted and wait, oldest first. Each address has a group, but for those that stand for many.
///
/// They have numbers in the order in which they came. What is asked of all of one address is asked once, of its oldest.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    waiting: BTreeMap<u64, (T, Option<AddressGroup>, Instant)>,
    of_one: HashMap<AddressGroup, BTreeSet<u64>>,
    /// The oldest of each address, and all that have none.
    first: BTreeSet<u64>,
    /// How many each address has.
    many: BTreeSet<(usize, AddressGroup)>,
    next: u64,
    most: usize,
    patience: Duration,
}

impl<T> Queue<T> {
    pub fn new(most: usize, patience: Duration) -> Self {
        Self {
            waiting: BTreeMap::new(),
            of_one: HashMap::new(),
            first: BTreeSet::new(),
            many: BTreeSet::new(),
            next: 0,
            most: most.max(1),
            patience,
        }
    }

    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether to accept another. Where the queue is full it is not accepted, since the kernel's queue is as good; but
    /// where an address has more of the queue than its share, those would keep others out.
    pub fn takes_more(&self) -> bool {
        self.waiting.len() < self.most || self.greediest().is_some()
    }

    /// Takes one; gives back the one that goes for it.
    pub fn push(&mut self, one: T, group: Option<AddressGroup>, now: Instant) -> Option<T> {
        let number = self.next;
        self.next += 1;
        self.waiting.insert(number, (one, group, now));
        match group {
            Some(group) => self.change(group, |numbers| numbers.insert(number)),
            None => _ = self.first.insert(number),
        }
        if self.waiting.len() <= self.most {
            return None;
        }
        let greedy = self.greediest().and_then(|greedy| self.of_one.get(&greedy));
        let newest = greedy.and_then(|numbers| numbers.last().copied());
        self.remove(newest.unwrap_or(number))
    }

    /// Removes the oldest, if it has waited for longer than clients do.
    pub fn pop_expired(&mut self, now: Instant) -> Option<T> {
        let (number, (_, _, since)) = self.waiting.first_key_value()?;
        let (number, expires) = (*number, since.after(self.patience));
        (expires <= now).then(|| self.remove(number))?
    }

    /// When the oldest will have waited for too long.
    pub fn expires(&self) -> Option<Instant> {
        let (_, (_, _, since)) = self.waiting.first_key_value()?;
        Some(since.after(self.patience))
    }

    /// Removes the oldest for which there is a place.
    pub fn pop<P>(&mut self, place: impl Fn(Option<AddressGroup>) -> Option<P>) -> Option<(T, P)> {
        let (number, place) = self.first.iter().find_map(|number| {
            let (_, group, _) = self.waiting.get(number)?;
            Some((*number, place(*group)?))
        })?;
        Some((self.remove(number)?, place))
    }

    /// The address that has most, if that is more than its share.
    fn greediest(&self) -> Option<AddressGroup> {
        let (many, group) = self.many.last()?;
        // The share that each has beside one more.
        let is_more = *many > 1 && *many * (self.of_one.len() + 1) > self.most;
        is_more.then_some(*group)
    }

    fn remove(&mut self, number: u64) -> Option<T> {
        let (one, group, _) = self.waiting.remove(&number)?;
        self.first.remove(&number);
        if let Some(group) = group {
            self.change(group, |numbers| numbers.remove(&number));
        }
        Some(one)
    }

    /// Changes what this address has, and what follows from it.
    fn change(&mut self, group: AddressGroup, change: impl FnOnce(&mut BTreeSet<u64>) -> bool) {
        let numbers = self.of_one.entry(group).or_default();
        self.many.remove(&(numbers.len(), group));
        change(numbers);
        let Some(oldest) = numbers.first() else {
            self.of_one.remove(&group);
            return;
        };
        self.first.insert(*oldest);
        self.many.insert((numbers.len(), group));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::ZERO.after(Duration::from_secs(seconds))
    }

    #[test]
    fn the_oldest_goes_first_unless_its_address_has_enough() {
        let mut queue = Queue::new(10, Duration::from_secs(4));
        let [greedy, other] = [1, 2].map(|key| Some(AddressGroup::new(key)));
        for (one, group) in [("a", greedy), ("b", greedy), ("c", other)] {
            assert_eq!(queue.push(one, group, at(0)), None);
        }
        let not_greedy = |group| (group != greedy).then_some(());
        assert_eq!(queue.pop(not_greedy), Some(("c", ())));
        assert_eq!(queue.pop(not_greedy), None);
        assert_eq!(queue.pop(|_| Some(())), Some(("a", ())));
    }

    #[test]
    fn who_waits_too_long_goes() {
        let mut queue = Queue::new(10, Duration::from_secs(4));
        assert_eq!(queue.expires(), None);
        queue.push("a", None, at(0));
        queue.push("b", None, at(1));
        assert_eq!(
            (queue.expires(), queue.pop_expired(at(3))),
            (Some(at(4)), None)
        );
        assert_eq!(queue.pop_expired(at(4)), Some("a"));
        assert_eq!(queue.pop_expired(at(4)), None);
    }

    #[test]
    fn one_address_does_not_keep_all_others_out() {
        let mut queue = Queue::new(4, Duration::from_secs(4));
        let greedy = Some(AddressGroup::new(1));
        for one in 0..4 {
            assert!(queue.takes_more());
            assert_eq!(queue.push(one, greedy, at(0)), None);
        }
        assert!(queue.takes_more());
        assert_eq!(queue.push(4, greedy, at(0)), Some(4));
        for one in [5, 6] {
            let went = queue.push(one, Some(AddressGroup::new(one)), at(0));
            assert_eq!(went, Some(8 - one));
        }
        let went = queue.push(7, Some(AddressGroup::new(7)), at(0));
        assert_eq!(went, Some(1));
        // Now each has as many as the others, and the rest waits outside.
        assert!(!queue.takes_more());
        while queue.pop(|_| Some(())).is_some() {}
        assert!(queue.of_one.is_empty() && queue.first.is_empty() && queue.many.is_empty());
        // Those that stand for many are nobody's.
        for one in 0..4 {
            queue.push(one, None, at(0));
        }
        assert!(!queue.takes_more());
    }

    #[test]
    fn all_of_an_address_are_asked_for_once() {
        let mut queue = Queue::new(1000, Duration::from_secs(4));
        let [greedy, other] = [1, 2].map(|key| Some(AddressGroup::new(key)));
        for one in 0..999 {
            queue.push(one, greedy, at(0));
        }
        queue.push(999, other, at(0));
        let asked = std::cell::Cell::new(0);
        let not_greedy = |group| {
            asked.set(asked.get() + 1);
            (group != greedy).then_some(())
        };
        assert_eq!(queue.pop(not_greedy), Some((999, ())));
        assert_eq!(asked.get(), 2);
        // The oldest has gone, the next of its address is its oldest.
        assert_eq!(queue.pop_expired(at(4)), Some(0));
        assert_eq!(queue.pop(|_| Some(())), Some((1, ())));
    }
}
