//! How do many connections of one process share a rate of dials? They wait; none is refused.

use core::fmt;
use core::time::Duration;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};

use crate::bulkhead::{Bulkhead, Semaphore, Waiter};
use crate::rate::cell::CellRate;
use crate::time::{Instant, Sleeper, default_sleeper, sleep_anywhere};

/// Delays dials to a rate with a burst, and bounds how many run at once.
///
/// It is exact: over any interval at most `burst + rate x interval` dials begin (the generic cell rate
/// algorithm, ITU-T I.371, in whole nanoseconds). It is fair, first come first served, and a dial that stops waiting
/// takes nothing with it. Clones share it.
///
/// ```
/// # #[cfg(feature = "tokio")]
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use becalm::reconnect::Pacer;
/// use std::time::Duration;
///
/// // At most 50 dials a second, 5 at once out of rest, and 10 that run.
/// let pacer = Pacer::new(50, Duration::from_secs(1), 5).expect("a rate").in_flight(10);
/// let permit = pacer.pass().await;
/// // .. dial ..
/// drop(permit); // the dial has ended, well or not
/// # }
/// # #[cfg(not(feature = "tokio"))] fn main() {}
/// ```
#[derive(Debug, Clone)]
pub struct Pacer {
    core: Arc<Core>,
}

#[derive(Debug, Clone)]
struct Core {
    rate: Arc<Mutex<CellRate>>,
    /// One dial's share of the time.
    share: Duration,
    /// One place: whose turn it is to begin.
    turn: Semaphore,
    running: Semaphore,
    sleeper: Arc<dyn Sleeper>,
}

/// A dial that may run; the next may when it is dropped.
#[derive(Debug)]
#[must_use = "the next dial may begin when it is dropped"]
pub struct Permit {
    places: Semaphore,
}

/// The refusal of a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidPacer {
    /// No dial would ever begin.
    Dials,
    /// The rate would have no bound.
    Per,
    /// No dial would ever begin.
    Burst,
}

impl fmt::Display for InvalidPacer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dials => "dials is 0: nothing would be dialled; set at least 1",
            Self::Per => "per is too short: set at least a nanosecond for each dial",
            Self::Burst => "burst is 0: nothing would be dialled; set at least 1",
        })
    }
}

impl std::error::Error for InvalidPacer {}

impl Pacer {
    /// At most so many dials in so much time, and so many at once after a rest.
    ///
    /// # Errors
    ///
    /// A zero is refused, and a rate of more than one dial a nanosecond.
    pub fn new(dials: u32, per: Duration, burst: u32) -> Result<Self, InvalidPacer> {
        let share = CellRate::share_of(dials, per).ok_or(InvalidPacer::Dials)?;
        if share.is_zero() {
            return Err(InvalidPacer::Per);
        }
        if burst == 0 {
            return Err(InvalidPacer::Burst);
        }
        Ok(Self {
            core: Arc::new(Core {
                rate: Arc::new(Mutex::new(CellRate::new(share, burst))),
                share,
                turn: queue(1),
                running: queue(u32::MAX),
                sleeper: default_sleeper(),
            }),
        })
    }

    /// Sets how many dials may run at once, at least one. Default: any number. A pacer that is in use keeps its own.
    #[must_use]
    pub fn in_flight(self, dials: u32) -> Self {
        self.with(|core| core.running = queue(dials))
    }

    /// Sets the clock and the timer. Default: tokio's with the feature `tokio`, otherwise std's.
    #[must_use]
    pub fn sleeper(self, sleeper: impl Sleeper) -> Self {
        self.with(|core| core.sleeper = Arc::new(sleeper))
    }

    fn with(&self, set: impl FnOnce(&mut Core)) -> Self {
        let mut core = (*self.core).clone();
        set(&mut core);
        Self {
            core: Arc::new(core),
        }
    }

    /// Waits until a dial may begin. Dropped before, it gives up its place in the queue.
    pub async fn pass(&self) -> Permit {
        let core = &*self.core;
        let running = acquire(&core.running).await;
        let turn = acquire(&core.turn).await;
        while let Err(at) = core.try_pay(core.sleeper.now()) {
            sleep_anywhere(&core.sleeper, at).await;
        }
        drop(turn);
        running
    }

    /// Takes the right to dial now, past all who wait, if the rate has it and fewer than the bound run; otherwise
    /// says when to ask again, at the earliest. For drivers that own their timers.
    ///
    /// # Errors
    ///
    /// The moment before which no dial may begin.
    pub fn try_pass(&self) -> Result<Permit, Instant> {
        let now = self.core.sleeper.now();
        let places = self.core.running.clone();
        if !places.try_acquire() {
            return Err(now.after(self.core.share));
        }
        let permit = Permit { places };
        self.core.try_pay(now)?;
        Ok(permit)
    }
}

impl Core {
    fn try_pay(&self, now: Instant) -> Result<(), Instant> {
        let rate = self.rate.lock();
        rate.unwrap_or_else(PoisonError::into_inner).pass(now)
    }
}

/// Places for which any number may wait, in order.
fn queue(places: u32) -> Semaphore {
    Semaphore::new(Bulkhead::calls(places).waiting(u32::MAX))
}

async fn acquire(places: &Semaphore) -> Permit {
    let mut waiter = Waiter::new();
    // Its queue has no bound, so nothing is refused.
    let _ = poll_fn(|context| places.poll_acquire(&mut waiter, context.waker())).await;
    Permit {
        places: places.clone(),
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.places.release(None);
    }
}
