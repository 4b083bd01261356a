//! What happens at this instant still? Mostly one thing, which is brought about at the end of another.

use std::collections::VecDeque;

/// Words of events, in the order in which they were brought about.
#[derive(Debug, Default)]
pub(super) struct Soon {
    /// The first, kept apart from the others: alone it needs no queue.
    first: Option<u64>,
    others: VecDeque<u64>,
}

impl Soon {
    #[inline]
    pub fn push(&mut self, what: u64) {
        if self.first.is_none() && self.others.is_empty() {
            self.first = Some(what);
        } else {
            self.others.push_back(what);
        }
    }

    #[inline]
    pub fn pop(&mut self) -> Option<u64> {
        let first = self.first.take();
        if first.is_some() || self.others.is_empty() {
            return first;
        }
        self.others.pop_front()
    }

    pub fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.others.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_first_is_first() {
        let mut soon = Soon::default();
        let mut order = Vec::new();
        for round in 0..4 {
            (0..=round).for_each(|of| soon.push(10 * round + of));
            order.extend((round > 0).then(|| soon.pop()).flatten());
        }
        assert_eq!(soon.len(), 7);
        order.extend(std::iter::from_fn(|| soon.pop()));
        assert_eq!(order, [0, 10, 11, 20, 21, 22, 30, 31, 32, 33]);
    }
}
