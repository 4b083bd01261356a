//! When does a process talk to the store, and what does it say? Without a clock and without IO.

use core::time::Duration;

use becalm::rng::{Random, SplitMix64};
use becalm::support::{nanos, uniform};
use becalm::time::Instant;

use super::bucket::{Answer, Exchange};
use super::lease::FleetBudget;

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
    /// What it kept then.
    kept: u32,
    /// When the next is due, by the period.
    due: Instant,
    /// When it is due since a retry was refused.
    early: Option<Instant>,
    /// When what was asked for was last counted.
    counted: Instant,
    /// Retries asked for in the last period.
    lately: f64,
    /// And before, half as much for each period that has passed since.
    wants: f64,
    /// How many periods it is until the next exchange, if this one brings enough.
    horizon: f64,
    /// What it would like to hold.
    target: u32,
    /// Whether the last exchange was answered.
    is_heard: bool,
    lease: Lease,
    /// How long the store took to answer.
    trip: Duration,
    /// What was taken out of it, and goes back.
    unused: u32,
    lease_ends: Instant,
    is_alone: bool,
    /// The most processes of which the store had heard, in its answers in this memory and the one before.
    instances: [u32; 2],
    /// What a full bucket holds, as the store said last.
    burst: f64,
    /// When this memory began.
    remembers: Instant,
    /// What the last exchange asked for.
    asks: u32,
    /// Whether nothing of that was granted.
    is_dry: bool,
}

/// What a process may hold beyond its one token: less with time, in a straight line, and nothing when as much time has passed as
/// may be between two exchanges. What fills the bucket meanwhile comes in no faster.
#[derive(Debug, Clone, Copy)]
struct Lease {
    tokens: u32,
    from: Instant,
    lasts: Duration,
}

impl Lease {
    /// Until when so many tokens may be held.
    fn allows(self, held: u32) -> Instant {
        let beyond = f64::from(held.saturating_sub(1));
        if beyond == 0.0 {
            return Instant::NEVER;
        }
        let passed = 1.0 - beyond / f64::from(self.tokens.max(1));
        self.from.after(self.lasts.mul_f64(passed.max(0.0)))
    }

