//! Which events come next, in order?

use super::Event;

/// Past so many events behind it, an event is not inserted: moving them costs more than sorting them
/// into buckets.
const MOST_MOVED: usize = 256;

/// Up to this number of events are moved one by one. That is faster than a binary search and a call of `memmove`.
const FEW: usize = 32;

/// So few events are sorted by comparisons.
const SPARSE: usize = 64;

/// More events of one part of the time are sorted by comparisons.
const CROWDED: u32 = 16;

/// The next events, sorted: all that are due up to some time.
#[derive(Debug, Default)]
pub struct Run {
    events: Vec<Event>,
    /// How many were popped.
    popped: usize,
    last: u64,
    /// Where the events of each part of the time begin, and the events before they are sorted: kept for their memory.
    starts: Vec<u32>,
    unsorted: Vec<Event>,
}

impl Run {
    /// The time up to which all pending events are here.
    #[inline]
    pub fn last(&self) -> u64 {
        self.last
    }

    pub fn len(&self) -> usize {
        self.events.len() - self.popped
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.popped == self.events.len()
    }

    /// All that are pending here, in their order.
    #[inline]
    pub fn pending(&self) -> &[Event] {
        self.events.get(self.popped..).unwrap_or_default()
    }

    /// The n-th from now, from 0.
    #[inline]
    pub fn peek(&self, n: usize) -> Option<&Event> {
        self.events.get(self.popped + n)
    }

    #[inline]
    pub fn pop(&mut self) -> Option<Event> {
        let event = *self.events.get(self.popped)?;
        self.popped += 1;
        Some(event)
    }

    /// Inserts an event that is due by [`last`](Self::last) behind its equals; `false` if it would
    /// have to move too many. What moves is the fewer: those before it, to where the last pop was, or those
    /// behind it.
    #[inline]
    pub fn insert(&mut self, event: Event) -> bool {
        let pending = self.events.get(self.popped..).unwrap_or_default();
        if pending.len() > FEW {
            return self.insert_far(event);
        }
        let middle = pending.get(pending.len() / 2);
        if self.popped > 0 && middle.is_some_and(|middle| event.at < middle.at) {
            self.popped -= 1;
            let mut rest = self.events.get_mut(self.popped..).unwrap_or_default();
            while let [here, behind @ ..] = rest {
                match behind.first() {
                    Some(next) if next.at <= event.at => *here = *next,
                    _ => {
                        *here = event;
                        break;
                    }
                }
                rest = behind;
            }
            return true;
        }
        self.make_room();
        self.events.push(event);
        let mut rest = self.events.get_mut(self.popped..).unwrap_or_default();
        while let [up_to_it @ .., here] = rest {
            match up_to_it.last() {
                Some(before) if before.at > event.at => *here = *before,
                _ => {
                    *here = event;
                    break;
                }
            }
            rest = up_to_it;
        }
        true
    }

    /// Inserts among many: its place is searched for.
    fn insert_far(&mut self, event: Event) -> bool {
        let pending = self.events.get(self.popped..).unwrap_or_default();
        let before = match pending.last() {
            Some(last) if last.at > event.at => pending.partition_point(|it| it.at <= event.at),
            _ => pending.len(),
        };
        let behind = pending.len() - before;
        if before < behind && self.popped > 0 {
            if before > MOST_MOVED {
                return false;
            }
            let from = self.popped;
            self.events.copy_within(from..from + before, from - 1);
            self.popped -= 1;
            if let Some(here) = self.events.get_mut(from - 1 + before) {
                *here = event;
            }
            return true;
        }
        if behind > MOST_MOVED {
            return false;
        }
        self.make_room();
        self.events.insert(self.events.len() - behind, event);
        true
    }

    /// What was popped makes room before more memory does.
    #[inline]
    fn make_room(&mut self) {
        if self.events.len() == self.events.capacity() && self.popped >= self.events.len() / 2 {
            self.events.drain(..self.popped);
            self.popped = 0;
        }
    }

    /// Starts anew with these events, unsorted but in the order of their pushes: all up to `last`.
    pub fn fill(&mut self, last: u64, events: impl FnOnce(&mut Vec<Event>)) {
        self.events.clear();
        self.popped = 0;
        self.last = last;
        events(&mut self.events);
        if self.events.len() <= SPARSE || !self.spread() {
            self.events.sort_by_key(|event| event.at);
        }
    }

    /// Sorts events whose times lie about as far apart from each other, each of them to its part of the time and then past
    /// the few that share that: no more comparisons than events. `false`, and nothing done, where many share one.
    fn spread(&mut self) -> bool {
        let times = || self.events.iter().map(|event| event.at);
        let (Some(first), Some(last)) = (times().min(), times().max()) else {
            return false;
        };
        // As many parts as events, or half as many.
        let bits = (last - first).max(1).ilog2() + 1;
        let shift = bits.saturating_sub(self.events.len().ilog2());
        #[expect(clippy::cast_possible_truncation)] // fewer than events
        let part = |event: &Event| ((event.at - first) >> shift) as usize;
        self.starts.clear();
        self.starts.resize((1 << (bits - shift)) + 1, 0);
        for event in &self.events {
            if let Some(count) = self.starts.get_mut(part(event) + 1) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for count in &mut self.starts {
            if *count > CROWDED {
                return false;
            }
            sum += *count;
            *count = sum;
        }
        self.unsorted.clone_from(&self.events);
        for event in &self.unsorted {
            if let Some(start) = self.starts.get_mut(part(event)) {
                if let Some(here) = self.events.get_mut(*start as usize) {
                    *here = *event;
                }
                *start += 1;
            }
        }
        for at in 1..self.events.len() {
            let mut rest = self.events.get_mut(..=at).unwrap_or_default();
            while let [up_to_it @ .., before, here] = rest {
                if before.at <= here.at {
                    break;
                }
                std::mem::swap(before, here);
                let len = up_to_it.len();
                rest = self.events.get_mut(..=len).unwrap_or_default();
            }
        }
        true
    }

    /// Takes all out; from now on what is due at `now` or later is elsewhere.
    pub fn drain_after(&mut self, now: u64) -> impl Iterator<Item = Event> {
        self.last = now.saturating_sub(1);
        let popped = std::mem::take(&mut self.popped);
        self.events.drain(..).skip(popped)
    }
}

#[cfg(test)]
mod tests {
    use becalm::rng::{Random as _, SplitMix64};

    use super::*;

    #[test]
    fn many_events_are_sorted_as_by_comparisons_and_equals_stay_in_their_order() {
        let mut random = SplitMix64::new(7);
        let mut spread = 0;
        for many in [65, 200, 1000] {
            for bits in [0, 1, 6, 20, 64_u32] {
                let at = |_| random.next_u64().checked_shr(64 - bits).unwrap_or(3);
                let times: Vec<u64> = (0..many).map(at).collect();
                let event = |(at, what): (&u64, u64)| Event { at: *at, what };
                let events: Vec<Event> = times.iter().zip(0..).map(event).collect();
                let mut expected = events.clone();
                expected.sort_by_key(|event| event.at);
                let mut run = Run::default();
                run.events.clone_from(&events);
                if run.spread() {
                    spread += 1;
                    assert_eq!(run.events, expected);
                } else {
                    assert_eq!(run.events, events);
                }
                run.fill(u64::MAX, |into| into.extend_from_slice(&events));
                assert_eq!(run.events, expected);
            }
        }
        assert!(spread > 0, "none was spread");
    }
}
