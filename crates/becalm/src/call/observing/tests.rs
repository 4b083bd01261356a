//! Is what an observed call is told what enforcing decides? Two states of one policy live through the same
//! history, and after every step of it they are the same.

use core::time::Duration;
use std::format;
use std::string::String;
use std::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::Hint;
use crate::breaker::Breaker;
use crate::budget::Budget;
use crate::bulkhead::Bulkhead;
use crate::call::{CallOptions, Decision};
use crate::classify::Verdict;
use crate::idempotency::Operation;
use crate::policy::{Mode, Policy};
use crate::rate::AdaptiveRate;
use crate::rng::SplitMix64;
use crate::scope::Scope;
use crate::throttle::Throttle;

const MS: Duration = Duration::from_millis(1);

#[derive(Debug, Clone, Copy)]
enum Step {
    /// A call begins, whose operation is idempotent or not.
    Begin(bool),
    /// The running call of this place ends so.
    End(usize, Outcome),
    /// It is dropped.
    Drop(usize),
}

#[derive(Debug, Clone, Copy)]
enum Outcome {
    Success,
    Failure(Failure),
    Panic,
}

fn outcome() -> impl Strategy<Value = Outcome> {
    let failure = prop_oneof![
        4 => Just(Failure::transient()),
        2 => Just(Failure::throttled()),
        1 => Just(Failure::permanent()),
        1 => Just(Failure::transient().unsent()),
        1 => Just(Failure::transient().hint(Hint::Stop)),
        2 => (0_u32..90_000).prop_map(|wait| Failure::throttled().retry_after(wait * MS)),
        1 => (0_u32..3000).prop_map(|wait| Failure::transient().hint(Hint::Exactly(wait * MS))),
    ];
    prop_oneof![
        3 => Just(Outcome::Success),
        6 => failure.prop_map(Outcome::Failure),
        1 => Just(Outcome::Panic),
    ]
}

fn step() -> impl Strategy<Value = (u32, Step)> {
    let step = prop_oneof![
        5 => any::<bool>().prop_map(Step::Begin),
        5 => (0_usize..4, outcome()).prop_map(|(at, outcome)| Step::End(at, outcome)),
        1 => (0_usize..4).prop_map(Step::Drop),
    ];
    (0_u32..400, step)
}

fn policy() -> impl Strategy<Value = Policy> {
    let budget = prop_oneof![
        3 => Just(Budget::ratio(0.1).burst(3.0)),
        1 => Just(Budget::tokens()),
        1 => Just(Budget::grpc(10, 0.5)),
        1 => Just(Budget::window(0.5, 10_000 * MS, 1.0)),
        1 => Just(Budget::concurrency(0.5, 1)),
        1 => Just(Budget::None),
    ];
    let limit = || proptest::option::of(1_u32..1500);
    let guards = (any::<bool>(), any::<bool>(), any::<bool>());
    let calls = proptest::option::of(1_u32..3);
    (budget, 1_u32..4, limit(), limit(), guards, calls).prop_map(
        |(budget, attempts, deadline, timeout, (throttle, rate, breaker), calls)| {
            let mut policy = Policy::default().budget(budget).attempts(attempts);
            policy.deadline = deadline.map(|limit| limit * MS);
            policy.attempt_timeout = timeout.map(|limit| limit * MS);
            policy.throttle = throttle.then(|| Throttle::accepts(1.5));
            policy.rate = rate.then(AdaptiveRate::cubic);
            policy.bulkhead = calls.map(|calls| Bulkhead::calls(calls).waiting(0));
            let breaker = breaker.then(|| Breaker::consecutive(2).open(500 * MS).slow(200 * MS));
            policy.breaker = breaker;
            policy
        },
    )
}

/// One call in both states; that of the enforcing one is gone where it was refused.
struct Pair<'s> {
    observed: Call<&'s Shared>,
    enforced: Option<Call<&'s Shared>>,
    began: Instant,
}

/// What enforcing has just done to the call, in the words of what is told.
fn end_enforced(
    mut call: Call<&Shared>,
    began: Instant,
    now: Instant,
    outcome: Option<Outcome>,
    random: &mut SplitMix64,
) -> Vec<Would> {
    let shared = call.handle;
    let timeout = call.attempt_timeout();
    let timeout = timeout.map_or(Instant::NEVER, |longest| began.after(longest));
    let deadline = call.deadline().unwrap_or(Instant::NEVER);
    let at = deadline.min(timeout);
    let mut told = Vec::new();
    let failure = if at < now {
        told.push(Would::Cut {
            after: at.since(began),
        });
        if deadline <= timeout {
            call.cut(at, random);
            told.push(Would::Stop(StopReason::DeadlineExceeded));
            return told;
        }
        Some((at, TIMED_OUT))
    } else {
        match outcome {
            Some(Outcome::Failure(failure)) => Some((now, failure)),
            Some(Outcome::Success) => {
                call.on_outcome(now, Verdict::Success, random);
                None
            }
            Some(Outcome::Panic) => {
                call.panicked(1, now, random);
                None
            }
            None => {
                call.cancel(now, random);
                None
            }
        }
    };
    let Some((at, failure)) = failure else {
        return told;
    };
    let was_cut = !told.is_empty();
    match call.on_outcome(at, failure.into(), random) {
        Decision::RetryIn(delay) => {
            told.push(Would::Retry { delay });
            // It begins, and nothing more is known of it.
            crate::call::flight::Paid::spent(call.flights.paid.take(), shared);
        }
        Decision::Stop(reason) if was_cut || !ends_a_call_of_one_attempt(reason) => {
            told.push(Would::Stop(reason));
        }
        _ => (),
    }
    told
}

