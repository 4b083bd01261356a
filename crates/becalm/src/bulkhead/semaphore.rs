//! Who has a place, and who is next?
//!
//! One word holds the truth: the limit, the calls in flight, and whether somebody waits. A place is
//! taken by one exchange of it and given back by another. Only while somebody waits is there more:
//! the queue, behind a lock, whose holder keeps the word's mark true (set exactly while the queue
//! is not empty). A call that gives back its place and sees the mark hands the place to the next
//! in the queue; nobody can take it in between, for with the mark set nothing is taken but from
//! the queue. The mark is set by the same exchange that sees no place free, so every place that
//! falls free later is handed on.

use alloc::sync::Arc;
use core::time::Duration;

use super::learner::Learner;
#[cfg(any(feature = "std", becalm_loom))]
use super::queue::Queue;
use super::{Bulkhead, Sample};
use crate::sync::{AtomicU64, Ordering, change};
#[cfg(any(feature = "std", becalm_loom))]
use crate::sync::{Mutex, MutexGuard};

/// The places of a bulkhead: what all calls to one dependency share.
///
/// Clones share the places. While no call waits, taking a place and giving it back are one atomic
/// exchange each; there is no lock. The laws, under any interleaving of threads: no call starts
/// while the calls in flight reach the limit; a place given back is taken by the next that asks or
/// handed to the call that is next in the queue; nobody takes a place past a call that waits.
#[derive(Debug, Clone)]
pub struct Semaphore {
    pub(super) core: Arc<Core>,
}

#[derive(Debug)]
#[repr(align(128))] // two cache lines: neighbours must not share the word's line
pub(super) struct Core {
    word: AtomicU64,
    learner: Learner,
    /// Nanoseconds; `u64::MAX` for none.
    max_wait: AtomicU64,
    #[cfg(any(feature = "std", becalm_loom))]
    queue: Mutex<Queue>,
}

impl Semaphore {
    /// All places of this configuration, free.
    ///
    /// Values out of range are taken as they are, but for a limit of 0, which is 1:
    /// [`Bulkhead::validate`] is where they are refused.
    pub fn new(bulkhead: Bulkhead) -> Self {
        let core = Core {
            word: AtomicU64::new(Places::free(bulkhead.limit.initial()).word()),
            learner: Learner::new(bulkhead.limit),
            max_wait: AtomicU64::new(limit_of(bulkhead.max_wait)),
            #[cfg(any(feature = "std", becalm_loom))]
            queue: Mutex::new(Queue::new(bulkhead.waiting, bulkhead.order)),
        };
        Self {
            core: Arc::new(core),
        }
    }

    /// Takes over another configuration, in place.
    ///
    /// Running calls keep their places: a smaller limit takes effect as they leave, a larger one at
    /// once, for waiting calls first. Who waits already stays. An adaptive limit of the same kind
    /// keeps what it has learned, within the new bounds.
    pub fn reconfigure(&self, bulkhead: Bulkhead) {
        self.take_over(bulkhead);
        self.core.hand_out(false);
    }

    /// Takes over another configuration, and leaves it to [`let_go`](Self::let_go) to wake anybody.
    pub(crate) fn take_over(&self, bulkhead: Bulkhead) {
        let core = &*self.core;
        core.max_wait
            .store(limit_of(bulkhead.max_wait), Ordering::Relaxed);
        #[cfg(any(feature = "std", becalm_loom))]
        core.queue().configure(bulkhead.waiting, bulkhead.order);
        core.learner
            .reconfigure(bulkhead.limit, |limit| core.set_limit(limit));
    }

    /// Hands out what a reload has left free; everybody who waits gets a place where the bulkhead
    /// is not in force any more.
    #[cfg(feature = "std")]
    pub(crate) fn let_go(&self, is_in_force: bool) {
        self.core.hand_out(!is_in_force);
    }

    /// Takes a place if one is free and nobody waits for it.
    #[inline]
    pub fn try_acquire(&self) -> bool {
        self.core.try_take()
    }

    /// Gives back a place that was taken.
    ///
    /// The sample teaches an adaptive limit; `None` teaches nothing. Where nothing
    /// [reads the clock](Self::reads_clock), none is needed. A place that was not taken cannot be
    /// given back: it is ignored.
    #[inline]
    pub fn release(&self, sample: Option<Sample>) {
        if let Some(sample) = sample {
            self.core.learn(sample);
        }
        self.core.give_back();
    }

    /// Teaches an adaptive limit of a call that has given back its place without a sample.
    #[doc(hidden)]
    pub fn learn(&self, sample: Sample) {
        self.core.learn(sample);
    }

    /// Whether samples are wanted, and with them two looks at the clock for each call.
    #[inline]
    pub fn reads_clock(&self) -> bool {
        self.core.learner.is_adaptive()
    }

    /// Calls that have a place. More than the limit while a shrunken one is taking effect.
    pub fn in_flight(&self) -> u32 {
        self.core.places().in_flight
    }

    /// Calls that may have a place at once, as of now.
    pub fn limit(&self) -> u32 {
        self.core.places().limit
    }

    /// Calls that wait for a place.
    pub fn waiting(&self) -> u32 {
        #[cfg(any(feature = "std", becalm_loom))]
        if self.core.places().is_awaited {
            return self.core.queue().waiting();
        }
        0
    }