    /// How many tokens may be held at this time.
    fn at(self, now: Instant) -> u32 {
        let left = 1.0 - now.since(self.from).as_secs_f64() / self.lasts.as_secs_f64();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates
        let tokens = (f64::from(self.tokens) * left) as u32;
        tokens.saturating_add(1)
    }
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
/// How much of what it wants until its next exchange a process asks for: more, since the lease runs out meanwhile, and since it would
/// wait for an early one whenever it wants a little more than lately.
const AHEAD: f64 = 2.0;
/// Who is granted so many parts of the burst (burst / instances) at once may be back soon. Thus the busiest take often what comes in,
/// rather than seldom more than there is; and the exchanges that this costs are bounded by what the fleet earns.
const LARGE: f64 = 2.5;
/// The shortest time between two such exchanges, in periods.
const SOONEST: f64 = 0.3;
/// The longest time between two exchanges, in periods.
const LONGEST: f64 = 1.1;
/// In how many steps a lease runs out that nobody uses.
const STEPS: u32 = 16;

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
            kept: 0,
            due: now.after(Duration::from_nanos(first)),
            early: None,
            counted: now,
            lately: 0.0,
            wants: 0.0,
            horizon: 1.0,
            target: 1,
            is_heard: true,
            lease: Lease {
                tokens: 0,
                from: now,
                lasts: budget.fleet().period,
            },
            trip: Duration::ZERO,
            unused: 0,
            lease_ends: now.after(budget.fleet().lease),
            is_alone: false,
            instances: [0; 2],
            burst: budget.fleet().ratio().held(),
            remembers: now,
            asks: 0,
            is_dry: false,
        }
    }

    /// What is to be done at this time.
    pub fn poll(&mut self, budget: &FleetBudget, now: Instant) -> Step {
        if !self.is_alone && now >= self.lease_ends {
            self.is_alone = true;
            budget.end_lease(self.most_alone());
        }
        let lease_ends = if self.is_alone {
            Instant::NEVER
        } else {
            self.lease_ends.min(self.run_out(budget, now))
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
        let Some(sent) = self.out.filter(|_| sequence == self.sequence) else {
            return;
        };
        self.out = None;
        self.is_heard = true;
        self.is_alone = false;
        self.is_dry = self.asks > 0 && answer.granted == 0;
        self.lease_ends = sent.after(budget.fleet().lease);
        self.count_instances(budget, now, answer.instances);
        self.burst = budget.fleet().ratio().held().max(answer.burst.into());
        let period = budget.fleet().period;
        self.trip = now.since(sent);
        // From when it was sent: it was granted no earlier.
        self.lease = Lease {
            tokens: self.kept.saturating_add(answer.granted).saturating_sub(1),
            from: sent,
            lasts: period.mul_f64(LONGEST).saturating_add(self.trip),
        };
        let large = self.part().map(|part| (LARGE * part).max(1.0));
        if large.is_some_and(|large| f64::from(answer.granted) >= large) {
            self.due = self.due.min(sent.after(period.mul_f64(self.horizon)));
        }
        budget.lease(answer.granted, answer.instances);
    }

    /// Takes back what has been held too long, and tells when there is more.
    fn run_out(&mut self, budget: &FleetBudget, now: Instant) -> Instant {
        let mut held = budget.whole();
        if self.lease.allows(held) <= now {
            held = self.lease.at(now.after(self.lease.lasts / STEPS));
            self.unused = self.unused.saturating_add(budget.take_surplus(held));
        }
        self.lease.allows(held)
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

    /// Its part of the burst, once it has heard of others.
    fn part(&self) -> Option<f64> {
        let instances = self.instances.into_iter().max().filter(|it| *it > 0)?;
        Some(self.burst / f64::from(instances))
    }

    /// What it may hold without a store: no more than it wants in a period, since the bucket may be full beside it (what it saves is
    /// then no more than it earns in one, or it would not be left), and no more than its part of the burst.
    fn most_alone(&self) -> f64 {
        self.part().unwrap_or(1.0).min(self.lately + 1.0)
    }

    /// What is wanted, and how much of that it would like to hold.
    fn count(&mut self, budget: &FleetBudget, now: Instant) {
        let in_periods = |time: Duration| time.as_secs_f64() / budget.fleet().period.as_secs_f64();
        let passed = in_periods(now.since(self.counted));
        // A few that come at once are no rate.
        let before = self.lately * (0.5 - passed).max(0.0);
        self.lately = (f64::from(budget.take_asked()) + before) / passed.max(0.5);
        // Who wants nothing any more leases nothing anew.
        let before = if self.lately > 0.0 { self.wants } else { 0.0 };
        self.wants = self.lately.max(before * (1.0 - passed.min(1.0) / 2.0));
        let part = self.part();
        let large = part.map(|part| 2.0 * LARGE * part / self.wants);
        self.horizon = large.map_or(1.0, |large| large.clamp(SOONEST, 1.0));
        let ahead = AHEAD * self.wants * (self.horizon + in_periods(self.trip));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates
        let ahead = ahead as u32;
        self.target = ahead.saturating_add(1);
        self.counted = now;
    }

    fn begin(&mut self, budget: &FleetBudget, now: Instant) -> Exchange {
        self.count(budget, now);
        budget.wants(self.target);
        budget.hold_at_most(self.most_alone());
        // What is given back to a store that is not there is lost.
        let returned = if self.is_heard {
            let surplus = budget.take_surplus(self.target);
            surplus.saturating_add(core::mem::take(&mut self.unused))
        } else {
            0
        };
        self.kept = budget.whole();
        self.asks = self.target.saturating_sub(self.kept);
        let period = budget.fleet().period;
        let jitter = uniform(
            &mut self.random,
            nanos(period) / 10 * 9,
            nanos(period) / 10 * 11,
        );
        self.due = now.after(Duration::from_nanos(jitter));
        self.early = None;
        self.out = Some(now);
        self.sequence += 1;
        Exchange {
            instance: self.instance,
            sequence: self.sequence,
            earned: budget.take_earned(),
            returned,
            held: self.kept,
            ask: self.asks,
        }
    }
}
