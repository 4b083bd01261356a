//! How do many connections of one process share a rate of dials? They wait; none is refused.

use core::fmt;
use core::time::Duration;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::bulkhead::{Bulkhead, Semaphore, Waiter};
use crate::time::{Instant, Sleeper, default_sleeper};

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
    rate: Rate,
    /// When the last dial's share of the rate is over.
    paid_until: Arc<Mutex<Instant>>,
    /// One place: whose turn it is to begin.
    turn: Semaphore,
    running: Semaphore,
    sleeper: Arc<dyn Sleeper>,
}

#[derive(Debug, Clone, Copy)]
struct Rate {
    /// One dial's share of the time.
    share: Duration,
    /// How far ahead of the time may be paid.
    ahead: Duration,
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
        // Rounded up, so that the rate is never exceeded.
        let share = per
            .as_nanos()
            .checked_add(u128::from(dials.saturating_sub(1)));
        let share = share.and_then(|nanos| nanos.checked_div(u128::from(dials)));
        let share = u64::try_from(share.ok_or(InvalidPacer::Dials)?).unwrap_or(u64::MAX);
        if share == 0 {
            return Err(InvalidPacer::Per);
        }
        let ahead = burst.checked_sub(1).ok_or(InvalidPacer::Burst)?;
        let share = Duration::from_nanos(share);
        Ok(Self {
            core: Arc::new(Core {
                rate: Rate {
                    share,
                    ahead: share.saturating_mul(ahead),
                },
                paid_until: Arc::default(),
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
            core.sleeper.sleep_until(at).await;
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
            return Err(now.after(self.core.rate.share));
        }
        let permit = Permit { places };
        self.core.try_pay(now)?;
        Ok(permit)
    }
}

impl Core {
    fn try_pay(&self, now: Instant) -> Result<(), Instant> {
        let mut paid_until = self.paid_until();
        let Rate { share, ahead } = self.rate;
        let ahead_of_now = paid_until.since(now);
        if ahead_of_now > ahead {
            return Err(now.after(ahead_of_now.saturating_sub(ahead)));
        }
        *paid_until = (*paid_until).max(now).after(share);
        Ok(())
    }

    fn paid_until(&self) -> MutexGuard<'_, Instant> {
        self.paid_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
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
