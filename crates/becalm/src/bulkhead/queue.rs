//! In which order do calls wait, and how does one leave from the middle?
//!
//! Seats are numbered in the order of arrival, and never used again: a map of those that are taken
//! has the most urgent class first, in each class the oldest first and the newest last, and lets
//! any be left.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::task::Waker;

use super::Order;

/// The calls that wait, the most urgent first, of those the oldest. A call whose seat is gone has been handed a
/// place, unless it was displaced.
#[derive(Debug)]
pub(super) struct Queue {
    bound: u32,
    order: Order,
    waiting: BTreeMap<Seat, Waker>,
    /// Those who had to go for more urgent ones, and have not heard of it yet.
    displaced: Vec<Seat>,
    /// The number of the next seat.
    next: u64,
}

/// Where a call waits: its class, of which 0 is the most urgent, and its number. The wakers of time have the same key, so that
/// their map is compiled once.
pub(super) type Seat = (u64, u64);

/// What is found where a call waited.
#[derive(Debug)]
pub(super) enum Found {
    /// It still waits; this was to wake it.
    Waiting(Waker),
    /// It has been handed a place.
    Granted,
    /// It had to go.
    Displaced,
}

impl Queue {
    pub(super) fn new(bound: u32, order: Order) -> Self {
        Self {
            bound,
            order,
            waiting: BTreeMap::new(),
            displaced: Vec::new(),
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

    /// Enters as the newest of its class; returns the seat.
    pub(super) fn enter(&mut self, class: u8, waker: Waker) -> Seat {
        let number = self.next;
        self.next += 1;
        let seat = (class.into(), number);
        self.waiting.insert(seat, waker);
        seat
    }

    /// Has the least urgent go, of those the newest, if it is less urgent than this; returns how to tell it.
    pub(super) fn displace_for(&mut self, class: u8) -> Option<Waker> {
        let least = self.waiting.last_entry()?;
        if least.key().0 <= class.into() {
            return None;
        }
        let (seat, waker) = least.remove_entry();
        self.displaced.push(seat);
        Some(waker)
    }

    /// Hands a place to the next in the queue; returns how to wake it.
    pub(super) fn grant_next(&mut self) -> Option<Waker> {
        let is_long = u64::from(self.waiting()) * 2 > u64::from(self.bound);
        let (oldest, _) = self.waiting.first_key_value()?;
        let next = match self.order {
            Order::Lifo if is_long => {
                let of_class = ..=(oldest.0, u64::MAX);
                *self.waiting.range(of_class).next_back()?.0
            }
            _ => *oldest,
        };
        self.waiting.remove(&next)
    }

    /// The way to wake the call that waits here is another now.
    pub(super) fn rewake(&mut self, seat: Seat, waker: Waker) -> Found {
        match self.waiting.get_mut(&seat) {
            Some(place) => Found::Waiting(core::mem::replace(place, waker)),
            None => self.gone(seat),
        }
    }

    /// Leaves the seat.
    pub(super) fn leave(&mut self, seat: Seat) -> Found {
        match self.waiting.remove(&seat) {
            Some(waker) => Found::Waiting(waker),
            None => self.gone(seat),
        }
    }

    fn gone(&mut self, seat: Seat) -> Found {
        let displaced = self.displaced.iter().position(|other| *other == seat);
        if let Some(index) = displaced {
            self.displaced.swap_remove(index);
            Found::Displaced
        } else {
            Found::Granted
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn enter(queue: &mut Queue, class: u8) -> Seat {
        queue.enter(class, Waker::noop().clone())
    }

    #[test]
    fn whoever_left_is_forgotten_and_all_others_keep_their_turn() {
        let mut queue = Queue::new(3, Order::Fifo);
        let mut seats: Vec<Seat> = (0..3).map(|_| enter(&mut queue, 0)).collect();
        for round in 0..100 {
            if round % 2 == 0 {
                let left = queue.leave(seats.remove(round % 3));
                assert!(matches!(left, Found::Waiting(_)));
            } else {
                assert!(queue.grant_next().is_some());
                // The oldest was next, and has nothing left to leave.
                assert!(matches!(queue.leave(seats.remove(0)), Found::Granted));
            }
            seats.push(enter(&mut queue, 0));
            assert!(queue.waiting.keys().eq(&seats), "after round {round}");
        }
    }

    #[test]
    fn the_most_urgent_are_next_and_of_those_the_oldest_or_the_newest() {
        for (order, turns) in [
            (Order::Fifo, [2, 4, 0, 3, 1]),
            (Order::Lifo, [4, 2, 3, 0, 1]),
        ] {
            // Long while three wait, short from then on.
            let mut queue = Queue::new(5, order);
            let seats = [1, 2, 0, 1, 0].map(|class| enter(&mut queue, class));
            for turn in turns {
                assert!(queue.grant_next().is_some());
                assert!(
                    matches!(queue.leave(seats[turn]), Found::Granted),
                    "{order:?}"
                );
            }
            assert!(queue.grant_next().is_none());
        }
    }

    #[test]
    fn the_newest_of_the_least_urgent_goes_for_one_that_is_more_urgent() {
        let mut queue = Queue::new(3, Order::Fifo);
        let seats = [1, 2, 2].map(|class| enter(&mut queue, class));
        assert!(queue.displace_for(2).is_none());
        assert!(queue.displace_for(1).is_some());
        assert!(matches!(queue.leave(seats[2]), Found::Displaced));
        assert!(queue.displace_for(0).is_some());
        assert!(matches!(
            queue.rewake(seats[1], Waker::noop().clone()),
            Found::Displaced
        ));
        assert!(queue.displace_for(1).is_none());
        assert!(matches!(queue.leave(seats[0]), Found::Waiting(_)));
        assert!(queue.displaced.is_empty() && queue.is_empty());
    }
}
