//! What happens in a scenario? Its events, one after the other.
//!
//! The world drives the objects that ship ([`becalm::call::Call`] and what it shares) on virtual time,
//! and decides nothing about a retry itself. What it adds is everything around: clients that call,
//! a network, services that queue.
//!
//! What is not said in [`scenario`](crate::scenario):
//!
//! - A failed or refused attempt is transient, of unknown effect, as a 503 is; one over a limit is
//!   throttled, as a 429 is. A time-out is transient.
//! - A call that reaches its deadline is cut, as the asynchronous engine does.
//! - A call that is made for a request has the request's priority, as criticality is handed down in
//!   the Google SRE book (ch. 21).
//! - A message without delay is not an event of the queue, and no time passes in it.
//! - Of things at one instant, that comes first which was brought about first.

mod ahead;
mod arrivals;
mod attempts;
mod bucket;
mod cache;
mod calls;
mod ceiling;
mod clients;
mod codel;
mod downstream;
mod event;
mod hedges;
mod lane;
mod network;
mod pace;
mod plan;
mod servers;
mod slab;
mod state;
mod timeouts;
mod trace;
mod triggers;
mod wakers;
mod work;

use std::collections::VecDeque;

use becalm::time::Instant;

use crate::engine::{EventQueue, Stream};
use crate::record::{PopulationTally, Recording, ServiceTally, slices};
use crate::scenario::{Phases, Scenario};

use ceiling::{Hold, STRIDE};
use event::{Kind, parts, word};
use lane::Lane;
use plan::{Plan, nanos};
use slab::Slab;
use state::{CallSlot, Details, PopulationState, Request, ServiceState, Source};
use trace::{Silent, Told, Tracer};
use triggers::Triggers;
use wakers::Woken;

pub use ceiling::{Ceiling, Stopped};
pub(crate) use ceiling::{Part, at_rest, parts_at_rest, recordings, sum};
pub use trace::{Caller, Step, Traced};

/// Runs a scenario once. Equal seeds leave equal recordings.
///
/// A scenario that is [not valid](Scenario::validate) leaves an empty one. The run takes whatever
/// memory and time it needs; [`run_within`] bounds them.
pub fn run(scenario: &Scenario, seed: u64) -> Recording {
    run_with(scenario, seed, Silent, None)
}

/// Runs a scenario once, under a ceiling of memory and of events: a run that passes it stops, and
/// leaves a recording that [says so](Recording::stopped) and is not to be judged. Otherwise the
/// recording is that of [`run`].
pub fn run_within(scenario: &Scenario, seed: u64, ceiling: &Ceiling) -> Recording {
    run_with(scenario, seed, Silent, Some(ceiling))
}

/// Runs a scenario once, and tells of every step of every call: for tests that replay the calls
/// elsewhere. The recording is that of [`run`].
pub fn run_traced(scenario: &Scenario, seed: u64, each: &mut dyn FnMut(Traced)) -> Recording {
    run_with(scenario, seed, Told(each), None)
}

fn run_with<T: Tracer>(
    scenario: &Scenario,
    seed: u64,
    tracer: T,
    ceiling: Option<&Ceiling>,
) -> Recording {
    let hold = ceiling.map(|it| Hold::new(it, scenario));
    let stopped = hold.as_ref().and_then(|it| it.stopped);
    let plan = if stopped.is_some() {
        None
    } else {
        Plan::new(scenario)
    };
    match plan {
        Some(plan) => World::new(&plan, seed, tracer, hold).run(),
        None => Recording {
            stopped,
            ..Recording::default()
        },
    }
}

/// A run in progress.
struct World<'a, T> {
    plan: &'a Plan<'a>,
    now: u64,
    queue: EventQueue,
    /// What happens at this instant still, before anything in the queue.
    soon: VecDeque<u64>,
    /// One for each line.
    lanes: Vec<Lane>,
    calls: Slab<CallSlot<'a>>,
    requests: Slab<Request>,
    /// By the place of the request, as far as any service asks.
    details: Vec<Details>,
    populations: Vec<PopulationState>,
    services: Vec<ServiceState>,
    triggers: Triggers,
    /// The share of messages that are lost.
    loss: f64,
    woken: Woken,
    population_tallies: Vec<PopulationTally>,
    service_tallies: Vec<ServiceTally>,
    /// The first bucket of each stretch in which latencies are kept apart.
    slices: Vec<u32>,
    slice: u32,
    bucket: u32,
    bucket_ends: u64,
    bucket_length: u64,
    events: u64,
    calls_begun: u64,
    requests_sent: u64,
    tracer: T,
    /// What was drawn since the last step that was told.
    bits: Vec<u64>,
    /// Requests that a queue drops: kept, so that nothing is allocated.
    dropped: Vec<u32>,
    /// The text of a scope on its way.
    header: String,
    /// Events until the next look ahead.
    until_look: usize,
    /// What the run holds of its ceiling, where it has one.
    hold: Option<Hold<'a>>,
}

