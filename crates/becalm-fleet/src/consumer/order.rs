//! Which messages must wait for another, since both have one order key?

use alloc::collections::{BTreeMap, VecDeque};

/// The order of messages with one key: a message may begin when all before it are done. One that has failed and comes back
/// later is not done, and holds back those behind it.
///
/// Only for what comes to one consumer: where several take from one queue, the queue must keep the order.
///
/// ```
/// use becalm_fleet::consumer::{OrderKeys, Turn};
///
/// let mut order = OrderKeys::new(1000);
/// assert_eq!(order.begin("account 7", 1), Turn::Now);
/// assert_eq!(order.begin("account 7", 2), Turn::Held);
/// assert_eq!(order.begin("account 8", 3), Turn::Now);
/// // .. message 1 is acknowledged, or dead ..
/// assert_eq!(order.done(&"account 7", 1), Some(2));
/// assert_eq!(order.begin("account 7", 2), Turn::Now);
/// ```
#[derive(Debug, Clone)]
pub struct OrderKeys<K> {
    bound: usize,
    known: usize,
    /// Those that are not done, in order. None is empty.
    queues: BTreeMap<K, VecDeque<u64>>,
}

/// Whether a message may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Turn {
    /// It may. So it may each time it comes back, until it is done.
    Now,
    /// Another is before it. [`OrderKeys::done`] names it when its turn has come.
    Held,
    /// As many are held as there may be. Take nothing more until one is done, and begin with this one then.
    NoRoom,
}

impl<K: Ord> OrderKeys<K> {
    /// Keeps the order of at most so many messages that are not done. A driver that takes no more than that at once is never without room.
    pub const fn new(bound: usize) -> Self {
        Self {
            bound,
            known: 0,
            queues: BTreeMap::new(),
        }
    }

    /// Asks whether a message may begin, in the order in which the messages came. `id` is the driver's own number for it, the same
    /// each time.
    pub fn begin(&mut self, key: K, id: u64) -> Turn {
        let queue = self.queues.get(&key);
        match queue.and_then(|queue| queue.iter().position(|known| *known == id)) {
            Some(0) => return Turn::Now,
            Some(_) => return Turn::Held,
            None if self.known >= self.bound => return Turn::NoRoom,
            None => {}
        }
        let turn = if queue.is_some() {
            Turn::Held
        } else {
            Turn::Now
        };
        self.known += 1;
        self.queues.entry(key).or_default().push_back(id);
        turn
    }

    /// A message is done: acknowledged, dead, or no longer ours. Returns the next with its key, where its turn has come.
    pub fn done(&mut self, key: &K, id: u64) -> Option<u64> {
        let queue = self.queues.get_mut(key)?;
        let place = queue.iter().position(|known| *known == id)?;
        queue.remove(place);
        self.known -= 1;
        let next = queue.front().copied();
        if next.is_none() {
            self.queues.remove(key);
        }
        next.filter(|_| place == 0)
    }

    /// How many messages are not done.
    pub const fn len(&self) -> usize {
        self.known
    }

    /// Whether all are done.
    pub const fn is_empty(&self) -> bool {
        self.known == 0
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_has_no_room_changes_nothing() {
        let mut order = OrderKeys::new(2);
        assert_eq!(order.begin(1, 1), Turn::Now);
        assert_eq!(order.begin(1, 2), Turn::Held);
        for key in [1, 2] {
            assert_eq!(order.begin(key, 3), Turn::NoRoom);
        }
        assert_eq!(order.done(&1, 2), None, "it was not the first");
        assert_eq!(order.begin(2, 3), Turn::Now);
        assert_eq!(order.done(&1, 1), None);
        assert_eq!(order.done(&1, 1), None);
        assert_eq!(order.len(), 1);
    }

    proptest! {
        /// Whatever fails and comes back, and in whatever order a driver asks again.
        #[test]
        fn never_two_with_one_key_out_of_order(
            keys in proptest::collection::vec(0..4_u8, 1..60),
            steps in proptest::collection::vec((any::<prop::sample::Index>(), 0..3_u8), 300),
            bound in 1..20_usize,
        ) {
            let mut order = OrderKeys::new(bound);
            // Taken and not done, in the order in which they came; and the next to be taken.
            let (mut held, mut next) = (Vec::<u64>::new(), 0);
            let key_of = |id: u64| keys[usize::try_from(id).unwrap()];
            let mut last = [None; 4];
            for (which, what) in steps {
                prop_assert!(order.len() <= bound);
                if what == 0 && next < keys.len() as u64 {
                    if order.begin(key_of(next), next) == Turn::NoRoom {
                        prop_assert_eq!(order.len(), bound);
                    } else {
                        held.push(next);
                        next += 1;
                    }
                } else if !held.is_empty() {
                    let place = which.index(held.len());
                    let id = held[place];
                    let key = key_of(id);
                    let is_first = held.iter().position(|it| key_of(*it) == key) == Some(place);
                    let turn = order.begin(key, id);
                    prop_assert_eq!(turn, if is_first { Turn::Now } else { Turn::Held });
                    if turn == Turn::Now && what == 1 {
                        prop_assert!(last[usize::from(key)] < Some(id));
                        last[usize::from(key)] = Some(id);
                        held.remove(place);
                        let successor = held.iter().copied().find(|it| key_of(*it) == key);
                        prop_assert_eq!(order.done(&key, id), successor);
                    }
                }
            }
        }
    }
}
