//! Is every policy of a scenario with several layers moved, and is the right one found?

use std::sync::Mutex;

use becalm::Policy;
use becalm_sim::change::{Place, changed};
use becalm_sim::record::Recording;
use becalm_sim::remedy;
use becalm_sim::scenario::{Scenario, file};
use becalm_sim::study::{Plan, Verdict};
use becalm_sim::tune::{Space, Tuning, tune, tune_with};
use becalm_sim::verdict::{Brief, Runs, rule};
use becalm_sim::world;

const TIERS: &str = include_str!("three_tiers.toml");

fn tiers() -> Scenario {
    file::read(TIERS, &|name| panic!("{name}")).expect("a scenario")
}

fn plan(runs: u32) -> Plan<'static> {
    let mut plan = Plan::default();
    (plan.seed, plan.runs, plan.threads) = (7, Some(runs), 2);
    plan
}

/// As `becalm storm tune` does it.
fn tuned(scenario: &Scenario, space: &Space, runs: u32) -> Tuning {
    let given = &scenario.populations[0].variants[0].policy;
    let build = |policy: &Policy| {
        if policy == given {
            scenario.clone()
        } else {
            scenario.under(policy)
        }
    };
    // Which outage it survives is not the question, and would take the most runs.
    let mut plan = plan(runs);
    plan.is_quick = true;
    tune(&Brief::default(), space, given, &plan, build).expect("it is small")
}

/// The median of the times after which the runs are back, in seconds; `None` where half are not.
fn back(scenario: &Scenario) -> Option<f64> {
    let plan = plan(5);
    let ruling = rule(scenario, &Runs::new(world::run, &plan), 5);
    let times = ruling.outcomes.iter().map(|it| it.recovery.time());
    let mut times: Vec<f64> = times
        .map(|it| it.map_or(f64::INFINITY, |it| it.as_secs_f64()))
        .collect();
    times.sort_by(f64::total_cmp);
    Some(times[times.len() / 2]).filter(|it| it.is_finite())
}

#[test]
fn s2_tuning_three_tiers_finds_what_brings_them_back_where_the_given_policies_never_do() {
    let scenario = tiers();
    assert_eq!(back(&scenario), None, "the given policies never come back");
    let tuning = tuned(&scenario, &Space::default().policies(4), 1);
    assert!(tuning.given.objectives.lost > 0.0);
    let recommended = &tuning.recommended;
    let build = scenario.under(&recommended.policy);
    let build = if recommended.policy == tuning.given.policy {
        scenario.clone()
    } else {
        build
    };
    let time = back(&changed(build, &recommended.changes));
    assert!(
        time.is_some_and(|it| it < 10.0),
        "{time:?}: {:?}",
        tuning.reasons
    );
    assert!(
        tuning.reasons[0].starts_with("Change "),
        "{:?}",
        tuning.reasons
    );
    // One, several or all of the policies were moved.
    let moved: Vec<usize> = tuning.front.iter().map(|it| it.changes.len()).collect();
    assert!(moved.iter().all(|it| *it > 0), "{moved:?}");
}

#[test]
fn s2_tuning_keeps_policies_that_nothing_beats() {
    // The one layer that retries has the default policy, and nothing is the matter.
    let mut scenario = tiers();
    scenario.triggers.clear();
    for service in &mut scenario.services {
        for call in &mut service.calls {
            call.policy = Policy::default().attempts(1);
        }
    }
    let scenario = scenario.under(&Policy::default());
    let tuning = tuned(&scenario, &Space::default().policies(4), 3);
    assert_eq!(tuning.recommended.name, "given", "{:?}", tuning.reasons);
    assert!(
        tuning.reasons[0].starts_with("Keep yours"),
        "{:?}",
        tuning.reasons
    );
    assert!(tuning.recommended.changes.is_empty());
}

