//! How fast are the kernels for huge fleets?
//!
//! `cargo run --release -p becalm-sim --example kernel_speed -- herd 1000000`: a jittered herd of so
//! many clients; a second number is how many the server accepts in a second. `... -- occ`: the sweep of the original's figures, 60 million events.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use becalm::lone::Lone;
use becalm::{Budget, Policy};
use becalm_sim::herd::{self, Herd};
use becalm_sim::occ::published::{ROWS, Strategy};
use becalm_sim::occ::{self, Contest};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at| {
        arguments
            .get(at)
            .and_then(|number: &String| number.parse().ok())
    };
    let events = match arguments.first().map(String::as_str) {
        Some("herd") => of_herd(number(1), number(2)),
        Some("occ") => of_occ(),
        _ => {
            eprintln!("kernel_speed: say herd COUNT, or occ");
            return ExitCode::from(2);
        }
    };
    events.map_or(ExitCode::FAILURE, |(events, took)| {
        let nanos = took.as_nanos() / u128::from(events.max(1));
        println!("{events} events in {took:.2?}: {nanos} ns an event");
        ExitCode::SUCCESS
    })
}

fn of_herd(clients: Option<u64>, accepts: Option<u64>) -> Option<(u64, Duration)> {
    let mut herd = Herd::of(u32::try_from(clients.unwrap_or(1_000_000)).ok()?);
    (herd.outage, herd.accepts_per_second) = (Duration::from_secs(300), accepts);
    let policy = Policy::exponential(Duration::from_secs(1))
        .cap(Duration::from_secs(30))
        .attempts(Policy::UNLIMITED)
        .budget(Budget::None);
    let lone = Lone::new(policy, Duration::ZERO).ok()?;
    let started = Instant::now();
    let record = herd::run(&herd, &lone, 1).ok()?;
    Some((record.events, started.elapsed()))
}

fn of_occ() -> Option<(u64, Duration)> {
    let started = Instant::now();
    let mut events = 0;
    for strategy in Strategy::ALL {
        let lone = Lone::new(strategy.policy(), Duration::ZERO).ok()?;
        for row in &ROWS {
            events += occ::trials(&Contest::of(row.clients), &lone, 1, 100)
                .ok()?
                .events;
        }
    }
    Some((events, started.elapsed()))
}
