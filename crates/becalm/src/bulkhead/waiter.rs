//! How does a call wait for a place, and how does it stop waiting?

use alloc::sync::Arc;
use core::task::{Poll, Waker};

use super::Semaphore;
use super::queue::{Found, Seat};
use super::semaphore::Core;

/// The wait of one call for a place.
///
/// It enters the queue when it is first [polled](Semaphore::poll_acquire). Dropped or
/// [cancelled](Self::cancel), it leaves it; a place that it had been handed meanwhile goes to the
/// next. So a future that owns one may be dropped at any moment.
#[derive(Debug, Default)]
#[must_use = "a dropped waiter leaves the queue"]
pub struct Waiter {
    class: u8,
    seat: Option<(Arc<Core>, Seat)>,
}

impl Waiter {
    /// A wait that has not begun.
    pub const fn new() -> Self {
        Self::of_class(0)
    }

    /// A wait of this class that has not begun; 0 is the most urgent, and what all others are of. A
    /// call that waits in a more urgent class is next; where the queue is full, the newest of the least urgent class
    /// goes for one of a more urgent class.
    pub const fn of_class(class: u8) -> Self {
        Self { class, seat: None }
    }

    /// Whether it is in a queue, or has been handed a place that it did not fetch yet.
    pub fn is_waiting(&self) -> bool {
        self.seat.is_some()
    }

    /// Stops waiting: leaves the queue, or passes on the place that it had been handed.
    pub fn cancel(&mut self) {
        let Some((core, seat)) = self.seat.take() else {
            return;
        };
        let mut queue = core.queue();
        let left = queue.leave(seat);
        if matches!(left, Found::Waiting(_)) && queue.is_empty() {
            core.unmark();
        }
        drop(queue);
        match left {
            // Without the lock: what it would wake may end with it, and cancel a wait of its own.
            Found::Waiting(waker) => drop(waker),
            Found::Granted => core.give_back(),
            Found::Displaced => {}
        }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.cancel();
    }
}

impl Semaphore {
    /// Takes a place, or waits for one.
    ///
    /// `Ready(true)`: the call has its place, to be given back by [`release`](Self::release).
    /// `Ready(false)`: no place is free and the queue is at its bound, at once or because a more urgent call has come.
    /// `Pending`: it is in the queue, and `waker` is woken when a place has been handed to it.
    /// How long to wait is the driver's to decide, within [`max_wait`](Self::max_wait): it drops or
    /// cancels the waiter.
    pub fn poll_acquire(&self, waiter: &mut Waiter, waker: &Waker) -> Poll<bool> {
        match &waiter.seat {
            Some((core, seat)) if Arc::ptr_eq(core, &self.core) => {
                let seat = *seat;
                self.core.poll_seat(waiter, seat, waker)
            }
            // It waited elsewhere, or nowhere.
            _ => {
                waiter.cancel();
                self.enter(waiter, waker)
            }
        }
    }

    fn enter(&self, waiter: &mut Waiter, waker: &Waker) -> Poll<bool> {
        if self.try_acquire() {
            return Poll::Ready(true);
        }
        // Before the lock: a waker's clone may run anything.
        let waker = waker.clone();
        let mut queue = self.core.queue();
        let is_full = queue.is_full();
        if queue.is_empty() {
            let has_place = if is_full {
                self.try_acquire()
            } else {
                self.core.take_or_mark()
            };
            if has_place {
                drop(queue);
                return Poll::Ready(true);
            }
        }
        let mut displaced = None;
        if is_full {
            displaced = queue.displace_for(waiter.class);
            if displaced.is_none() {
                drop(queue);
                return Poll::Ready(false);
            }
        }
        let seat = queue.enter(waiter.class, waker);
        drop(queue);
        waiter.seat = Some((Arc::clone(&self.core), seat));
        if let Some(displaced) = displaced {
            displaced.wake();
        }
        Poll::Pending
    }
}

impl Core {
    fn poll_seat(&self, waiter: &mut Waiter, seat: Seat, waker: &Waker) -> Poll<bool> {
        let waker = waker.clone();
        let mut queue = self.queue();
        let found = queue.rewake(seat, waker);
        drop(queue);
        let ended = match found {
            // Without the lock, as in `cancel`: what is dropped here may run anything.
            Found::Waiting(_) => return Poll::Pending,
            Found::Granted => true,
            Found::Displaced => false,
        };
        waiter.seat = None;
        Poll::Ready(ended)
    }
}
