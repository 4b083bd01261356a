//! Do the sentences and figures of a study say what happened to several policies together?

mod by_hand;

use std::time::Duration;

use becalm::{Budget, Policy};
use becalm_sim::catalogue::Candidate;
use becalm_sim::record::Recording;
use becalm_sim::scenario::{Scenario, Service};
use becalm_sim::study::{ChartKind, Contender, Plan, Study};
use becalm_sim::verdict::{Brief, Resolution, Thoroughness, study_with};
use by_hand::{Second, course, eager, fine, hung, recording, unhung, world};

fn studied(
    run: impl Fn(&Scenario, u64) -> Recording + Sync,
    thoroughness: Thoroughness,
    build: impl Fn(&Policy) -> Scenario,
    attempts: &[u32],
) -> Study {
    let candidates: Vec<_> = attempts
        .iter()
        .map(|attempts| Candidate::new(format!("{attempts} attempts"), eager().attempts(*attempts)))
        .collect();
    let plan = Plan::default();
    study_with(
        run,
        &Brief::default(),
        thoroughness,
        &candidates,
        &plan,
        build,
    )
    .unwrap()
}

fn value(contender: &Contender, id: &str) -> Option<f64> {
    let found = contender.figures.iter().find(|it| it.id == id);
    found.unwrap_or_else(|| panic!("no figure {id}")).value
}

#[test]
fn of_several_that_stay_down_the_worst_is_told() {
    let quick = Thoroughness::QUICK;
    // Both are above their hidden capacities, of 250/s and of 333/s.
    let study = studied(world(1.0), quick, |policy| hung(600.0, policy), &[4, 3]);
    let expected = "Under 4 attempts and 3 attempts the service stays down after the trigger is \
                    gone: it is offered up to 2 400 attempts a second, and none of the calls is \
                    answered at the end.";
    assert_eq!(study.answer, expected);
    // A hundredth of the calls is some, not none.
    let few = |scenario: &Scenario, _| {
        let drip = Second {
            calls: 600,
            succeed: 10,
            attempts: 2400,
        };
        let seconds = 0..by_hand::length(scenario);
        recording(seconds.map(|second| if second < 10 { fine(600) } else { drip }))
    };
    let calm_or = |scenario: &Scenario, seed| {
        if scenario.triggers.is_empty() {
            course(40, 600, 1, |_| false)
        } else {
            few(scenario, seed)
        }
    };
    let study = studied(calm_or, quick, |policy| hung(600.0, policy), &[4]);
    let part = "at most 2 % of the calls are answered at the end";
    assert!(study.answer.contains(part), "{}", study.answer);
}

#[test]
fn calls_that_wait_for_tokens_above_nine_tenths_of_the_capacity_are_told() {
    use becalm::budget::WhenSpent;
    let of = |load, when| {
        let patient = |policy: &Policy| {
            let deadline = Duration::from_secs(10);
            policy.clone().deadline(deadline).when_spent(when)
        };
        let build = |policy: &Policy| hung(load, &patient(policy));
        studied(world(9.0), Thoroughness::QUICK, build, &[2]).answer
    };
    let warning = "Under 2 attempts calls wait for tokens (when_spent), and first tries alone take 95 % of the \
                   capacity: above 90 % a service may come back later than without retries";
    let answer = of(950.0, WhenSpent::Wait);
    assert!(answer.contains(warning), "{answer}");
    assert!(!of(890.0, WhenSpent::Wait).contains("when_spent"));
    assert!(!of(950.0, WhenSpent::Stop).contains("when_spent"));
}

#[test]
fn many_small_clients_that_hold_more_than_the_service_can_spare_are_told() {
    let of = |clients, budget: &str| {
        let budget: Budget = budget.parse().unwrap();
        let build = |policy: &Policy| {
            let mut scenario = hung(900.0, &policy.clone().budget(budget));
            scenario.populations[0].clients = clients;
            scenario
        };
        studied(world(9.0), Thoroughness::QUICK, build, &[2]).answer
    };
    let warning = "Under 2 attempts small clients hold 3 000 retries, each the least of its budget: the service works them off in \
                   30 s beside its load, and may be back that much later";
    let answer = of(300, "ratio:0.1");
    assert!(answer.contains(warning), "{answer}");
    for (clients, budget) in [
        (90, "ratio:0.1"),
        (300, "ratio:0.1,burst:1"),
        // They earn what they hold: 11 calls a second each, a burst of 1.
        (80, "ratio:0.1,burst:5s,min:1"),
        (300, "none"),
    ] {
        assert!(
            !of(clients, budget).contains("small clients"),
            "{clients}, {budget}"
        );
    }
}