    /// The longest that a call may wait, for the driver that owns the timer.
    pub fn max_wait(&self) -> Option<Duration> {
        match self.core.max_wait.load(Ordering::Relaxed) {
            u64::MAX => None,
            nanos => Some(Duration::from_nanos(nanos)),
        }
    }
}

fn limit_of(max_wait: Option<Duration>) -> u64 {
    max_wait.map_or(u64::MAX, crate::duration::nanos)
}

/// The word, unfolded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Places {
    limit: u32,
    in_flight: u32,
    /// Whether the queue is not empty.
    is_awaited: bool,
}

const AWAITED: u64 = 1 << 63;

impl Places {
    fn free(limit: u32) -> Self {
        Self {
            limit: limit.clamp(1, i32::MAX.unsigned_abs()),
            in_flight: 0,
            is_awaited: false,
        }
    }

    #[inline]
    fn of_word(word: u64) -> Self {
        #[expect(clippy::cast_possible_truncation)]
        let (limit, in_flight) = ((word >> 32) as u32 & !(1 << 31), word as u32);
        Self {
            limit,
            in_flight,
            is_awaited: word & AWAITED != 0,
        }
    }

    #[inline]
    fn word(self) -> u64 {
        let awaited = if self.is_awaited { AWAITED } else { 0 };
        awaited | u64::from(self.limit) << 32 | u64::from(self.in_flight)
    }

    /// With one more call, if there is a place.
    #[inline]
    fn taken(mut self) -> Option<Self> {
        let is_free = self.in_flight < self.limit;
        self.in_flight += u32::from(is_free);
        is_free.then_some(self)
    }

    /// With one call less, if there is one.
    #[inline]
    fn given_back(mut self) -> Option<Self> {
        self.in_flight = self.in_flight.checked_sub(1)?;
        Some(self)
    }
}

impl Core {
    fn places(&self) -> Places {
        Places::of_word(self.word.load(Ordering::Acquire))
    }

    /// Changes the word as told, and tells what it was; `None` if told not to.
    #[inline]
    fn change(&self, next: impl Fn(Places) -> Option<Places>) -> Option<Places> {
        let next = |word| next(Places::of_word(word)).map(Places::word);
        change(&self.word, next).map(|(before, _)| Places::of_word(before))
    }

    #[inline]
    fn try_take(&self) -> bool {
        let taken = |places: Places| places.taken().filter(|_| !places.is_awaited);
        self.change(taken).is_some()
    }

    #[inline]
    pub(super) fn give_back(&self) {
        let before = self.change(Places::given_back);
        if before.is_some_and(|before| before.is_awaited) {
            self.hand_out(false);
        }
    }

    fn set_limit(&self, limit: u32) {
        let limit = Places::free(limit).limit;
        self.change(|places| Some(Places { limit, ..places }));
    }

    fn learn(&self, sample: Sample) {
        if !self.learner.is_adaptive() {
            return;
        }
        let in_flight = self.places().in_flight;
        self.learner
            .learn(sample, in_flight, |limit| self.set_limit(limit));
    }

    /// There are no queues without a lock.
    #[cfg(not(any(feature = "std", becalm_loom)))]
    #[expect(clippy::unused_self)]
    fn hand_out(&self, _to_all: bool) {}
}

#[cfg(any(feature = "std", becalm_loom))]
impl Core {
    pub(super) fn queue(&self) -> MutexGuard<'_, Queue> {
        match self.queue.lock() {
            Ok(queue) => queue,
            // Nothing panics while it is held, and what there is stays true.
            Err(poisoned) => poisoned.into_inner(),
        }
    }

    /// Hands free places to those who wait, in turn; to all of them, if so told, places that are not
    /// free.
    #[cold]
    pub(super) fn hand_out(&self, to_all: bool) {
        loop {
            let next = self.hand_one(&mut self.queue(), to_all);
            // Woken without the lock: a waker may run anything.
            match next {
                Some(waker) => waker.wake(),
                None => return,
            }
        }
    }

    fn hand_one(&self, queue: &mut Queue, to_all: bool) -> Option<core::task::Waker> {
        let is_awaited = match queue.waiting() {
            0 => return None,
            waiting => waiting > 1,
        };
        self.change(|places| {
            let is_free = to_all || places.in_flight < places.limit;
            let in_flight = places.in_flight.saturating_add(1);
            is_free.then_some(Places {
                in_flight,
                is_awaited,
                ..places
            })
        })?;
        queue.grant_next()
    }

    /// Takes a place, or sets the mark that somebody waits: whichever the word allows. For a caller
    /// who holds the lock of an empty queue.
    pub(super) fn take_or_mark(&self) -> bool {
        let before = self.change(|places| {
            Some(places.taken().unwrap_or(Places {
                is_awaited: true,
                ..places
            }))
        });
        before.is_some_and(|before| before.taken().is_some())
    }

    /// The queue has become empty, other than by handing out. For a caller who holds its lock.
    pub(super) fn unmark(&self) {
        self.change(|places| {
            Some(Places {
                is_awaited: false,
                ..places
            })
        });
    }
}
