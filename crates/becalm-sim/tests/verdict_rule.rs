//! Does each verdict stand on what it should, and say so?

mod by_hand;

use std::time::Duration;

use becalm::{Budget, Policy, scope::Nested};
use becalm_sim::record::Recording;
use becalm_sim::scenario::{Arrivals, Scenario, Service};
use becalm_sim::study::{Plan, Verdict};
use becalm_sim::verdict::{
    Ruling, Runs, Stress, Survival, bottleneck, hidden_capacity, judge, rule, rule_on_one,
};
use by_hand::{course, eager, fine, hung, recording, unhung, world};

fn ruled(scenario: &Scenario, tolerates: f64) -> Ruling {
    let plan = Plan::default();
    rule(scenario, &Runs::new(world(tolerates), &plan), 10)
}

fn says(ruling: &Ruling, words: &[&str]) {
    for word in words {
        let evidence = &ruling.evidence;
        assert!(evidence.contains(word), "\"{word}\" is not in: {evidence}");
    }
}

#[test]
fn more_first_tries_than_can_be_served_are_overload() {
    let ruling = ruled(&hung(1200.0, &eager()), 1.0);
    assert_eq!(ruling.verdict, Verdict::Overloaded);
    says(
        &ruling,
        &["First tries alone are 1 200/s", "120 %", "1 000/s"],
    );
}

/// Though every run of so short a scenario looks well.
#[test]
fn first_tries_beyond_the_capacity_are_overload_whatever_the_runs_say() {
    let plan = Plan::default();
    for (load, calls, is_overloaded) in [(1_200.0, 1_200, true), (1_000.0, 1_000, false)] {
        let fine = |_: &Scenario, _| course(40, calls, 1, |_| false);
        let ruling = rule(&unhung(load, &eager()), &Runs::new(fine, &plan), 4);
        assert_eq!(ruling.verdict == Verdict::Overloaded, is_overloaded);
    }
}

#[test]
fn a_service_that_is_loaded_is_not_asked_about_less_load() {
    for (load, cases) in [(200.0, 2), (899.0, 2), (901.0, 1), (990.0, 1)] {
        let stresses = Stress::of(&hung(load, &eager()));
        assert_eq!(stresses.len(), cases, "{load}");
        assert!(stresses.iter().all(|it| it.scenario.validate().is_ok()));
    }
}

#[test]
fn a_load_that_is_always_survived_is_known_up_to_the_capacity() {
    let plan = Plan::default();
    let budget = Policy::default().attempts(1);
    let runs = Runs::new(world(99.0), &plan);
    let load = Survival::new(&runs, 10)
        .largest_load(&hung(200.0, &budget))
        .unwrap();
    let (low, high) = load
        .interval()
        .expect("no load above the capacity is survived");
    assert!(low > 900.0 && (high - 1000.0).abs() < 1e-6, "{low} {high}");
}

#[test]
fn a_load_that_fails_without_the_trigger_is_overload() {
    let plan = Plan::default();
    let never = |_: &Scenario, _| course(40, 600, 4, |second| second > 5);
    let once = |_: &Scenario, seed| course(40, 600, 4, |second| seed == 1 && second > 5);
    let ruling = rule(&hung(600.0, &eager()), &Runs::new(once, &plan), 4);
    assert_ne!(ruling.verdict, Verdict::Overloaded, "in one of three runs");
    let ruling = rule(&hung(600.0, &eager()), &Runs::new(never, &plan), 4);
    assert_eq!(ruling.verdict, Verdict::Overloaded);
    says(
        &ruling,
        &["60 %", "in 0 of 3 runs", "240 % of the capacity"],
    );
}

#[test]
fn a_storm_that_outlives_the_run_while_the_load_alone_is_served_is_metastable() {
    let ruling = ruled(&hung(600.0, &eager()), 1.0);
    assert_eq!(ruling.verdict, Verdict::Metastable);
    says(
        &ruling,
        &[
            "In 10 of 10 runs",
            "down 28.0 s after the trigger",
            "none of the calls answered",
            "offered 2 400/s, 240 % of its capacity, by 600 first tries",
            "without the trigger 100 %",
        ],
    );
    assert!(ruling.worse.is_empty(), "worse is not asked about");
}

#[test]
fn what_comes_back_but_not_from_worse_is_vulnerable() {
    let ruling = ruled(&hung(200.0, &eager()), 1.0);
    assert_eq!(ruling.verdict, Verdict::Vulnerable);
    says(
        &ruling,
        &[
            "comes back in 10 of 10 runs",
            "1.0 s after the trigger",
            "with triggers twice as long in 0 of 10 runs",
            "with a load of 90 % of the capacity in 0 of 10 runs",
        ],
    );
}

