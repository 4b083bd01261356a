//! Is a run judged by what happened to its calls?

mod by_hand;

use std::time::Duration;

use becalm_sim::record::Recording;
use becalm_sim::scenario::Phases;
use becalm_sim::verdict::{Outcome, Phase, Recovery, Unjudgeable, judge, judgeable};
use by_hand::{Second, course, eager, fine, hung, lost, recording, unhung};

/// Hung from 10 s to 12 s, and lost until then or as long as said.
fn outcome(until: u32) -> Outcome {
    let run = course(40, 500, 4, |second| (10..until).contains(&second));
    judge(&hung(500.0, &eager()), &run)
}

#[test]
fn a_service_that_answers_again_came_back_when_its_calls_did() {
    for (until, after) in [(12, 0), (13, 1), (20, 8), (33, 21)] {
        let Recovery::After(time) = outcome(until).recovery else {
            panic!("it came back at {until} s");
        };
        // To a bucket, less the 5 % of a window that may be lost.
        let off = time.as_secs_f64() - f64::from(after);
        assert!((-0.1..=0.0).contains(&off), "{until}: {off}");
    }
}

#[test]
fn a_service_that_is_down_at_the_end_is_not_back_whatever_it_is_offered() {
    let down = outcome(40);
    assert_eq!(down.recovery, Recovery::Never);
    assert!((down.pressure - 2.0).abs() < 1e-9, "{}", down.pressure);
    assert!((down.offered - 2000.0).abs() < 1e-6);
    let quiet = course(40, 500, 1, |second| second >= 10);
    let quiet = judge(&hung(500.0, &eager()), &quiet);
    assert_eq!(quiet.recovery, Recovery::Never);
    assert!(quiet.pressure < 1.0);
}

/// A service that is offered more than it can serve has not failed as long as its calls succeed.
#[test]
fn under_pressure_a_service_holds_as_long_as_its_calls_succeed() {
    let tail = |succeed| {
        let pressed = Second {
            calls: 500,
            succeed,
            attempts: 1500,
        };
        judge(
            &unhung(500.0, &eager()),
            &recording((0..40).map(|_| pressed)),
        )
    };
    for (succeed, holds) in [(500, true), (480, true), (460, false), (300, false)] {
        let outcome = tail(succeed);
        assert!(outcome.pressure > 1.4 && outcome.recovery.is_back());
        assert_eq!(outcome.holds(), holds, "{succeed} of 500");
    }
}

/// As usual, and usually all are lost.
#[test]
fn where_no_call_ever_succeeds_there_is_no_goodput_to_hold() {
    let dead = judge(&hung(500.0, &eager()), &course(40, 500, 1, |_| true));
    assert!(dead.recovery.is_back() && dead.pressure < 1.0);
    assert!(!dead.holds());
}

#[test]
fn the_pressure_is_that_of_the_service_with_the_most() {
    let mut scenario = hung(500.0, &eager());
    let mut second = scenario.services[0].clone();
    second.name = "rows".into();
    scenario.services.push(second);
    let mut run = course(40, 500, 4, |second| second >= 10);
    let mut calm = run.services[0].clone();
    for arrived in &mut calm.arrived {
        *arrived /= 10;
    }
    run.services.push(calm);
    for _ in 0..2 {
        let outcome = judge(&scenario, &run);
        assert!(
            (outcome.pressure - 2.0).abs() < 1e-9,
            "{}",
            outcome.pressure
        );
        run.services.reverse();
    }
}

#[test]
fn what_did_not_happen_has_a_ratio_of_one() {
    let phase = Phase::default();
    let one = [phase.success(), phase.amplification()];
    assert!(one.iter().all(|it| (it - 1.0).abs() < 1e-12), "{one:?}");
    assert!(phase.goodput().abs() < 1e-12, "a rate of nothing is 0");
}

#[test]
fn a_relapse_counts_up_to_its_end() {
    let run = course(40, 500, 4, |second| second == 11 || second == 25);
    let outcome = judge(&hung(500.0, &eager()), &run);
    let time = outcome.recovery.time().unwrap().as_secs_f64();
    assert!((13.8..=14.0).contains(&time), "{time}");
}

#[test]
fn a_relapse_at_the_very_end_is_no_recovery() {
    let settled = Phases::of(&hung(500.0, &eager())).settled;
    assert_eq!(settled, 387, "the last window and timeout are not judged");
    let run = course(40, 500, 4, |second| second == 11 || second == 37);
    assert_eq!(
        judge(&hung(500.0, &eager()), &run).recovery,
        Recovery::Never
    );
    let beyond = course(40, 500, 4, |second| second == 11 || second == 39);
    assert!(
        judge(&hung(500.0, &eager()), &beyond).recovery.is_back(),
        "calls of the last second may be under way"
    );
}

