//! How many events does the simulator handle in a second of one core?
//!
//! `cargo run --release -p becalm-sim --example events` runs a storm that sustains itself, in a
//! small and in a large size, and prints the best of three runs of each.

use std::time::{Duration, Instant};

use becalm::{Budget, Jitter, Policy};
use becalm_sim::record::{Recording, total};
use becalm_sim::scenario::Distribution;
use becalm_sim::scenario::{Arrivals, Effect, Population, Scenario, Service, Trigger};
use becalm_sim::world;

/// A service of 10 workers and 1000 requests a second, called 700 times a second, hangs for 2 s.
fn storm(times: u32, horizon: Duration, clients: u32) -> Scenario {
    let policy = Policy::exponential(Duration::from_millis(100))
        .jitter(Jitter::Full)
        .attempts(4)
        .budget(Budget::None);
    let service = Service::new(
        "service",
        10 * times,
        Distribution::Exponential(Duration::from_millis(10)),
    )
    .queue(1000 * times);
    let arrivals = Arrivals::Poisson(700.0 * f64::from(times));
    let population = Population::new("clients", "service", arrivals, policy)
        .clients(clients)
        .timeout(Duration::from_millis(250));
    Scenario::new("storm", horizon)
        .service(service)
        .population(population)
        .trigger(Trigger::new(
            Duration::from_secs(10),
            Duration::from_secs(2),
            Effect::Hang {
                service: "service".to_owned(),
            },
        ))
}

fn main() {
    for (name, times, seconds, clients) in [
        ("small, one client", 1, 600, 1),
        ("small, 1000 clients", 1, 600, 1000),
        ("a hundred times the size", 100, 20, 1000),
    ] {
        let scenario = storm(times, Duration::from_secs(seconds), clients);
        let mut best = Duration::MAX;
        let mut recording = Recording::default();
        for _ in 0..3 {
            let start = Instant::now();
            recording = world::run(&scenario, 1);
            best = best.min(start.elapsed());
        }
        let clients = &recording.populations[0];
        // A run is far from 2^32 events.
        let events = f64::from(u32::try_from(recording.events).unwrap_or(u32::MAX));
        println!(
            "{name}: {events} events in {best:?}, {:.1} million a second; amplification {:.2}, {} of {} calls succeeded",
            events / best.as_secs_f64() / 1e6,
            clients.amplification(),
            total(&clients.succeeded),
            total(&clients.calls),
        );
    }
}
