//! Scenarios and recordings made by hand, to be judged.
#![allow(dead_code, reason = "each test uses some of it")]

use std::time::Duration;

use becalm::{Budget, Policy};
use becalm_sim::record::{Endings, PopulationRecord, Recording, ServiceRecord};
use becalm_sim::scenario::Distribution;
use becalm_sim::scenario::{Arrivals, Effect, Population, Scenario, Service, Trigger};

/// Retries at once, without a budget: 4 attempts.
pub fn eager() -> Policy {
    Policy::fixed(Duration::ZERO).budget(Budget::None)
}

/// 1 000 requests per second can be served; so many first tries come per second; a hang from 10 s to
/// 12 s of 40 s.
pub fn hung(rate: f64, policy: &Policy) -> Scenario {
    let hang = Effect::Hang {
        service: "orders".into(),
    };
    unhung(rate, policy).trigger(Trigger::new(
        Duration::from_secs(10),
        Duration::from_secs(2),
        hang,
    ))
}

/// 1 000 requests per second can be served; so many first tries come per second; nothing hangs.
pub fn unhung(rate: f64, policy: &Policy) -> Scenario {
    let time = Distribution::Constant(Duration::from_millis(10));
    let clients = Population::new("clients", "orders", Arrivals::Poisson(rate), policy.clone());
    Scenario::new("by hand", Duration::from_secs(40))
        .service(Service::new("orders", 10, time).queue(1000))
        .population(clients.timeout(Duration::from_millis(250)))
}

/// What a second of a run is like.
#[derive(Debug, Clone, Copy)]
pub struct Second {
    pub calls: u32,
    pub succeed: u32,
    pub attempts: u32,
}

/// All of so many calls succeed at once.
pub const fn fine(calls: u32) -> Second {
    Second {
        calls,
        succeed: calls,
        attempts: calls,
    }
}

/// None of so many calls succeeds after so many attempts each.
pub const fn lost(calls: u32, attempts: u32) -> Second {
    Second {
        calls,
        succeed: 0,
        attempts: calls * attempts,
    }
}

/// A recording in which each second is like this, in buckets of 100 ms. Counts are whole tens.
pub fn recording(seconds: impl IntoIterator<Item = Second>) -> Recording {
    let mut population = PopulationRecord::default();
    let mut service = ServiceRecord::default();
    let mut slices = Vec::new();
    for (at, second) in (0..).zip(seconds) {
        slices.push(10 * at);
        for _ in 0..10 {
            population.calls.push(second.calls / 10);
            population.first_tries.push(second.calls / 10);
            population.attempts.push(second.attempts / 10);
            population.succeeded.push(second.succeed / 10);
            population.succeeded_of.push(second.succeed / 10);
            population
                .gave_up
                .push((second.calls - second.succeed) / 10);
            service.arrived.push(second.attempts / 10);
            service.queue.push(second.attempts / 100);
        }
        // One of ten is enough for a quantile.
        let mut endings = Endings::default();
        endings.gave_up = u64::from((second.calls - second.succeed) / 10);
        for _ in 0..second.succeed / 10 {
            endings.latency.add(20_000_000);
        }
        population.latency.merge(&endings.latency);
        population.endings.push(endings);
    }
    let mut recording = Recording::default();
    recording.bucket = Duration::from_millis(100);
    recording.slices = slices;
    recording.events = 4 * becalm_sim::record::total(&population.attempts);
    recording.populations.push(population);
    recording.services.push(service);
    recording
}

/// A run that is fine but for the seconds in which `is_lost` says otherwise.
pub fn course(seconds: u32, calls: u32, attempts: u32, is_lost: impl Fn(u32) -> bool) -> Recording {
    recording((0..seconds).map(|second| {
        if is_lost(second) {
            lost(calls, attempts)
        } else {
            fine(calls)
        }
    }))
}

/// A world in a few lines: a run of a trigger that is at most `tolerates` long times the free share
/// of the hidden capacity comes back a second later; after a longer one, or at a load above the
/// hidden capacity, never. The seed moves the edge by a few percent.
pub fn world(tolerates: f64) -> impl Fn(&Scenario, u64) -> Recording + Sync {
    move |scenario, seed| {
        let load = becalm_sim::verdict::bottleneck(scenario).unwrap();
        let policy = &scenario.populations[0].variants[0].policy;
        let hidden = load.capacity / becalm_sim::verdict::most_attempts(policy);
        let calls = tens(load.load);
        let attempts = policy.attempts;
        let seconds = tens(scenario.horizon.as_secs_f64() * 10.0) / 10;
        let Some(trigger) = scenario.triggers.first() else {
            return course(seconds, calls, attempts, |_| load.utilisation() > 1.0);
        };
        let noise = 1.0 + 0.02 * f64::from(u8::try_from(seed % 7).unwrap());
        let is_back =
            load.load < 0.98 * hidden && trigger.length.as_secs_f64() <= tolerates * noise * 2.0;
        let begin = tens(trigger.from.as_secs_f64() * 10.0) / 10;
        let end = tens(scenario.triggers_end().as_secs_f64().ceil() * 10.0) / 10;
        course(seconds, calls, attempts, |second| {
            second >= begin && (second <= end || !is_back)
        })
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn tens(value: f64) -> u32 {
    (value / 10.0).round() as u32 * 10
}

/// The seconds of a run.
pub fn length(scenario: &Scenario) -> u32 {
    tens(scenario.horizon.as_secs_f64() * 10.0) / 10
}