#[test]
fn of_several_that_survive_the_shortest_outage_is_told() {
    let thoroughness = {
        let mut thoroughness = Thoroughness::default();
        thoroughness.map = None;
        thoroughness
    };
    // What a policy of so many attempts tolerates: 8 / attempts times a hang of 2 s.
    let by_policy = |scenario: &Scenario, seed| {
        let attempts = scenario.populations[0].variants[0].policy.attempts;
        world(4.0 / f64::from(attempts))(scenario, seed)
    };
    let study = studied(
        by_policy,
        thoroughness,
        |policy| hung(100.0, policy),
        &[2, 3],
    );
    let outage = |at: usize| value(&study.contenders[at], "longest_outage_s").unwrap();
    assert!(outage(1) < outage(0) - 0.5, "{} {}", outage(0), outage(1));
    let figures = &study.contenders[1].figures;
    let shortest = figures.iter().find(|it| it.id == "longest_outage_s");
    let (survived, lost) = shortest.and_then(|it| it.interval).expect("an interval");
    let told = format!("It survives an outage of {survived:.2} s, and not one of {lost:.2} s.");
    assert!(study.answer.contains(&told), "{told}: {}", study.answer);
}

#[test]
fn without_a_trigger_no_figure_speaks_of_one() {
    let quick = Thoroughness::QUICK;
    let ids = [
        "amplification_during",
        "amplification_after",
        "recovery_p50_s",
        "goodput_before",
        "added_latency_p50_ms",
    ];
    let with = studied(world(4.0), quick, |policy| hung(100.0, policy), &[2]);
    let without = studied(world(4.0), quick, |policy| unhung(100.0, policy), &[2]);
    for id in ids {
        assert!(value(&with.contenders[0], id).is_some(), "{id}");
        assert_eq!(value(&without.contenders[0], id), None, "{id}");
    }
    assert!(value(&without.contenders[0], "amplification").is_some());
}

#[test]
fn the_latency_that_a_trigger_adds_is_over_the_same_calls_without_it() {
    // 20 ms without the trigger, 70 ms with it.
    let run = |scenario: &Scenario, _| {
        let mut run = course(40, 500, 1, |_| false);
        if !scenario.triggers.is_empty() {
            let latency = &mut run.populations[0].latency;
            *latency = becalm_sim::record::Histogram::default();
            latency.add(70_000_000);
        }
        run
    };
    let study = studied(run, Thoroughness::QUICK, |policy| hung(500.0, policy), &[2]);
    let added = value(&study.contenders[0], "added_latency_p50_ms").unwrap();
    // Times are kept to within 1.6 %.
    assert!((added - 50.0).abs() < 2.0, "{added}");
}

/// Of 10 runs, 3 come back after 1 s, 4 after 5 s, and 3 never: of those that come back half are back after 5 s, and the share says how
/// many these are.
#[test]
fn recoveries_are_told_by_rank_and_drawn_as_steps() {
    let place = std::sync::atomic::AtomicU32::new(0);
    let run = |scenario: &Scenario, _: u64| {
        if scenario.triggers.is_empty() || scenario.triggers[0].length.as_secs() > 2 {
            return course(44, 500, 1, |_| false);
        }
        // The first ten runs are those of the scenario.
        let until = match place.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
            0..3 => 13,
            3..7 => 17,
            7..10 => 40,
            // Those that go on.
            10..13 if scenario.horizon.as_secs() > 60 => 999,
            _ => 12,
        };
        let seconds = by_hand::length(scenario);
        course(seconds, 500, 4, |second| (10..until).contains(&second))
    };
    let mut thoroughness = Thoroughness::QUICK;
    thoroughness.runs = 10;
    let study = studied(run, thoroughness, |policy| hung(500.0, policy), &[4]);
    let half = value(&study.contenders[0], "recovery_p50_s").unwrap();
    assert!((4.8..=5.0).contains(&half), "{half}");
    let most = value(&study.contenders[0], "recovery_p90_s").unwrap();
    assert!(
        (4.8..=5.0).contains(&most),
        "of the seven that came back: {most}"
    );
    assert_eq!(value(&study.contenders[0], "recovered_share"), Some(70.0));
    let chart = study.charts.iter().find(|it| it.id == "recovery").unwrap();
    let ChartKind::Lines(lines) = &chart.kind else {
        panic!("lines")
    };
    let points = &lines[0].1;
    let share_at = |time: f64| {
        let mut reached = points.iter().filter(|(at, _)| *at <= time);
        reached.next_back().map(|(_, share)| *share)
    };
    assert_eq!(
        [0.5, 2.0, 10.0].map(share_at),
        [Some(0.0), Some(0.3), Some(0.7)]
    );
}

