//! How are retries kept to a share of what earns them, exactly?
//!
//! One atomic word holds the truth: `word = balance - earned(now)`, in millionths of a token, where `earned(now) = ratio x
//! deposits + floor x now`, and all of it wraps around. So a deposit is one addition to a count that no withdrawal compares,
//! and a floor needs no timer: the balance at any moment is `min(bound, word + earned(now))`. Between two withdrawals the
//! balance only grows, therefore it is capped where it is read.
//!
//! What earns a token is the caller's business: successes for [`Budget::Ratio`], first tries for
//! [`Budget::FirstTries`].

use super::Withdrawal;
use super::account::{Account, Fill, Level};
use super::bound::Bound;
use super::burst::Burst;
use super::config::Ratio;
use super::earnings::Earnings;
use super::kind::{Budget, Kind};
use crate::classify::Failure;
use crate::sync::{AtomicU64, MILLION, Ordering, change, millionths};
use crate::time::Instant;

/// A tenth of the calls that succeed, a burst of what 5 s of them earn and of at least 10, and 10 retries an hour: room for a
/// blip of a busy client, and for a client too small to have earned a token yet; none for retries that keep a service down.
impl Default for Budget {
    fn default() -> Self {
        Self::Ratio(Ratio::default())
    }
}

impl Budget {
    /// Retries are at most this share of the calls that succeed, with a burst of what 5 s of them earn, at least 10, and 10 an
    /// hour beside them.
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

