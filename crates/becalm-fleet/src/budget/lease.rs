//! What does a retry ask, and what does a call that succeeds tell? Words of this process alone.

#[cfg(feature = "std")]
use alloc::sync::Arc;

use becalm::Failure;
use becalm::budget::{Gauge, Kind, RetryBudget, Withdrawal};
use becalm::support::{AtomicU32, AtomicU64, Ordering, change};
use becalm::time::Instant;

use super::config::{Alone, Fleet, InvalidFleet};
use super::own::{Own, TOKEN};

/// This process's share of the budget of a fleet: what it has leased of the fleet's tokens.
///
/// Hand it to all retriers that are to share it, by
/// [`RetrierBuilder::retry_budget`](becalm::run::RetrierBuilder::retry_budget). A retry takes a token here, or is refused as by any budget;
/// neither waits, allocates or reads a clock. Each call that succeeds (or each first try, where they earn) adds one to a word of the process.
///
/// It is born with one token, and gets more by [exchanges](super::Exchanges) with the store: without them there will be none.
#[derive(Debug)]
#[repr(align(128))] // two cache lines: neighbours must not share the word's line
pub struct FleetBudget {
    /// Above: how often a retry was asked for since the last exchange. Below: the tokens.
    word: AtomicU64,
    /// What is in force: a [`Mode`].
    mode: AtomicU32,
    /// 1 from a refusal until the exchanges have heard of it.
    refused: AtomicU32,
    denied: AtomicU64,
    /// What the fleet's share was when it was last heard of.
    target: AtomicU32,
    /// 0 for unknown.
    instances: AtomicU32,
    answered: AtomicU64,
    lost: AtomicU64,
    earned: Earned,
    /// Where there is no store.
    own: Own,
    fleet: Fleet,
    #[cfg(feature = "std")]
    pub(super) bell: Arc<super::bell::Bell>,
}

/// What every success writes, apart from what retries do.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Earned(AtomicU64);

/// What a process holds of the budget of its fleet, and how it stands with the store.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct FleetGauge {
    /// Tokens that retries may take now.
    pub held: f64,
    /// What it would like to hold: what is asked for in twice the time until its next exchange, and one.
    pub target: u32,
    /// Processes that the store had heard of at its last answer; `None` before the first.
    pub instances: Option<u32>,
    /// What it does without the store, while it has been silent for a lease; `None` while leases last.
    pub alone: Option<Alone>,
    /// Retries that were refused.
    pub denied: u64,
    /// Exchanges that were answered.
    pub answered: u64,
    /// Exchanges that failed or were answered too late.
    pub lost: u64,
}

/// What is asked once no token is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Leased = 0,
    Safe,
    Open,
    Closed,
}

/// One retry was asked for.
const ASKED: u64 = 1 << 32;

impl FleetBudget {
    /// A share of the budget of this fleet, with one token.
    ///
    /// # Errors
    ///
    /// [`InvalidFleet`] names the field that is out of range.
    pub fn new(fleet: Fleet) -> Result<Self, InvalidFleet> {
        fleet.validate()?;
        Ok(Self {
            word: AtomicU64::new(1),
            mode: AtomicU32::new(Mode::Leased as u32),
            refused: AtomicU32::new(0),
            denied: AtomicU64::new(0),
            target: AtomicU32::new(1),
            instances: AtomicU32::new(0),
            answered: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            earned: Earned::default(),
            own: Own::new(fleet.ratio().ratio),
            fleet,
            #[cfg(feature = "std")]
            bell: Arc::default(),
        })
    }

    /// The configuration.
    pub const fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    /// How it stands.
    pub fn gauges(&self) -> FleetGauge {
        let relaxed = Ordering::Relaxed;
        let instances = self.instances.load(relaxed);
        FleetGauge {
            held: self.held(),
            target: self.target.load(relaxed),
            instances: (instances > 0).then_some(instances),
            alone: match self.mode() {
                Mode::Leased => None,
                Mode::Safe => Some(Alone::Safe),
                Mode::Open => Some(Alone::Open),
                Mode::Closed => Some(Alone::Closed),
            },
            denied: self.denied.load(relaxed),
            answered: self.answered.load(relaxed),
            lost: self.lost.load(relaxed),
        }
    }

    /// Whether a retry was refused since exchanges last looked.
    pub fn was_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed) != 0
    }

    fn held(&self) -> f64 {
        let own = match self.mode() {
            Mode::Leased | Mode::Closed => 0.0,
            Mode::Safe => self.own.tokens(),
            Mode::Open => return f64::INFINITY,
        };
        own + f64::from(tokens(self.word.load(Ordering::Relaxed)))
    }

    fn mode(&self) -> Mode {
        match self.mode.load(Ordering::Acquire) {
            0 => Mode::Leased,
            1 => Mode::Safe,
            2 => Mode::Open,
            _ => Mode::Closed,
        }
    }

    /// What has earned retries has happened.
    #[inline]
    fn earn(&self) {
        // What is counted here is not reported.
        match self.mode() {
            Mode::Leased => _ = self.earned.0.fetch_add(1, Ordering::Relaxed),
            Mode::Safe => self.own.deposit(),
            Mode::Open | Mode::Closed => {}
        }
    }

    /// A retry for which no token was left.
    #[cold]
    fn withdraw_beyond(&self) -> Option<Withdrawal> {
        self.word.fetch_add(ASKED, Ordering::Relaxed);
        let granted = match self.mode() {
            Mode::Safe => self
                .own
                .withdraw()
                .then(|| Withdrawal::of_micros(TOKEN.unsigned_abs())),
            Mode::Open => Some(Withdrawal::of_micros(0)),
            Mode::Leased | Mode::Closed => None,
        };
        if granted.is_none() {
            self.denied.fetch_add(1, Ordering::Relaxed);
            if self.mode() == Mode::Leased && self.refused.swap(1, Ordering::Relaxed) == 0 {
                #[cfg(feature = "std")]
                self.bell.ring();
            }
        }
        granted
    }
}

