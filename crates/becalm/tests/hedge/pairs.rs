//! Does a hedge ever fail a call that one of its copies makes succeed? Every pair of outcomes of the first attempt and of
//! its copy, in both orders, through the sans-IO call and through the engine.

#![cfg(feature = "std")]

use std::task::{Context, Poll, Waker};
use std::time::Duration;

use becalm::call::{Call, CallOptions, Decision};
use becalm::classify::{Cause, FailureKind, Verdict};
use becalm::retry_on::{Failures, RetryOn};
use becalm::run::Last;
use becalm::time::{FakeSleeper, Instant};
use becalm::{
    Budget, Failure, Hedge, Hint, Jitter, Operation, Policy, Retrier, Scope, Sleeper, StopReason,
};

const MS: Duration = Duration::from_millis(1);
/// Longer than any hint.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How one copy ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Good,
    Fails(Failure),
    /// Never: the attempt time-out cuts it.
    Hangs,
}

fn ends() -> Vec<End> {
    let hints = [
        None,
        Some(Hint::AtLeast(Duration::ZERO)),
        Some(Hint::AtLeast(20 * MS)),
        Some(Hint::AtLeast(Duration::from_secs(3600))), // beyond any limit
        Some(Hint::Exactly(Duration::ZERO)),
        Some(Hint::Exactly(20 * MS)),
        Some(Hint::Stop),
        Some(Hint::Below(StopReason::BudgetExhausted)),
        Some(Hint::Below(StopReason::BreakerOpen)),
    ];
    let unlisted = Failure::transient().because(Cause::Kind(FailureKind::Reset));
    let mut ends = vec![End::Good, End::Hangs, End::Fails(unlisted)];
    for failure in [
        Failure::transient(),
        Failure::throttled(),
        Failure::permanent(),
    ] {
        for failure in [failure, failure.unsent()] {
            ends.extend(hints.map(|hint| {
                let mut failure = failure;
                failure.hint = hint;
                End::Fails(failure)
            }));
        }
    }
    ends
}

/// One attempt and its copy, without a retry.
fn retrier(clock: &FakeSleeper) -> Retrier {
    let policy = Policy::fixed(10 * MS)
        .jitter(Jitter::None)
        .attempts(2)
        .attempt_timeout(TIMEOUT)
        .budget(Budget::None)
        .retry_on(RetryOn::new().failures(Failures::default().and(FailureKind::TimedOut)))
        .hedge(Hedge::after(MS));
    policy
        .builder()
        .sleeper(clock.clone())
        .build()
        .expect("a valid policy")
}

/// Why the call stops, where neither copy succeeds.
fn reason(first: End, copy: End) -> StopReason {
    let any = |is: &dyn Fn(Failure) -> bool| {
        [first, copy]
            .iter()
            .any(|end| matches!(end, End::Fails(failure) if is(*failure)))
    };
    let is_unlisted = |it: Failure| it.cause == Some(Cause::Kind(FailureKind::Reset));
    if any(&|it| it.class == becalm::Class::Permanent) {
        StopReason::Permanent
    } else if any(&is_unlisted) {
        StopReason::NotListed
    } else if any(&|it| it.hint == Some(Hint::Stop)) {
        StopReason::DoNotRetry
    } else {
        StopReason::AttemptsExhausted
    }
}

fn verdict(end: End) -> Verdict {
    match end {
        End::Good => Verdict::Success,
        End::Fails(failure) => failure.into(),
        End::Hangs => Failure::transient()
            .because(Cause::Kind(FailureKind::TimedOut))
            .into(),
    }
}

#[test]
fn the_sans_io_call_succeeds_where_one_copy_does() {
    let clock = FakeSleeper::new();
    let retrier = retrier(&clock);
    for first in ends() {
        for copy in ends() {
            for order in [[1, 2], [2, 1]] {
                let case = format!("{first:?}, {copy:?}, {order:?}");
                let mut options = CallOptions::new();
                options.operation = Operation::Idempotent;
                let mut now = Instant::ZERO;
                let mut call = Call::begin(&retrier, options, Scope::NONE, now);
                call.start(now, &mut || 0).expect("it starts");
                now = now.after(MS);
                call.start_hedge(now, &mut || 0).expect("it starts");
                let mut decided = Vec::new();
                for number in order {
                    let end = if number == 1 { first } else { copy };
                    let decision = call.on_outcome_of(number, now, verdict(end), &mut || 0);
                    decided.push(decision);
                    if decision == Decision::Done {
                        break;
                    }
                    now = now.after(MS);
                }
                let expected = match (first, copy) {
                    (End::Good, _) | (_, End::Good) => Decision::Done,
                    _ => Decision::Stop(reason(first, copy)),
                };
                assert_eq!(decided.last(), Some(&expected), "{case}");
                let before = &decided[..decided.len() - 1];
                assert!(
                    before.iter().all(|it| *it == Decision::AwaitOthers),
                    "{case}"
                );
            }
        }
    }
}

/// Moves the clock on whenever all wait.
fn run<F: Future>(clock: &FakeSleeper, call: F) -> F::Output {
    let mut call = std::pin::pin!(call);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(ended) = call.as_mut().poll(&mut context) {
            return ended;
        }
        clock.advance_to_next();
    }
}

#[test]
fn a_call_of_the_engine_succeeds_where_one_copy_does() {
    for first in ends() {
        for copy in ends() {
            for first_takes in [2, 20] {
                let case = format!("{first:?} after {first_takes} ms, {copy:?}");
                let clock = FakeSleeper::new();
                let retrier = retrier(&clock);
                let call = retrier.retry(|attempt| {
                    let (end, takes) = match attempt.number() {
                        1 => (first, first_takes),
                        _ => (copy, 10),
                    };
                    let clock = clock.clone();
                    async move {
                        let takes = if end == End::Hangs {
                            2 * TIMEOUT
                        } else {
                            takes * MS
                        };
                        clock.sleep_until(clock.now().after(takes)).await;
                        match end {
                            End::Good => Ok(attempt.number()),
                            End::Fails(failure) => Err((failure, attempt.number())),
                            End::Hangs => unreachable!("it was cut"),
                        }
                    }
                });
                let ended = run(&clock, call);
                if first == End::Good || copy == End::Good {
                    assert!(ended.is_ok(), "{case}: {ended:?}");
                    continue;
                }
                let gave_up = ended.expect_err("neither succeeds");
                // The one that decides.
                let expected = reason(first, copy);
                assert_eq!(gave_up.reason(), expected, "{case}");
                if expected == StopReason::AttemptsExhausted {
                    continue;
                }
                let Last::Error(error) = gave_up.last() else {
                    panic!("{case}: {gave_up:?}");
                };
                let failed = if *error == 1 { first } else { copy };
                assert_eq!(reason(failed, failed), expected, "{case}");
            }
        }
    }
}
