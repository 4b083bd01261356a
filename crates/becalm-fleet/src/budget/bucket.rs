//! What does the store do when a process comes? A function of its state, its own time and what is exchanged.

use alloc::collections::{BTreeMap, BTreeSet};

use super::config::Fleet;

/// What a process tells the store, and asks of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exchange {
    /// Who: a random number that a process keeps for as long as it lives.
    pub instance: u64,
    /// The number of the exchange, each higher than the last: one that comes twice is counted once.
    pub sequence: u64,
    /// What has earned retries since the last exchange: calls that succeeded, or first tries.
    pub earned: u64,
    /// Tokens that come back unused.
    pub returned: u32,
    /// Tokens that it keeps.
    pub held: u32,
    /// Tokens that it would like.
    pub ask: u32,
}

/// What the store answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// Tokens of the process from now on.
    pub granted: u32,
    /// Processes that the store has heard of lately, the one that asks among them.
    pub instances: u32,
    /// The store's time, in microseconds.
    pub at: u64,
    /// Whole tokens that a full bucket holds.
    pub burst: u32,
}

impl Answer {
    /// An answer of a store of your own.
    pub const fn new(granted: u32, instances: u32, at: u64, burst: u32) -> Self {
        Self {
            granted,
            instances,
            at,
            burst,
        }
    }
}

/// The bucket of a fleet, and whom it knows.
///
/// An exchange adds `ratio` x what was earned, what comes back and `floor` x time, up to the burst less what the process keeps (as if that
/// came back and were granted anew, but for its one), and takes `min(ask, max(1, part x bucket))` whole tokens. A burst in time is what
/// the fleet earns in it at its mean rate, since the last look that is at least that old: one exchange at most in that time is a look.
/// A bucket that no process has come to, as that of a store that was emptied, holds a tenth of the least burst.
///
/// ```
/// use becalm::Budget;
/// use becalm_fleet::budget::{Bucket, Fleet, FleetBudget, Step};
/// use becalm::{rng::SplitMix64, time::Instant};
///
/// let fleet = Fleet::new(Budget::ratio(0.1).burst(1000.0));
/// let budget = FleetBudget::new(fleet)?;
/// let mut exchanges = budget.exchanges(SplitMix64::new(1), Instant::ZERO);
/// let second = Instant::from_nanos(1_000_000_000);
/// let Step::Send(exchange) = exchanges.poll(&budget, second) else { panic!("it is time") };
/// let mut bucket = Bucket::default();
/// let answer = bucket.exchange(&fleet, 17, &exchange);
/// assert_eq!(bucket.tokens(), 100.0); // it holds its one token already
/// exchanges.answered(&budget, second, exchange.sequence, answer);
/// # Ok::<(), becalm_fleet::budget::InvalidFleet>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Bucket {
    level: Option<Level>,
    earned: u64,
    looks: [Look; 2],
    known: BTreeMap<u64, Known>,
    /// Whom it has heard of, since when it has not: the longest first.
    silent: BTreeSet<(u64, u64)>,
}

#[derive(Debug, Clone, Copy)]
struct Level {
    tokens: f64,
    at: u64,
}

/// What the fleet had earned at a time of the store. The rate is that since the older of two; the newer takes its place.
#[derive(Debug, Clone, Copy, Default)]
struct Look {
    at: u64,
    earned: u64,
}

/// The last exchange of a process.
#[derive(Debug, Clone, Copy)]
struct Known {
    sequence: u64,
    granted: u32,
    at: u64,
}

/// What a bucket without a past holds of its burst.
const FIRST: f64 = 0.1;
/// How many are forgotten in one exchange, which is to stay short.
const FORGOTTEN: usize = 1000;

