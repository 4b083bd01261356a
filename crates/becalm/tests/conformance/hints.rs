//! Conformance, *Hints and deadlines*, at the decision and in the engines: is the server's word kept,
//! and the deadline? (What HTTP headers mean is tested where they are read.)
#![cfg(feature = "std")]

use std::io;
use std::time::Duration;

use becalm::rng::{Seed, SplitMix64};
use becalm::time::FakeSleeper;
use becalm::{
    Budget, Failure, GaveUp, Hint, Jitter, Policy, Retrier, Scope, Sleeper, StopReason,
    call::{Call, CallOptions, Decision},
    shared::Shared,
    time::Instant,
};

const SECOND: Duration = Duration::from_secs(1);

/// The decision of a first failure with this hint.
fn decide(policy: &Policy, hint: Option<Hint>, seed: u64) -> Decision {
    let shared = Shared::new(policy.clone(), Duration::ZERO).expect("a valid policy");
    let now = Instant::ZERO;
    let mut call = Call::begin(&shared, CallOptions::new(), Scope::NONE, now);
    call.start(now, &mut || 0).expect("the deadline is ahead");
    let failure = Failure::transient();
    let failure = hint.map_or(failure, |hint| failure.hint(hint));
    call.on_outcome(now, failure.into(), &mut SplitMix64::new(seed))
}

fn on(clock: &FakeSleeper, policy: Policy) -> Retrier {
    let builder = policy.builder().sleeper(clock.clone()).seed(Seed::fixed(7));
    builder.build().expect("a valid policy")
}

/// A call whose server always answers with this hint.
fn always(retrier: &Retrier, hint: Option<Hint>) -> GaveUp<io::Error> {
    let failure = Failure::transient();
    let failure = hint.map_or(failure, |hint| failure.hint(hint));
    retrier
        .blocking(|_| Err::<(), _>(io::Error::from(io::ErrorKind::Other)))
        .classify_with(move |_, _: &io::Error| failure)
        .call()
        .expect_err("it always fails")
}

/// Never early, jitter on top: from the hint to a tenth of it or a ceiling more, and evenly so.
#[test]
fn conformance_16_a_hint_is_a_floor_and_its_jitter_goes_on_top() {
    for (hint, jitter) in [(3, 0.3), (1, 0.1), (30, 3.0), (60, 6.0)] {
        let (hint, at_least) = (hint * SECOND, Hint::AtLeast(hint * SECOND));
        let mut on_top = Vec::new();
        for seed in 0..4000 {
            match decide(&Policy::default(), Some(at_least), seed) {
                Decision::RetryIn(delay) => {
                    let late = delay.checked_sub(hint).expect("never early");
                    on_top.push(late.as_secs_f64());
                }
                other => panic!("{other:?}"),
            }
        }
        let mean = on_top.iter().sum::<f64>() / 4000.0;
        let most = on_top.iter().copied().fold(0.0, f64::max);
        assert!(most <= jitter, "{hint:?}: {most} s later");
        // The mean of U(0, jitter): four standard errors are 1.8 % of the width.
        assert!((mean / jitter - 0.5).abs() < 0.02, "{hint:?}: {mean} s");
        let exactly = on_top.iter().filter(|late| **late == 0.0).count();
        assert!(exactly < 40, "{exactly} of 4000 are not spread at all");
    }
}

