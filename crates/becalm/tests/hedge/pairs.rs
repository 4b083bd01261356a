//! Does a hedge ever fail a call that one of its copies makes succeed? Every pair of outcomes of the first attempt and of
//! its copy, in both orders, through the sans-IO call and through the engine, where a retry may follow and where none may.

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
/// Longer than any hint but one.
const TIMEOUT: Duration = Duration::from_secs(30);
/// A hint beyond any limit.
const HOUR: Duration = Duration::from_secs(3600);
/// The backoff's.
const WAIT: Duration = Duration::from_millis(10);

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
        Some(Hint::AtLeast(HOUR)),
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

/// What a policy says beside the hedge.
#[derive(Debug, Clone, Copy)]
struct Rules {
    attempts: u32,
    lists_time_outs: bool,
    deadline: Option<Duration>,
}

/// One attempt and its copy, without a retry.
const LAST: Rules = Rules {
    attempts: 2,
    lists_time_outs: true,
    deadline: None,
};
/// A retry may follow.
const MORE: Rules = Rules {
    attempts: 4,
    ..LAST
};
/// But not a time-out.
const UNLISTED: Rules = Rules {
    lists_time_outs: false,
    ..MORE
};

fn retrier(clock: &FakeSleeper, rules: Rules) -> Retrier {
    let mut failures = Failures::default();
    if rules.lists_time_outs {
        failures = failures.and(FailureKind::TimedOut);
    }
    let policy = Policy::fixed(WAIT)
        .jitter(Jitter::None)
        .attempts(rules.attempts)
        .deadline(rules.deadline)
        .attempt_timeout(TIMEOUT)
        .budget(Budget::None)
        .retry_on(RetryOn::new().failures(failures))
        .hedge(Hedge::after(MS));
    policy
        .builder()
        .sleeper(clock.clone())
        .build()
        .expect("a valid policy")
}

/// Why the call stops, where neither copy succeeds; `None` where a retry follows if its wait ends in time.
fn reason(first: End, copy: End, rules: Rules) -> Option<StopReason> {
    let any = |is: &dyn Fn(Failure) -> bool| {
        [first, copy]
            .iter()
            .any(|end| matches!(end, End::Fails(failure) if is(*failure)))
    };
    let is_unlisted = |it: Failure| it.cause == Some(Cause::Kind(FailureKind::Reset));
    let has_unlisted_time_out = !rules.lists_time_outs && [first, copy].contains(&End::Hangs);
    if any(&|it| it.class == becalm::Class::Permanent) {
        Some(StopReason::Permanent)
    } else if any(&is_unlisted) || has_unlisted_time_out {
        Some(StopReason::NotListed)
    } else if any(&|it| it.hint == Some(Hint::Stop)) {
        Some(StopReason::DoNotRetry)
    } else if rules.attempts == 2 {
        Some(StopReason::AttemptsExhausted)
    } else if any(&|it| it.hint == Some(Hint::AtLeast(HOUR))) {
        Some(StopReason::HintTooLong)
    } else {
        None
    }
}

