//! With what probability is a call shed before it is sent?

use core::fmt;

use super::{Priority, Throttle};
use crate::atomic::{AtomicU64, Ordering};
use crate::duration::nanos;
use crate::time::Instant;
use crate::window::{Counter, SLICES, Sums, TimeSlices, Window};

/// K is counted in millionths.
const MILLION: u128 = 1_000_000;

/// The client-side throttling of the Google SRE book (ch. 21, *Handling Overload*).
///
/// A call is shed with probability p = max(0, (requests - K accepts) / (requests + 1)), at most
/// [`Throttle::max`], where a shed call is a request, too. So a client sends K requests for each
/// that is accepted, whatever it is asked for, and fewer than all only when the server rejects more
/// than 1 - 1/K of them.
///
/// Counted apart for each [`Priority`], as in the book. A call is shed by the counts of its own
/// priority or by those of all that are at least as critical together, whichever is more: what the
/// critical calls have learnt, a priority that was quiet need not learn again at the server's
/// expense, and few critical calls do not decide about many others. Less critical calls never
/// cause more critical ones to be shed.
///
/// A request counts when its outcome is known, not when it is sent: otherwise the calls that begin
/// together after a pause would be shed for having no answers yet. Lock-free; an admission writes
/// nothing, an outcome or a shed call makes one exchange.
#[derive(Debug)]
pub struct AdaptiveThrottle {
    /// In millionths.
    k: AtomicU64,
    /// In parts of 2^64.
    max: AtomicU64,
    window: AtomicU64,
    /// Counts of another window's slices are of another epoch.
    epoch: AtomicU64,
    slices: TimeSlices,
    /// Calls that were accepted, and marked those that were not.
    counts: [Window; 4],
}

/// The refusal of a call that was shed before it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shed {
    priority: Priority,
    /// In parts of 2^64.
    share: u64,
}

impl Shed {
    /// The priority of the call.
    pub const fn priority(self) -> Priority {
        self.priority
    }

    /// The probability with which such calls were shed at that moment.
    pub fn probability(self) -> f64 {
        fraction(self.share)
    }
}

impl fmt::Display for Shed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "shed before it was sent, as {:.0} % of {} calls while the server rejects most; call \
             later, or with a higher priority",
            self.probability() * 100.0,
            self.priority
        )
    }
}

impl core::error::Error for Shed {}

impl AdaptiveThrottle {
    /// A throttle that has counted nothing.
    ///
    /// Values out of range saturate: [`Throttle::validate`] is where they are refused.
    pub fn new(config: Throttle) -> Self {
        let window = nanos(config.window);
        let new = Self {
            k: AtomicU64::new(0),
            max: AtomicU64::new(0),
            window: AtomicU64::new(window),
            epoch: AtomicU64::new(0),
            slices: TimeSlices::of_window(window),
            counts: core::array::from_fn(|_| Window::new()),
        };
        new.reconfigure(config);
        new
    }

