//! Who is called?

use std::time::Duration;

use becalm::Policy;

use crate::engine::Distribution;

use super::population::Sharing;
use super::scalability::{self, Scalability};

/// A service: instances with workers and a queue.
///
/// A request takes a worker for its service time and for as long as the calls that it makes in turn
/// ([`calls`](Self::calls)) take. Work whose caller has given up is served all the same, unless
/// [`stale`](Self::stale) says otherwise: without stale work no storm sustains itself.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Service {
    /// What it is called.
    pub name: String,
    /// Instances, each with its workers and its queue. Default 1.
    pub instances: u32,
    /// Which instance gets a request. Default at random.
    pub routing: Routing,
    /// Requests that an instance works on at once; [`Service::UNLIMITED`] sets no bound. Default 1.
    pub workers: u32,
    /// How long the work of a request takes. Default 10 ms.
    pub time: Distribution,
    /// How much the requests that an instance works on at once slow each other down. `None` (the
    /// default): not at all.
    pub scalability: Option<Scalability>,
    /// Requests of an instance that wait for a worker; one more is refused. `None` (the default)
    /// sets no bound.
    pub queue: Option<u32>,
    /// Who is next. Default first in, first out.
    pub discipline: Discipline,
    /// How long a worker is busy with a refusal. Default 0: refusing costs nothing.
    pub refusal: Duration,
    /// The share of requests that fail, independently, after they were served. Default 0.
    pub failures: f64,
    /// Requests that are accepted per second; more are refused as throttled. Default none.
    pub limit: Option<Limit>,
    /// What happens to work whose caller has given up. Default [`Stale::Served`].
    pub stale: Stale,
    /// Looked into before the calls are made.
    pub cache: Option<Cache>,
    /// What it calls in turn, one after the other, while it holds its worker.
    pub calls: Vec<Downstream>,
}

/// Which instance gets a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Routing {
    /// Any, with equal probability.
    #[default]
    Random,
    /// One after the other.
    RoundRobin,
    /// That with the fewest requests in it; the first of those.
    LeastLoaded,
    /// The one that the key of the request belongs to, on every attempt the same: shards.
    ByKey,
}

/// Which request is next in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Discipline {
    /// First in, first out.
    #[default]
    Fifo,
    /// Last in, first out.
    Lifo,
    /// First in, first out, and drops where waits stay above a target (RFC 8289).
    CoDel {
        /// The wait that is acceptable; the RFC's is 5 ms.
        target: Duration,
        /// For how long it may be exceeded; the RFC's is 100 ms.
        interval: Duration,
    },
}

/// What happens to work whose caller has given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Stale {
    /// It is served: nobody tells the service.
    #[default]
    Served,
    /// The service knows each caller's deadline and starts no work that is past it.
    PastDeadline,
    /// The caller cancels: its request leaves the queue, and its worker, at once.
    Cancelled,
}

/// Throttling: a token bucket.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    /// Requests accepted per second.
    pub rate: f64,
    /// Requests accepted at once after a pause.
    pub burst: f64,
}

/// A look-aside cache in front of the calls of a service.
///
/// A request asks for one of `keys` keys with probability `hot`, equally likely each, and otherwise
/// for one that nobody asked for before. What is in the cache needs no calls.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Cache {
    /// Different keys that are asked for again and again.
    pub keys: u32,
    /// The share of requests that ask for one of them: the hit rate of a warm cache.
    pub hot: f64,
    /// How long an entry lives. `None` (the default): for ever.
    pub ttl: Option<Duration>,
    /// Whether an answer that comes after its caller has given up is put into the cache all the
    /// same. Default no: the fill was the caller's work, and is thrown away with it.
    pub keeps_late_fills: bool,
    /// Whether the cache is full at the start. Default yes.
    pub starts_warm: bool,
}

impl Cache {
    /// Makes a warm cache of this many keys, which this share of the requests ask for.
    pub const fn new(keys: u32, hot: f64) -> Self {
        Self {
            keys,
            hot,
            ttl: None,
            keeps_late_fills: false,
            starts_warm: true,
        }
    }
}

/// Calls that a service makes to another to answer one request.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Downstream {
    /// The service that is called.
    pub service: String,
    /// How many calls. Default 1.
    pub fan_out: u32,
    /// Whether they are made at once, or one after the other. Default one after the other.
    pub at_once: bool,
    /// Decides about their retries. Default [`Policy::default`].
    pub policy: Policy,
    /// When an attempt is given up, if the policy has no attempt timeout. Default none.
    pub timeout: Option<Duration>,
    /// Whose the shared state is: each instance's, or one for all. Default each instance's.
    pub sharing: Sharing,
    /// Whether the time that its own caller has left bounds these calls, and whether retries know of
    /// the retries above (`Scope`). Default no, as without propagation.
    pub propagates: bool,
    /// Whether the service answers its caller with a permanent error where one of these calls gives
    /// up. Default no: with a transient one.
    pub fails_for_good: bool,
    /// So many of the service's instances, the first ones, have every such attempt refused on its
    /// way. Default 0.
    pub refused_from: u32,
    /// From so many more instances no such attempt arrives: their caller hears nothing. Default 0.
    pub silent_from: u32,
}

impl Downstream {
    /// Makes one call to this service under this policy.
    pub fn new(service: impl Into<String>, policy: Policy) -> Self {
        Self {
            service: service.into(),
            fan_out: 1,
            at_once: false,
            policy,
            timeout: None,
            sharing: Sharing::PerClient,
            propagates: false,
            fails_for_good: false,
            refused_from: 0,
            silent_from: 0,
        }
    }
}

impl Service {
    /// As many workers as are wanted: nothing queues.
    pub const UNLIMITED: u32 = scalability::UNLIMITED;

    /// Makes a service of one instance with this many workers, each of which takes this time for a request.
    pub fn new(name: impl Into<String>, workers: u32, time: Distribution) -> Self {
        Self {
            name: name.into(),
            instances: 1,
            routing: Routing::default(),
            workers,
            time,
            scalability: None,
            queue: None,
            discipline: Discipline::default(),
            refusal: Duration::ZERO,
            failures: 0.0,
            limit: None,
            stale: Stale::default(),
            cache: None,
            calls: Vec::new(),
        }
    }

    /// Requests that all its instances can serve per second, without the calls it makes.
    pub fn capacity(&self) -> f64 {
        let at_once = match self.scalability {
            Some(law) => law.most(self.workers),
            None if self.workers == Self::UNLIMITED => f64::INFINITY,
            None => f64::from(self.workers),
        };
        f64::from(self.instances) * at_once / self.time.mean()
    }

    /// Sets how many requests of an instance wait for a worker.
    #[must_use]
    pub fn queue(mut self, places: u32) -> Self {
        self.queue = Some(places);
        self
    }

    /// Sets the share of requests that fail after they were served.
    #[must_use]
    pub fn failures(mut self, share: f64) -> Self {
        self.failures = share;
        self
    }

    /// Sets what happens to work whose caller has given up.
    #[must_use]
    pub fn stale(mut self, stale: Stale) -> Self {
        self.stale = stale;
        self
    }

    /// Adds calls to another service.
    #[must_use]
    pub fn calls(mut self, downstream: Downstream) -> Self {
        self.calls.push(downstream);
        self
    }
}
