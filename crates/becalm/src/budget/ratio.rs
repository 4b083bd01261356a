//! How are retries kept to a share of what earns them, exactly and without a lock?
//!
//! One atomic word holds the truth: `word = balance - accrued(now)`, in millionths of a token,
//! where `accrued(now) = floor x now`. So a floor needs no timer and no second word: the balance at
//! any moment is `min(burst, word + accrued(now))`. Between two withdrawals the balance only grows,
//! therefore capping it at the burst when it is read equals capping it all the time.
//!
//! What earns a token is the caller's business: successes for [`Budget::Ratio`], first tries for
//! [`Budget::FirstTries`].

use super::Withdrawal;
use super::account::{Account, Fill, Level};
use super::config::Ratio;
use super::kind::{Budget, Kind};
use crate::classify::Failure;
use crate::sync::{AtomicI64, Ordering, change, millionths};
use crate::time::Instant;

/// A tenth of the calls that succeed, a burst of 10, and 10 retries an hour: room for a client too
/// small to have earned a token yet, and none for retries that keep a service down.
impl Default for Budget {
    fn default() -> Self {
        Self::Ratio(Ratio::default())
    }
}

impl Budget {
    /// Retries are at most this share of the calls that succeed, with a burst of 10 and 10 an hour
    /// beside them.
    pub const fn ratio(ratio: f64) -> Self {
        Self::Ratio(Ratio {
            ratio,
            ..Ratio::DEFAULT
        })
    }

    /// Retries are at most this share of first tries, with a burst of 10.
    ///
    /// It goes on earning while nothing is answered, so a service that retries keep down stays
    /// down; [`ratio`](Self::ratio) does not. For the systems that count so.
    pub const fn first_tries(ratio: f64) -> Self {
        Self::FirstTries(Ratio {
            ratio,
            ..Ratio::OF_FIRST_TRIES
        })
    }

    /// Sets the burst of the ratio, or else of the first tries. Changes nothing on a budget that has
    /// neither.
    #[must_use]
    pub fn burst(mut self, tokens: f64) -> Self {
        if let Some(ratio) = self.ratio_mut() {
            ratio.burst = tokens;
        }
        self
    }

    /// Sets the tokens that each second adds to the ratio, or else to the first tries. Changes nothing
    /// on a budget that has neither.
    #[must_use]
    pub fn floor_per_second(mut self, tokens: f64) -> Self {
        if let Some(ratio) = self.ratio_mut() {
            ratio.floor_per_second = tokens;
        }
        self
    }

    /// The parameters of the ratio, or else of the first tries, to be changed.
    pub fn ratio_mut(&mut self) -> Option<&mut Ratio> {
        match self {
            Self::Ratio(ratio) | Self::FirstTries(ratio) => Some(ratio),
            Self::AllOf(all) => all.ratio.as_mut().or(all.first_tries.as_mut()),
            _ => None,
        }
    }
}

/// A token, in the unit of the word.
const TOKEN: i64 = 1_000_000;
const NANOS_PER_HOUR: u128 = 3_600_000_000_000;
const SECONDS_PER_HOUR: f64 = 3600.0;
/// No balance at all, whatever the floor has accrued: a reload is in progress.
const CLOSED: i64 = i64::MIN / 2;

/// Retries are a share of deposits: lock-free, shared by clones of a retrier.
///
/// The exact law, under any interleaving of threads: over any interval, withdrawals <=
/// `ratio` x deposits + `floor_per_second` x length + [`held`](Ratio::held) + refunds in the
/// interval; since creation, withdrawals - refunds <= `ratio` x deposits + `floor_per_second` x age +
/// `held`. A retrier deposits once for each call that succeeds.
///
/// While it is full, a deposit writes nothing and reads no clock.
#[derive(Debug)]
#[repr(align(128))] // two cache lines: neighbours must not share the word's line
pub struct RatioBudget {
    word: AtomicI64,
    /// From this word on the budget is known to be full, without a look at the clock. A past
    /// `accrued` makes it too high, never too low.
    full: AtomicI64,
    /// The word that the last reload closed.
    closed: AtomicI64,
    ratio: AtomicI64,
    /// What a full budget holds.
    burst: AtomicI64,
    /// Millionths an hour: ten tokens an hour are no whole number of them a second.
    floor: AtomicI64,
    /// 0 where nothing is bounded.
    bounded: AtomicI64,
}

impl RatioBudget {
    /// A full budget of the ratio in this configuration; without one it grants everything. Other
    /// kinds are [`Budgets`](super::Budgets)'.
    ///
    /// Values out of range saturate: [`Budget::validate`] is where they are refused.
    pub fn new(budget: Budget) -> Self {
        let new = Self {
            word: AtomicI64::new(0),
            full: AtomicI64::new(0),
            closed: AtomicI64::new(CLOSED),
            ratio: AtomicI64::new(0),
            burst: AtomicI64::new(0),
            floor: AtomicI64::new(0),
            bounded: AtomicI64::new(0),
        };
        new.open_as(budget.part(Kind::Ratio), 1.0, Instant::ZERO);
        new
    }