#[test]
fn what_does_not_come_back_in_every_run_is_vulnerable() {
    let plan = Plan::default();
    let seldom = |scenario: &Scenario, seed: u64| {
        course(by_hand::length(scenario), 600, 4, |second| {
            second >= 10 && seed % 4 == 1 && seed != 1
        })
    };
    let ruling = rule(&hung(600.0, &eager()), &Runs::new(seldom, &plan), 40);
    assert_eq!(ruling.verdict, Verdict::Vulnerable);
    let back = ruling.back();
    assert!(back.successes < 40 && back.is_mostly());
    says(&ruling, &[&format!("in {} of 40 runs", back.successes)]);
}

/// Loaded so much that longer triggers are the only worse case.
#[test]
fn what_is_lost_in_one_run_is_vulnerable_though_no_worse_case_is_lost() {
    let scenario = hung(950.0, &eager());
    let own = scenario.triggers_end();
    for (is_own, words) in [
        (true, "comes back in 3 of 4 runs"),
        (false, "with triggers twice as long in 3 of 4 runs"),
    ] {
        let seldom = |it: &Scenario, seed: u64| {
            let is_asked = !it.triggers.is_empty() && (it.triggers_end() == own) == is_own;
            course(by_hand::length(it), 950, 4, |second| {
                is_asked && seed == 1 && second >= 10
            })
        };
        let ruling = rule(&scenario, &Runs::new(seldom, &Plan::default()), 4);
        assert!(ruling.worse.iter().all(|it| it.back.is_all() == is_own));
        assert_eq!(ruling.verdict, Verdict::Vulnerable, "{}", ruling.evidence);
        says(&ruling, &[words]);
    }
}

#[test]
fn one_run_is_ruled_on_by_the_same_rule() {
    let on = |scenario: &Scenario, run: &Recording| rule_on_one(scenario, &judge(scenario, run));
    let run = |attempts, is_lost: fn(u32) -> bool| course(40, 600, attempts, is_lost);
    let [mut open, scenario, beyond] = [600.0, 600.0, 1_200.0].map(|it| hung(it, &eager()));
    open.services[0].workers = Service::UNLIMITED;
    let lost = run(4, |second| second >= 10);
    assert_eq!(on(&scenario, &lost), Some(Verdict::Metastable));
    assert_eq!(on(&beyond, &lost), Some(Verdict::Overloaded));
    assert_eq!(on(&beyond, &run(1, |second| second == 10)), None);
    let calm = run(1, |second| second >= 10);
    assert_eq!(on(&scenario, &calm), Some(Verdict::TooShort));
    assert_eq!(on(&open, &calm), Some(Verdict::Metastable), "nobody knows");
    // As usual is not enough under so much pressure; and more and more is.
    let mut uneven = run(4, |_| true);
    let mut succeed = |each: fn(u32) -> u32| {
        uneven.populations[0].succeeded_of = (0..400).map(each).collect();
        [&scenario, &open].map(|it| on(it, &uneven))
    };
    assert_eq!(succeed(|_| 54), [Some(Verdict::Metastable), None]);
    let rising = succeed(|at| at.checked_sub(100).map_or(60, |at| at / 8));
    assert_eq!(rising, [Some(Verdict::TooShort); 2]);
}

#[test]
fn what_comes_back_from_worse_too_is_stable_and_says_what_was_tried() {
    let budget = Policy::default().budget(Budget::first_tries(0.1));
    let ruling = ruled(&hung(200.0, &budget), 4.0);
    // 90 % of the capacity is above 1 000 / 1.1 x 0.98.
    assert_eq!(ruling.verdict, Verdict::Vulnerable);
    let budget = Policy::default().budget(Budget::first_tries(0.05));
    let ruling = ruled(&hung(200.0, &budget), 4.0);
    assert_eq!(ruling.verdict, Verdict::Stable);
    says(
        &ruling,
        &[
            "with triggers twice as long in 10 of 10 runs",
            "with a load of 90 % of the capacity in 10 of 10 runs too",
        ],
    );
}

