//! When is it time again? Periodic work and expiry, spread so that a fleet does not act in step.
//!
//! Health checks, cache refreshes and polls that start together stay together for ever if their
//! period is exact: the same herd as after an outage, once a period. Here the first tick comes
//! after U(0, p) and each gap is drawn from U(p(1 - f), p(1 + f)), so that a fleet is spread from
//! the start and drifts apart where something has aligned it.

use core::time::Duration;

use crate::duration::nanos;
use crate::jitter::{Bounds, Jitter};
use crate::reasons::{reasons, require};
use crate::rng::Random;
use crate::time::Instant;

/// A tenth: two clients in step are a tenth of a period apart after a few ticks, and the work
/// still comes about when its period says.
const SHARE: f64 = 0.1;

/// The schedule of periodic work, without a clock: the owner of the time asks for the next delay.
///
/// Gaps are counted from the tick that was due, not from the call, so neither the work nor a late
/// timer adds to them: the mean period is p. A tick that is missed, because the work took longer
/// than the gap, is skipped, and the next one comes after U(0, p) from now: what has stalled one
/// client has stalled others, and would have them go on in step.
///
/// ```
/// use becalm::{interval::JitteredInterval, rng::SplitMix64, time::Instant};
/// use core::time::Duration;
///
/// let mut checks = JitteredInterval::new(Duration::from_secs(10))?;
/// let mut random = SplitMix64::new(1);
/// let mut now = Instant::ZERO;
/// let first = checks.next_delay(now, &mut random);
/// assert!(first <= Duration::from_secs(10));
/// now = now.after(first);
/// let second = checks.next_delay(now, &mut random);
/// assert!(second >= Duration::from_secs(9) && second <= Duration::from_secs(11));
/// # Ok::<(), becalm::interval::InvalidInterval>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct JitteredInterval {
    period: u64,
    jitter: Jitter,
    due: Option<Instant>,
}

impl JitteredInterval {
    /// Ticks on average once a `period`, from 1 ns to 292 years; gaps vary by a tenth of it to
    /// either side.
    ///
    /// # Errors
    ///
    /// A period out of range is refused.
    pub fn new(period: Duration) -> Result<Self, InvalidInterval> {
        Self::with_share(period, SHARE)
    }

    /// Makes an interval whose gaps vary by this share of the period, above 0 and at most 1.
    ///
    /// # Errors
    ///
    /// A period or a share out of range is refused.
    pub fn with_share(period: Duration, share: f64) -> Result<Self, InvalidInterval> {
        let period = nanos(period);
        require(&[
            (period > 0, InvalidInterval::Zero),
            // The longest gap, twice the period, must not meet the end of the clock.
            (period <= u64::MAX / 2, InvalidInterval::TooLong),
        ])?;
        Ok(Self {
            period,
            jitter: proportional(share)?,
            due: None,
        })
    }

    /// How long it is from `now` to the next tick. Ask once for each tick, after it.
    pub fn next_delay<R: Random + ?Sized>(&mut self, now: Instant, random: &mut R) -> Duration {
        let gap = |jitter: Jitter, random: &mut R| {
            Duration::from_nanos(jitter.draw(around(self.period, u64::MAX), random))
        };
        let due = self
            .due
            .map(|last| last.after(gap(self.jitter, random)))
            .filter(|due| *due >= now)
            .unwrap_or_else(|| now.after(gap(Jitter::Full, random)));
        self.due = Some(due);
        due.since(now)
    }
}

/// When an entry of a cache expires: U(0.9 ttl, ttl), never later than `ttl`, so that what was
/// stored together is not fetched together again.
///
/// ```
/// use std::time::Duration;
/// let ttl = becalm::interval::splay(Duration::from_secs(300));
/// assert!(ttl >= Duration::from_secs(270) && ttl <= Duration::from_secs(300));
/// ```
#[cfg(feature = "std")]
pub fn splay(ttl: Duration) -> Duration {
    let mut random = crate::rng::SplitMix64::new(crate::rng::entropy());
    splay_with(ttl, SHARE, &mut random).unwrap_or(ttl)
}

