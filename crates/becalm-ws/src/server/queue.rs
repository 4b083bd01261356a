//! Which connections wait for the place of a handshake, and for whom is there none even to wait?

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use becalm::time::Instant;
use becalm_admission::AddressGroup;

/// Connections that were accepted and wait, oldest first. Each address has a group, but for those that stand for many.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    waiting: VecDeque<(T, Option<AddressGroup>, Instant)>,
    of_one: HashMap<AddressGroup, usize>,
    most: usize,
    patience: Duration,
}

impl<T> Queue<T> {
    pub fn new(most: usize, patience: Duration) -> Self {
        Self {
            waiting: VecDeque::new(),
            of_one: HashMap::new(),
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
        self.waiting.push_back((one, group, now));
        if let Some(group) = group {
            *self.of_one.entry(group).or_default() += 1;
        }
        if self.waiting.len() <= self.most {
            return None;
        }
        let greedy = self.greediest();
        let newest = self
            .waiting
            .iter()
            .rposition(|(_, group, _)| group.is_some() && *group == greedy);
        self.remove(newest.unwrap_or(self.waiting.len() - 1))
    }

    /// Removes the oldest, if it has waited for longer than clients do.
    pub fn pop_expired(&mut self, now: Instant) -> Option<T> {
        (self.expires()? <= now).then(|| self.remove(0))?
    }

    /// When the oldest will have waited for too long.
    pub fn expires(&self) -> Option<Instant> {
        let (_, _, since) = self.waiting.front()?;
        Some(since.after(self.patience))
    }

    /// Removes the oldest for which there is a place.
    pub fn pop<P>(&mut self, place: impl Fn(Option<AddressGroup>) -> Option<P>) -> Option<(T, P)> {
        let mut found = self.waiting.iter().enumerate();
        let (index, place) =
            found.find_map(|(index, (_, group, _))| Some((index, place(*group)?)))?;
        Some((self.remove(index)?, place))
    }

    /// The address that has most, if that is more than its share.
    fn greediest(&self) -> Option<AddressGroup> {
        let (group, many) = self.of_one.iter().max_by_key(|(_, many)| **many)?;
        // The share that each has beside one more.
        let is_more = *many > 1 && *many * (self.of_one.len() + 1) > self.most;
        is_more.then_some(*group)
    }

    fn remove(&mut self, index: usize) -> Option<T> {
        let (one, group, _) = self.waiting.remove(index)?;
        if let Some(group) = group {
            if let Some(of_one) = self.of_one.get_mut(&group) {
                *of_one -= 1;
                if *of_one == 0 {
                    self.of_one.remove(&group);
                }
            }
        }
        Some(one)
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
        assert!(queue.of_one.is_empty());
        // Those that stand for many are nobody's.
        for one in 0..4 {
            queue.push(one, None, at(0));
        }
        assert!(!queue.takes_more());
    }
}
