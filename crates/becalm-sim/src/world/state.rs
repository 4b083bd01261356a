//! What is there at a moment of a run? Calls, requests, instances.

use std::collections::VecDeque;
use std::task::Waker;

use becalm::support::Unheld;
use becalm::{Scope, StopReason, call::Call, shared::Shared, throttle::Priority, time::Instant};

use crate::engine::Stream;
use crate::record::Began;
use crate::scenario::{Effect, Scalability, Scenario};

use super::arrivals::{NEVER, OpenLoop};
use super::bucket::TokenBucket;
use super::cache::Entries;
use super::codel::CoDel;
use super::pace::Pace;
use super::slab::NOWHERE;

/// Who makes a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Client {
        population: u32,
        client: u32,
    },
    /// An instance, for a request that it works on.
    Job {
        request: u32,
        service: u32,
        instance: u32,
    },
}

/// What a call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// For the time of its next attempt.
    Waiting,
    /// For a guard, which has its waker.
    AtGuard,
    /// For the answer to an attempt.
    Running,
}

/// A running call: in front, and so in one cache line, what every attempt asks.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct CallSlot<'a> {
    pub source: Source,
    pub line: u32,
    /// The first of its running requests; the others follow by [`Request::next_copy`].
    pub first_request: u32,
    /// When the timer that counts goes off.
    pub timer_at: u64,
    /// The end of the whole call; [`NEVER`] without a deadline.
    pub deadline: u64,
    pub hedge_at: u64,
    /// What it asks for, where the service wants to know.
    pub key: u64,
    pub phase: Phase,
    /// How soon it is shed. Calls that are made for a request have the request's.
    pub priority: Priority,
    /// The next call that the same request makes.
    pub next_sibling: u32,
    /// Whose state the call uses.
    pub owner: usize,
    /// That state, once more than a first attempt has happened.
    pub shared: Option<&'a Shared>,
    pub stage: Stage,
    pub began: Began,
    pub number: u64,
    /// Made at the first wait for a guard in this place, and kept.
    pub waker: Option<Waker>,
}

/// What there is of a call.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stage {
    /// Nothing: its place is free.
    Free,
    /// Its first attempt runs, and it holds nothing.
    First(Unheld),
    /// The shipping object, in this place of its own: few have one at once, and it is large.
    Whole(u32),
}

/// The shipping object of a call, until that is over.
pub(super) type Whole<'a> = Option<Call<&'a Shared>>;

impl CallSlot<'_> {
    /// Whether there is a call.
    pub const fn is_taken(&self) -> bool {
        !matches!(self.stage, Stage::Free)
    }

    /// Its first attempt runs, and holds nothing.
    #[inline]
    pub fn try_first(&mut self, first: Unheld) -> bool {
        self.deadline = first.deadline().map_or(NEVER, Instant::as_nanos);
        self.stage = Stage::First(first);
        true
    }

    pub const fn empty(source: Source) -> Self {
        Self {
            owner: 0,
            shared: None,
            stage: Stage::Free,
            source,
            line: 0,
            phase: Phase::Waiting,
            number: 0,
            priority: Priority::Critical,
            began: Began {
                at: 0,
                bucket: 0,
                slice: 0,
            },
            deadline: NEVER,
            timer_at: NEVER,
            hedge_at: NEVER,
            key: 0,
            first_request: NOWHERE,
            next_sibling: NOWHERE,
            waker: None,
        }
    }
}

/// Where a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// On its way.
    Travelling,
    /// Lost on its way: the service never hears of it.
    Lost,
    /// Waits for a worker.
    Queued,
    /// Refused, and waits for a worker to say so.
    ToRefuse,
    /// A worker refuses it.
    Refusing,
    /// A worker works on it.
    Working,
    /// A worker waits for the calls that it makes.
    Calling,
    /// The service has nothing more to do with it.
    Done,
}

/// What the service says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Success,
    /// It failed, or was refused: a 503.
    Failure,
    /// Over the limit: a 429.
    Throttled,
    /// It failed, and says that it always will: a 500 of a handler that maps all errors to it.
    Permanent,
    /// It failed, and a layer below tells why it could not retry.
    Told(StopReason),
}

