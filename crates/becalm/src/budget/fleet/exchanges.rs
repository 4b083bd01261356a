//! When does a process talk to the store, and what does it say? Without a clock and without IO.

use core::time::Duration;

use super::bucket::{Answer, Exchange};
use super::lease::FleetBudget;
use crate::duration::nanos;
use crate::rng::{Random, SplitMix64, uniform};
use crate::time::Instant;

/// The exchanges of one process with its store.
///
/// It has at most one exchange out. [`poll`](Self::poll) says what is to be done; the driver tells what came of it by
/// [`answered`](Self::answered) and [`failed`](Self::failed), and polls again then, when it said so, and after a
/// [refusal](FleetBudget::was_refused).
#[derive(Debug)]
pub struct Exchanges {
    random: SplitMix64,
    instance: u64,
    sequence: u64,
    /// When the exchange that is out was sent.
    out: Option<Instant>,
    /// When the next is due, by the period.
    due: Instant,
    /// When it is due since a retry was refused.
    early: Option<Instant>,
    /// When what was asked for was last counted.
    counted: Instant,
    /// Retries asked for in a period, lately.
    wants: f64,
    /// What it would like to hold.
    target: u32,
    /// Whether the last exchange was answered.
    is_heard: bool,
    lease_ends: Instant,
    is_alone: bool,
    /// The most processes of which the store had heard, in its answers in this memory and the one before.
    instances: [u32; 2],
    /// When this memory began.
    remembers: Instant,
    /// What the last exchange asked for.
    asks: u32,
    /// Whether nothing of that was granted.
    is_dry: bool,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// Send this. Whatever was out before is given up.
    Send(Exchange),
    /// Nothing before this, but for what happens in between.
    WaitUntil(Instant),
}

/// After how long an exchange is begun early: soon enough to help, and not with everybody whom one failure hit.
const EARLY: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(60)];
/// How many periods' wants a process holds in advance: a quarter more than it needs until its next exchange, since it would
/// otherwise wait for an early one whenever it wants a little more than lately.
const AHEAD: f64 = 1.25;

impl FleetBudget {
    /// What drives its exchanges with the store, for drivers that own their time and IO. One is enough: each is an instance of
    /// its own to the store.
    ///
    /// The random numbers must be this process's own: they are its name, and spread its exchanges.
    pub fn exchanges(&self, random: SplitMix64, now: Instant) -> Exchanges {
        Exchanges::new(self, random, now)
    }
}

impl Exchanges {
    fn new(budget: &FleetBudget, mut random: SplitMix64, now: Instant) -> Self {
        let instance = random.next_u64();
        let first = uniform(&mut random, 0, nanos(budget.fleet().period));
        Self {
            random,
            instance,
            sequence: 0,
            out: None,
            due: now.after(Duration::from_nanos(first)),
            early: None,
            counted: now,
            wants: 0.0,
            target: 1,
            is_heard: true,
            lease_ends: now.after(budget.fleet().lease),
            is_alone: false,
            instances: [0; 2],
            remembers: now,
            asks: 0,
            is_dry: false,
        }
    }

    /// What is to be done at this time.
    pub fn poll(&mut self, budget: &FleetBudget, now: Instant) -> Step {
        if !self.is_alone && now >= self.lease_ends {
            self.is_alone = true;
            budget.end_lease(self.most_alone(budget));
        }
        let lease_ends = if self.is_alone {
            Instant::NEVER
        } else {
            self.lease_ends
        };
        if let Some(sent) = self.out {
            let patience = budget.fleet().period.saturating_mul(2);
            if now < sent.after(patience) {
                return Step::WaitUntil(sent.after(patience).min(lease_ends));
            }
            self.failed(budget, self.sequence);
        }
        // A store that had nothing left has no more a moment later.
        if budget.take_refusal() && self.early.is_none() && !self.is_dry {
            let soon = uniform(&mut self.random, nanos(EARLY[0]), nanos(EARLY[1]));
            let soon = now.after(Duration::from_nanos(soon));
            self.early = Some(soon.max(self.counted.after(budget.fleet().gap)));
        }
        let due = self.early.unwrap_or(Instant::NEVER).min(self.due);
        if now < due {
            return Step::WaitUntil(due.min(lease_ends));
        }
        Step::Send(self.begin(budget, now))
    }

    /// The exchange of this number was answered. An answer that comes too late is no more than a loss.
    pub fn answered(&mut self, budget: &FleetBudget, now: Instant, sequence: u64, answer: Answer) {
        if sequence != self.sequence || self.out.take().is_none() {
            return;
        }
        self.is_heard = true;
        self.is_alone = false;
        self.is_dry = self.asks > 0 && answer.granted == 0;
        self.lease_ends = now.after(budget.fleet().lease);
        self.count_instances(budget, now, answer.instances);
        budget.lease(answer.granted, answer.instances);
    }

    /// The exchange of this number was not answered, whether it has been counted or not.
    pub fn failed(&mut self, budget: &FleetBudget, sequence: u64) {
        if sequence == self.sequence && self.out.take().is_some() {
            self.is_heard = false;
            budget.lose_exchange();
        }
    }

    /// A store that was emptied knows few at first, and not that they are few.
    fn count_instances(&mut self, budget: &FleetBudget, now: Instant, instances: u32) {
        if now >= self.remembers.after(budget.fleet().memory()) {
            self.instances = [0, self.instances[0]];
            self.remembers = now;
        }
        self.instances[0] = self.instances[0].max(instances);
    }

    /// What it may hold without a store: no more than it would lease, since the bucket may be full beside it, and no more than
    /// its part of the burst.
    fn most_alone(&self, budget: &FleetBudget) -> f64 {
        let part = match self.instances.into_iter().max() {
            None | Some(0) => 1.0,
            Some(instances) => budget.fleet().ratio().burst / f64::from(instances),
        };
        part.min(self.target.into())
    }

    fn begin(&mut self, budget: &FleetBudget, now: Instant) -> Exchange {
        let period = budget.fleet().period;
        // A few that come at once are no rate.
        let passed = now.since(self.counted).max(period / 2);
        let asked = budget.take_asked();
        let wants = f64::from(asked) * period.as_secs_f64() / passed.as_secs_f64();
        self.wants = wants.max(self.wants / 2.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates
        let ahead = (AHEAD * self.wants) as u32;
        let target = ahead.saturating_add(1);
        self.target = target;
        budget.wants(target);
        budget.hold_at_most(self.most_alone(budget));
        // What is given back to a store that is not there is lost.
        let returned = if self.is_heard {
            budget.take_surplus(target.saturating_add(ahead))
        } else {
            0
        };
        self.asks = target.saturating_sub(budget.whole());
        let jitter = uniform(
            &mut self.random,
            nanos(period) / 10 * 9,
            nanos(period) / 10 * 11,
        );
        self.due = now.after(Duration::from_nanos(jitter));
        self.early = None;
        self.counted = now;
        self.out = Some(now);
        self.sequence += 1;
        Exchange {
            instance: self.instance,
            sequence: self.sequence,
            earned: budget.take_earned(),
            returned,
            ask: self.asks,
        }
    }
}
