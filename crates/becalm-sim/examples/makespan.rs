//! How well does a study keep many workers busy?
//!
//! `cargo run --release -p becalm-sim --example makespan` runs a study once, keeps each recording, and makes the study again with 2, 8 and
//! 32 workers that sleep where they ran, each as long as its events ask for. It prints the time that all runs took together divided by the
//! time that passed. That is the number of workers that were busy. The shipping code orders the runs, and a worker that sleeps needs no core.

use std::collections::HashMap;
use std::sync::Mutex;
use std::thread::sleep;
use std::time::{Duration, Instant};

use becalm::Policy;
use becalm_sim::catalogue::{self, Candidate, Parameters};
use becalm_sim::engine::parallel::threads;
use becalm_sim::record::Recording;
use becalm_sim::scenario::Scenario;
use becalm_sim::study::{Plan, Study};
use becalm_sim::verdict::{Brief, Runner, Thoroughness, study_with};
use becalm_sim::world::{self, Ceiling, Looks};

/// How long all runs sleep together, for each worker.
const SLEPT: Duration = Duration::from_secs(10);

fn main() {
    let policies = ["attempts=1", "budget=none", "default"].map(|name| {
        let policy = match name {
            "attempts=1" => Policy::default().attempts(1),
            "budget=none" => Policy::default().budget(becalm::Budget::None),
            _ => Policy::default(),
        };
        Candidate::new(name, policy)
    });
    let keeps = Keeps::default();
    let first = studied(&keeps, threads(), &policies);
    let kept = keeps.0.into_inner().expect("no panic");
    for workers in [2_u32, 8, 32] {
        let sleeps = Sleeps {
            kept: &kept,
            each: (SLEPT * workers).div_f64(float(first.events)),
            slept: Mutex::default(),
        };
        let begun = Instant::now();
        let again = studied(&sleeps, workers as usize, &policies);
        assert_eq!(again.events, first.events, "the same runs");
        let slept = sleeps.slept.into_inner().expect("no panic");
        let busy = slept.as_secs_f64() / begun.elapsed().as_secs_f64();
        println!(
            "{workers} workers: {busy:.1} busy, {:.2} of them",
            busy / f64::from(workers)
        );
    }
}

fn studied(run: impl Runner, threads: usize, policies: &[Candidate]) -> Study {
    let entry = catalogue::find("metastable").expect("an entry of the catalogue");
    let build = entry.scenario().expect("a scenario");
    let parameters = Parameters::of(entry.parameters);
    let mut plan = Plan::default();
    plan.threads = threads;
    let (brief, thoroughness) = (Brief::default(), Thoroughness::default());
    let build = |policy: &Policy| build(&parameters, policy);
    study_with(run, &brief, thoroughness, policies, &plan, build).expect("little")
}

/// A scenario, a seed, and whether the run may have ended before its horizon.
type Key = (String, u64, bool);

fn key(scenario: &Scenario, seed: u64, may_end: bool) -> Key {
    (format!("{scenario:?}"), seed, may_end)
}

/// Runs, and keeps what each run leaves.
#[derive(Default)]
struct Keeps(Mutex<HashMap<Key, Recording>>);

impl Keeps {
    fn keep(&self, key: Key, recording: Recording) -> Recording {
        let mut kept = self.0.lock().expect("no panic");
        kept.insert(key, recording.clone());
        recording
    }
}

impl Runner for &Keeps {
    fn run(&self, scenario: &Scenario, seed: u64) -> Recording {
        self.keep(key(scenario, seed, false), world::run(scenario, seed))
    }

    fn run_until(&self, scenario: &Scenario, seed: u64, looks: &Looks<'_>) -> Option<Recording> {
        // Who sleeps has nothing to show on the way.
        if looks.horizon().is_some() {
            return None;
        }
        let recording = world::run_until(scenario, seed, &Ceiling::default(), looks);
        Some(self.keep(key(scenario, seed, true), recording))
    }
}

/// Sleeps as long as each run asks for, and gives back what it left.
struct Sleeps<'k> {
    kept: &'k HashMap<Key, Recording>,
    /// For each event.
    each: Duration,
    slept: Mutex<Duration>,
}

impl Sleeps<'_> {
    fn wake(&self, key: &Key) -> Recording {
        let recording = self.kept[key].clone();
        let time = self.each.mul_f64(float(recording.events));
        sleep(time);
        *self.slept.lock().expect("no panic") += time;
        recording
    }
}

impl Runner for &Sleeps<'_> {
    fn run(&self, scenario: &Scenario, seed: u64) -> Recording {
        self.wake(&key(scenario, seed, false))
    }

    fn run_until(&self, scenario: &Scenario, seed: u64, looks: &Looks<'_>) -> Option<Recording> {
        let may_end = looks.horizon().is_none();
        may_end.then(|| self.wake(&key(scenario, seed, true)))
    }
}

#[expect(clippy::cast_precision_loss, reason = "far from 2^52 events")]
fn float(events: u64) -> f64 {
    events as f64
}
