//! With what probability is a call shed before it is sent?

use core::fmt;

use super::{Priority, Throttle};
use crate::duration::nanos;
use crate::sync::{
    AtomicU64, Counter, MILLION, Ordering, SLICES, Sums, TimeSlices, Window, millionths,
};
use crate::time::Instant;

/// The client-side throttling of the Google SRE book (ch. 21, *Handling Overload*).
///
/// A call is shed with probability p = max(0, (requests - K accepts) / (requests + 1)), at most
/// [`Throttle::max`], where a shed call is a request, too. So a client sends K requests for each
/// that is accepted, whatever it is asked for, and fewer than all only when the server rejects more
/// than 1 - 1/K of them.
///
/// Counted apart for each [`Priority`], as in the book, and shed in their order. The book does not
/// say how to keep the critical calls whole at a server that rejects all alike; counts alone do
/// not, for a client that sends K for each that is accepted has 1 - 1/K of all priorities rejected, the
/// share from which critical calls are shed, too. So, with `excess` = requests - K accepts:
///
/// - K - 1 is halved from each priority to the next, and is as configured for
///   [`Priority::Critical`], the default. A priority is shed before those above it are hurt by it.
/// - A priority bears the excess of its own calls, or that of all that are at least as critical
///   together, whichever is more: the critical calls go first, and what they have learnt, a
///   priority that was quiet need not learn again at the server's expense.
/// - Of either it bears only what would be left if `max` of the less critical calls were shed:
///   nobody is shed in whose stead a less critical call can be.
///
/// Where all calls have one priority this is the formula of the book.
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
            counts: Default::default(),
        };
        new.reconfigure(config);
        new
    }

    /// Takes over another configuration. The counts stay, unless the window changes. Two at once
    /// must be kept apart by the caller.
    pub fn reconfigure(&self, config: Throttle) {
        let k = millionths(config.k).max(MILLION);
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
        // Cheap where nothing was rejected, for then K, which is at least 1, sheds nothing.
        let rejects = |window: &Window| window.marked(epoch, slice, SLICES) > 0;
        if !self.counts[..=priority as usize].iter().any(rejects) {
            return 0;
        }
        let sums = core::array::from_fn(|level| self.counts[level].sums(epoch, slice));
        let surplus = self.k.load(Ordering::Relaxed) - MILLION;
        let max = self.max.load(Ordering::Relaxed);
        shed_share(&sums, priority, surplus, max)
    }

    #[expect(clippy::cast_possible_truncation)] // an epoch that repeats after 2^32 is as good
    fn epoch(&self) -> u32 {
        self.epoch.load(Ordering::SeqCst) as u32
    }
}

/// What a priority bears of the excess, over its own requests + 1, in parts of 2^64, rounded down.
fn shed_share(sums: &[Sums; 4], priority: Priority, surplus: u64, max: u64) -> u64 {
    let level = priority as usize;
    let k = i128::from(MILLION + (surplus << 1 >> level));
    let (own, below) = (&sums[level..=level], &sums[level + 1..]);
    // Both factors are far below 2^63: ten slices of 2^28 requests each, in millionths.
    let less_critical = i128::from(Counts::of(below).requests * MILLION);
    let spared = (less_critical * i128::from(max) + (1 << 63)) >> 64; // to the nearest
    let left = Counts::of(below).excess(k) - spared;
    let borne = |of: &[Sums]| {
        let excess = Counts::of(of).excess(k);
        excess.min(excess + left)
    };
    let excess = borne(own).max(borne(&sums[..=level])).max(0);
    let requests = Counts::of(own).requests;
    let share = (excess << 64) / i128::from((requests + 1) * MILLION);
    u64::try_from(share).unwrap_or(u64::MAX).min(max)
}

/// Requests of some priorities.
#[derive(Clone, Copy)]
struct Counts {
    requests: u64,
    accepts: u64,
}

impl Counts {
    fn of(sums: &[Sums]) -> Self {
        let (mut accepts, mut rejects) = (0, 0);
        for it in sums {
            accepts += it.calls;
            rejects += it.marked;
        }
        Self {
            requests: accepts + rejects,
            accepts,
        }
    }

    /// requests - K accepts, both in millionths.
    fn excess(self, k: i128) -> i128 {
        i128::from(self.requests * MILLION) - i128::from(self.accepts) * k
    }
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

    fn of_one(accepted: u64, rejected: u64, k: f64) -> u64 {
        let mut sums = [Sums::default(); 4];
        sums[Priority::Critical as usize] = Sums {
            calls: accepted,
            marked: rejected,
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let surplus = ((k - 1.0) * 1e6 + 0.5) as u64;
        shed_share(&sums, Priority::Critical, surplus, u64::MAX)
    }

    #[test]
    fn the_share_of_a_single_priority_is_that_of_the_book() {
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
            let share = fraction(of_one(accepted, rejected, k));
            assert!((share - p).abs() < 1e-15, "{accepted} {rejected}: {share}");
        }
    }

    proptest! {
        /// Ten full slices of four priorities: nothing overflows, and none is shed for certain by
        /// its own counts.
        #[test]
        fn no_count_panics_and_none_is_certain(
            accepted in 0..1_u64 << 32, rejected in 0..1_u64 << 32, k in 1.0..=1000.0,
        ) {
            let share = of_one(accepted, rejected, k);
            prop_assert!(share < u64::MAX - 100_000_000);
            prop_assert!(of_one(accepted, rejected + 1, k) >= share);
            prop_assert!(of_one(accepted + 1, rejected, k) <= share);
        }

        /// A rejection, of whomever, never lessens a share, and an accepted call never adds to one.
        #[test]
        fn more_rejections_never_shed_less(
            counts in proptest::array::uniform4((0..1_u64 << 32, 0..1_u64 << 32)),
            whose in 0..4_usize, own in 0..4_usize, surplus in 0..1_000_000_000_u64,
            max in proptest::prelude::any::<u64>(),
        ) {
            let sums = counts.map(|(calls, marked)| Sums { calls, marked });
            let priority = Priority::ALL[own];
            let share = shed_share(&sums, priority, surplus, max);
            prop_assert!(share <= max);
            let mut accepted = sums;
            accepted[whose].calls += 1;
            prop_assert!(shed_share(&accepted, priority, surplus, max) <= share);
            let mut rejected = sums;
            rejected[whose].marked += 1;
            prop_assert!(shed_share(&rejected, priority, surplus, max) >= share);
        }
    }
}
