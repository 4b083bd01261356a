//! In which order do calls wait, and how does one leave from the middle?
//!
//! Seats are numbered in the order of arrival, and never used again: a map of those that are taken
//! has the oldest first, the newest last, and lets any be left.

use alloc::collections::BTreeMap;
use core::task::Waker;

use super::Order;

/// The calls that wait, oldest first. A call whose seat is gone has been handed a place.
#[derive(Debug)]
pub(super) struct Queue {
    bound: u32,
    order: Order,
    waiting: BTreeMap<u64, Waker>,
    /// The number of the next seat.
    next: u64,
}

impl Queue {
    pub(super) fn new(bound: u32, order: Order) -> Self {
        Self {
            bound,
            order,
            waiting: BTreeMap::new(),
            next: 0,
        }
    }

    pub(super) fn configure(&mut self, bound: u32, order: Order) {
        self.bound = bound;
        self.order = order;
    }

    pub(super) fn waiting(&self) -> u32 {
        u32::try_from(self.waiting.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.waiting() >= self.bound
    }

    /// Enters as the newest; returns the seat.
    pub(super) fn enter(&mut self, waker: Waker) -> u64 {
        let seat = self.next;
        self.next += 1;
        self.waiting.insert(seat, waker);
        seat
    }

    /// Hands a place to the next in the queue; returns how to wake it.
    pub(super) fn grant_next(&mut self) -> Option<Waker> {
        let is_long = u64::from(self.waiting()) * 2 > u64::from(self.bound);
        let next = match self.order {
            Order::Lifo if is_long => self.waiting.pop_last(),
            _ => self.waiting.pop_first(),
        };
        next.map(|(_, waker)| waker)
    }

    /// The way to wake the call that waits here is another now; returns the old one, `None` if it has
    /// been handed its place.
    pub(super) fn rewake(&mut self, seat: u64, waker: Waker) -> Option<Waker> {
        let place = self.waiting.get_mut(&seat)?;
        Some(core::mem::replace(place, waker))
    }

    /// Leaves the seat; returns the waker if the call still waited.
    pub(super) fn leave(&mut self, seat: u64) -> Option<Waker> {
        self.waiting.remove(&seat)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn whoever_left_is_forgotten_and_all_others_keep_their_turn() {
        let mut queue = Queue::new(3, Order::Fifo);
        let mut seats: Vec<u64> = (0..3).map(|_| queue.enter(Waker::noop().clone())).collect();
        for round in 0..100 {
            if round % 2 == 0 {
                assert!(queue.leave(seats.remove(round % 3)).is_some());
            } else {
                assert!(queue.grant_next().is_some());
                // The oldest was next, and has nothing left to leave.
                assert!(queue.leave(seats.remove(0)).is_none());
            }
            seats.push(queue.enter(Waker::noop().clone()));
            assert!(queue.waiting.keys().eq(&seats), "after round {round}");
        }
    }
}