/// One attempt of a call, at the caller and at the service. It lives as long as one of the two
/// knows of it. One cache line: a storm has many of them in its queues, more than a cache holds.
#[derive(Debug, Clone)]
#[repr(align(64))]
pub(super) struct Request {
    pub call: u32,
    /// The number of the attempt.
    pub number: u32,
    pub line: u32,
    pub instance: u32,
    /// When the worker is done at the present speed.
    pub done_at: u64,
    /// When it came to its service, or when the worker began, or went on at the present speed.
    pub since: u64,
    /// Work that was left at `since`, in nanoseconds at full speed.
    pub work: u64,
    /// Counts the requests of a run: an order that does not depend on places.
    pub serial: u64,
    /// The first of the calls that are made for it.
    pub first_child: u32,
    pub next_copy: u32,
    pub place: Place,
    pub answer: Answer,
    /// Whether the caller still waits.
    pub is_awaited: bool,
    /// The caller left while it was on its way, and the service will hear.
    pub is_cancelled: bool,
    /// Whether the cache had nothing.
    pub is_miss: bool,
    pub priority: Priority,
}

/// What only some services ask of a request: see [`Line::has_details`](super::plan::Line).
#[derive(Debug, Clone, Copy)]
pub(super) struct Details {
    /// When its caller gives up; [`NEVER`] for never.
    pub gives_up_at: u64,
    pub key: u64,
    /// What came with it.
    pub scope: Scope,
    /// Which of the service's calls is made, and how many of it are still to succeed.
    pub step: u32,
    pub calls_left: u32,
}

impl Details {
    pub const NONE: Self = Self {
        gives_up_at: NEVER,
        key: 0,
        scope: Scope::NONE,
        step: 0,
        calls_left: 0,
    };
}

/// An instance of a service.
#[derive(Debug)]
pub(super) struct Instance {
    pub stream: Stream,
    /// Those that wait, and some that do so no longer: see [`Place::Queued`].
    pub queue: VecDeque<Waiting>,
    /// How many of them really wait.
    pub waiting: u32,
    pub to_refuse: VecDeque<Waiting>,
    pub busy: u32,
    /// How many triggers keep it down.
    pub down: u32,
    pub codel: CoDel,
    /// Where requests slow each other down.
    pub pace: Option<Box<Pace>>,
}

/// A request in a queue, unless its place was used again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub request: u32,
    pub generation: u32,
}

impl Instance {
    pub fn new(stream: Stream, law: Option<Scalability>) -> Self {
        Self {
            stream,
            queue: VecDeque::new(),
            waiting: 0,
            to_refuse: VecDeque::new(),
            busy: 0,
            down: 0,
            codel: CoDel::default(),
            pace: law.map(|law| Box::new(Pace::new(law))),
        }
    }

    /// Requests that it has.
    pub fn load(&self) -> u64 {
        u64::from(self.busy) + u64::from(self.waiting)
    }
}

/// A service, and what triggers have made of it.
#[derive(Debug)]
pub(super) struct ServiceState {
    pub instances: Vec<Instance>,
    /// For routing, and for what its instances share.
    pub stream: Stream,
    pub limit: Option<TokenBucket>,
    pub cache: Option<Entries>,
    pub next_instance: u32,
    /// The share of its capacity that is left; 0 while it hangs.
    pub speed: f64,
    /// The share of requests that fail.
    pub failures: f64,
    /// Nanoseconds that every answer takes longer.
    pub latency: u64,
}

/// The clients of a population.
#[derive(Debug)]
pub(super) struct PopulationState {
    pub arrivals: OpenLoop,
    /// Of the open loop's event that counts.
    pub generation: u32,
    pub streams: Vec<Stream>,
    /// Closed-loop clients that think until the load is above 0 again.
    pub parked: Vec<u32>,
}

/// Which triggers are on.
#[derive(Debug)]
pub(super) struct Triggers {
    pub is_on: Vec<bool>,
}

impl Triggers {
    pub fn new(scenario: &Scenario) -> Self {
        Self {
            is_on: vec![false; scenario.triggers.len()],
        }
    }

    /// The effects of those that are on.
    pub fn on<'s>(&self, scenario: &'s Scenario) -> impl Iterator<Item = &'s Effect> {
        let triggers = scenario.triggers.iter().zip(&self.is_on);
        triggers.filter_map(|(trigger, is_on)| is_on.then_some(&trigger.effect))
    }
}