/// Of five runs, the middle one is the third, and nine of ten are all five.
#[test]
fn of_an_odd_number_of_runs_the_middle_one_counts() {
    let place = std::sync::atomic::AtomicU32::new(0);
    let run = |scenario: &Scenario, _: u64| {
        let at = place.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let is_own = at < 5 && !scenario.triggers.is_empty();
        let until = if is_own { 13 + 2 * at } else { 12 };
        course(44, 500, 4, |second| (10..until).contains(&second))
    };
    let study = studied(run, Thoroughness::QUICK, |policy| hung(500.0, policy), &[4]);
    let times = ["recovery_p50_s", "recovery_p90_s"].map(|id| value(&study.contenders[0], id));
    let [half, most] = times.map(|it| it.expect("all came back"));
    // Back at 13, 15, 17, 19 and 21 s; the trigger is over at 12 s.
    assert!((4.8..=5.0).contains(&half), "{half}");
    assert!((8.8..=9.0).contains(&most), "{most}");
}

/// 1 of 1000 is lost: all but a few, which is not all.
#[test]
fn nearly_all_is_not_told_as_all() {
    let nearly = Second {
        calls: 10_000,
        succeed: 9_990,
        attempts: 10_000,
    };
    let run = |_: &Scenario, _| recording((0..40).map(|_| nearly));
    let build = |policy: &Policy| {
        let mut scenario = unhung(1_000.0, policy);
        scenario.services[0].workers = Service::UNLIMITED;
        scenario
    };
    let study = studied(run, Thoroughness::QUICK, build, &[1]);
    assert!(
        study.answer.contains("99.9 % of the calls"),
        "{}",
        study.answer
    );
}

#[test]
fn a_queue_is_drawn_with_its_peaks() {
    // 2000 s in buckets of 100 ms: 34 buckets share a point.
    let mut peak = course(2000, 10, 1, |_| false);
    peak.services[0].queue[7_777] = 555;
    let build = |policy: &Policy| {
        let mut scenario = hung(10.0, policy);
        scenario.horizon = std::time::Duration::from_secs(2000);
        scenario
    };
    let study = studied(|_, _| peak.clone(), Thoroughness::QUICK, build, &[1]);
    let chart = study.charts.iter().find(|it| it.id == "queue").unwrap();
    let ChartKind::Lines(lines) = &chart.kind else {
        panic!("lines")
    };
    assert!(lines[0].1.iter().any(|(_, queue)| *queue > 554.0));
}

#[test]
fn a_map_says_what_share_of_the_runs_stays_down() {
    let mut thoroughness = Thoroughness::QUICK;
    thoroughness.map = Some(Resolution {
        lengths: 3,
        loads: 8,
        runs: 4,
    });
    let study = studied(world(1.5), thoroughness, |policy| hung(400.0, policy), &[4]);
    let ChartKind::Map {
        rows,
        columns,
        cells,
        ..
    } = &study.contenders[0].charts[0].kind
    else {
        panic!("a map")
    };
    // The hidden capacity is a quarter of the capacity; up to it hangs of 0.25 s and 2 s are survived.
    assert_eq!((rows[0], rows[1], columns.len()), (0.125, 0.25, 3));
    let row = |at: usize| &cells[3 * at..3 * at + 3];
    assert_eq!(row(0), [0.0, 0.0, 1.0]);
    for (at, load) in rows.iter().enumerate().skip(2) {
        assert_eq!(row(at), [1.0, 1.0, 1.0], "{load} of the capacity");
    }
}

#[test]
fn the_first_run_has_the_seed_that_was_asked_for() {
    let seen = std::sync::Mutex::new(Vec::new());
    let run = |_: &Scenario, seed| {
        seen.lock().unwrap().push(seed);
        course(40, 100, 1, |_| false)
    };
    studied(run, Thoroughness::QUICK, |policy| hung(100.0, policy), &[2]);
    let seen = seen.into_inner().unwrap();
    assert_eq!(seen[0], Plan::default().seed, "{seen:?}");
    assert!(seen[1..5].iter().all(|seed| *seed > 1_000), "{seen:?}");
}