impl<'a, T: Tracer> World<'a, T> {
    fn new(plan: &'a Plan<'a>, seed: u64, tracer: T, hold: Option<Hold<'a>>) -> Self {
        let scenario = plan.scenario;
        let buckets = scenario
            .horizon
            .as_nanos()
            .div_ceil(scenario.bucket.as_nanos().max(1));
        let buckets = usize::try_from(buckets).unwrap_or(0);
        let bucket_length = nanos(scenario.bucket);
        let populations = scenario.populations.len();
        let cuts = Phases::of(scenario).cuts();
        let slices = slices(buckets, bucket_length, populations, &cuts);
        let mut world = Self {
            plan,
            now: 0,
            queue: EventQueue::for_pending(1 << 10),
            soon: VecDeque::new(),
            lanes: plan.lines.iter().map(|_| Lane::default()).collect(),
            calls: Slab::for_about(1 << 10),
            requests: Slab::for_about(1 << 14),
            details: Vec::new(),
            populations: Vec::new(),
            services: Vec::new(),
            triggers: Triggers::new(scenario),
            loss: scenario.network.loss,
            woken: Woken::default(),
            population_tallies: scenario
                .populations
                .iter()
                .map(|_| PopulationTally::new(buckets, slices.len()))
                .collect(),
            service_tallies: scenario
                .services
                .iter()
                .map(|service| ServiceTally::new(service.calls.len()))
                .collect(),
            slices,
            slice: 0,
            bucket: 0,
            bucket_ends: bucket_length,
            bucket_length,
            events: 0,
            calls_begun: 0,
            requests_sent: 0,
            tracer,
            bits: Vec::new(),
            dropped: Vec::new(),
            header: String::new(),
            until_look: 0,
            hold,
        };
        world.make_services(seed);
        world.make_clients(seed);
        world.make_triggers();
        world
    }

    fn run(mut self) -> Recording {
        let horizon = nanos(self.plan.scenario.horizon);
        let may_wait = self.plan.lines.iter().any(|line| line.may_wait);
        let mut until_asked = STRIDE;
        loop {
            until_asked -= 1;
            if until_asked == 0 {
                if self.is_over() {
                    break;
                }
                until_asked = STRIDE;
            }
            let what = if let Some(what) = self.soon.pop_front() {
                what
            } else {
                match self.queue.pop() {
                    Some(event) if event.at < horizon => {
                        self.now = event.at;
                        self.look_ahead();
                        while event.at >= self.bucket_ends {
                            self.close_bucket();
                        }
                        event.what
                    }
                    _ => break,
                }
            };
            self.handle(what);
            if may_wait && self.woken.is_some() {
                let (woken, soon) = (&self.woken, &mut self.soon);
                woken.drain(|call| soon.push_back(word(Kind::Woken, call, 0)));
            }
        }
        self.record(horizon)
    }

    #[inline]
    fn handle(&mut self, what: u64) {
        let Some((kind, index, generation)) = parts(what) else {
            return;
        };
        match kind {
            Kind::Call => self.call_is_due(index, generation),
            Kind::Think => self.begin_call(generation, index),
            Kind::Timer => self.timer(index, generation),
            Kind::Woken => self.woken(index),
            Kind::Lane => self.lane(index),
            Kind::GiveUp => self.time_out(index, generation),
            Kind::Hedge => self.hedge(index, generation),
            Kind::Arrive => self.arrive(index, generation),
            Kind::Served => self.served(index, generation),
            Kind::Answer => self.answer(index, generation),
            Kind::Begins => self.trigger(index, true),
            Kind::Ends => self.trigger(index, false),
            Kind::Deploy => self.deploy(index, generation),
        }
    }

    /// At once if it is due now.
    #[inline]
    fn schedule(&mut self, at: u64, kind: Kind, index: u32, generation: u32) {
        let what = word(kind, index, generation);
        if at <= self.now {
            self.soon.push_back(what);
        } else if at != arrivals::NEVER {
            self.queue.push(at, what);
        }
    }

    fn now(&self) -> Instant {
        Instant::from_nanos(self.now)
    }

    #[cold]
    fn close_bucket(&mut self) {
        for tally in &mut self.population_tallies {
            tally.close();
        }
        for tally in &mut self.service_tallies {
            tally.close();
        }
        self.bucket += 1;
        let next = self.slices.get(self.slice as usize + 1);
        if next.is_some_and(|next| *next <= self.bucket) {
            self.slice += 1;
        }
        self.bucket_ends = self.bucket_ends.saturating_add(self.bucket_length);
    }

    fn record(mut self, horizon: u64) -> Recording {
        if let Some(stopped) = self.hold.as_ref().and_then(|it| it.stopped) {
            return Recording {
                stopped: Some(stopped),
                events: self.events,
                ..Recording::default()
            };
        }
        while self.bucket_ends.saturating_sub(self.bucket_length) < horizon {
            self.close_bucket();
        }
        let mut under_way = vec![0; self.population_tallies.len()];
        for slot in (0..self.calls.len()).map(|at| &self.calls[at]) {
            if let (Some(_), Source::Client { population, .. }) = (&slot.call, slot.source) {
                under_way[population as usize] += 1;
            }
        }
        let mut inside = vec![0; self.service_tallies.len()];
        for at in 0..self.requests.len() {
            if self.is_inside(at) {
                inside[self.target_of(at)] += 1;
            }
        }
        let populations = self.population_tallies.into_iter().zip(under_way);
        let services = self.service_tallies.into_iter().zip(inside);
        Recording {
            bucket: self.plan.scenario.bucket,
            slices: self.slices,
            populations: populations
                .map(|(tally, left)| tally.finish(left))
                .collect(),
            services: services.map(|(tally, left)| tally.finish(left)).collect(),
            events: self.events,
            stopped: None,
        }
    }

    /// The random stream of an entity: by its name, so that a new neighbour shifts nobody.
    fn stream(seed: u64, kind: u64, name: &str, index: u32) -> Stream {
        // FNV-1a (Fowler, Noll, Vo), 64 bits.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        // Odd, so that no two of one name meet.
        let step = 0xd1b5_4a32_d192_ed03_u64.wrapping_mul(u64::from(index));
        Stream::of(seed, hash.wrapping_add(kind << 32).wrapping_add(step))
    }
}
