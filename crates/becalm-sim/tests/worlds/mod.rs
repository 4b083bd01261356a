//! Which small worlds do several tests begin with?

#![allow(dead_code)] // each test uses some

use std::time::Duration;

use becalm::{Budget, Jitter, Policy};
use becalm_sim::record::{PopulationRecord, Recording, ServiceRecord, total};
use becalm_sim::scenario::Distribution;
use becalm_sim::scenario::{Arrivals, Effect, Population, Scenario, Service, Trigger};

pub const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

pub fn constant(millis: u64) -> Distribution {
    Distribution::Constant(ms(millis))
}

pub fn exponential(millis: u64) -> Distribution {
    Distribution::Exponential(ms(millis))
}

/// So many attempts at equal distances, and no budget.
pub fn attempts(attempts: u32, delay: Duration) -> Policy {
    Policy::fixed(delay)
        .jitter(Jitter::None)
        .attempts(attempts)
        .budget(Budget::None)
}

pub fn once() -> Policy {
    attempts(1, ms(0))
}

/// One population that calls one service.
pub fn world(horizon: Duration, service: Service, arrivals: Arrivals, policy: Policy) -> Scenario {
    let target = service.name.clone();
    Scenario::new("world", horizon)
        .service(service)
        .population(Population::new("clients", target, arrivals, policy))
}

/// One population that calls one service and gives up after this.
pub fn impatient(
    horizon: Duration,
    service: Service,
    arrivals: Arrivals,
    policy: Policy,
    timeout: Duration,
) -> Scenario {
    let mut scenario = world(horizon, service, arrivals, policy);
    scenario.populations[0].timeout = Some(timeout);
    scenario
}

pub fn trigger(from: Duration, length: Duration, effect: Effect) -> Trigger {
    Trigger::new(from, length, effect)
}

pub fn named(name: &str) -> String {
    name.to_owned()
}

pub fn clients(recording: &Recording) -> &PopulationRecord {
    &recording.populations[0]
}

pub fn served(recording: &Recording) -> &ServiceRecord {
    &recording.services[0]
}

/// What was counted from one time up to another.
pub fn between(recording: &Recording, counts: &[u32], from: Duration, to: Duration) -> u64 {
    let at = |time: Duration| {
        usize::try_from(time.as_nanos() / recording.bucket.as_nanos()).unwrap_or(usize::MAX)
    };
    total(&counts[at(from)..at(to)])
}

#[expect(clippy::cast_precision_loss)] // small counts
pub fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

#[expect(clippy::cast_precision_loss)] // far below 2^52
pub fn in_ms(nanos: Option<u64>) -> f64 {
    nanos.expect("something succeeded") as f64 * 1e-6
}