/// The delay that the server has named.
fn named(end: End) -> Option<Duration> {
    match end {
        End::Fails(failure) => match failure.hint {
            Some(Hint::AtLeast(delay) | Hint::Exactly(delay)) => Some(delay),
            _ => None,
        },
        End::Good | End::Hangs => None,
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
    for rules in [LAST, MORE, UNLISTED] {
        for deadline in [None, Some(15 * MS), Some(5 * MS)] {
            let rules = Rules { deadline, ..rules };
            for first in ends() {
                for copy in ends() {
                    for order in [[1, 2], [2, 1]] {
                        without_io(rules, [first, copy], order);
                    }
                }
            }
        }
    }
}

fn without_io(rules: Rules, [first, copy]: [End; 2], order: [u32; 2]) {
    let case = format!("{first:?}, {copy:?}, {order:?}, {rules:?}");
    let retrier = retrier(&FakeSleeper::new(), rules);
    let mut options = CallOptions::new();
    options.operation = Operation::Idempotent;
    let mut now = Instant::ZERO;
    let mut call = Call::begin(&retrier, options, Scope::NONE, now);
    call.start(now, &mut || 0).expect("it starts");
    now = now.after(MS);
    call.start_hedge(now, &mut || 0).expect("it starts");
    let mut decided = Vec::new();
    // The moment before which no server wants another attempt.
    let mut named_moment = None;
    for number in order {
        now = now.after(MS);
        let end = if number == 1 { first } else { copy };
        let decision = call.on_outcome_of(number, now, verdict(end), &mut || 0);
        decided.push(decision);
        if decision == Decision::Done {
            break;
        }
        named_moment = named_moment.max(named(end).map(|delay| now.after(delay)));
    }
    let (last, before) = decided.split_last().expect("one ended");
    assert!(
        before.iter().all(|it| *it == Decision::AwaitOthers),
        "{case}"
    );
    if first == End::Good || copy == End::Good {
        assert_eq!(*last, Decision::Done, "{case}");
        return;
    }
    if let Some(reason) = reason(first, copy, rules) {
        assert_eq!(*last, Decision::Stop(reason), "{case}");
        return;
    }
    let ends = rules
        .deadline
        .map_or(Instant::NEVER, |deadline| Instant::ZERO.after(deadline));
    let expected = match named_moment {
        None => now.after(WAIT),
        Some(moment) => moment.max(now),
    };
    match *last {
        Decision::RetryIn(delay) => {
            let starts = now.after(delay);
            let jitter = if named_moment.is_some() {
                WAIT
            } else {
                Duration::ZERO
            };
            let is_in_time = expected <= starts && starts <= expected.after(jitter);
            assert!(is_in_time && starts < ends, "{case}: {delay:?}");
        }
        Decision::Stop(StopReason::HintTooLong) => {
            assert!(named_moment.is_some() && expected >= ends, "{case}");
        }
        Decision::Stop(StopReason::DeadlineExceeded) => {
            assert!(named_moment.is_none() && expected >= ends, "{case}");
        }
        other => panic!("{case}: {other:?}"),
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
    for rules in [LAST, MORE, UNLISTED] {
        for first in ends() {
            for copy in ends() {
                for first_takes in [2, 20] {
                    in_the_engine(rules, [first, copy], first_takes);
                }
            }
        }
    }
}

/// The third attempt and every later one succeeds.
fn in_the_engine(rules: Rules, [first, copy]: [End; 2], first_takes: u32) {
    let case = format!("{first:?} after {first_takes} ms, {copy:?}, {rules:?}");
    let clock = FakeSleeper::new();
    let retrier = retrier(&clock, rules);
    let call = retrier.retry(|attempt| {
        let (end, takes) = match attempt.number() {
            1 => (first, first_takes),
            2 => (copy, 10),
            _ => (End::Good, 0),
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
        assert!(ended.is_ok_and(|number| number <= 2), "{case}");
        return;
    }
    let Some(expected) = reason(first, copy, rules) else {
        assert!(ended.is_ok_and(|number| number > 2), "{case}");
        return;
    };
    let gave_up = ended.expect_err(&case);
    assert_eq!(gave_up.reason(), expected, "{case}");
    // The one that decides is told, where one decides by itself.
    if [StopReason::AttemptsExhausted, StopReason::HintTooLong].contains(&expected) {
        return;
    }
    let decides = |end| reason(end, end, rules) == Some(expected);
    match gave_up.last() {
        Last::Error(1) => assert!(decides(first), "{case}"),
        Last::Error(2) => assert!(decides(copy), "{case}"),
        Last::AttemptTimeout => assert!(decides(End::Hangs), "{case}"),
        other => panic!("{case}: {other:?}"),
    }
}