fn ends_a_call_of_one_attempt(reason: StopReason) -> bool {
    matches!(
        reason,
        StopReason::Permanent
            | StopReason::NotListed
            | StopReason::DoNotRetry
            | StopReason::NotIdempotent
            | StopReason::AttemptsExhausted
    )
}

fn told(call: &mut Call<&Shared>) -> Vec<Would> {
    core::iter::from_fn(|| call.take_would()).collect()
}

/// All that calls share.
fn state(shared: &Shared, now: Instant) -> String {
    let gauges: Vec<_> = shared.budget_gauges(now).collect();
    let (waiting, guards) = (shared.waiting(), shared.guards());
    format!("{gauges:?} {waiting} {guards:?}")
}

proptest! {
    #[test]
    fn what_is_told_is_what_an_enforcing_twin_decides(
        policy in policy(),
        steps in proptest::collection::vec(step(), 1..60),
        seed: u64,
    ) {
        let enforcing = Shared::new(policy.clone(), MS).unwrap();
        let observing = Shared::new(policy.mode(Mode::Observe), MS).unwrap();
        let mut now = Instant::from_nanos(1_000_000_000);
        let mut calls: Vec<Pair<'_>> = Vec::new();
        let mut begun = 0;
        for (at, (advance, step)) in steps.into_iter().enumerate() {
            now = now.after(advance * MS);
            let random = || SplitMix64::new(seed.wrapping_add(at as u64));
            match step {
                Step::Begin(is_idempotent) => {
                    let mut options = CallOptions::new();
                    if !is_idempotent {
                        options.operation = Operation::NotIdempotent;
                    }
                    let begin = |shared| Call::begin(shared, options, Scope::NONE, now);
                    let (mut observed, mut enforced) = (begin(&observing), begin(&enforcing));
                    let started = observed.start(now, &mut random());
                    prop_assert_eq!(started.map(|it| it.number()), Ok(1), "never refused");
                    prop_assert_eq!(started.unwrap().timeout(), None, "never cut");
                    let expected = match enforced.start(now, &mut random()) {
                        Ok(_) => Vec::new(),
                        Err(reason) => Vec::from([Would::Refuse(reason)]),
                    };
                    prop_assert_eq!(told(&mut observed), expected.clone());
                    let enforced = expected.is_empty().then_some(enforced);
                    calls.push(Pair { observed, enforced, began: now });
                    begun += 1;
                }
                Step::End(place, _) | Step::Drop(place) if place >= calls.len() => (),
                Step::End(place, outcome) => {
                    let Pair { mut observed, enforced, began } = calls.swap_remove(place);
                    let ended = match outcome {
                        Outcome::Panic => {
                            observed.panicked(1, now, &mut random());
                            None
                        }
                        Outcome::Success => {
                            Some(observed.on_outcome(now, Verdict::Success, &mut random()))
                        }
                        Outcome::Failure(failure) => {
                            Some(observed.on_outcome(now, failure.into(), &mut random()))
                        }
                    };
                    prop_assert_eq!(observed.attempt_number(), 1, "one attempt");
                    match (outcome, ended) {
                        (Outcome::Failure(_), Some(Decision::Stop(reason))) => {
                            prop_assert!(ends_a_call_of_one_attempt(reason));
                        }
                        (Outcome::Success, Some(Decision::Done)) | (Outcome::Panic, None) => (),
                        other => prop_assert!(false, "{other:?}"),
                    }
                    let was_refused = enforced.is_none();
                    let mut expected = enforced.map_or_else(Vec::new, |call| {
                        end_enforced(call, began, now, Some(outcome), &mut random())
                    });
                    let stops = matches!(expected.last(), Some(Would::Stop(_))) || was_refused;
                    if stops && matches!(outcome, Outcome::Success) {
                        expected.push(Would::Fail);
                    }
                    prop_assert_eq!(told(&mut observed), expected);
                }
                Step::Drop(place) => {
                    let Pair { mut observed, enforced, began } = calls.swap_remove(place);
                    observed.cancel(now, &mut random());
                    let expected = enforced.map_or_else(Vec::new, |call| {
                        end_enforced(call, began, now, None, &mut random())
                    });
                    prop_assert_eq!(told(&mut observed), expected);
                }
            }
            prop_assert_eq!(state(&observing, now), state(&enforcing, now));
        }
        drop(calls);
        prop_assert_eq!(state(&observing, now), state(&enforcing, now));
        prop_assert!(observing.stops(StopReason::BreakerOpen) == 0 && begun <= 60);
    }
}