/// Shortens a time to live at random by up to this share, with the caller's randomness:
/// U(ttl(1 - share), ttl). The share is above 0 and at most 1.
///
/// # Errors
///
/// A share out of range is refused.
pub fn splay_with<R: Random + ?Sized>(
    ttl: Duration,
    share: f64,
    random: &mut R,
) -> Result<Duration, InvalidInterval> {
    // Spread below the cap, and the cap is the ttl itself.
    let ttl = nanos(ttl);
    Ok(Duration::from_nanos(
        proportional(share)?.draw(around(ttl, ttl), random),
    ))
}

fn proportional(share: f64) -> Result<Jitter, InvalidInterval> {
    require(&[(share > 0.0 && share <= 1.0, InvalidInterval::Share)])?;
    Ok(Jitter::Proportional(share))
}

const fn around(ceiling: u64, cap: u64) -> Bounds {
    Bounds {
        base: ceiling,
        floor: 0,
        cap,
        ceiling,
        previous: ceiling,
    }
}

reasons! {
    /// Why an interval or a splay is refused.
    InvalidInterval;
    /// The period is 0.
    Zero: "the period is 0; set how long it is from one tick to the next";
    /// The period is longer than 292 years.
    TooLong: "the period is longer than 292 years; set a shorter one";
    /// The share is not above 0 and at most 1.
    Share: "the share must be above 0 and at most 1; 0.1 spreads by a tenth";
}

#[cfg(feature = "std")]
pub use ticker::Ticker;

#[cfg(feature = "std")]
mod ticker {
    use super::JitteredInterval;
    use crate::rng::Seed;
    use crate::time::{Cancel, Instant, Sleeper, default_sleeper};
    use std::sync::Arc;

    impl JitteredInterval {
        /// The interval with a clock: tokio's with the feature `tokio`, otherwise the standard
        /// library's.
        pub fn ticker(self) -> Ticker {
            Ticker {
                interval: self,
                sleeper: default_sleeper(),
                seed: Seed::entropy(),
                due: None,
            }
        }

        /// The interval with this clock and randomness, for tests.
        pub fn ticker_on(self, sleeper: impl Sleeper, seed: Seed) -> Ticker {
            Ticker {
                interval: self,
                sleeper: Arc::new(sleeper),
                seed,
                due: None,
            }
        }
    }

    /// Waits for the ticks of a [`JitteredInterval`].
    ///
    /// Every gap is drawn from a fresh seed, so that a forked child and a restored snapshot do not
    /// go on in step with their twin.
    ///
    /// ```
    /// # async fn check() {}
    /// # async fn run() -> Result<(), becalm::interval::InvalidInterval> {
    /// use becalm::interval::JitteredInterval;
    /// use std::time::Duration;
    ///
    /// let mut checks = JitteredInterval::new(Duration::from_secs(10))?.ticker();
    /// loop {
    ///     checks.tick().await;
    ///     check().await;
    /// }
    /// # }
    /// ```
    #[derive(Debug)]
    pub struct Ticker {
        interval: JitteredInterval,
        sleeper: Arc<dyn Sleeper>,
        seed: Seed,
        due: Option<Instant>,
    }

    impl Ticker {
        /// Waits for the next tick. Dropping the future loses nothing: the next call waits for the
        /// same tick.
        pub async fn tick(&mut self) {
            let due = self.next_due();
            self.sleeper.sleep_until(due).await;
            self.due = None;
        }

        /// Blocks the thread until the next tick, or until `cancel` is cancelled; tells whether it
        /// ticked.
        pub fn tick_blocking(&mut self, cancel: Option<&Cancel>) -> bool {
            let due = self.next_due();
            self.sleeper.block_until(due, cancel);
            let ticked = !cancel.is_some_and(Cancel::is_cancelled);
            if ticked {
                self.due = None;
            }
            ticked
        }

        /// The tick that is waited for; a new one if the last has come.
        fn next_due(&mut self) -> Instant {
            *self.due.get_or_insert_with(|| {
                let now = self.sleeper.now();
                now.after(self.interval.next_delay(now, &mut self.seed.stream()))
            })
        }
    }
}