/// What the exchanges do with it.
impl FleetBudget {
    /// Retries that were asked for since this was last asked.
    pub(super) fn take_asked(&self) -> u32 {
        let asked = change(&self.word, |word| Some(tokens(word).into()));
        asked.map_or(0, |(before, _)| (before >> 32) as u32)
    }

    /// What was earned and has to be reported.
    pub(super) fn take_earned(&self) -> u64 {
        self.earned.0.swap(0, Ordering::Relaxed)
    }

    pub(super) fn take_refusal(&self) -> bool {
        self.refused.swap(0, Ordering::Relaxed) != 0
    }

    /// Takes what is held beyond this. What it has without a store it keeps.
    pub(super) fn take_surplus(&self, keep: u32) -> u32 {
        if self.mode() != Mode::Leased {
            return 0;
        }
        let taken = change(&self.word, |word| {
            let surplus = tokens(word).saturating_sub(keep);
            (surplus > 0).then(|| word - u64::from(surplus))
        });
        taken.map_or(0, |(before, after)| tokens(before) - tokens(after))
    }

    /// Whole tokens that it has.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates
    pub(super) fn whole(&self) -> u32 {
        self.held() as u32
    }

    pub(super) fn wants(&self, target: u32) {
        self.target.store(target, Ordering::Relaxed);
    }

    pub(super) fn lose_exchange(&self) {
        self.lost.fetch_add(1, Ordering::Relaxed);
    }

    /// The store has answered.
    pub(super) fn lease(&self, granted: u32, instances: u32) {
        self.answered.fetch_add(1, Ordering::Relaxed);
        self.instances.store(instances.max(1), Ordering::Relaxed);
        let mut more = granted;
        if self.mode() != Mode::Leased {
            let before = self.mode();
            self.mode.store(Mode::Leased as u32, Ordering::Release);
            if before == Mode::Safe {
                more = more.saturating_add(self.own.close());
            }
        }
        self.put(more);
    }

    /// The lease is over, but for one token. What is its own holds no more than this.
    pub(super) fn end_lease(&self, most: f64) {
        let mode = match self.fleet.alone {
            Alone::Safe => Mode::Safe,
            Alone::Open => Mode::Open,
            Alone::Closed => Mode::Closed,
        };
        if mode != Mode::Open {
            let held = self.take_surplus(0);
            if mode == Mode::Safe {
                self.own.open(held.min(1), self.own_most(most));
            }
        }
        self.mode.store(mode as u32, Ordering::Release);
    }

    /// Without a store, holds no more than this from now on.
    pub(super) fn hold_at_most(&self, most: f64) {
        if self.mode() == Mode::Safe {
            self.own.hold_at_most(self.own_most(most));
        }
    }

    /// What is its own holds a whole token and what the next one that earns adds, or more.
    fn own_most(&self, most: f64) -> f64 {
        most.max(1.0 + self.fleet.ratio().ratio)
    }

    fn put(&self, more: u32) {
        let _ = change(&self.word, |word| {
            let all = tokens(word).saturating_add(more);
            (more > 0).then(|| word - u64::from(tokens(word)) + u64::from(all))
        });
    }
}

impl RetryBudget for FleetBudget {
    fn reads_clock(&self) -> bool {
        false
    }

    #[inline]
    fn first_try(&self, _now: Instant) {
        if self.fleet.is_of_first_tries() {
            self.earn();
        }
    }

    #[inline]
    fn deposit(&self, _now: Instant) {
        if !self.fleet.is_of_first_tries() {
            self.earn();
        }
    }

    #[inline]
    fn withdraw(&self, _now: Instant, _failure: &Failure) -> Option<Withdrawal> {
        let taken = change(&self.word, |word| {
            (tokens(word) > 0).then(|| word.wrapping_add(ASKED) - 1)
        });
        if taken.is_none() {
            return self.withdraw_beyond();
        }
        Some(Withdrawal::of_micros(TOKEN.unsigned_abs()))
    }

    fn refund(&self, withdrawal: Withdrawal) {
        if withdrawal.micros() > 0 {
            self.put(1);
        }
    }

    fn fill(&self, _now: Instant) -> f64 {
        let target = f64::from(self.target.load(Ordering::Relaxed).max(1));
        (self.held() / target).min(1.0)
    }

    fn gauge(&self, _now: Instant) -> Option<Gauge> {
        let gauges = self.gauges();
        let kind = if self.fleet.is_of_first_tries() {
            Kind::FirstTries
        } else {
            Kind::Ratio
        };
        Some(Gauge::new(
            kind,
            gauges.held,
            gauges.target.into(),
            gauges.denied,
        ))
    }
}

/// Nobody is left who would want what the exchanges bring.
#[cfg(feature = "std")]
impl Drop for FleetBudget {
    fn drop(&mut self) {
        self.bell.ring();
    }
}

#[expect(clippy::cast_possible_truncation)] // the lower half
const fn tokens(word: u64) -> u32 {
    word as u32
}