    /// Takes over another configuration. The counts stay, unless the window changes. Two at once
    /// must be kept apart by the caller.
    pub fn reconfigure(&self, config: Throttle) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturating
        let k = (config.k.min(1e9) * 1e6 + 0.5) as u64;
        self.k.store(k, Ordering::Relaxed);
        self.max.store(share_of(config.max), Ordering::Relaxed);
        let window = nanos(config.window);
        if self.window.swap(window, Ordering::Relaxed) != window {
            self.slices.set_window(window);
            self.epoch.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// A call asks whether it may be sent. `random` gives 64 uniformly distributed bits; it is
    /// asked only if there is a doubt.
    ///
    /// Its outcome is told to [`on_accepted`](Self::on_accepted) or
    /// [`on_rejected`](Self::on_rejected).
    ///
    /// # Errors
    ///
    /// [`Shed`], and nothing more need be told.
    #[inline]
    pub fn admit(
        &self,
        now: Instant,
        priority: Priority,
        random: impl FnOnce() -> u64,
    ) -> Result<(), Shed> {
        let share = self.share(now, priority);
        if share == 0 || random() >= share {
            return Ok(());
        }
        self.count(Counter::Marked, now, priority);
        Err(Shed { priority, share })
    }

    /// The server accepted a request: it did the work, or failed for a reason of the request.
    #[inline]
    pub fn on_accepted(&self, now: Instant, priority: Priority) {
        self.count(Counter::Calls, now, priority);
    }

    /// The server rejected a request, or did not answer in time. A call that its owner gave up
    /// says nothing about the server and is not told.
    #[inline]
    pub fn on_rejected(&self, now: Instant, priority: Priority) {
        self.count(Counter::Marked, now, priority);
    }

    /// The probability with which a call of this priority would be shed, from 0 to
    /// [`Throttle::max`].
    pub fn probability(&self, now: Instant, priority: Priority) -> f64 {
        fraction(self.share(now, priority))
    }

    fn count(&self, counter: Counter, now: Instant, priority: Priority) {
        let epoch = self.epoch();
        let slice = self.slices.at(now);
        let current = || self.epoch() == epoch;
        self.counts[priority as usize].add(counter, epoch, slice, current);
    }

    /// The probability in parts of 2^64.
    fn share(&self, now: Instant, priority: Priority) -> u64 {
        let (epoch, slice) = (self.epoch(), self.slices.at(now));
        let counts = &self.counts[..=priority as usize];
        // Cheap where nothing was rejected, for then K, which is at least 1, sheds nothing.
        let rejects = |window: &Window| window.marked(epoch, slice, SLICES) > 0;
        if !counts.iter().any(rejects) {
            return 0;
        }
        let (mut own, mut together) = (Sums::default(), Sums::default());
        for window in counts {
            own = window.sums(epoch, slice);
            together.calls += own.calls;
            together.marked += own.marked;
        }
        let k = self.k.load(Ordering::Relaxed);
        let share = shed_share(own.calls, own.marked, k);
        let share = share.max(shed_share(together.calls, together.marked, k));
        share.min(self.max.load(Ordering::Relaxed))
    }

    #[expect(clippy::cast_possible_truncation)] // an epoch that repeats after 2^32 is as good
    fn epoch(&self) -> u32 {
        self.epoch.load(Ordering::SeqCst) as u32
    }
}

/// (requests - K accepts) / (requests + 1) in parts of 2^64, rounded down; 0 below 0.
fn shed_share(accepted: u64, rejected: u64, k: u64) -> u64 {
    let requests = u128::from(accepted) + u128::from(rejected);
    let excess = (requests * MILLION).saturating_sub(u128::from(accepted) * u128::from(k));
    let share = (excess << 64) / ((requests + 1) * MILLION);
    u64::try_from(share).unwrap_or(u64::MAX)
}

/// A probability in parts of 2^64; 1 is all but one of them.
fn share_of(probability: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturating
    let share = (probability * 18_446_744_073_709_551_616.0) as u64;
    share
}

fn fraction(share: u64) -> f64 {
    #[expect(clippy::cast_precision_loss)]
    let fraction = share as f64 / 18_446_744_073_709_551_616.0;
    fraction
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_share_is_that_of_the_book() {
        for (accepted, rejected, k, p) in [
            (0, 0, 2.0, 0.0),
            (0, 1, 2.0, 0.5),
            (0, 9, 2.0, 0.9),
            (50, 49, 2.0, 0.0),
            (50, 50, 2.0, 0.0),
            (50, 51, 2.0, 1.0 / 102.0),
            (10, 90, 2.0, 80.0 / 101.0),
            (10, 90, 1.1, 89.0 / 101.0),
            (1, 0, 1.0, 0.0),
        ] {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let share = shed_share(accepted, rejected, (k * 1e6) as u64);
            assert!((fraction(share) - p).abs() < 1e-15, "{accepted} {rejected}");
        }
    }

    proptest! {
        /// Ten full slices of four priorities: nothing overflows, and no share is certain.
        #[test]
        fn no_count_panics_and_none_is_certain(
            accepted in 0..1_u64 << 34, rejected in 0..1_u64 << 34, k in 1_000_000..=1_000_000_000_u64,
        ) {
            let share = shed_share(accepted, rejected, k);
            prop_assert!(share < u64::MAX - 100_000_000);
            prop_assert!(shed_share(accepted, rejected + 1, k) >= share);
            prop_assert!(shed_share(accepted + 1, rejected, k) <= share);
        }
    }
}
