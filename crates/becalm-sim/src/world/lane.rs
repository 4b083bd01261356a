//! How are time-outs kept of which nearly none comes true? In lanes, in the order of their making.
//!
//! Time-outs of one length come due in the order in which they were set, so a queue holds them
//! without a heap. The event queue holds one event for each lane, the first that still counts.

use std::collections::VecDeque;

/// Time-outs of one length.
#[derive(Debug, Default)]
pub(super) struct Lane {
    waiting: VecDeque<Timeout>,
    /// Whether the event queue has an event of this lane.
    pub is_armed: bool,
}

/// When which request is given up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timeout {
    pub at: u64,
    pub request: u32,
    pub generation: u32,
}

impl Lane {
    /// Adds one at the end; false if it comes due before one that is there.
    #[inline]
    pub fn push(&mut self, timeout: Timeout) -> bool {
        let is_last = self.waiting.back().is_none_or(|last| last.at <= timeout.at);
        if is_last {
            self.waiting.push_back(timeout);
        }
        is_last
    }

    /// The first.
    #[inline]
    pub fn first(&self) -> Option<Timeout> {
        self.waiting.front().copied()
    }

    /// All, from the first.
    pub fn iter(&self) -> impl Iterator<Item = &Timeout> {
        self.waiting.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Takes the first out.
    #[inline]
    pub fn pop(&mut self) {
        self.waiting.pop_front();
    }
}
