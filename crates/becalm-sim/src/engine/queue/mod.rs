//! Which event is next? The earliest; of equal times the one that was pushed first.
//!
//! A radix heap (Ahuja, Mehlhorn, Orlin, Tarjan: *Faster Algorithms for the Shortest Path Problem*,
//! 1990) in front of which stands a short sorted run, as in the ladder queue (Tang, Goh, Thng: *Ladder
//! Queue: An O(1) Priority Queue Structure for Large-Scale Discrete Event Simulation*, 2005). Nothing
//! is compared but the few events of the run, and the order of pushes is kept by construction: an
//! event is only ever appended, to a bucket or behind its equals in the run, so it carries no number.

mod chain;
mod radix;
mod run;

use radix::Radix;
use run::Run;

/// Something that is to happen: when, in nanoseconds, and what, in the meaning of its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Event {
    /// Nanoseconds since the start of the run.
    pub at: u64,
    /// What happens.
    pub what: u64,
}

/// Pending events, popped in order of time and, among equal times, in the order of their pushes.
///
/// Monotone: what is pushed before the time of the last pop happens at that time. A push and a pop
/// together cost about the same for ten pending events and for a hundred thousand; for ten million,
/// which no cache holds, at most three times as much (`bench/` measures it beside two heaps, whose
/// cost grows far more).
///
/// ```
/// use becalm_sim::engine::{Event, EventQueue};
///
/// let mut queue = EventQueue::for_pending(3);
/// for (at, what) in [(20, 1), (10, 2), (10, 3)] {
///     queue.push(at, what);
/// }
/// assert_eq!(queue.next_at(), Some(10));
/// let order: Vec<u64> = std::iter::from_fn(|| queue.pop()).map(|event| event.what).collect();
/// assert_eq!(order, [2, 3, 1]);
/// ```
#[derive(Debug, Default)]
pub struct EventQueue {
    /// The time of the last pop.
    now: u64,
    /// Every event up to [`Run::last`], sorted.
    run: Run,
    /// Every later event.
    later: Radix,
}

impl EventQueue {
    /// An empty queue with memory for so many pending events (at most 2^24); it grows past them.
    pub fn for_pending(events: usize) -> Self {
        Self {
            later: Radix::for_pending(events),
            ..Self::default()
        }
    }

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, at: u64, what: u64) {
        let event = Event {
            at: at.max(self.now),
            what,
        };
        if event.at > self.run.last() {
            self.later.push(event);
        } else if !self.run.insert(event) {
            self.part_with_run(event);
        }
    }

    /// Takes the next event out.
    #[inline]
    pub fn pop(&mut self) -> Option<Event> {
        if self.run.is_empty() {
            self.later.earliest(&mut self.run);
        }
        let event = self.run.pop()?;
        self.now = event.at;
        Some(event)
    }

    /// Takes the next event out if it is not later than this.
    #[inline]
    pub fn pop_until(&mut self, latest: u64) -> Option<Event> {
        if self.next_at()? > latest {
            return None;
        }
        self.pop()
    }

    /// The time of the next event.
    #[inline]
    pub fn next_at(&self) -> Option<u64> {
        match self.run.peek(0) {
            Some(event) => Some(event.at),
            None => self.later.first_at(),
        }
    }

    /// What the n-th event after the next one is about, counted from 0 for the next one, if that is
    /// known already: its owner can fetch what it will need before it is needed.
    #[inline]
    pub fn upcoming(&self, n: usize) -> Option<u64> {
        self.run.peek(n).map(|event| event.what)
    }

    /// The events that come next, in their order, as far as that is known already: none, where it is not.
    #[inline]
    pub fn coming(&self) -> &[Event] {
        self.run.pending()
    }

    /// The time of the last pop; 0 before it.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Pending events.
    pub fn len(&self) -> usize {
        self.run.len() + self.later.len()
    }

    /// Whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The run has become too long to insert into: its events go back, to finer buckets, and then
    /// this one.
    #[cold]
    fn part_with_run(&mut self, event: Event) {
        self.later.restart_at(self.now);
        for earlier in self.run.drain_after(self.now) {
            self.later.push(earlier);
        }
        self.later.push(event);
    }
}
