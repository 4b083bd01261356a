//! Which buckets of a run say what is usual, what went wrong, and what it came to?

mod by_hand;

use std::time::Duration;

use becalm_sim::scenario::{Arrivals, Phases};
use becalm_sim::verdict::{judge, judge_sparing};
use by_hand::{course, eager, fine, hung, lost, recording, unhung};

#[test]
fn a_run_falls_into_what_is_before_during_and_after() {
    let phases = Phases::of(&hung(500.0, &eager()));
    let parts = (
        phases.before.clone(),
        phases.during.clone(),
        phases.after.clone(),
    );
    assert_eq!(parts, (0..100, 100..120, 120..400));
    assert_eq!(phases.window, 10, "a second");
    // Two windows after the trigger, and not one bucket less.
    let mut short = hung(500.0, &eager());
    for (millis, is_enough) in [(14_000, true), (13_900, false)] {
        short.horizon = Duration::from_millis(millis);
        assert_eq!(Phases::of(&short).leave_time(), is_enough, "{millis}");
    }
}

/// Calls whose answers take longer than a second are hit though they begin before the last one.
#[test]
fn what_is_usual_spares_the_calls_that_still_wait_when_the_trigger_comes() {
    let scenario = hung(500.0, &eager());
    let phases = Phases::of(&scenario);
    assert_eq!(phases.hit, 10, "a window");
    for (millis, hit) in [(0, 10), (900, 10), (2_950, 30), (60_000, 100)] {
        let lead = Duration::from_millis(millis);
        let sparing = phases.clone().sparing(lead, scenario.bucket);
        assert_eq!(sparing.hit, hit, "{millis}");
    }
    // The three seconds before the trigger are lost, and all that come after it.
    let run = course(40, 500, 1, |second| second >= 7);
    let usual = |lead| judge_sparing(&scenario, &run, Duration::from_secs(lead)).usual;
    assert!((usual(3) - 1.0).abs() < 1e-9, "{}", usual(3));
    assert!(usual(0) < 0.8);
}

#[test]
fn a_window_is_a_second_and_ten_buckets_at_least() {
    let window = |bucket| {
        let mut scenario = unhung(500.0, &eager());
        scenario.bucket = Duration::from_millis(bucket);
        Phases::of(&scenario).window
    };
    assert_eq!([10, 100, 250, 1000].map(window), [100, 10, 10, 10]);
}

#[test]
fn of_a_short_end_no_more_than_a_quarter_is_left_unjudged() {
    let mut scenario = hung(500.0, &eager());
    scenario.horizon = Duration::from_secs(14);
    // A patience of 250 ms and a window would be 13 of the 20 buckets.
    assert_eq!(Phases::of(&scenario).settled, 135);
}

/// After the last recorded call a queue shrinks, and nobody fails.
#[test]
fn where_all_calls_are_recorded_what_follows_the_last_is_not_judged() {
    let mut scenario = hung(500.0, &eager());
    let recorded = |seconds: u64| {
        let times = (0..=seconds * 10).map(|call| Duration::from_millis(100 * call));
        Arrivals::Trace(times.collect())
    };
    for (seconds, settled) in [(40, 387), (30, 287), (14, 135), (13, 387)] {
        scenario.populations[0].arrivals = recorded(seconds);
        assert_eq!(Phases::of(&scenario).settled, settled, "{seconds}");
    }
    let mut others = scenario.populations[0].clone();
    (scenario.populations[0].arrivals, others.arrivals) = (recorded(30), recorded(35));
    scenario.populations.push(others);
    assert_eq!(Phases::of(&scenario).settled, 337, "the later of both");
    scenario.populations[1].arrivals = Arrivals::Poisson(1.0);
    assert_eq!(Phases::of(&scenario).settled, 387, "somebody calls on");
}

/// Calls of the second before the trigger may be hit by it: they do not say what is usual.
#[test]
fn the_last_second_before_the_trigger_is_not_usual() {
    let seconds = (0..40).map(|second| match second {
        9..12 => lost(500, 4),
        _ => fine(500),
    });
    let outcome = judge(&hung(500.0, &eager()), &recording(seconds));
    assert!((outcome.usual - 1.0).abs() < 1e-9, "{}", outcome.usual);
}

#[test]
fn the_tail_is_the_last_quarter_of_what_can_be_judged() {
    // Of the 267 buckets that are judged after the trigger, the last 67 begin at 32.0 s.
    let outcome = judge(
        &hung(500.0, &eager()),
        &course(40, 500, 4, |second| second < 32),
    );
    assert!((outcome.tail.success() - 1.0).abs() < 1e-9);
    let outcome = judge(
        &hung(500.0, &eager()),
        &course(40, 500, 4, |second| second < 33),
    );
    assert!(outcome.tail.success() < 1.0);
}