#[test]
fn what_is_usual_is_measured_before_the_trigger() {
    // Four of five calls succeed at all times: as usual.
    let flaky = Second {
        calls: 500,
        succeed: 400,
        attempts: 500,
    };
    let seconds = (0..40).map(|second| match second {
        10..14 => lost(500, 4),
        _ => flaky,
    });
    let outcome = judge(&hung(500.0, &eager()), &recording(seconds));
    assert!((outcome.usual - 0.8).abs() < 1e-9);
    let time = outcome.recovery.time().unwrap().as_secs_f64();
    assert!((1.8..=2.0).contains(&time), "{time}");
    assert!((outcome.given_up - (36.0 * 0.2 + 4.0) / 40.0).abs() < 1e-9);
    assert_eq!(outcome.whole.calls, 20_000);
}

#[test]
fn a_lasting_loss_of_a_tenth_is_no_recovery() {
    let worn = Second {
        calls: 500,
        succeed: 450,
        attempts: 900,
    };
    let seconds = (0..40).map(|second| if second < 10 { fine(500) } else { worn });
    let outcome = judge(&hung(500.0, &eager()), &recording(seconds));
    assert_eq!(outcome.recovery, Recovery::Never);
    assert!(
        outcome.pressure < 1.0,
        "900 attempts a second can be served"
    );
}

#[test]
fn chance_in_windows_of_few_calls_is_no_relapse() {
    // Half of 20 calls a second succeed; in one late second 5 do: 2.2 standard deviations.
    let second = |succeed| Second {
        calls: 20,
        succeed,
        attempts: 20,
    };
    let seconds = (0..40).map(|at| second(if at == 30 { 0 } else { 10 }));
    let lost = judge(&hung(20.0, &eager()), &recording(seconds));
    let time = lost.recovery.time().unwrap().as_secs_f64();
    assert!(time > 17.0, "none of twenty is not chance: {time}");
    let seconds = (0..400).map(|at| second(if at % 20 == 3 { 5 } else { 10 }));
    let mut run = recording(seconds);
    run.populations[0].succeeded_of.truncate(400);
    let luck = judge(&hung(20.0, &eager()), &run);
    assert_eq!(luck.recovery, Recovery::After(Duration::ZERO));
}

#[test]
fn what_comes_and_goes_while_all_is_well_is_no_relapse() {
    // 90 % of 500 calls succeed, but 60 % in every fourth second; and once as many as said.
    let uneven = |once: u32| {
        let seconds = (0..60).map(|second| Second {
            calls: 500,
            succeed: match second {
                10..12 => 0,
                40 => once,
                _ if second % 4 == 1 => 300,
                _ => 450,
            },
            attempts: 500,
        });
        let mut scenario = hung(500.0, &eager());
        scenario.horizon = Duration::from_secs(60);
        let outcome = judge(&scenario, &recording(seconds));
        outcome.recovery.time().unwrap()
    };
    let as_usual = uneven(300);
    assert!(as_usual < Duration::from_millis(500), "{as_usual:?}");
    // That is worse than ever before.
    let lost = uneven(20);
    assert!(lost > Duration::from_secs(27), "{lost:?}");
}

#[test]
fn however_uneven_a_service_is_the_loss_of_nearly_all_calls_is_no_recovery() {
    // Every other two seconds are lost, and later all but one call in twenty-five.
    let seconds = (0..60).map(|second| Second {
        calls: 500,
        succeed: match second {
            0..10 if second % 4 < 2 => 500,
            0..12 => 0,
            _ => 20,
        },
        attempts: 500,
    });
    let mut scenario = hung(500.0, &eager());
    scenario.horizon = Duration::from_secs(60);
    let outcome = judge(&scenario, &recording(seconds));
    assert_eq!(outcome.recovery, Recovery::Never);
}

#[test]
fn without_a_trigger_a_service_holds_or_does_not() {
    let calm = unhung(500.0, &eager());
    assert!(judge(&calm, &course(40, 500, 4, |_| false)).holds());
    assert!(!judge(&calm, &course(40, 500, 4, |second| second > 3)).holds());
    // Down from the start, there is no usual to fall below: the pressure tells.
    assert!(!judge(&calm, &course(40, 500, 4, |_| true)).holds());
}

#[test]
fn what_the_burst_of_a_budget_repairs_at_the_start_is_not_usual() {
    // Three of ten attempts fail. While the burst lasts nearly every call succeeds; later, what the
    // budget's ratio repairs.
    let second = |succeed, attempts| Second {
        calls: 1000,
        succeed,
        attempts,
    };
    let seconds = (0..40).map(|at| match at {
        0..2 => second(990, 1400),
        _ => second(770, 1100),
    });
    let mut run = recording(seconds);
    let population = &mut run.populations[0];
    population.failed = population.attempts.iter().map(|it| it * 3 / 10).collect();
    let outcome = judge(&unhung(500.0, &eager()), &run);
    assert!((outcome.usual - 0.7).abs() < 1e-9, "{}", outcome.usual);
    assert_eq!(outcome.recovery, Recovery::After(Duration::ZERO));
    // Nothing fails any more often than at first, but hardly any call succeeds: that is a loss.
    let seconds = (0..40).map(|at| second(if at < 2 { 990 } else { 200 }, 1000));
    let lost = judge(&unhung(500.0, &eager()), &recording(seconds));
    assert_eq!(lost.recovery, Recovery::Never);
}

