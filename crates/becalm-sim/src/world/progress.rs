//! How does a run go on? One event after the other, each at its time.

use std::mem::size_of;

use becalm::shared::Shared;
use becalm::time::Instant;

use crate::engine::{EventQueue, Stream};
use crate::record::{PopulationTally, Recording, ServiceTally, slices};
use crate::scenario::{Phases, Scenario};

use super::arrivals::NEVER;
use super::at_rest::OF_AN_EVENT;
use super::ceiling::{Hold, STRIDE};
use super::event::{Kind, parts, word};
use super::lane::Lane;
use super::looks::{Looks, Stops};
use super::owners::Owners;
use super::plan::{Plan, nanos};
use super::slab::Slab;
use super::soon::Soon;
use super::state::{
    CallSlot, Details, PopulationState, Request, ServiceState, Source, Triggers, Whole,
};
use super::trace::Tracer;
use super::wakers::Woken;

/// Bytes of an entry of a lane or a queue.
const OF_AN_ENTRY: usize = 16;

/// A run in progress.
pub(super) struct World<'a, T> {
    pub(super) plan: &'a Plan<'a>,
    pub(super) now: u64,
    pub(super) queue: EventQueue,
    /// What happens at this instant still, before anything in the queue.
    pub(super) soon: Soon,
    /// One for each line.
    pub(super) lanes: Vec<Lane>,
    pub(super) calls: Slab<CallSlot<'a>>,
    /// Of those that are more than a first attempt.
    pub(super) wholes: Slab<Whole<'a>>,
    pub(super) owners: Owners,
    pub(super) requests: Slab<Request>,
    /// By the place of the request, as far as any service asks.
    pub(super) details: Vec<Details>,
    pub(super) populations: Vec<PopulationState>,
    pub(super) services: Vec<ServiceState>,
    pub(super) triggers: Triggers,
    /// The share of messages that are lost.
    pub(super) loss: f64,
    pub(super) woken: Woken,
    pub(super) population_tallies: Vec<PopulationTally>,
    pub(super) service_tallies: Vec<ServiceTally>,
    /// The first bucket of each stretch in which latencies are kept apart.
    pub(super) slices: Vec<u32>,
    pub(super) slice: u32,
    pub(super) bucket: u32,
    pub(super) bucket_ends: u64,
    pub(super) bucket_length: u64,
    pub(super) events: u64,
    pub(super) calls_begun: u64,
    pub(super) requests_sent: u64,
    pub(super) tracer: T,
    /// What was drawn since the last step that was told.
    pub(super) bits: Vec<u64>,
    /// Requests that a queue drops: kept, so that nothing is allocated.
    pub(super) dropped: Vec<u32>,
    /// The text of a scope on its way.
    pub(super) header: String,
    /// Events until the next look ahead.
    pub(super) until_look: usize,
    /// What the run holds of its ceiling, where it has one.
    pub(super) hold: Option<Hold<'a>>,
    /// What who looked was certain of.
    pub(super) certain: Option<bool>,
}

impl<'a, T: Tracer> World<'a, T> {
    pub(super) fn new(
        plan: &'a Plan<'a>,
        seed: u64,
        tracer: T,
        hold: Option<Hold<'a>>,
        looks: Option<&Looks<'_>>,
    ) -> Self {
        let scenario = plan.scenario;
        let buckets = buckets_of(scenario);
        let bucket_length = nanos(scenario.bucket);
        let slices = match looks.and_then(Looks::horizon) {
            Some(horizon) => slices_of(&scenario.until(horizon)),
            None => slices_of(scenario),
        };
        let mut world = Self {
            plan,
            now: 0,
            queue: EventQueue::for_pending(1 << 10),
            soon: Soon::default(),
            lanes: plan.lines.iter().map(|_| Lane::default()).collect(),
            calls: Slab::for_about(1 << 10),
            wholes: Slab::for_about(1 << 10),
            owners: Owners::of(plan.owners),
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
            certain: None,
        };
        world.make_services(seed);
        world.make_clients(seed);
        world.make_triggers();
        world
    }

