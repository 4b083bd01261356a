//! Is the default policy as safe as no retries at all, and still worth having?

#[path = "../examples/safe_as_none/worlds.rs"]
#[allow(dead_code, clippy::pedantic)] // the example tries more
mod worlds;

use std::time::Duration;

use becalm::{Budget, Policy};
use becalm_sim::catalogue::{self, Parameters};
use becalm_sim::verdict::{Outcome, judge};
use becalm_sim::world;
use worlds::{Beside, drawn, once};

/// A run of an entry of the catalogue with these parameters, judged.
fn outcome(name: &str, values: &[(&str, String)], policy: &Policy, seed: u64) -> Outcome {
    let entry = catalogue::find(name).expect("an entry of the catalogue");
    let mut parameters = Parameters::of(entry.parameters);
    for (name, value) in values {
        parameters.set(name, value).expect("a parameter");
    }
    let build = entry.scenario().expect("an entry with a world");
    let scenario = build(&parameters, policy);
    judge(&scenario, &world::run(&scenario, seed))
}

/// How long after its two seconds of hang `metastable` is back, at this load.
fn back(load: u32, policy: &Policy, seed: u64) -> Option<Duration> {
    let values = [("load", load.to_string())];
    outcome("metastable", &values, policy, seed).recovery.time()
}

/// 20 clients have 200 retries in hand, or those that half a second of all calls asks for; what the service can serve besides
/// its load works them off. It serves 1000 a second.
fn bursts_are_worked_off(load: u32) -> Duration {
    let reserve = Duration::from_millis(500) * load;
    reserve.max(Duration::from_secs(20 * 10)) / (1000 - load)
}

#[test]
fn metastable_comes_back_as_without_retries_and_later_by_the_bursts_at_most() {
    for load in [700, 900, 950] {
        for seed in 1..=3 {
            let without = back(load, &once(), seed).expect("it comes back without retries");
            let with = back(load, &Policy::default(), seed).expect("and with the default");
            let latest = without + bursts_are_worked_off(load) + Duration::from_secs(1);
            assert!(
                with <= latest,
                "{load}/s, seed {seed}: {with:?}, {without:?}"
            );
        }
    }
}

/// What the default was before: fed by first tries, the same budget keeps the service down.
#[test]
fn fed_by_first_tries_the_same_budget_does_not_come_back_so_soon() {
    let policy = Policy::default().budget(Budget::first_tries(0.1));
    for seed in 1..=3 {
        let without = back(900, &once(), seed).expect("it comes back without retries");
        let with = back(900, &policy, seed);
        assert!(with.is_none_or(|with| with > 3 * without), "{with:?}");
    }
}

/// The first of the worlds that `scripts/prove safe` tries.
#[test]
fn in_drawn_worlds_what_comes_back_without_retries_comes_back_with_the_default() {
    let mut came_back = 0;
    for seed in 1..=12 {
        let beside = Beside::of(&drawn(seed), &Policy::default(), 3);
        came_back += u32::from(beside.is_back_without);
        assert!(beside.holds(), "seed {seed}: {}", beside.goodput);
    }
    assert!(came_back > 8, "{came_back}");
}

/// The share of calls that succeed where so many of all attempts fail, whatever the load.
fn ordinary(load: &str, failures: f64, policy: &Policy) -> f64 {
    let values = [
        ("load", load.to_owned()),
        ("failures", failures.to_string()),
    ];
    outcome("flaky", &values, policy, 1).whole.success()
}

#[test]
fn on_an_ordinary_day_nearly_every_call_succeeds() {
    // 20 clients. With 1000 calls a second they are busy, with 2 each makes six a minute.
    for (load, failures, least) in [
        ("1000", 0.01, 0.999),
        ("1000", 0.05, 0.999),
        ("1000", 0.1, 0.98),
        ("1000", 0.3, 0.74),
        ("2", 0.1, 0.99),
    ] {
        let (with, without) = (
            ordinary(load, failures, &Policy::default()),
            ordinary(load, failures, &once()),
        );
        assert!(with >= least, "{load}/s, {failures}: {with}");
        assert!(without < 1.0 - failures / 2.0, "{without}");
    }
}
