//! Does a client that shares nothing decide as a call does?

use std::time::Duration;

use crate::any_policy::{any_duration, any_failure, any_hint, any_policy, any_tick, wild_policy};
use becalm::policy::{InvalidPolicy, Mode};
use becalm::rng::{Random, SplitMix64};
use becalm::support::{Lone, Position};
use becalm::{
    Budget, Failure, Hint, Policy, Scope, StopReason,
    call::{Call, CallOptions, Decision},
    shared::Shared,
    time::Instant,
};
use proptest::prelude::*;

/// Failures of every class, with and without a word of the server; mostly such that go on.
fn any_ending() -> impl Strategy<Value = Failure> {
    let hint = prop_oneof![
        12 => Just(None),
        6 => any_hint().prop_map(Some),
        1 => Just(Some(Hint::Stop)),
    ];
    let failure = prop_oneof![12 => any_failure(), 1 => Just(Failure::permanent())];
    (failure, hint).prop_map(|(failure, hint)| match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    })
}

proptest! {
    #[test]
    fn a_lone_client_and_a_call_decide_alike(
        policy in any_policy(), tick in any_tick(), start in any_duration(), seed: u64,
        course in proptest::collection::vec((any_ending(), any_duration()), 1..40),
    ) {
        let mut policy = policy;
        (policy.budget, policy.max_waiting) = (Budget::None, None);
        let shared = Shared::new(policy.clone(), tick).expect("a valid policy");
        let lone = Lone::new(policy, tick).expect("a valid policy");
        let (mut of_call, mut of_client) = (SplitMix64::new(seed), SplitMix64::new(seed));

        let mut now = Instant::ZERO.after(start);
        let mut call = Call::begin(&shared, CallOptions::new(), Scope::NONE, now);
        let deadline = lone.deadline(now);
        let mut position = Position::FIRST_TRY;
        prop_assert_eq!(call.deadline().unwrap_or(Instant::NEVER), deadline);
        if call.start(now, &mut || 0).is_err() {
            prop_assert!(deadline <= now); // the clock has come to its end
            return Ok(());
        }
        for (failure, lasted) in course {
            now = now.after(lasted);
            let decision = call.on_outcome(now, failure.into(), &mut of_call);
            let attempt = position.attempt();
            let client = lone.on_failure(&mut position, now, deadline, &failure, &mut of_client);
            prop_assert_eq!(client, decision);
            prop_assert_eq!(&of_client, &of_call, "one of them drew more bits");
            let Decision::RetryIn(delay) = decision else {
                prop_assert_eq!(position.attempt(), attempt, "a stop moves nobody");
                break;
            };
            now = now.after(delay);
            if call.start(now, &mut || 0).is_err() {
                prop_assert!(deadline <= now);
                break;
            }
            prop_assert_eq!(position.attempt(), call.attempt_number());
        }
    }

    #[test]
    fn a_lone_client_refuses_the_policies_that_a_retrier_refuses(policy in wild_policy()) {
        let refused = Lone::new(policy.clone(), Duration::ZERO).map(|_| ());
        prop_assert_eq!(refused, policy.validate());
    }

    #[test]
    fn a_lone_client_that_only_observes_is_refused(policy in any_policy()) {
        let refused = Lone::new(policy.mode(Mode::Observe), Duration::ZERO).map(|_| ());
        prop_assert_eq!(refused, Err(InvalidPolicy::Observes));
    }

    #[test]
    fn shared_state_plays_no_part(policy in any_policy(), seed: u64) {
        let mut bare = policy.clone().budget(Budget::None);
        bare.max_waiting = None;
        let delays = |policy| {
            let lone = Lone::new(policy, Duration::ZERO).expect("a valid policy");
            let (mut random, mut position) = (SplitMix64::new(seed), Position::FIRST_TRY);
            let next = |_| lone.on_failure(
                &mut position, Instant::ZERO, Instant::NEVER, &Failure::transient(), &mut random,
            );
            (0..8).map(next).collect::<Vec<_>>()
        };
        prop_assert_eq!(delays(policy), delays(bare));
    }
}

#[test]
fn a_lone_client_retries_as_often_as_its_policy_says_and_no_later_than_its_deadline() {
    let lone = |policy| Lone::new(policy, Duration::ZERO).expect("a valid policy");
    let mut random = SplitMix64::new(1);
    let failure = Failure::transient();

    let three = lone(Policy::default().attempts(3));
    let mut position = Position::default();
    for attempt in 2..=3 {
        let decision = three.on_failure(
            &mut position,
            Instant::ZERO,
            Instant::NEVER,
            &failure,
            &mut random,
        );
        assert!(matches!(decision, Decision::RetryIn(_)));
        assert_eq!(position.attempt(), attempt);
    }
    let before = random.clone();
    let decision = three.on_failure(
        &mut position,
        Instant::ZERO,
        Instant::NEVER,
        &failure,
        &mut random,
    );
    assert_eq!(decision, Decision::Stop(StopReason::AttemptsExhausted));
    assert_eq!(
        random.next_u64(),
        before.clone().next_u64(),
        "a stop draws no bits"
    );

    let hurried = lone(Policy::fixed(Duration::from_secs(1)).deadline(Duration::from_secs(9)));
    let deadline = hurried.deadline(Instant::ZERO);
    assert_eq!(deadline, Instant::from_nanos(9_000_000_000));
    let mut position = Position::FIRST_TRY;
    let late = hurried.on_failure(&mut position, deadline, deadline, &failure, &mut random);
    assert_eq!(late, Decision::Stop(StopReason::DeadlineExceeded));
    assert_eq!(position, Position::FIRST_TRY);
}