    pub(super) fn run(mut self, looks: Option<&Looks<'_>>) -> Recording {
        let mut stops = Stops::of(looks, self.plan.scenario);
        let mut until = stops.next();
        let may_wait = self.plan.lines.iter().any(|line| line.may_wait);
        let mut until_asked = STRIDE;
        'run: loop {
            until_asked -= 1;
            if until_asked == 0 {
                if self.is_over() {
                    break;
                }
                until_asked = STRIDE;
            }
            let what = if let Some(what) = self.soon.pop() {
                what
            } else {
                let Some(event) = self.queue.pop() else {
                    break;
                };
                while event.at >= until {
                    if stops.is_last() || self.is_certain(until, looks) {
                        break 'run;
                    }
                    until = stops.next();
                }
                self.now = event.at;
                self.look_ahead();
                while event.at >= self.bucket_ends {
                    self.close_bucket();
                }
                event.what
            };
            self.handle(what);
            if may_wait && self.woken.is_some() {
                let (woken, soon) = (&self.woken, &mut self.soon);
                woken.drain(|call| soon.push(word(Kind::Woken, call, 0)));
            }
        }
        let ends = if self.certain.is_some() {
            until
        } else {
            nanos(self.plan.scenario.horizon)
        };
        self.record(ends)
    }

    #[inline(always)]
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
    pub(super) fn schedule(&mut self, at: u64, kind: Kind, index: u32, generation: u32) {
        let what = word(kind, index, generation);
        if at <= self.now {
            self.soon.push(what);
        } else if at != NEVER {
            self.queue.push(at, what);
        }
    }

    pub(super) fn now(&self) -> Instant {
        Instant::from_nanos(self.now)
    }

    /// The buckets that are over by then.
    pub(super) fn close_buckets(&mut self, by: u64) {
        while self.bucket_ends.saturating_sub(self.bucket_length) < by {
            self.close_bucket();
        }
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

    fn record(mut self, ends: u64) -> Recording {
        if let Some(stopped) = self.hold.as_ref().and_then(|it| it.stopped) {
            return Recording {
                stopped: Some(stopped),
                events: self.events,
                ..Recording::default()
            };
        }
        self.close_buckets(ends);
        let populations = std::mem::take(&mut self.population_tallies);
        let services = std::mem::take(&mut self.service_tallies);
        self.recording(populations, services)
    }

    /// What these tallies say, and what is running.
    pub(super) fn recording(
        &self,
        populations: Vec<PopulationTally>,
        services: Vec<ServiceTally>,
    ) -> Recording {
        let mut under_way = vec![0; populations.len()];
        for slot in (0..self.calls.len()).map(|at| &self.calls[at]) {
            if let (true, Source::Client { population, .. }) = (slot.is_taken(), slot.source) {
                under_way[population as usize] += 1;
            }
        }
        let mut inside = vec![0; services.len()];
        for at in 0..self.requests.len() {
            if self.is_inside(at) {
                inside[self.target_of(at)] += 1;
            }
        }
        let populations = populations.into_iter().zip(under_way);
        let services = services.into_iter().zip(inside);
        Recording {
            bucket: self.plan.scenario.bucket,
            slices: self.slices.clone(),
            populations: populations
                .map(|(tally, left)| tally.finish(left))
                .collect(),
            services: services.map(|(tally, left)| tally.finish(left)).collect(),
            events: self.events,
            certain: self.certain,
            stopped: None,
        }
    }

    /// The random stream of an entity: by its name, so that a new neighbour shifts nobody.
    pub(super) fn stream(seed: u64, kind: u64, name: &str, index: u32) -> Stream {
        // FNV-1a (Fowler, Noll, Vo), 64 bits.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        // Odd, so that no two of one name meet.
        let step = 0xd1b5_4a32_d192_ed03_u64.wrapping_mul(u64::from(index));
        Stream::of(seed, hash.wrapping_add(kind << 32).wrapping_add(step))
    }
}

fn buckets_of(scenario: &Scenario) -> usize {
    let bucket = scenario.bucket.as_nanos().max(1);
    usize::try_from(scenario.horizon.as_nanos().div_ceil(bucket)).unwrap_or(0)
}

fn slices_of(scenario: &Scenario) -> Vec<u32> {
    let cuts = Phases::of(scenario).cuts();
    let populations = scenario.populations.len();
    let length = nanos(scenario.bucket);
    slices(buckets_of(scenario), length, populations, &cuts)
}

impl<T: Tracer> World<'_, T> {
    /// Whether the run is over its ceiling: asked after every [`STRIDE`] things that happened.
    #[cold]
    pub(super) fn is_over(&mut self) -> bool {
        let more = self.bytes();
        let Some(hold) = &mut self.hold else {
            return false;
        };
        if hold.stopped.is_none() {
            hold.takes(more);
        }
        if hold.stopped.is_none() {
            hold.goes_on(self.now);
        }
        hold.stopped.is_some()
    }

    /// What has come since the beginning.
    fn bytes(&self) -> u64 {
        let calls = self.calls.len() as usize * (size_of::<CallSlot>() + 2 * size_of::<u32>());
        let wholes = self.wholes.len() as usize * (size_of::<Whole>() + 2 * size_of::<u32>());
        let states = self.owners.made() as usize * size_of::<Shared>();
        let entry = size_of::<Request>() + 2 * size_of::<u32>() + OF_AN_ENTRY;
        let requests = self.requests.len() as usize * entry;
        let details = self.details.len() * size_of::<Details>();
        let timeouts: usize = self.lanes.iter().map(Lane::len).sum();
        let events = (self.queue.len() + self.soon.len()) * OF_AN_EVENT;
        (calls + wholes + states + requests + details + timeouts * OF_AN_ENTRY + events) as u64
    }
}
