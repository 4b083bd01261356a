//! What else could hold the pending events? Heaps that compare times, and number what is pushed so
//! that equal times keep their order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The standard library's. Of time, number and what happens.
#[derive(Default)]
pub struct Binary {
    events: BinaryHeap<Reverse<(u64, u64, u64)>>,
    pushed: u64,
}

impl Binary {
    pub fn push(&mut self, at: u64, what: u64) {
        self.events.push(Reverse((at, self.pushed, what)));
        self.pushed += 1;
    }

    pub fn pop(&mut self) -> Option<(u64, u64)> {
        self.events.pop().map(|Reverse((at, _, what))| (at, what))
    }
}

/// Four children to a node: half as many levels, and a node's children side by side (*The Influence
/// of Caches on the Performance of Heaps*, Journal of Experimental Algorithmics, 1996).
#[derive(Default)]
pub struct Quaternary {
    events: Vec<Keyed>,
    pushed: u64,
}

/// Time and number as one word: one comparison.
#[derive(Clone, Copy)]
struct Keyed {
    key: u128,
    what: u64,
}

impl Keyed {
    fn at(self) -> u64 {
        u64::try_from(self.key >> u64::BITS).expect("the upper half")
    }
}

const CHILDREN: usize = 4;

impl Quaternary {
    pub fn push(&mut self, at: u64, what: u64) {
        let key = u128::from(at) << u64::BITS | u128::from(self.pushed);
        self.pushed += 1;
        let event = Keyed { key, what };
        self.events.push(event);
        self.rise(self.events.len() - 1, event);
    }

    pub fn pop(&mut self) -> Option<(u64, u64)> {
        let last = self.events.pop()?;
        let Some(&first) = self.events.first() else {
            return Some((last.at(), last.what));
        };
        // Down to a leaf without a look at the last one, which most often belongs there.
        let mut hole = 0;
        while let Some(child) = self.least_child(hole) {
            self.events[hole] = self.events[child];
            hole = child;
        }
        self.rise(hole, last);
        Some((first.at(), first.what))
    }

    fn rise(&mut self, mut hole: usize, event: Keyed) {
        while hole > 0 {
            let parent = (hole - 1) / CHILDREN;
            if self.events[parent].key < event.key {
                break;
            }
            self.events[hole] = self.events[parent];
            hole = parent;
        }
        self.events[hole] = event;
    }

    fn least_child(&self, of: usize) -> Option<usize> {
        let first = of * CHILDREN + 1;
        if let Some([a, b, c, d]) = self.events.get(first..first + CHILDREN) {
            let left = usize::from(b.key < a.key);
            let right = 2 + usize::from(d.key < c.key);
            let is_right = c.key.min(d.key) < a.key.min(b.key);
            return Some(first + if is_right { right } else { left });
        }
        (first..self.events.len()).min_by_key(|child| self.events[*child].key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use becalm_sim::engine::{EventQueue, Stream};

    #[test]
    fn all_queues_give_the_same_order() {
        let (mut binary, mut quaternary) = (Binary::default(), Quaternary::default());
        let mut ours = EventQueue::default();
        let (mut random, mut now) = (Stream::of(3, 0), 0);
        for what in 0..20_000 {
            // Few different times, so that many are equal; more pushes than pops, then fewer.
            if random.below(20_000) >= what {
                let at = now + random.below(50);
                binary.push(at, what);
                quaternary.push(at, what);
                ours.push(at, what);
            } else {
                let expected = binary.pop();
                assert_eq!(quaternary.pop(), expected);
                assert_eq!(ours.pop().map(|event| (event.at, event.what)), expected);
                now = expected.map_or(now, |(at, _)| at);
            }
        }
        assert!(now > 100, "{now}");
        while let Some(expected) = binary.pop() {
            assert_eq!(quaternary.pop(), Some(expected));
        }
        assert_eq!(quaternary.pop(), None);
    }
}