/// Come back in 5 s, spread over 10 s: never early, evenly over the whole window, and no further.
#[test]
fn c9_a_fleet_comes_back_over_the_window_that_the_server_named() {
    let (after, over) = (5 * SECOND, 10 * SECOND);
    let hint = Some(Hint::Spread { after, over });
    let mut per_second = [0_u32; 10];
    for seed in 0..10_000 {
        match decide(&Policy::default(), hint, seed) {
            Decision::RetryIn(delay) => {
                let late = delay.checked_sub(after).expect("never early");
                assert!(late <= over, "{late:?} after the window has opened");
                per_second[usize::try_from(late.as_secs()).unwrap().min(9)] += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    // 1000 each; five standard errors are 150.
    assert!(
        per_second
            .iter()
            .all(|clients| clients.abs_diff(1000) < 150),
        "{per_second:?}"
    );

    let bounded = Policy::default().deadline(7 * SECOND);
    for seed in 0..1000 {
        let delay = decide(&bounded, hint, seed);
        assert!(matches!(delay, Decision::RetryIn(delay) if delay >= after && delay < 7 * SECOND));
    }
    let short = Policy::default().deadline(5 * SECOND);
    assert_eq!(
        decide(&short, hint, 7),
        Decision::Stop(StopReason::HintTooLong)
    );
    let impatient = Policy::default().max_hint(4_999 * SECOND / 1000);
    assert_eq!(
        decide(&impatient, hint, 7),
        Decision::Stop(StopReason::HintTooLong)
    );
}

#[test]
fn conformance_16_a_hint_beyond_its_maximum_or_the_deadline_stops_the_call_at_once() {
    let nano = Duration::from_nanos(1);
    let bounded = Policy::default().deadline(10 * SECOND);
    for (policy, hint) in [
        (Policy::default(), Hint::AtLeast(60 * SECOND + nano)),
        (Policy::default(), Hint::Exactly(60 * SECOND + nano)),
        (
            Policy::default().max_hint(SECOND),
            Hint::AtLeast(2 * SECOND),
        ),
        (bounded.clone(), Hint::AtLeast(10 * SECOND)),
        (bounded, Hint::Exactly(11 * SECOND)),
    ] {
        let clock = FakeSleeper::auto();
        let retrier = on(&clock, policy);
        let gave_up = always(&retrier, Some(hint));
        assert_eq!(gave_up.reason(), StopReason::HintTooLong);
        assert_eq!(gave_up.attempts(), 1);
        assert!(clock.slept().is_empty(), "not even a part of it is waited");
        let untouched = (retrier.budget_fill(), retrier.waiting());
        assert_eq!(untouched, (1.0, 0));
    }
}

/// A header of 10^30 seconds saturates in the parser to the longest duration there is.
#[test]
fn conformance_17_the_longest_hint_stops_the_call_and_no_hint_falls_back_to_the_computed_delay() {
    for hint in [Hint::AtLeast(Duration::MAX), Hint::Exactly(Duration::MAX)] {
        let decision = decide(&Policy::default(), Some(hint), 7);
        assert_eq!(decision, Decision::Stop(StopReason::HintTooLong));
    }
    let unbounded = Policy::default().max_hint(Duration::MAX);
    let decision = decide(&unbounded, Some(Hint::AtLeast(Duration::MAX)), 7);
    assert!(
        matches!(decision, Decision::RetryIn(delay) if delay.as_nanos() == u128::from(u64::MAX))
    );
    let decision = decide(&Policy::default(), None, 7);
    let computed = Policy::default().delays(SplitMix64::new(7)).next();
    assert_eq!(Some(decision), computed.map(Decision::RetryIn));
}

/// 512 s are to be waited and 1 s is left.
#[test]
fn conformance_18_a_wait_that_does_not_fit_the_deadline_is_not_begun() {
    let wait = 512 * SECOND;
    for (deadline, waits) in [(SECOND, 0), (wait, 0), (wait + SECOND, 1), (2 * wait, 1)] {
        let policy = Policy::fixed(wait)
            .cap(wait)
            .jitter(Jitter::None)
            .deadline(deadline);
        let clock = FakeSleeper::auto();
        let gave_up = always(&on(&clock, policy), None);
        assert_eq!(gave_up.reason(), StopReason::DeadlineExceeded);
        assert_eq!(clock.slept(), vec![wait; waits]);
        let waited = wait * u32::try_from(waits).expect("few");
        assert_eq!(gave_up.elapsed(), Some(waited), "it stops at once");
    }
}

/// What is left is counted when the attempt starts: after the operation, the wait and the timer's
/// lateness.
#[test]
fn conformance_19_the_remaining_time_of_an_attempt_is_computed_after_its_wait() {
    let clock = FakeSleeper::auto();
    let policy = Policy::fixed(SECOND)
        .jitter(Jitter::None)
        .deadline(10 * SECOND);
    let mut remaining = Vec::new();
    let result = on(&clock, policy.clone()).retry_blocking(|attempt| {
        remaining.push(attempt.remaining());
        clock.advance(2 * SECOND); // the operation takes its time
        Err::<(), _>(io::Error::from(io::ErrorKind::TimedOut))
    });
    assert_eq!(result.expect_err("it always fails").attempts(), 4);
    assert_eq!(remaining, [10, 7, 4, 1].map(|left| Some(left * SECOND)));

    // A timer that fires three seconds late takes them from the attempt.
    let shared = Shared::new(policy, Duration::ZERO).expect("a valid policy");
    let mut call = Call::begin(&shared, CallOptions::new(), Scope::NONE, Instant::ZERO);
    call.start(Instant::ZERO, &mut || 0)
        .expect("the deadline is ahead");
    let decision = call.on_outcome(Instant::ZERO, Failure::transient().into(), &mut || 0);
    assert_eq!(decision, Decision::RetryIn(SECOND));
    let late = Instant::ZERO.after(4 * SECOND);
    let attempt = call.start(late, &mut || 0).expect("the deadline is ahead");
    assert_eq!(attempt.remaining(), Some(6 * SECOND));
}

/// Woken behind the deadline, an attempt does not start, and what it would have cost comes back.
#[test]
fn conformance_19_no_attempt_starts_when_nothing_remains() {
    let policy = Policy::fixed(SECOND)
        .jitter(Jitter::None)
        .deadline(10 * SECOND);
    let shared = Shared::new(policy, Duration::ZERO).expect("a valid policy");
    for late in [10, 11, 3600] {
        let mut call = Call::begin(&shared, CallOptions::new(), Scope::NONE, Instant::ZERO);
        call.start(Instant::ZERO, &mut || 0)
            .expect("the deadline is ahead");
        let decision = call.on_outcome(Instant::ZERO, Failure::transient().into(), &mut || 0);
        assert_eq!(decision, Decision::RetryIn(SECOND));
        let now = Instant::ZERO.after(late * SECOND);
        assert_eq!(
            call.start(now, &mut || 0),
            Err(StopReason::DeadlineExceeded)
        );
        assert_eq!(call.attempt_number(), 1);
        let held = (shared.budget_fill(now), shared.waiting());
        assert_eq!(held, (1.0, 0), "returned before the call is dropped");
    }
}

#[test]
fn conformance_20_a_pushback_of_0_means_now() {
    let clock = FakeSleeper::new();
    let policy = Policy::default().deadline(10 * SECOND).budget(Budget::None);
    let gave_up = always(&on(&clock, policy), Some(Hint::Exactly(Duration::ZERO)));
    assert_eq!(gave_up.reason(), StopReason::AttemptsExhausted);
    assert_eq!(gave_up.attempts(), 4);
    assert_eq!(gave_up.elapsed(), Some(Duration::ZERO));
    assert!(clock.slept().is_empty(), "no timer was touched");
    assert_eq!(clock.now(), Instant::ZERO);
}