impl Bucket {
    /// A process comes, at this time of the store in microseconds.
    #[expect(clippy::cast_precision_loss)] // exact up to 2^53
    pub fn exchange(&mut self, fleet: &Fleet, now: u64, exchange: &Exchange) -> Answer {
        let ratio = fleet.ratio();
        let level = self.level.unwrap_or(Level {
            tokens: ratio.held() * FIRST,
            at: now,
        });
        if self.level.is_none() {
            self.earned = 0;
            self.looks = [Look { at: now, earned: 0 }; 2];
        }
        // A clock that was put back adds nothing.
        let now = now.max(level.at);
        let mut tokens = level.tokens + ratio.floor_per_second * ((now - level.at) as f64 / 1e6);
        self.forget(now, fleet);
        let last = self.known.get(&exchange.instance).copied();
        if last.is_none_or(|last| exchange.sequence > last.sequence) {
            self.earned += exchange.earned;
        }
        let burst = self.burst(fleet, now);
        let granted = match last {
            Some(last) if exchange.sequence == last.sequence => last.granted,
            // Overtaken by a later one, whose answer counts.
            Some(last) if exchange.sequence < last.sequence => 0,
            _ => {
                let earned = ratio.ratio * exchange.earned as f64;
                let kept = f64::from(exchange.held.saturating_sub(1));
                let most = (burst - kept).max(0.0);
                tokens = (tokens + earned + f64::from(exchange.returned)).min(most);
                let granted = grant(exchange.ask, fleet.part, tokens);
                tokens -= f64::from(granted);
                granted
            }
        };
        self.level = Some(Level {
            tokens: tokens.min(burst),
            at: now,
        });
        let is_overtaken = last.is_some_and(|last| exchange.sequence < last.sequence);
        self.hear(exchange, last, now, granted, is_overtaken);
        Answer {
            granted,
            instances: u32::try_from(self.known.len()).unwrap_or(u32::MAX),
            at: now,
            burst: whole(burst),
        }
    }

    /// What a full bucket holds now.
    #[expect(clippy::cast_precision_loss)] // exact up to 2^53
    fn burst(&mut self, fleet: &Fleet, now: u64) -> f64 {
        let ratio = fleet.ratio();
        let span = u64::try_from(ratio.burst.span().as_micros()).unwrap_or(u64::MAX);
        if span == 0 {
            return ratio.held();
        }
        let [older, newer] = &mut self.looks;
        if now - newer.at >= span {
            *older = *newer;
            *newer = Look {
                at: now,
                earned: self.earned,
            };
        }
        let earned = ratio.ratio * (self.earned - older.earned) as f64;
        let spans = (now - older.at).max(span) as f64 / span as f64;
        ratio.held().max(earned / spans)
    }

    /// What is in it.
    pub fn tokens(&self) -> f64 {
        self.level.map_or(0.0, |level| level.tokens)
    }

    fn hear(
        &mut self,
        exchange: &Exchange,
        last: Option<Known>,
        now: u64,
        granted: u32,
        is_overtaken: bool,
    ) {
        if let Some(last) = last {
            self.silent.remove(&(last.at, exchange.instance));
        }
        self.silent.insert((now, exchange.instance));
        let (sequence, granted) = match last.filter(|_| is_overtaken) {
            Some(last) => (last.sequence, last.granted),
            None => (exchange.sequence, granted),
        };
        let known = Known {
            sequence,
            granted,
            at: now,
        };
        self.known.insert(exchange.instance, known);
    }

    fn forget(&mut self, now: u64, fleet: &Fleet) {
        let memory = u64::try_from(fleet.memory().as_micros()).unwrap_or(u64::MAX);
        for _ in 0..FORGOTTEN {
            let first = self.silent.first().copied();
            let Some((at, instance)) = first.filter(|(at, _)| at + memory < now) else {
                return;
            };
            self.silent.remove(&(at, instance));
            self.known.remove(&instance);
        }
    }
}

fn grant(ask: u32, part: f64, tokens: f64) -> u32 {
    ask.min(whole((part * tokens).max(1.0).min(tokens.max(0.0))))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // down to whole tokens
fn whole(tokens: f64) -> u32 {
    tokens as u32
}
