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
use becalm_sim::study::Plan;
use becalm_sim::verdict::{Brief, Thoroughness, study_with};
use becalm_sim::world;

/// How long all runs sleep together, for each worker.
const SLEPT: Duration = Duration::from_secs(10);

fn main() {
    let entry = catalogue::find("metastable").expect("an entry of the catalogue");
    let build = entry.scenario().expect("a scenario");
    let parameters = Parameters::of(entry.parameters);
    let policies = ["attempts=1", "budget=none", "default"].map(|name| {
        let policy = match name {
            "attempts=1" => Policy::default().attempts(1),
            "budget=none" => Policy::default().budget(becalm::Budget::None),
            _ => Policy::default(),
        };
        Candidate::new(name, policy)
    });
    let kept: Mutex<HashMap<(String, u64), Recording>> = Mutex::default();
    let key = |scenario: &Scenario, seed| (format!("{scenario:?}"), seed);
    let studied = |threads, run: &(dyn Fn(&Scenario, u64) -> Recording + Sync)| {
        let mut plan = Plan::default();
        plan.threads = threads;
        let (brief, thoroughness) = (Brief::default(), Thoroughness::default());
        let build = |policy: &Policy| build(&parameters, policy);
        study_with(run, &brief, thoroughness, &policies, &plan, build).expect("little")
    };
    let first = studied(threads(), &|scenario, seed| {
        let recording = world::run(scenario, seed);
        let mut kept = kept.lock().expect("no panic");
        kept.insert(key(scenario, seed), recording.clone());
        recording
    });
    for workers in [2_u32, 8, 32] {
        let all = SLEPT * workers;
        let slept = Mutex::new(Duration::ZERO);
        let begun = Instant::now();
        let again = studied(workers as usize, &|scenario, seed| {
            let key = key(scenario, seed);
            let recording = kept.lock().expect("no panic")[&key].clone();
            // Far from 2^52 events.
            #[expect(clippy::cast_precision_loss)]
            let share = recording.events as f64 / first.events as f64;
            let time = all.mul_f64(share);
            sleep(time);
            *slept.lock().expect("no panic") += time;
            recording
        });
        assert_eq!(again.events, first.events, "the same runs");
        let busy =
            slept.into_inner().expect("no panic").as_secs_f64() / begun.elapsed().as_secs_f64();
        println!(
            "{workers} workers: {busy:.1} busy, {:.2} of them",
            busy / f64::from(workers)
        );
    }
}
