//! How much may a run take? Of memory, and of events for the time that passes in it.
//!
//! A run that takes more stops: it says so in its recording, which is then not to be judged. What
//! each thing takes is counted, not measured, so that a run stops at the same event everywhere.

use std::mem::size_of;
use std::sync::atomic::{AtomicU64, Ordering};

use becalm::shared::Shared;

use crate::engine::Stream;
use crate::record::Histogram;
use crate::scenario::{Arrivals, Scenario, Sharing};

use super::state::{CallSlot, Details, Instance, Request};
use super::trace::Tracer;
use super::{World, nanos};

/// What runs may take. One for all runs that are made at once: what they hold counts together.
#[derive(Debug)]
pub struct Ceiling {
    bytes: u64,
    pace: u64,
    held: AtomicU64,
}

/// Why a run stopped before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stopped {
    /// It needs more memory than all runs may take.
    Memory,
    /// It and the runs beside it need more memory than all runs may take: alone it may do with it.
    Crowded,
    /// Its time hardly passes: too much happens in it.
    Pace,
}

/// Parts of the horizon, each of which may take [`Ceiling::PACE`] events.
const PARTS: u64 = 2_000;
/// Events between two looks at what is held: in as many, a run takes some megabytes at most.
pub(super) const STRIDE: u32 = 1 << 12;
/// Bytes of an entry of the event queue, with the room that lists keep for more.
const OF_AN_EVENT: usize = 24;
/// Bytes of an entry of a lane or a queue.
const OF_AN_ENTRY: usize = 16;
/// Counts of a population, of a service, and of each of its calls, in each bucket.
const COUNTS: (u64, u64, u64) = (9, 8, 2);
/// Stretches of a run whose latencies are kept apart, and bytes of each as a rule.
const OF_STRETCHES: u64 = 200 * 4 * 1024;

impl Ceiling {
    /// Bytes that all runs at once may hold, where nothing else is asked for: 400 MB. With what the
    /// program itself takes that is below half a gigabyte.
    pub const BYTES: u64 = 400_000_000;

    /// Events that may happen within a two-thousandth of the horizon: eight million. A run has less
    /// than 16 000 million of them, which take some twenty minutes; a storm of a hundred thousand
    /// requests a second has a ten-thousandth of it.
    pub const PACE: u64 = 8_000_000;

    /// For runs that may hold so many bytes together.
    pub const fn of(bytes: u64) -> Self {
        Self {
            bytes,
            pace: Self::PACE,
            held: AtomicU64::new(0),
        }
    }

    /// Bytes that all runs at once may hold.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Default for Ceiling {
    fn default() -> Self {
        Self::of(Self::BYTES)
    }
}

/// What one run holds of a ceiling, until it is dropped.
#[derive(Debug)]
pub(super) struct Hold<'c> {
    ceiling: &'c Ceiling,
    /// What was there before anything happened.
    base: u64,
    bytes: u64,
    /// Words that were handled.
    handled: u64,
    /// When the present part of the horizon began, and how many were handled by then.
    part: (u64, u64),
    length: u64,
    pub stopped: Option<Stopped>,
}

impl<'c> Hold<'c> {
    /// For a run of this scenario, before anything of it is made.
    pub fn new(ceiling: &'c Ceiling, scenario: &Scenario) -> Self {
        let mut hold = Self {
            ceiling,
            base: at_rest(scenario),
            bytes: 0,
            handled: 0,
            part: (0, 0),
            length: (nanos(scenario.horizon) / PARTS).max(1),
            stopped: None,
        };
        hold.takes(0);
        hold
    }

    fn takes(&mut self, more: u64) {
        let bytes = self.base.saturating_add(more);
        if bytes > self.ceiling.bytes {
            self.stopped = Some(Stopped::Memory);
            return;
        }
        let held = &self.ceiling.held;
        let before = held.fetch_add(bytes, Ordering::Relaxed);
        held.fetch_sub(self.bytes, Ordering::Relaxed);
        let others = before.saturating_sub(self.bytes);
        self.bytes = bytes;
        if others.saturating_add(bytes) > self.ceiling.bytes {
            self.stopped = Some(Stopped::Crowded);
        }
    }

    fn goes_on(&mut self, now: u64) {
        self.handled += u64::from(STRIDE);
        let (began, handled) = self.part;
        if now - began >= self.length {
            self.part = (now, self.handled);
        } else if self.handled - handled > self.ceiling.pace {
            self.stopped = Some(Stopped::Pace);
        }
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        self.ceiling.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
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
        let entry = size_of::<Request>() + 2 * size_of::<u32>() + OF_AN_ENTRY;
        let requests = self.requests.len() as usize * entry;
        let details = self.details.len() * size_of::<Details>();
        let timeouts: usize = self.lanes.iter().map(super::lane::Lane::len).sum();
        let events = (self.queue.len() + self.soon.len()) * OF_AN_EVENT;
        (calls + requests + details + timeouts * OF_AN_ENTRY + events) as u64
    }
}

