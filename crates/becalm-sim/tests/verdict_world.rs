//! Does the simulated world get the verdicts that it should?

use std::time::Duration;

use becalm::{Budget, Policy};
use becalm_sim::catalogue::Candidate;
use becalm_sim::scenario::Distribution;
use becalm_sim::scenario::{Arrivals, Effect, Population, Scenario, Service, Trigger};
use becalm_sim::study::{Plan, Verdict};
use becalm_sim::verdict::{Brief, Resolution, Runs, Thoroughness, judge, rule, study_with};
use becalm_sim::world;

/// A service of 200 requests a second that hangs from 5 s to 7 s of 25 s, called at this share of
/// its capacity by clients that wait for 250 ms.
fn service(load: f64, policy: &Policy) -> Scenario {
    let time = Distribution::Exponential(Duration::from_millis(10));
    let arrivals = Arrivals::Poisson(200.0 * load);
    let clients = Population::new("clients", "orders", arrivals, policy.clone());
    let hang = Effect::Hang {
        service: "orders".into(),
    };
    Scenario::new("service", Duration::from_secs(25))
        .service(Service::new("orders", 2, time).queue(400))
        .population(clients.timeout(Duration::from_millis(250)))
        .trigger(Trigger::new(
            Duration::from_secs(5),
            Duration::from_secs(2),
            hang,
        ))
}

fn immediate() -> Policy {
    Policy::fixed(Duration::ZERO).budget(Budget::None)
}

fn ruled(load: f64, policy: &Policy) -> becalm_sim::verdict::Ruling {
    let plan = Plan::default();
    rule(&service(load, policy), &Runs::new(world::run, &plan), 3)
}

#[test]
fn immediate_retries_without_a_budget_are_metastable_at_twice_the_hidden_capacity() {
    // mu / A is a quarter of the capacity.
    let ruling = ruled(0.6, &immediate());
    assert_eq!(ruling.verdict, Verdict::Metastable, "{}", ruling.evidence);
    assert!(
        ruling
            .outcomes
            .iter()
            .all(|it| !it.holds() && it.pressure > 1.0)
    );
    assert!(
        ruling.evidence.contains("In 3 of 3 runs"),
        "{}",
        ruling.evidence
    );
}

#[test]
fn below_the_hidden_capacity_every_run_comes_back() {
    let ruling = ruled(0.2, &immediate());
    assert_eq!(ruling.back().successes, 3, "{}", ruling.evidence);
    // But not at 90 % of the capacity.
    assert_eq!(ruling.verdict, Verdict::Vulnerable, "{}", ruling.evidence);
}

#[test]
fn callers_in_a_hurry_are_back_when_the_queue_is_and_not_with_their_last_bad_second() {
    // Below what a request takes on average, so that queues that come and go decide who is answered.
    let mut scenario = service(3.5, &Policy::default().attempts(1));
    scenario.populations[0].timeout = Some(Duration::from_millis(8));
    scenario.services[0].workers = 10;
    scenario.services[0].queue = Some(1000);
    scenario.triggers[0].from = Duration::from_secs(20);
    scenario.horizon = Duration::from_secs(60);
    for seed in 1..=6 {
        let outcome = judge(&scenario, &world::run(&scenario, seed));
        // The queue is full, and 300 more than come are served a second: 3.3 s. The counts of both
        // are off by some 75 in that time, four deviations of which are 1 s.
        let time = outcome.recovery.time().unwrap().as_secs_f64();
        assert!((2.3..4.3).contains(&time), "seed {seed}: {time}");
    }
}

#[test]
fn the_default_policy_comes_back_at_the_same_load() {
    let ruling = ruled(0.6, &Policy::default());
    assert_eq!(ruling.back().successes, 3, "{}", ruling.evidence);
    assert!(matches!(
        ruling.verdict,
        Verdict::Stable | Verdict::Vulnerable
    ));
    assert!(
        ruling
            .outcomes
            .iter()
            .all(|it| it.amplification_since() < 1.2),
        "{}",
        ruling.evidence
    );
}

#[test]
fn more_first_tries_than_the_capacity_are_overload() {
    let ruling = ruled(1.3, &Policy::default());
    assert_eq!(ruling.verdict, Verdict::Overloaded, "{}", ruling.evidence);
}

#[test]
fn a_study_is_the_same_on_any_number_of_threads() {
    let studied = |threads| {
        let mut plan = Plan::default();
        plan.threads = threads;
        let mut thoroughness = Thoroughness::QUICK;
        thoroughness.runs = 2;
        thoroughness.map = Some(Resolution {
            lengths: 2,
            loads: 2,
            runs: 1,
        });
        let candidates = [
            Candidate::new("immediate", immediate()),
            Candidate::new("default", Policy::default()),
        ];
        let build = |policy: &Policy| service(0.6, policy);
        study_with(
            world::run,
            &Brief::default(),
            thoroughness,
            &candidates,
            &plan,
            build,
        )
        .unwrap()
    };
    let one = studied(1);
    assert_eq!(one, studied(2));
    assert_eq!(one.contenders[0].verdict, Some(Verdict::Metastable));
    assert!(
        one.answer
            .starts_with("Under immediate the service stays down"),
        "{}",
        one.answer
    );
}
