//! In which order do calls wait, and how does one leave from the middle?
//!
//! A doubly linked list in a vector: entering, leaving at either end and leaving from the middle
//! cost the same however many wait, and a seat that was left is used again.

use alloc::vec::Vec;
use core::task::Waker;

use super::Order;

/// No seat.
const NONE: usize = usize::MAX;

/// The calls that wait, oldest first, and those that have been handed a place and not fetched it.
#[derive(Debug)]
pub(super) struct Queue {
    bound: u32,
    order: Order,
    seats: Vec<Seat>,
    oldest: usize,
    newest: usize,
    /// The first of the free seats, which are linked by `newer`.
    free: usize,
    waiting: u32,
}

#[derive(Debug)]
struct Seat {
    /// `None` once the place has been handed to its call.
    waker: Option<Waker>,
    older: usize,
    newer: usize,
}

impl Queue {
    pub(super) fn new(bound: u32, order: Order) -> Self {
        Self {
            bound,
            order,
            seats: Vec::new(),
            oldest: NONE,
            newest: NONE,
            free: NONE,
            waiting: 0,
        }
    }

    pub(super) fn configure(&mut self, bound: u32, order: Order) {
        self.bound = bound;
        self.order = order;
    }

    pub(super) fn waiting(&self) -> u32 {
        self.waiting
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    pub(super) fn is_full(&self) -> bool {
        self.waiting >= self.bound
    }

    /// Enters as the newest; returns the seat.
    pub(super) fn enter(&mut self, waker: Waker) -> usize {
        let seat = Seat {
            waker: Some(waker),
            older: self.newest,
            newer: NONE,
        };
        let at = self.free;
        let at = if let Some(free) = self.seats.get_mut(at) {
            self.free = free.newer;
            *free = seat;
            at
        } else {
            self.seats.push(seat);
            self.seats.len() - 1
        };
        self.link(self.newest, at);
        self.newest = at;
        self.waiting += 1;
        at
    }

    /// Hands a place to the next in the queue; returns how to wake it.
    pub(super) fn grant_next(&mut self) -> Option<Waker> {
        let is_long = u64::from(self.waiting) * 2 > u64::from(self.bound);
        let next = match self.order {
            Order::Lifo if is_long => self.newest,
            _ => self.oldest,
        };
        self.unlink(next);
        self.seats.get_mut(next)?.waker.take()
    }

    /// Whether this seat's call has been handed its place.
    pub(super) fn is_granted(&self, seat: usize) -> bool {
        self.seats[seat].waker.is_none()
    }

    /// The way to wake the call that waits here is another now; returns the old one.
    pub(super) fn rewake(&mut self, seat: usize, waker: Waker) -> Option<Waker> {
        self.seats[seat].waker.replace(waker)
    }

    /// Leaves the seat: having fetched the place that was handed to it, or having given up. Returns
    /// the waker if the call still waited.
    pub(super) fn leave(&mut self, seat: usize) -> Option<Waker> {
        let waker = self.seats[seat].waker.take();
        if waker.is_some() {
            self.unlink(seat);
        }
        self.seats[seat].newer = self.free;
        self.free = seat;
        waker
    }

    fn unlink(&mut self, seat: usize) {
        let Some(Seat { older, newer, .. }) = self.seats.get(seat) else {
            return;
        };
        let (older, newer) = (*older, *newer);
        self.link(older, newer);
        if self.newest == seat {
            self.newest = older;
        }
        self.waiting -= 1;
    }

    /// Makes these two neighbours; where there is no older one, the newer is the oldest of all.
    fn link(&mut self, older: usize, newer: usize) {
        match self.seats.get_mut(older) {
            Some(seat) => seat.newer = newer,
            None => self.oldest = newer,
        }
        if let Some(seat) = self.seats.get_mut(newer) {
            seat.older = older;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seats_that_were_left_are_used_again() {
        let mut queue = Queue::new(3, Order::Fifo);
        let mut seats: Vec<usize> = (0..3).map(|_| queue.enter(Waker::noop().clone())).collect();
        for round in 0..100 {
            let seat = seats.remove(round % 3);
            if round % 2 == 0 {
                assert!(queue.leave(seat).is_some());
            } else {
                queue.grant_next();
                let at = seats.iter().position(|seat| queue.is_granted(*seat));
                // The one that was granted leaves; the other goes on waiting.
                let granted = at.map_or(seat, |at| core::mem::replace(&mut seats[at], seat));
                assert!(queue.leave(granted).is_none());
            }
            seats.push(queue.enter(Waker::noop().clone()));
            assert_eq!((queue.seats.len(), queue.waiting()), (3, 3));
        }
    }
}