    /// Takes over another configuration and keeps the fill fraction, so that a reload mints no
    /// burst. A budget that bounded nothing before starts full.
    ///
    /// Safe beside running calls: the word is closed while the parameters change, so no
    /// withdrawal mixes old and new; what is deposited in that moment is lost. Two reloads at once
    /// must be kept apart by the caller.
    pub fn reconfigure(&self, budget: Budget, now: Instant) {
        let fill = self.close(now);
        self.open_as(budget.part(Kind::Ratio), fill.usable, now);
    }

    /// Opens a closed budget, filled to this part; without a ratio it grants everything.
    fn open_as(&self, own: Option<Budget>, fill: f64, now: Instant) {
        let (bounded, ratio) = match own {
            Some(Budget::Ratio(ratio) | Budget::FirstTries(ratio)) => (1, ratio),
            _ => (0, Ratio::NOTHING),
        };
        let burst = micros(if bounded == 0 { 0.0 } else { ratio.held() });
        let floor = micros(ratio.floor_per_second * SECONDS_PER_HOUR);
        self.ratio.store(micros(ratio.ratio), Ordering::Relaxed);
        self.burst.store(burst, Ordering::Relaxed);
        self.floor.store(floor, Ordering::Relaxed);
        self.bounded.store(bounded, Ordering::Release);
        let accrued = self.accrued(now);
        // An exchange, so that the one that overwrites it has seen the parameters above.
        self.full.swap(burst - accrued, Ordering::AcqRel);
        #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
        let balance = (burst as f64 * fill) as i64;
        let mut word = balance.saturating_sub(accrued);
        // A withdrawal that has read the old parameters, and found the budget full, must not find the
        // old word again. Above the burst it is capped when it is next read.
        if balance == burst && word == self.closed.load(Ordering::Relaxed) {
            word += 1;
        }
        self.word.swap(word, Ordering::AcqRel);
    }

    /// What earns retries has happened.
    #[inline]
    pub fn deposit(&self) {
        let word = self.word.load(Ordering::Relaxed);
        if word < self.full.load(Ordering::Relaxed) {
            self.deposit_below_full();
        }
    }

    #[cold]
    #[inline(never)] // keeps the success path of every caller small
    fn deposit_below_full(&self) {
        let full = self.full.load(Ordering::Relaxed);
        let ratio = self.ratio.load(Ordering::Relaxed);
        change(&self.word, |word| {
            (word < full).then(|| word.saturating_add(ratio).min(full))
        });
    }

    /// A retry asks for its token.
    pub fn withdraw(&self, now: Instant) -> Option<Withdrawal> {
        let mut is_bounded = true;
        let paid = change(&self.word, |word| {
            // Read after the word: if a reload changes them in between, the exchange fails.
            is_bounded = self.bounded.load(Ordering::Acquire) != 0;
            if !is_bounded {
                return None;
            }
            let burst = self.burst.load(Ordering::Relaxed);
            let balance = word.saturating_add(self.accrued(now));
            if balance < TOKEN {
                None
            } else if balance < burst {
                Some(word - TOKEN)
            } else {
                // Full: counted anew from here, and from the end of the current millionth, or
                // the interval that starts here would be paid for the whole of it.
                Some(burst - TOKEN - self.accrued_and_under_way(now))
            }
        });
        if paid.is_some() {
            self.remember_full(now);
            return Some(Withdrawal::of_micros(TOKEN.unsigned_abs()));
        }
        (!is_bounded).then(|| Withdrawal::of_micros(0))
    }

    /// A retry that was paid for never starts.
    pub fn refund(&self, withdrawal: &Withdrawal) {
        self.give_back(i64::try_from(withdrawal.micros()).unwrap_or(0));
    }

    /// Millionths come back.
    fn give_back(&self, micros: i64) {
        if micros > 0 {
            // Above the burst this is capped when it is next read.
            self.word.fetch_add(micros, Ordering::AcqRel);
        }
    }

    /// Tokens left, from 0 to the burst; infinite where nothing is bounded.
    pub fn tokens(&self, now: Instant) -> f64 {
        if self.bounded.load(Ordering::Relaxed) == 0 {
            return f64::INFINITY;
        }
        #[expect(clippy::cast_precision_loss)]
        let tokens = self.balance_of(self.word.load(Ordering::Acquire), now) as f64 / TOKEN as f64;
        tokens
    }