#[test]
fn s2_tuning_changes_no_place_but_those_that_are_named() {
    let scenario = tiers();
    let given = &scenario.populations[0].variants[0].policy;
    let space = Space::default().policies(8);
    let tried = |space: &Space| {
        let seen: Mutex<Vec<Scenario>> = Mutex::default();
        // Nobody calls: what is tried is asked, not what comes of it.
        let run = |scenario: &Scenario, _| {
            seen.lock().unwrap().push(scenario.clone());
            Recording::default()
        };
        let build = |_: &Policy| scenario.clone();
        let brief = Brief::default();
        tune_with(run, &brief, space, given, &plan(1), build).expect("within the ceiling");
        seen.into_inner().unwrap()
    };
    let moved = |seen: &[Scenario]| -> Vec<bool> {
        let is_moved = |place: &Place| {
            let own = place.policy(&scenario);
            seen.iter().any(|it| place.policy(it) != own)
        };
        Place::all_of(&scenario).iter().map(is_moved).collect()
    };
    assert_eq!(moved(&tried(&space)), [true, true, true]);
    let one = space.clone().places(["orders->database".to_owned()]);
    assert_eq!(moved(&tried(&one)), [false, false, true]);
    let two = space.places(["orders->database".to_owned(), "users".to_owned()]);
    assert_eq!(moved(&tried(&two)), [true, false, true]);
}

#[test]
fn s2_the_remedy_is_the_smallest_change_that_makes_it_stable() {
    let scenario = tiers();
    let plan = plan(2);
    let remedy = remedy::find(&scenario, &plan).expect("within the ceiling");
    let (step, ruling) = remedy.found.clone().expect("a remedy");
    assert_eq!(ruling.verdict, Verdict::Stable, "{}", remedy.sentence);
    assert!(
        remedy.sentence.contains(&step.what),
        "{}: {}",
        step.what,
        remedy.sentence
    );
    // It says what its own scenario does.
    let again = rule(
        &changed(scenario.clone(), &step.changes),
        &Runs::new(world::run, &plan),
        2,
    );
    assert_eq!(again.evidence, ruling.evidence);
    assert!(remedy.runs <= remedy::MOST_RUNS + 40, "{}", remedy.runs);
}

#[test]
fn s2_without_breakers_the_remedy_takes_two_layers() {
    // Each policy has a breaker that opens never: another one is no change.
    let mut scenario = tiers();
    let never = "consecutive:1000000".parse().ok();
    for service in &mut scenario.services {
        for call in &mut service.calls {
            call.policy.breaker = never;
        }
    }
    scenario.populations[0].variants[0].policy.breaker = never;
    let remedy = remedy::find(&scenario, &plan(2)).expect("within the ceiling");
    let (step, _) = remedy.found.expect("a remedy");
    assert!(step.changes.len() > 1, "{}", remedy.sentence);
    assert!(remedy.sentence.contains(" and "), "{}", remedy.sentence);
}

#[test]
fn s2_where_no_policy_helps_it_is_said_how_much_capacity_does() {
    // Nobody retries, the queue is longer than anybody waits, and there is next to nothing to spare.
    let mut scenario = tiers();
    for service in &mut scenario.services {
        service
            .calls
            .iter_mut()
            .for_each(|it| it.policy.attempts = 1);
    }
    scenario = scenario.under(&Policy::default().attempts(1));
    scenario = becalm_sim::verdict::louder(&scenario, 3.2);
    let remedy = remedy::find(&scenario, &plan(2)).expect("within the ceiling");
    assert_eq!(remedy.found, None, "{}", remedy.sentence);
    let again = remedy::find(&scenario, &plan(2));
    assert_eq!(again, Ok(remedy.clone()), "equal seeds find the same");
    for part in [
        "No policy brings it back",
        "What it needs is capacity",
        "of what database can serve; they take 96 %",
        "times as much",
    ] {
        assert!(
            remedy.sentence.contains(part),
            "{part}: {}",
            remedy.sentence
        );
    }
}
