//! Which event is next? The earliest; of equal times the one that was pushed first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something that is to happen: when, in nanoseconds, and what, in the meaning of its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Nanoseconds since the start of the run.
    pub at: u64,
    /// What happens.
    pub what: u64,
}

/// Pending events, popped in order of time and, among equal times, in the order of their pushes.
///
/// Monotone: what is pushed before the time of the last pop happens at that time.
#[derive(Debug, Default)]
pub struct EventQueue {
    heap: BinaryHeap<Reverse<(u64, u64, u64)>>,
    pushed: u64,
    now: u64,
}

impl EventQueue {
    /// An empty queue made for about so many pending events.
    pub fn for_pending(_events: usize) -> Self {
        Self::default()
    }

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, at: u64, what: u64) {
        self.heap
            .push(Reverse((at.max(self.now), self.pushed, what)));
        self.pushed += 1;
    }

    /// Takes the next event out.
    #[inline]
    pub fn pop(&mut self) -> Option<Event> {
        let Reverse((at, _, what)) = self.heap.pop()?;
        self.now = at;
        Some(Event { at, what })
    }

    /// Pending events.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}