    /// How full it is, from 0 to 1.
    pub fn fill(&self, now: Instant) -> f64 {
        self.fill_of(self.word.load(Ordering::Acquire), now)
    }

    fn fill_of(&self, word: i64, now: Instant) -> f64 {
        if self.bounded.load(Ordering::Relaxed) == 0 {
            return 1.0;
        }
        #[expect(clippy::cast_precision_loss)]
        let fill = self.balance_of(word, now) as f64 / self.burst.load(Ordering::Relaxed) as f64;
        fill
    }

    /// Notes from which word on the budget is full, now that the time is known.
    ///
    /// A reload that came in between changes its parameters before its `full`; where ours overwrites
    /// that, the parameters seen afterwards are the new ones, and it is put right.
    fn remember_full(&self, now: Instant) {
        let full = || self.burst.load(Ordering::Relaxed) - self.accrued(now);
        let mut known = full();
        if known >= self.full.load(Ordering::Relaxed) {
            return;
        }
        loop {
            self.full.swap(known, Ordering::AcqRel);
            let seen = full();
            if seen == known {
                return;
            }
            known = seen;
        }
    }

    fn balance_of(&self, word: i64, now: Instant) -> i64 {
        let burst = self.burst.load(Ordering::Relaxed);
        word.saturating_add(self.accrued(now)).clamp(0, burst)
    }

    /// What the floor has added since the clock's zero, in whole millionths.
    fn accrued(&self, now: Instant) -> i64 {
        self.accrued_by(now, 0)
    }

    /// What the floor has accrued, with the millionth of which a part has been added.
    fn accrued_and_under_way(&self, now: Instant) -> i64 {
        self.accrued_by(now, NANOS_PER_HOUR - 1)
    }

    fn accrued_by(&self, now: Instant, rounding: u128) -> i64 {
        let floor = self.floor.load(Ordering::Relaxed).unsigned_abs();
        if floor == 0 {
            return 0;
        }
        let added = u128::from(floor) * u128::from(now.as_nanos());
        let micros = (added + rounding) / NANOS_PER_HOUR;
        i64::try_from(micros)
            .unwrap_or(i64::MAX / 4)
            .min(i64::MAX / 4)
    }
}

impl Account for RatioBudget {
    fn open(&self, _generation: u32, own: Option<Budget>, fill: Fill, now: Instant) {
        self.open_as(own, fill.usable, now);
    }

    fn close(&self, now: Instant) -> Fill {
        // Taken and closed in one step: a withdrawal in between would be minted again.
        let word = self.word.swap(CLOSED, Ordering::AcqRel);
        self.closed.store(word, Ordering::Relaxed);
        Fill::of(self.fill_of(word, now))
    }

    fn take(&self, _generation: u32, now: Instant, _failure: &Failure) -> Option<u32> {
        self.withdraw(now).map(|_| 1)
    }

    fn put_back(&self, _generation: u32, _taken: u32) {
        self.give_back(TOKEN);
    }

    fn level(&self, now: Instant) -> Level {
        #[expect(clippy::cast_precision_loss)]
        let most = self.burst.load(Ordering::Relaxed) as f64 / TOKEN as f64;
        Level {
            left: self.tokens(now),
            most,
            fill: self.fill(now),
        }
    }

    /// Told where first tries earn retries.
    fn first_try(&self, _now: Instant) {
        self.deposit();
    }
}

fn micros(tokens: f64) -> i64 {
    i64::try_from(millionths(tokens)).unwrap_or(i64::MAX)
}

#[cfg(all(test, not(becalm_loom)))]
mod tests {
    use super::*;

    const DAY: Instant = Instant::from_nanos(24 * 3_600_000_000_000);

    /// How many of these deposits wrote.
    fn writes(budget: &RatioBudget, deposits: u32) -> usize {
        let word = || budget.word.load(Ordering::Relaxed);
        let deposit = |_: &u32| {
            let before = word();
            budget.deposit();
            word() != before
        };
        (0..deposits).filter(deposit).count()
    }

    #[test]
    fn c22_after_a_reload_no_success_writes_to_a_full_budget_with_a_floor() {
        let budget = RatioBudget::new(Budget::default());
        assert_eq!(writes(&budget, 1000), 0, "as it is made");
        budget.reconfigure(Budget::default().burst(20.0), DAY);
        assert_eq!(writes(&budget, 1000), 0, "after a reload");
        budget.reconfigure(Budget::default(), DAY);
        assert_eq!(writes(&budget, 1000), 0, "and back");
    }

    #[test]
    fn what_one_retry_took_is_written_back_and_nothing_more() {
        let budget = RatioBudget::new(Budget::default());
        assert!(budget.withdraw(DAY).is_some());
        assert_eq!(writes(&budget, 1000), 10);
    }
}
