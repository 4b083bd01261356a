//! Does tuning find what suits a service that is known?

mod by_hand;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use becalm::Policy;
use becalm_sim::record::Recording;
use becalm_sim::scenario::Scenario;
use becalm_sim::study::Plan;
use becalm_sim::tune::{Space, Tuning, tune_with};
use becalm_sim::verdict::{Brief, most_attempts};
use by_hand::{Second, eager, hung, lost, recording, world};

/// The world of few lines, in which more retries save more calls.
fn kind_world(scenario: &Scenario, seed: u64) -> Recording {
    let policy = &scenario.populations[0].variants[0].policy;
    let flat = world(2.0)(scenario, seed);
    let calls: Vec<u32> = flat.populations[0].calls.clone();
    let saved = 1.0 - 0.2 / f64::from(policy.attempts);
    let seconds = calls.chunks(10).enumerate().map(|(second, each)| {
        let calls = each.iter().sum::<u32>();
        let succeeded: u32 = flat.populations[0].succeeded[second * 10..][..10]
            .iter()
            .sum();
        if succeeded == 0 && calls > 0 {
            return lost(calls, policy.attempts);
        }
        Second {
            calls,
            succeed: rounded(f64::from(calls) * saved),
            attempts: rounded(f64::from(calls) * most_attempts(policy).min(3.0)),
        }
    });
    recording(seconds.collect::<Vec<_>>())
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn rounded(value: f64) -> u32 {
    (value / 10.0).round() as u32 * 10
}

fn tuned(seed: u64) -> Tuning {
    let mut plan = Plan::default();
    plan.seed = seed;
    plan.runs = Some(2);
    tune_with(
        kind_world,
        &Brief::default(),
        &Space::default().policies(16),
        &eager(),
        &plan,
        |policy| hung(400.0, policy),
    )
}

#[test]
fn a_policy_under_which_the_service_stays_down_is_never_recommended() {
    let tuning = tuned(1);
    // At 400 of 1 000 per second four attempts without a budget are too many.
    assert!(tuning.given.objectives.lost > 0.0);
    assert!(tuning.recommended.objectives.lost < tuning.given.objectives.lost);
    assert!(tuning.front.iter().all(|it| it.policy != eager()));
    assert!(tuning.front.contains(&tuning.recommended));
    let loads: Vec<f64> = tuning.front.iter().map(|it| it.objectives.load).collect();
    assert!(loads.is_sorted(), "{loads:?}");
    let mut rounded: Vec<_> = tuning
        .front
        .iter()
        .map(|it| it.objectives.rounded())
        .collect();
    rounded.dedup();
    assert_eq!(rounded.len(), tuning.front.len(), "equals are shown once");
    assert_eq!(
        tuning.recommended.policy.backoff,
        becalm::Backoff::Exponential
    );
}

#[test]
fn the_policy_that_serves_most_is_dropped_if_it_does_not_survive_worse() {
    // More attempts save more calls, but with four and more a longer hang is the end.
    let tempting = |scenario: &Scenario, _| {
        let attempts = scenario.populations[0].variants[0].policy.attempts;
        let is_longer = scenario.triggers[0].length > Duration::from_secs(3);
        let saved = Second {
            calls: 400,
            succeed: 400 - rounded(120.0 / f64::from(attempts)),
            attempts: 400,
        };
        recording((0..40).map(|second| match second {
            10.. if attempts >= 4 && is_longer => lost(400, attempts),
            _ => saved,
        }))
    };
    let plan = Plan::default();
    let space = Space::default().policies(16);
    let build = |policy: &Policy| hung(400.0, policy);
    let tuning = tune_with(tempting, &Brief::default(), &space, &eager(), &plan, build);
    assert!(tuning.given.objectives.lost > 0.0);
    assert!(tuning.front.iter().all(|it| it.objectives.lost == 0.0));
    assert_eq!(
        tuning.recommended.policy.attempts, 3,
        "the most that survive"
    );
}

#[test]
fn the_reasons_are_figures() {
    let tuning = tuned(1);
    let reasons = tuning.reasons.join(" ");
    for words in [
        &format!("Of {} policies", tuning.policies),
        "attempts for each first try",
        "Under the policy that was given the service stays down in",
        "it survives",
    ] {
        assert!(reasons.contains(words), "\"{words}\" is not in: {reasons}");
    }
    assert_eq!(tuning.study.contenders[0].name, tuning.recommended.name);
    assert_eq!(tuning.study.answer, reasons);
}

#[test]
fn the_number_of_runs_is_bounded() {
    let seen = AtomicU64::new(0);
    let run = |scenario: &Scenario, seed| {
        seen.fetch_add(1, Ordering::Relaxed);
        kind_world(scenario, seed)
    };
    let plan = Plan::default();
    let tuning = tune_with(
        run,
        &Brief::default(),
        &Space::default(),
        &eager(),
        &plan,
        |policy| hung(400.0, policy),
    );
    // 35 policies twice, 18 four times, 9 and the two that stay eight times; three cases each; and
    // two searches of twelve values with ten runs.
    let most = 3 * (35 * 2 + 20 * 4 + 12 * 8) + 2 * 12 * 10;
    assert_eq!(seen.load(Ordering::Relaxed), tuning.runs);
    assert!(tuning.runs <= most, "{} of {most}", tuning.runs);
    assert!(tuning.policies <= 35);
}

#[test]
fn every_policy_is_valid_and_keeps_what_is_not_tuned() {
    let given = eager().deadline(Duration::from_secs(7));
    let plan = Plan::default();
    let tuning = tune_with(
        kind_world,
        &Brief::default(),
        &Space::default().policies(50),
        &given,
        &plan,
        |policy| {
            assert_eq!(policy.validate(), Ok(()));
            assert_eq!(policy.deadline, given.deadline);
            hung(100.0, policy)
        },
    );
    assert!(tuning.policies > 40, "{} of 53", tuning.policies);
    assert_eq!(tuning.recommended.policy.deadline, given.deadline);
}

#[test]
fn equal_seeds_find_the_same() {
    assert_eq!(tuned(3), tuned(3));
    assert_ne!(tuned(3).front, tuned(4).front);
}

#[test]
fn an_empty_space_leaves_the_given_policy() {
    let mut space = Space::default().policies(0);
    space.attempts.clear();
    space.base.clear();
    space.caps.clear();
    space.jitter.clear();
    space.budgets.clear();
    space.breakers.clear();
    space.timeouts.clear();
    let plan = Plan::default();
    let tuning = tune_with(
        kind_world,
        &Brief::default(),
        &space,
        &Policy::default(),
        &plan,
        |policy| hung(100.0, policy),
    );
    // The given one is the default; beside it there is the one without retries.
    assert_eq!(tuning.policies, 2);
}