    /// Sets the burst of the ratio, or else of the first tries: a number of tokens, or the time that earns them. Changes
    /// nothing on a budget that has neither.
    #[must_use]
    pub fn burst(mut self, burst: impl Into<Burst>) -> Self {
        if let Some(ratio) = self.ratio_mut() {
            ratio.burst = burst.into();
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
const TOKEN: u64 = MILLION;
const NANOS_PER_HOUR: u128 = 3_600_000_000_000;
const SECONDS_PER_HOUR: f64 = 3600.0;
/// No word, but a reload in progress: nothing is granted.
const CLOSED: u64 = 1 << 63;
/// A balance is never so near to what wraps around, unless it is below 0: a clock was read before another thread's.
const BELOW_ZERO: u64 = u64::MAX - (1 << 40);

/// Retries are a share of deposits, shared by clones of a retrier. A deposit takes no lock. A withdrawal whose burst follows the
/// traffic looks at the rate, one thread after another, for some nanoseconds.
///
/// The exact law, under any interleaving of threads: over any interval, withdrawals <=
/// `ratio` x deposits + `floor_per_second` x length + the burst at the first of them + refunds in the interval; since
/// creation, withdrawals - refunds <= `ratio` x deposits + `floor_per_second` x age + the least burst. A retrier deposits
/// once for each call that succeeds.
///
/// A deposit adds one to a count. It reads no clock, and writes no cache line to which another thread adds.
#[derive(Debug)]
#[repr(align(128))] // two cache lines: neighbours must not share the word's line
pub struct RatioBudget {
    word: AtomicU64,
    deposits: Earnings,
    /// What a deposit is worth.
    ratio: AtomicU64,
    /// Millionths an hour: ten tokens an hour are no whole number of them a second.
    floor: AtomicU64,
    limit: Bound,
}

impl RatioBudget {
    /// A full budget of the ratio in this configuration; without one it grants everything. Other
    /// kinds are [`Budgets`](super::Budgets)'.
    ///
    /// Values out of range saturate: [`Budget::validate`] is where they are refused.
    pub fn new(budget: Budget) -> Self {
        let new = Self {
            word: AtomicU64::new(CLOSED),
            deposits: Earnings::default(),
            ratio: AtomicU64::new(0),
            floor: AtomicU64::new(0),
            limit: Bound::default(),
        };
        new.open_as(budget.part(Kind::Ratio), Fill::of(1.0), Instant::ZERO);
        new
    }

    /// Takes over another configuration and keeps the balance, cut to what the new one holds, so that a reload mints
    /// nothing. A budget that bounded nothing before starts full.
    ///
    /// Safe beside running calls: the word is closed while the parameters change, so no
    /// withdrawal mixes old and new; what is deposited in that moment is lost. Two reloads at once
    /// must be kept apart by the caller.
    pub fn reconfigure(&self, budget: Budget, now: Instant) {
        let fill = self.close(now);
        self.open_as(budget.part(Kind::Ratio), fill, now);
    }

    /// Opens a closed budget with what it held, or filled to a part; without a ratio it grants everything.
    fn open_as(&self, own: Option<Budget>, fill: Fill, now: Instant) {
        let (least, ratio) = match own {
            Some(Budget::Ratio(ratio) | Budget::FirstTries(ratio)) => {
                (millionths(ratio.held()).max(1), ratio)
            }
            _ => (Bound::NONE, Ratio::NOTHING),
        };
        let span = u64::try_from(ratio.burst.span().as_nanos()).unwrap_or(u64::MAX);
        let pace = [
            (&self.ratio, millionths(ratio.ratio)),
            (
                &self.floor,
                millionths(ratio.floor_per_second * SECONDS_PER_HOUR),
            ),
        ];
        let mut is_other_pace = false;
        for (own, new) in pace {
            is_other_pace |= own.swap(new, Ordering::Relaxed) != new;
        }
        self.limit.set(least, span);
        if self.deposits.sum() == 0 {
            self.limit.begin(now);
        }
        let (deposits, bound) = self.bound(now);
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss
        )]
        let balance = match fill.own {
            Some(tokens) if tokens.is_finite() => millionths(tokens).min(bound),
            _ => (bound as f64 * fill.usable) as u64,
        };
        let mut word = word_of(balance, self.earned(deposits, now, 0));
        // A withdrawal that has read the old pace, and found the budget full, must not find the old word again. Above the
        // burst it is capped when it is next read.
        if is_other_pace && fill.closed == Some(word) {
            let other = if balance == bound { 1 } else { u64::MAX };
            word = not_closed(word.wrapping_add(other));
        }
        // An exchange, so that the one that overwrites it has seen the parameters above.
        self.word.swap(word, Ordering::AcqRel);
    }

    /// What earns retries has happened.
    #[inline]
    pub fn deposit(&self) {
        self.deposits.add();
    }

    /// A retry asks for its token.
    pub fn withdraw(&self, now: Instant) -> Option<Withdrawal> {
        self.pay(now).map(Withdrawal::of_micros)
    }

    /// Pays for a retry and returns the millionths paid. `None` where the balance is too small.
    pub(super) fn pay(&self, now: Instant) -> Option<u64> {
        let mut is_bounded = true;
        let paid = change(&self.word, |word| {
            // Read after the word: if a reload changes them in between, the exchange fails.
            is_bounded = self.limit.is_bounded();
            if !is_bounded || word == CLOSED {
                return None;
            }
            let (deposits, bound) = self.bound(now);
            let balance = balance_of(word, self.earned(deposits, now, 0));
            if balance.min(bound) < TOKEN {
                None
            } else if balance < bound {
                Some(not_closed(word.wrapping_sub(TOKEN)))
            } else {
                // Full: counted anew from here, and from the end of the current millionth, or
                // the interval that starts here would be paid for the whole of it.
                let earned = self.earned(deposits, now, NANOS_PER_HOUR - 1);
                Some(word_of(bound - TOKEN, earned))
            }
        });
        if paid.is_some() {
            return Some(TOKEN);
        }
        (!is_bounded).then_some(0)
    }

    /// A retry that was paid for never starts.
    pub fn refund(&self, withdrawal: &Withdrawal) {
        self.give_back(withdrawal.micros());
    }

    /// Millionths come back.
    fn give_back(&self, micros: u64) {
        if micros > 0 {
            // Above the bound this is capped when it is next read.
            change(&self.word, |word| {
                (word != CLOSED).then(|| not_closed(word.wrapping_add(micros)))
            });
        }
    }

    /// Tokens left, from 0 to the burst; infinite where nothing is bounded.
    pub fn tokens(&self, now: Instant) -> f64 {
        self.level_of(self.word.load(Ordering::Acquire), now).left
    }

    /// How full it is, from 0 to 1.
    pub fn fill(&self, now: Instant) -> f64 {
        self.level_of(self.word.load(Ordering::Acquire), now).fill
    }

    fn level_of(&self, word: u64, now: Instant) -> Level {
        if !self.limit.is_bounded() {
            let most = f64::INFINITY;
            return Level {
                left: most,
                most,
                fill: 1.0,
            };
        }
        let (deposits, bound) = self.bound(now);
        let balance = match word {
            CLOSED => 0,
            word => balance_of(word, self.earned(deposits, now, 0)).min(bound),
        };
        #[expect(clippy::cast_precision_loss)]
        let (left, most) = (balance as f64 / 1e6, bound as f64 / 1e6);
        Level {
            left,
            most,
            fill: left / most,
        }
    }

    /// The deposits so far, and what a full budget holds.
    fn bound(&self, now: Instant) -> (u64, u64) {
        let deposits = self.deposits.sum();
        let ratio = self.ratio.load(Ordering::Relaxed);
        (deposits, self.limit.at(now, deposits, ratio))
    }

    /// What deposits, and the floor since the clock's zero, have added, in whole millionths; it wraps around.
    fn earned(&self, deposits: u64, now: Instant, rounding: u128) -> u64 {
        let floor = self.floor.load(Ordering::Relaxed);
        // Most budgets have no floor, and need no division of that width.
        let accrued = match floor {
            0 => 0,
            floor => (u128::from(floor) * u128::from(now.as_nanos()) + rounding) / NANOS_PER_HOUR,
        };
        let ratio = self.ratio.load(Ordering::Relaxed);
        #[expect(clippy::cast_possible_truncation)] // it wraps around
        ratio.wrapping_mul(deposits).wrapping_add(accrued as u64)
    }
}

/// The balance less what has been earned, as it wraps around.
fn word_of(balance: u64, earned: u64) -> u64 {
    not_closed(balance.wrapping_sub(earned))
}

/// How much there is, before it is capped. What is earned without a withdrawal for so long that it wraps around leaves it
/// between 0 and the bound for a moment, and above it for the rest.
fn balance_of(word: u64, earned: u64) -> u64 {
    let balance = word.wrapping_add(earned);
    if balance > BELOW_ZERO { 0 } else { balance }
}

/// A word that does not say that it is closed: a millionth less instead.
fn not_closed(word: u64) -> u64 {
    if word == CLOSED {
        word.wrapping_sub(1)
    } else {
        word
    }
}

impl Account for RatioBudget {
    fn open(&self, _generation: u32, own: Option<Budget>, fill: Fill, now: Instant) {
        self.open_as(own, fill, now);
    }

    fn close(&self, now: Instant) -> Fill {
        // Taken and closed in one step: a withdrawal in between would be minted again.
        let word = self.word.swap(CLOSED, Ordering::AcqRel);
        let level = self.level_of(word, now);
        Fill {
            usable: level.fill,
            own: Some(level.left),
            closed: Some(word),
        }
    }

    fn take(&self, _generation: u32, now: Instant, _failure: &Failure) -> Option<u32> {
        self.pay(now).map(|_| 1)
    }

    fn put_back(&self, _generation: u32, _taken: u32) {
        self.give_back(TOKEN);
    }

    fn level(&self, now: Instant) -> Level {
        self.level_of(self.word.load(Ordering::Acquire), now)
    }

    fn begin(&self, now: Instant) {
        self.limit.begin(now);
    }

    /// Told where first tries earn retries.
    fn first_try(&self, _now: Instant) {
        self.deposit();
    }
}