/// Bytes of a run in which nothing has happened yet.
pub(crate) fn at_rest(scenario: &Scenario) -> u64 {
    sum(&parts_at_rest(scenario))
}

/// Bytes of these parts together.
pub(crate) fn sum(parts: &[Part]) -> u64 {
    let each = parts.iter().map(|part| part.bytes);
    each.fold(0, u64::saturating_add)
}

/// What makes a run large before anything happens in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// Whose: of a population, of a service; empty for the scenario.
    pub of: String,
    /// The field that says how many.
    pub field: &'static str,
    pub count: u64,
    pub bytes: u64,
}

/// What is there once, whatever runs: the recorded calls of each population.
pub(crate) fn recordings(scenario: &Scenario) -> Vec<Part> {
    let populations = scenario.populations.iter();
    let of = populations.filter_map(|population| {
        let Arrivals::Trace(recorded) = &population.arrivals else {
            return None;
        };
        Some(Part {
            of: population.name.clone(),
            field: "recorded calls",
            count: recorded.times().len() as u64,
            bytes: size_of_val(recorded.times()) as u64,
        })
    });
    of.collect()
}

/// Clients, instances, keys, buckets, with what they take.
pub(crate) fn parts_at_rest(scenario: &Scenario) -> Vec<Part> {
    let bytes = |of: usize| of as u64;
    let part = |of: &str, field, count: u64, each: u64| Part {
        of: of.to_owned(),
        field,
        count,
        bytes: count.saturating_mul(each),
    };
    let shared = |sharing, service: &str| match sharing {
        Sharing::PerClient => bytes(size_of::<Shared>()),
        Sharing::PerShard => {
            let services = scenario.services.iter();
            let shards = services
                .filter(|it| it.name == service)
                .map(|it| it.instances);
            bytes(size_of::<Shared>()).saturating_mul(shards.map(u64::from).sum())
        }
        Sharing::Shared => 0,
    };
    let mut parts = Vec::new();
    for population in &scenario.populations {
        let waiting = match population.arrivals {
            Arrivals::Closed { .. } => bytes(OF_AN_EVENT),
            _ => 0,
        };
        let each =
            shared(population.sharing, &population.target) + bytes(size_of::<Stream>()) + waiting;
        let clients = u64::from(population.clients);
        parts.push(part(&population.name, "clients", clients, each));
    }
    for service in &scenario.services {
        let calls = service
            .calls
            .iter()
            .map(|it| shared(it.sharing, &it.service));
        let each = bytes(size_of::<Instance>()) + calls.sum::<u64>();
        let instances = u64::from(service.instances);
        parts.push(part(&service.name, "instances", instances, each));
        if let Some(cache) = &service.cache {
            parts.push(part(&service.name, "keys", u64::from(cache.keys), 8));
        }
    }
    let services = scenario.services.iter();
    let services = services.map(|it| COUNTS.1 + COUNTS.2 * it.calls.len() as u64);
    let counts = COUNTS.0 * scenario.populations.len() as u64 + services.sum::<u64>();
    let buckets = scenario.horizon.as_nanos() / scenario.bucket.as_nanos().max(1);
    let buckets = u64::try_from(buckets).unwrap_or(u64::MAX);
    parts.push(part("", "bucket", buckets, 4 * counts));
    let stretches = OF_STRETCHES + bytes(size_of::<Histogram>());
    parts.push(part(
        "",
        "populations",
        scenario.populations.len() as u64,
        stretches,
    ));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s3_runs_at_once_share_one_ceiling_and_give_back_what_they_hold() {
        let ceiling = Ceiling::of(2_000);
        let hold = |base| {
            let mut hold = Hold {
                ceiling: &ceiling,
                base,
                bytes: 0,
                handled: 0,
                part: (0, 0),
                length: 1,
                stopped: None,
            };
            hold.takes(0);
            hold
        };
        let first = hold(1_500);
        assert_eq!(first.stopped, None);
        assert_eq!(hold(2_500).stopped, Some(Stopped::Memory), "even alone");
        assert_eq!(hold(1_000).stopped, Some(Stopped::Crowded));
        drop(first);
        let mut alone = hold(1_000);
        assert_eq!(alone.stopped, None);
        alone.takes(900);
        assert_eq!(alone.stopped, None);
        alone.takes(1_100);
        assert_eq!(alone.stopped, Some(Stopped::Memory));
        drop(alone);
        assert_eq!(ceiling.held.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn s3_time_that_does_not_pass_stops_a_run() {
        let ceiling = Ceiling {
            pace: 10 * u64::from(STRIDE),
            ..Ceiling::default()
        };
        let hold = |step: u64| {
            let mut hold = Hold {
                ceiling: &ceiling,
                base: 0,
                bytes: 0,
                handled: 0,
                part: (0, 0),
                length: 1_000,
                stopped: None,
            };
            for look in 0..100 {
                hold.goes_on(look * step);
            }
            hold.stopped
        };
        assert_eq!(hold(101), None);
        assert_eq!(hold(80), Some(Stopped::Pace));
    }
}
