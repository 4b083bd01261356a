//! How much is asked of each service, if nobody retries?

use crate::engine::float;
use crate::scenario::{Arrivals, Cache, Downstream, Population, Scenario, Service};

/// The service that is nearest to its capacity.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Bottleneck {
    /// Its place among the services of the scenario.
    pub service: usize,
    /// Requests that arrive at it per second, if nobody retries.
    pub load: f64,
    /// Requests that it can serve per second.
    pub capacity: f64,
}

impl Bottleneck {
    /// The share of its capacity that first tries take.
    pub fn utilisation(&self) -> f64 {
        self.load / self.capacity
    }

    /// Requests that it can serve per second besides; 0 where first tries are too many.
    pub(super) fn spare(&self) -> f64 {
        (self.capacity - self.load).max(0.0)
    }
}

/// The service that first tries bring nearest to its capacity. `None` where nothing bounds a
/// service, or where closed loops alone call: their load follows the service.
pub fn bottleneck(scenario: &Scenario) -> Option<Bottleneck> {
    let loads = first_tries(scenario);
    let each = scenario.services.iter().zip(loads).enumerate();
    each.map(|(service, (of, load))| Bottleneck {
        service,
        load,
        capacity: accepts(of),
    })
    .filter(|it| it.load > 0.0 && it.capacity.is_finite() && it.capacity > 0.0)
    .max_by(|a, b| a.utilisation().total_cmp(&b.utilisation()))
}

/// Requests that arrive at each service per second, if nobody retries, in the order of the scenario.
/// Closed loops count as nothing; caches as warm.
pub fn first_tries(scenario: &Scenario) -> Vec<f64> {
    unrepeated(scenario, &|_, population| open_rate(scenario, population))
}

/// Requests that arrive at each service per second, if nobody retries and each population, known by
/// its place, makes so many calls per second. Caches count as warm.
pub(super) fn unrepeated(
    scenario: &Scenario,
    calls: &dyn Fn(usize, &Population) -> f64,
) -> Vec<f64> {
    let once = Multiplied {
        attempts: calls,
        steps: &|_, _, _| 1.0,
        is_cold: &|_| false,
    };
    requests(scenario, &once)
}

/// What happens to first tries on their way.
pub(super) struct Multiplied<'a> {
    /// Attempts per second of a population, which is known by its place.
    pub attempts: &'a dyn Fn(usize, &Population) -> f64,
    /// Attempts for each call of the service at this place to another one, where it gets so many
    /// requests per second.
    pub steps: &'a dyn Fn(&Downstream, usize, f64) -> f64,
    /// Whether the cache of a service answers nothing.
    pub is_cold: &'a dyn Fn(&Service) -> bool,
}

/// Requests that arrive at each service per second, in the order of the scenario.
pub(super) fn requests(scenario: &Scenario, multiplied: &Multiplied<'_>) -> Vec<f64> {
    let place = |name: &str| scenario.services.iter().position(|it| it.name == name);
    let mut from_clients = vec![0.0; scenario.services.len()];
    for (at, population) in scenario.populations.iter().enumerate() {
        let rate = (multiplied.attempts)(at, population);
        if rate <= 0.0 {
            continue;
        }
        if let Some(load) = place(&population.target).and_then(|at| from_clients.get_mut(at)) {
            *load += rate;
        }
    }
    // What a service is asked makes it ask others: as many rounds as the longest path has steps.
    let mut loads = from_clients.clone();
    for _ in 1..scenario.services.len() {
        let mut next = from_clients.clone();
        for (at, (service, load)) in scenario.services.iter().zip(&loads).enumerate() {
            let missed = match &service.cache {
                Some(cache) if !(multiplied.is_cold)(service) => misses(cache, *load),
                _ => 1.0,
            };
            let missed = load * missed;
            for call in service.calls.iter().filter(|_| missed > 0.0) {
                let called = place(&call.service).and_then(|at| next.get_mut(at));
                if let Some(called) = called {
                    let attempts = (multiplied.steps)(call, at, *load);
                    *called += missed * f64::from(call.fan_out) * attempts;
                }
            }
        }
        loads = next;
    }
    loads
}

/// Whether anything bounds a service: its workers, how they slow each other down, or its limit. Where nothing does, no load is too
/// much, and no retry keeps anything down: there is nothing to rule on.
pub fn is_bounded(scenario: &Scenario) -> bool {
    let mut services = scenario.services.iter();
    services.any(|it| it.workers != Service::UNLIMITED || accepts(it).is_finite())
}

/// Requests that a service can serve per second: its workers, or its limit if that is lower.
pub(super) fn accepts(service: &Service) -> f64 {
    let limit = service.limit.map_or(f64::INFINITY, |limit| limit.rate);
    service.capacity().min(limit)
}

/// First tries of a population per second, on average; 0 of a closed loop.
pub(super) fn open_rate(scenario: &Scenario, population: &Population) -> f64 {
    match &population.arrivals {
        Arrivals::Poisson(rate) | Arrivals::Constant(rate) => *rate,
        Arrivals::Bursty {
            rate,
            burst_rate,
            burst,
            pause,
        } => {
            let (burst, pause) = (burst.as_secs_f64(), pause.as_secs_f64());
            (rate * pause + burst_rate * burst) / (burst + pause)
        }
        // What is recorded beyond the end of the run plays no part in it.
        Arrivals::Trace(recorded) => {
            float(recorded.before(scenario.horizon) as u64) / scenario.horizon.as_secs_f64()
        }
        Arrivals::Closed { .. } => 0.0,
    }
}

/// The share of requests that a warm cache does not answer, at so many per second.
///
/// An entry that lives for T answers all but the first of the requests that come in that time: of
/// Poisson arrivals at a rate x per key, 1 of 1 + x T misses (J. Jung, A. W. Berger, H. Balakrishnan,
/// *Modeling TTL-based Internet Caches*, INFOCOM 2003).
fn misses(cache: &Cache, load: f64) -> f64 {
    let expired = cache.ttl.map_or(0.0, |ttl| {
        let per_key = load * cache.hot / f64::from(cache.keys.max(1));
        1.0 / (1.0 + per_key * ttl.as_secs_f64())
    });
    1.0 - cache.hot * (1.0 - expired)
}
