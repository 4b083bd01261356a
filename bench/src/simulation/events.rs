//! How many instructions does an event of a world take, and how much memory a client? Measured in processes of their own: this
//! program starts itself, with an argument that only it uses.
//!
//! Callgrind counts two runs, a short and a long one. What the longer took more, over the events that it had more, is an
//! event's, without the start.

use std::env;
use std::process::{Command, Output};
use std::time::Duration;

use becalm::{Budget, Policy};
use becalm_sim::catalogue::{self, Parameters};
use becalm_sim::engine::Distribution;
use becalm_sim::scenario::{Arrivals, Downstream, Population, Scenario, Service, Sharing};
use becalm_sim::world;

use super::memory;
use crate::bars::Bar;
use crate::instructions::collected;

/// Makes this program run a world and print its events and its peak of memory: the case and its size follow.
pub const ARGUMENT: &str = "--world-of";

const METASTABLE: &str = "metastable";
const QUEUE: &str = "queue";
/// A million clients, or ten, behind three tiers, each with a budget of its own.
const TIERS: &str = "tiers";

/// Seconds of the shorter and of the longer run.
const SECONDS: [u32; 2] = [20, 60];

/// What is promised. Where callgrind is not installed, it counts as missed.
pub fn bars() -> Vec<Bar> {
    let or_missed = |count: Option<u64>| count.unwrap_or(u64::MAX);
    vec![
        // 584 and 655 on 27 November 2026, of calls that fail. An event of the whole study of `metastable`, most of whose calls succeed at
        // once, takes some four fifths of what it took before.
        Bar::at_most_count(
            "instructions of an event of the storm `metastable`",
            or_missed(of_an_event(METASTABLE)),
            600,
        ),
        Bar::at_most_count(
            "instructions of an event of the world `queue`",
            or_missed(of_an_event(QUEUE)),
            660,
        ),
        Bar::at_most_count(
            "bytes of a client of a million behind three tiers, with all that the run holds",
            or_missed(of_a_client(1_000_000)),
            60,
        ),
        Bar::at_most_count(
            "bytes of a client of ten million",
            or_missed(of_a_client(10_000_000)),
            55,
        ),
    ]
}

fn of_an_event(case: &str) -> Option<u64> {
    let [short, long] = SECONDS.map(|seconds| {
        let size = seconds.to_string();
        let program = env::current_exe().ok()?;
        let run = Command::new("valgrind")
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(program)
            .args([ARGUMENT, case, &size])
            .output()
            .ok()?;
        let count = collected(&String::from_utf8_lossy(&run.stderr))?;
        Some((count, events_and_bytes(&run)?.0))
    });
    let ((few, early), (many, late)) = (short?, long?);
    many.checked_sub(few)?.checked_div(late.checked_sub(early)?)
}

fn of_a_client(clients: u32) -> Option<u64> {
    let run = Command::new(env::current_exe().ok()?)
        .args([ARGUMENT, TIERS, &clients.to_string()])
        .output()
        .ok()?;
    Some(events_and_bytes(&run)?.1 / u64::from(clients))
}

fn events_and_bytes(run: &Output) -> Option<(u64, u64)> {
    let told = String::from_utf8_lossy(&run.stdout);
    let (events, bytes) = told.trim().split_once(' ')?;
    let both = (events.parse().ok()?, bytes.parse().ok()?);
    run.status.success().then_some(both)
}

/// What the process does; whether it knows the case.
pub fn run(case: &str, size: &str) -> bool {
    let Ok(size) = size.parse() else {
        return false;
    };
    let scenario = match case {
        METASTABLE => of_the_catalogue(METASTABLE, Some(Budget::None), size),
        QUEUE => of_the_catalogue(QUEUE, None, size),
        TIERS => tiers(size),
        _ => return false,
    };
    let events = world::run(&scenario, 1).events;
    println!("{events} {}", memory::peak_of_this_process().unwrap_or(0));
    true
}

/// The world of a catalogue entry with its default parameters. It runs for this number of seconds.
fn of_the_catalogue(name: &str, budget: Option<Budget>, seconds: u32) -> Scenario {
    let entry = catalogue::find(name).expect("an entry of the catalogue");
    let mut parameters = Parameters::of(entry.parameters);
    let horizon = format!("{seconds}s");
    parameters.set("horizon", &horizon).expect("a parameter");
    let mut policy = (entry.policy)();
    if let Some(budget) = budget {
        policy = policy.budget(budget);
    }
    let scenario = entry.scenario().expect("an entry with a world");
    scenario(&parameters, &policy)
}

/// Two seconds in which a tenth of the clients call, and a fifth of the attempts fail.
fn tiers(clients: u32) -> Scenario {
    let policy = || {
        let base = Policy::exponential(Duration::from_millis(100));
        base.attempts(3).budget(Budget::ratio(0.1))
    };
    let takes = Distribution::Constant(Duration::from_millis(5));
    let tier = |name: &str| Service::new(name, Service::UNLIMITED, takes.clone()).failures(0.2);
    let calls = |name: &str, below: &str| tier(name).calls(Downstream::new(below, policy()));
    let arrivals = Arrivals::Poisson(f64::from(clients) / 20.0);
    let population = Population::new("clients", "front", arrivals, policy())
        .clients(clients)
        .sharing(Sharing::PerClient);
    Scenario::new("tiers", Duration::from_secs(2))
        .service(tier("back"))
        .service(calls("middle", "back"))
        .service(calls("front", "middle"))
        .population(population)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_world_is_known() {
        for (case, size) in [(METASTABLE, "2"), (QUEUE, "1"), (TIERS, "1000")] {
            assert!(run(case, size), "{case}");
        }
        assert!(!run("another", "1"));
    }
}
