//! Is a run judged by what became of its calls?

mod by_hand;

use std::time::Duration;

use becalm_sim::record::Recording;
use becalm_sim::verdict::{Outcome, Phases, Recovery, judge};
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
        assert!(!outcome(until).is_storm());
    }
}

#[test]
fn a_service_that_is_down_at_the_end_is_a_storm_if_it_is_offered_more_than_it_can_serve() {
    let down = outcome(40);
    assert_eq!(down.recovery, Recovery::Never);
    assert!(down.is_storm());
    assert!((down.pressure - 2.0).abs() < 1e-9, "{}", down.pressure);
    assert!((down.offered - 2000.0).abs() < 1e-6);
    let quiet = course(40, 500, 1, |second| second >= 10);
    let quiet = judge(&hung(500.0, &eager()), &quiet);
    assert_eq!(quiet.recovery, Recovery::Never);
    assert!(!quiet.is_storm());
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
    assert!(!outcome.is_storm(), "900 attempts a second can be served");
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
fn without_a_trigger_a_service_holds_or_does_not() {
    let calm = unhung(500.0, &eager());
    assert!(judge(&calm, &course(40, 500, 4, |_| false)).holds());
    assert!(!judge(&calm, &course(40, 500, 4, |second| second > 3)).holds());
    // Down from the start, there is no usual to fall below: the pressure tells.
    assert!(!judge(&calm, &course(40, 500, 4, |_| true)).holds());
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