#[test]
fn s7_a_stable_verdict_says_what_is_lost_until_the_service_is_back() {
    // All calls of the hang are lost, and all of the second after it.
    let budget = Policy::default().budget(Budget::first_tries(0.05));
    let ruling = ruled(&hung(200.0, &budget), 4.0);
    assert_eq!(ruling.verdict, Verdict::Stable);
    says(
        &ruling,
        &["typically 1.0 s after the trigger (until then 100 % of the calls give up)"],
    );
    // Where next to nothing is lost nothing is said.
    let kind = |scenario: &Scenario, _| recording(vec![fine(200); whole_seconds(scenario)]);
    let plan = Plan::default();
    let ruling = rule(&hung(200.0, &budget), &Runs::new(kind, &plan), 10);
    assert_eq!(ruling.verdict, Verdict::Stable);
    assert!(!ruling.evidence.contains("give up"), "{}", ruling.evidence);
}

fn whole_seconds(scenario: &Scenario) -> usize {
    usize::try_from(scenario.horizon.as_secs()).expect("a few")
}

#[test]
fn without_a_trigger_the_worse_case_is_a_hang() {
    let ruling = ruled(&unhung(200.0, &eager()), 0.5);
    assert_eq!(ruling.verdict, Verdict::Vulnerable);
    says(&ruling, &["with a hang of 2 s in 0 of 10 runs"]);
    assert_eq!(
        ruled(&unhung(1100.0, &eager()), 4.0).verdict,
        Verdict::Overloaded
    );
}

#[test]
fn the_hidden_capacity_is_the_capacity_over_the_attempts_that_a_policy_can_make() {
    let of = |policy: &Policy| hidden_capacity(&hung(300.0, policy)).unwrap();
    assert!((of(&eager()) - 250.0).abs() < 1e-9);
    let budget = Policy::default().budget(Budget::first_tries(0.25));
    assert!((of(&budget) - 800.0).abs() < 1e-9);
    // What successes earn ends with them.
    assert!((of(&Policy::default()) - 1000.0).abs() < 1e-9);
    assert!((of(&Policy::default().attempts(1)) - 1000.0).abs() < 1e-9);
    // Half of the clients have each: 1 000 / 2.625.
    let mut mixed = hung(300.0, &eager());
    let variants = &mut mixed.populations[0].variants;
    let mut other = variants[0].clone();
    other.policy = budget;
    variants.push(other);
    let mixed = hidden_capacity(&mixed).unwrap();
    assert!((mixed - 1000.0 / 2.625).abs() < 1e-9, "{mixed}");
}

/// A front of 1 000 requests per second that asks a database of 2 000, each request three times.
fn layered(policy: &Policy, below: Policy) -> Scenario {
    use becalm_sim::scenario::{Downstream, Service};
    let mut scenario = hung(300.0, policy);
    let mut call = Downstream::new("rows", below);
    call.fan_out = 3;
    scenario.services[0].calls.push(call);
    let workers = scenario.services[0].workers;
    let time = scenario.services[0].time.clone();
    scenario.service(Service::new("rows", 2 * workers, time))
}

#[test]
fn attempts_of_every_layer_fill_what_is_behind_them() {
    let of = |scenario: &Scenario| hidden_capacity(scenario).unwrap();
    let once = Policy::default().attempts(1);
    let near = |got: f64, expected: f64| assert!((got - expected).abs() < 1e-9, "{got}");
    near(of(&layered(&once, once.clone())), 2000.0 / 3.0);
    // The front takes 4 of each, and the database 4 x 4 x 3.
    near(of(&layered(&eager(), eager())), 2000.0 / 48.0);
    let mut seen = layered(&eager(), eager());
    seen.services[0].calls[0].propagates = true;
    // Those that know of each other add: three more retries to the front's four.
    near(of(&seen), 2000.0 / 21.0);
    seen.services[0].calls[0].policy.nested = Nested::Outermost;
    near(of(&seen), 2000.0 / 12.0);
    seen.services[0].calls[0].policy.nested = Nested::Allow;
    near(of(&seen), 2000.0 / 48.0);
    let budget = Policy::default().budget(Budget::first_tries(0.25));
    near(of(&layered(&once, budget)), 2000.0 / 3.75);
    // Without a bound nothing is left, and where nobody asks there is nothing to fill.
    let mut unbounded = layered(&once, eager().attempts(Policy::UNLIMITED));
    near(of(&unbounded), 0.0);
    unbounded.services[0].calls[0].fan_out = 0;
    near(of(&unbounded), 1000.0);
    // Nobody above repeats anything, so that the layer below does.
    let mut above = layered(&once, eager());
    above.services[0].calls[0].propagates = true;
    near(of(&above), 2000.0 / 12.0);
}

