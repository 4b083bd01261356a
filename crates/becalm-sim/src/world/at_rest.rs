//! What does a run hold before anything happens in it?

use std::mem::size_of;

use becalm::shared::Shared;

use crate::engine::Stream;
use crate::record::Histogram;
use crate::scenario::{Arrivals, Population, Scenario, Sharing};

use super::owners::only_deposits;
use super::state::Instance;

/// Bytes of an entry of the event queue, with the room that lists keep for more.
pub(super) const OF_AN_EVENT: usize = 24;
/// Bytes of an owner of a state that is not made yet, with the room for where it will be.
const OF_AN_OWNER: usize = 5;
/// Counts of a population, of a service, and of each of its calls, in each bucket.
const COUNTS: (u64, u64, u64) = (9, 8, 2);
/// Stretches of a run whose latencies are kept apart, and bytes of each as a rule.
const OF_STRETCHES: u64 = 200 * 4 * 1024;

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
    parts(scenario, false)
}

/// What these parts take once a call of every client, and of every instance, has failed.
pub(crate) fn parts_at_most(scenario: &Scenario) -> Vec<Part> {
    parts(scenario, true)
}

/// Bytes of the states of this number of clients.
pub(crate) fn of_states(clients: u64) -> u64 {
    clients.saturating_mul(size_of::<Shared>() as u64)
}

/// Whether each client has a state from its first call on, whatever comes of it.
pub(crate) fn is_made_at_once(population: &Population) -> bool {
    let mut variants = population.variants.iter();
    variants.any(|it| !only_deposits(&it.policy))
}

fn parts(scenario: &Scenario, all_fail: bool) -> Vec<Part> {
    let bytes = |of: usize| of as u64;
    let part = |of: &str, field, count: u64, each: u64| Part {
        of: of.to_owned(),
        field,
        count,
        bytes: count.saturating_mul(each),
    };
    let shared = |sharing, service: &str, is_made: bool| {
        let state = if is_made || all_fail {
            size_of::<Shared>()
        } else {
            0
        };
        let of_an_owner = bytes(OF_AN_OWNER + state);
        match sharing {
            Sharing::PerClient => of_an_owner,
            Sharing::PerShard => {
                let services = scenario.services.iter();
                let shards = services
                    .filter(|it| it.name == service)
                    .map(|it| it.instances);
                of_an_owner.saturating_mul(shards.map(u64::from).sum())
            }
            Sharing::Shared => 0,
        }
    };
    let mut parts = Vec::new();
    for population in &scenario.populations {
        let waiting = match population.arrivals {
            Arrivals::Closed { .. } => bytes(OF_AN_EVENT),
            _ => 0,
        };
        let is_made = is_made_at_once(population);
        let state = shared(population.sharing, &population.target, is_made);
        let each = state + bytes(size_of::<Stream>()) + waiting;
        let clients = u64::from(population.clients);
        parts.push(part(&population.name, "clients", clients, each));
    }
    for service in &scenario.services {
        let calls = service
            .calls
            .iter()
            .map(|it| shared(it.sharing, &it.service, !only_deposits(&it.policy)));
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