#[test]
fn one_failure_in_few_calls_is_no_relapse() {
    // One call a tenth of a second, and each thirtieth fails at all times: ten seconds before the
    // trigger may well show three failures or none.
    let of = |fails: &dyn Fn(u32) -> bool| {
        let mut run = recording((0..40).map(|_| fine(10)));
        let each = (0..400).map(|at| u32::from(!fails(at)));
        run.populations[0].succeeded_of = each.collect();
        judge(&hung(10.0, &eager()), &run)
    };
    let lucky = of(&|at| at >= 100 && at % 30 == 7);
    assert!((lucky.usual - 1.0).abs() < 1e-9);
    assert_eq!(lucky.recovery, Recovery::After(Duration::ZERO));
    let lost = of(&|at| at >= 100 && at % 3 > 0);
    assert_eq!(lost.recovery, Recovery::Never);
    // With one call a second a window is as long as twenty of them take.
    let mut run = recording((0..40).map(|_| fine(0)));
    let sparse = |is: &dyn Fn(u32) -> bool| -> Vec<u32> {
        let calls = (0..400).map(|at| u32::from(at % 10 == 0 && is(at)));
        calls.collect()
    };
    run.populations[0].calls = sparse(&|_| true);
    run.populations[0].succeeded_of = sparse(&|at| at < 100);
    let lost = judge(&hung(1.0, &eager()), &run);
    assert_eq!(lost.recovery, Recovery::Never, "none of thirty succeeds");
}

#[test]
fn a_scenario_without_time_after_its_trigger_is_not_judged() {
    let mut scenario = hung(500.0, &eager());
    assert_eq!(judgeable(&scenario), Ok(()));
    for (millis, is_judgeable) in [(1, false), (11_000, false), (12_000, false), (14_000, true)] {
        scenario.horizon = Duration::from_millis(millis);
        let judged = judgeable(&scenario);
        assert_eq!(judged.is_ok(), is_judgeable, "{millis} ms: {judged:?}");
        if let Err(reason @ Unjudgeable::TooShort { least, .. }) = judged {
            let sentence = reason.to_string();
            assert!(sentence.contains("the horizon of"), "{sentence}");
            assert!(sentence.ends_with("make it at least 14.1s"), "{sentence}");
            scenario.horizon = least;
            assert_eq!(judgeable(&scenario), Ok(()), "the remedy is one");
        }
    }
    scenario.populations[0].target = "nobody".into();
    assert!(matches!(judgeable(&scenario), Err(Unjudgeable::Invalid(_))));
}

#[test]
fn s5_a_bucket_that_is_too_long_is_blamed_itself() {
    let mut scenario = hung(500.0, &eager());
    scenario.bucket = Duration::from_secs(2);
    let refused = judgeable(&scenario).expect_err("28 s are 14 steps");
    assert!(matches!(refused, Unjudgeable::Coarse { .. }), "{refused:?}");
    let sentence = refused.to_string();
    assert!(
        sentence.starts_with("the bucket of 2s is too long"),
        "{sentence}"
    );
    let Unjudgeable::Coarse { most, .. } = refused else {
        panic!("{sentence}")
    };
    scenario.bucket = most;
    assert_eq!(judgeable(&scenario), Ok(()), "the remedy is one");
}

#[test]
fn phases_are_counted_apart() {
    let outcome = outcome(20);
    assert!((outcome.before.amplification() - 1.0).abs() < 1e-9);
    assert!((outcome.during.amplification() - 4.0).abs() < 1e-9);
    assert_eq!(outcome.during.calls, 1000);
    assert_eq!(outcome.before.peak, 50);
    assert_eq!(outcome.whole.peak, 200);
    assert!((outcome.before.goodput() - 500.0).abs() < 1e-9);
    // Ten seconds of 4 and twenty of 1.
    assert!((outcome.amplification_since() - 2.0).abs() < 1e-9);
    assert!((outcome.after.success() - 20.0 / 28.0).abs() < 1e-9);
}

#[test]
fn odd_recordings_and_scenarios_are_judged_without_a_panic() {
    let mut scenario = hung(500.0, &eager());
    let empty = judge(&scenario, &Recording::default());
    assert_eq!(empty.whole.calls, 0);
    let run = course(3, 500, 4, |_| false);
    judge(&scenario, &run);
    for (bucket, horizon) in [(0, 40), (1, 0), (60, 40), (1, u64::MAX)] {
        scenario.bucket = Duration::from_secs(bucket);
        scenario.horizon = Duration::from_secs(horizon);
        if bucket == 0 {
            scenario.horizon = Duration::from_nanos(50);
        }
        judge(&scenario, &run);
    }
    scenario.triggers[0].length = Duration::MAX;
    scenario.triggers[0].from = Duration::from_secs(1);
    scenario.horizon = Duration::from_secs(40);
    judge(&scenario, &run);
    scenario.services.clear();
    scenario.populations.clear();
    judge(&scenario, &run);
}