#[test]
fn a_cache_that_can_be_lost_hides_what_is_behind_it() {
    use becalm_sim::scenario::{Cache, Effect, Trigger};
    let once = Policy::default().attempts(1);
    let mut scenario = layered(&once, once.clone());
    scenario.services[0].cache = Some(Cache::new(100, 0.9));
    let warm = hidden_capacity(&scenario).unwrap();
    assert!((warm - 1000.0).abs() < 1e-9, "the front: {warm}");
    let cold = 2000.0 / 3.0;
    let lost = Effect::CacheLoss {
        service: scenario.services[0].name.clone(),
    };
    let from = std::time::Duration::from_secs(1);
    let triggered = scenario
        .clone()
        .trigger(Trigger::new(from, std::time::Duration::ZERO, lost));
    assert!((hidden_capacity(&triggered).unwrap() - cold).abs() < 1e-9);
    let mut keeps = triggered;
    if let Some(cache) = &mut keeps.services[0].cache {
        cache.keeps_late_fills = true;
    }
    let kept = hidden_capacity(&keeps).unwrap();
    assert!((kept - warm).abs() < 1e-9, "it fills again: {kept}");
    if let Some(cache) = &mut scenario.services[0].cache {
        cache.starts_warm = false;
    }
    assert!((hidden_capacity(&scenario).unwrap() - cold).abs() < 1e-9);
}

#[test]
fn recorded_calls_beyond_the_end_are_no_load() {
    use becalm_sim::scenario::Arrivals;
    let mut scenario = hung(300.0, &eager());
    let end = scenario.horizon.as_millis();
    let times = (0..3 * end).map(|at| std::time::Duration::from_millis(u64::try_from(at).unwrap()));
    scenario.populations[0].arrivals = Arrivals::Trace(times.collect());
    let load = bottleneck(&scenario).unwrap().load;
    assert!((load - 1000.0).abs() < 1e-9, "{load}");
}

/// Recorded calls end, so that no run goes on.
#[test]
fn s4_what_is_offered_no_more_than_it_can_serve_is_open_where_no_longer_run_was_made() {
    let mut scenario = hung(200.0, &eager());
    let times = (0..8_000).map(|call| Duration::from_millis(5 * call));
    scenario.populations[0].arrivals = Arrivals::Trace(times.collect());
    for (attempts, verdict, words) in [
        (4, Verdict::TooShort, "No longer run was made"),
        (
            6,
            Verdict::Metastable,
            "offered 1 200/s, 120 % of its capacity",
        ),
    ] {
        let run = |scenario: &Scenario, _| {
            let is_broken = !scenario.triggers.is_empty();
            course(40, 200, attempts, |second| is_broken && second >= 10)
        };
        let ruling = rule(&scenario, &Runs::new(run, &Plan::default()), 4);
        assert_eq!(ruling.verdict, verdict, "{}", ruling.evidence);
        says(&ruling, &[words]);
    }
}

#[test]
fn s4_a_storm_that_comes_soon_after_the_end_is_seen_by_runs_that_go_on() {
    let mut scenario = hung(600.0, &eager());
    scenario.horizon = Duration::from_secs(24);
    let late = |it: &Scenario, _| {
        let is_broken = !it.triggers.is_empty();
        course(by_hand::length(it), 600, 4, |second| {
            is_broken && second >= 30
        })
    };
    let ruling = rule(&scenario, &Runs::new(late, &Plan::default()), 4);
    assert_eq!(ruling.verdict, Verdict::TooShort, "{}", ruling.evidence);
    says(&ruling, &["that go on it is down again"]);
}

#[test]
fn a_verdict_over_few_calls_says_so() {
    let few = ruled(&hung(3.0, &eager()), 1.0);
    says(
        &few,
        &["No call begins after the trigger in a run, which says little"],
    );
    let many = ruled(&hung(30.0, &eager()), 1.0);
    assert!(!many.evidence.contains("says little"), "{}", many.evidence);
}

#[test]
fn the_load_of_a_service_behind_a_service_is_what_reaches_it() {
    use becalm_sim::scenario::{Cache, Downstream, Service};
    let mut scenario = hung(500.0, &eager());
    scenario.services[0].cache = Some(Cache::new(100, 0.9));
    let mut call = Downstream::new("rows", Policy::default());
    call.fan_out = 3;
    scenario.services[0].calls.push(call);
    let time = scenario.services[0].time.clone();
    let scenario = scenario.service(Service::new("rows", 2, time));
    let bottleneck = bottleneck(&scenario).unwrap();
    assert_eq!(bottleneck.service, 1);
    assert!((bottleneck.load - 150.0).abs() < 1e-9);
    assert!((bottleneck.utilisation() - 0.75).abs() < 1e-9);
}
