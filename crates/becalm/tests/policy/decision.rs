//! Do the laws that one call can break hold for every policy that validates?

use std::time::Duration;

use crate::any_policy::{any_duration, any_failure, any_hint, any_policy, any_tick};
use becalm::budget::Kind;
use becalm::rng::SplitMix64;
use becalm::{
    Budget, Class, Effect, Failure, Hint, IdempotencyKey, Jitter, Operation, Policy, Scope,
    StopReason,
    call::{Call, CallOptions, Decision},
    hint::HintMode,
    scope::Nested,
    shared::Shared,
    time::Instant,
};
use proptest::prelude::*;

fn shared(policy: Policy, tick: Duration) -> Shared {
    Shared::new(policy, tick).expect("a valid policy")
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A call at its first attempt.
fn begin(shared: &Shared, options: CallOptions, now: Instant) -> Call<&Shared> {
    let mut call = Call::begin(shared, options, Scope::NONE, now);
    call.start(now, &mut || 0).expect("the deadline is ahead");
    call
}

fn with(hint: Option<Hint>, failure: Failure) -> Failure {
    hint.map_or(failure, |hint| failure.hint(hint))
}

/// The failures that follow each other, and how late each is decided.
fn any_course() -> impl Strategy<Value = Vec<(Failure, Option<Hint>, Duration)>> {
    let hint = proptest::option::weighted(0.3, any_hint());
    proptest::collection::vec((any_failure(), hint, any_duration()), 1..12)
}

proptest! {
    /// Law 2: a computed delay lies between floor and cap, whatever the timer's tick.
    #[test]
    fn law_2_every_computed_delay_lies_between_floor_and_cap(
        mut policy in any_policy(), tick in any_tick(), failures in proptest::collection::vec(any_failure(), 1..40),
        seed: u64,
    ) {
        policy.deadline = None;
        policy.budget = Budget::None;
        let shared = shared(policy.clone(), tick);
        let mut random = SplitMix64::new(seed);
        let now = Instant::ZERO;
        let mut call = begin(&shared, CallOptions::new(), now);
        for failure in failures {
            match call.on_outcome(now, failure.into(), &mut random) {
                Decision::RetryIn(delay) => {
                    let (floor, cap) = (nanos(policy.floor), nanos(policy.cap));
                    prop_assert!(floor <= nanos(delay) && nanos(delay) <= cap, "{delay:?}");
                    call.start(now, &mut || 0).expect("no deadline");
                }
                stop => {
                    prop_assert_eq!(stop, Decision::Stop(StopReason::AttemptsExhausted));
                    prop_assert_eq!(call.attempt_number(), policy.attempts);
                    break;
                }
            }
        }
    }

    /// Law 5: never earlier than the server said, jitter on top only, and a hint that does not fit
    /// stops the call.
    #[test]
    fn law_5_no_retry_is_earlier_than_its_hint(
        mut policy in any_policy(), tick in any_tick(), failure in any_failure(), hint in any_hint(),
        start in any_duration(), late in any_duration(), seed: u64,
    ) {
        (policy.hint, policy.budget, policy.attempts) = (HintMode::Honor, Budget::None, 2);
        let shared = shared(policy.clone(), tick);
        let start = Instant::ZERO.after(start);
        let mut call = Call::begin(&shared, CallOptions::new(), Scope::NONE, start);
        prop_assume!(call.start(start, &mut || 0).is_ok());
        let now = start.after(late);
        let (Hint::AtLeast(least) | Hint::Exactly(least) | Hint::Spread { after: least, .. }) = hint
        else {
            unreachable!()
        };
        let room = call.deadline().map(|deadline| deadline.since(now));
        let fits = nanos(least) <= nanos(policy.max_hint)
            && room.is_none_or(|room| nanos(least) < nanos(room));
        let failure = failure.hint(hint);
        match call.on_outcome(now, failure.into(), &mut SplitMix64::new(seed)) {
            Decision::RetryIn(delay) => {
                prop_assert!(fits);
                prop_assert!(nanos(delay) >= nanos(least), "{delay:?} before {least:?}");
                let jitter = match hint {
                    Hint::AtLeast(_) => nanos(policy.cap).max(nanos(least) / 10),
                    Hint::Spread { over, .. } => nanos(over),
                    _ => 0,
                };
                let most = nanos(least).saturating_add(jitter);
                // Rounding moves a delay by less than two ticks.
                let most = most.saturating_add(nanos(tick).saturating_mul(2));
                prop_assert!(nanos(delay) <= most, "{delay:?} after {least:?}");
            }
            stop => {
                prop_assert!(!fits, "{stop:?}");
                prop_assert_eq!(stop, Decision::Stop(StopReason::HintTooLong));
            }
        }
    }

    /// Law 6: no wait is begun that would pass the deadline, and what remains is computed after
    /// the wait.
    #[test]
    fn law_6_no_wait_runs_into_the_deadline(
        policy in any_policy(), tick in any_tick(), deadline in any_duration(),
        course in any_course(), seed: u64,
    ) {
        let deadline = deadline.max(Duration::from_nanos(1));
        let policy = policy.deadline(deadline);
        let shared = shared(policy, tick);
        let mut random = SplitMix64::new(seed);
        let mut now = Instant::ZERO;
        let mut call = begin(&shared, CallOptions::new(), now);
        let ends = now.after(deadline);
        for (failure, hint, late) in course {
            now = now.after(late);
            let failure = with(hint, failure);
            let Decision::RetryIn(delay) = call.on_outcome(now, failure.into(), &mut random) else {
                break;
            };
            let woken = now.after(delay);
            prop_assert!(woken < ends || ends == Instant::NEVER);
            now = woken.after(late); // a timer may be late, as the operation was
            match call.start(now, &mut || 0) {
                Ok(attempt) if ends == Instant::NEVER => prop_assert_eq!(attempt.remaining(), None),
                Ok(attempt) => prop_assert_eq!(attempt.remaining(), Some(ends.since(now))),
                Err(reason) => {
                    prop_assert_eq!(reason, StopReason::DeadlineExceeded);
                    prop_assert!(now >= ends);
                    break;
                }
            }
        }
    }

    /// Law 12: no attempt, no time, no hint and no order of them panics; what is held comes back.
    #[test]
    fn law_12_no_course_of_a_call_panics_or_keeps_what_it_held(
        policy in any_policy(), tick in any_tick(), course in any_course(), seed: u64,
        options in (proptest::option::of(any::<u32>()), proptest::option::of(any_duration())),
    ) {
        // Of gRPC's kind failures themselves are what empties it.
        let counts_failures = policy.budget.part(Kind::Grpc).is_some();
        let shared = shared(policy, tick);
        let full = shared.budget_fill(Instant::ZERO);
        let mut random = SplitMix64::new(seed);
        let mut own = CallOptions::new();
        (own.attempts, own.deadline) = options;
        let mut now = Instant::ZERO;
        let mut call = Call::begin(&shared, own, Scope::NONE, now);
        for (failure, hint, late) in course {
            let failure = with(hint, failure);
            now = now.after(late);
            if call.on_outcome(now, failure.into(), &mut random) == Decision::Done {
                prop_assert!(false, "a failure is never done");
            }
        }
        drop(call);
        prop_assert_eq!(shared.waiting(), 0);
        // Nothing was spent, but a millionth of the floor may be under way.
        let fill = shared.budget_fill(now);
        prop_assert!(counts_failures || fill >= full - 1e-5, "{} at {:?}, {} before", fill, now, full);
    }
}

/// Law 7 over every combination: an operation that may have taken effect is repeated only if
/// repeating it is safe; proof that nothing was sent lifts the gate; nothing else does.
#[test]
fn law_7_nothing_is_repeated_by_accident() {
    let shared = shared(Policy::default().budget(Budget::None), Duration::ZERO);
    let now = Instant::ZERO;
    let key = IdempotencyKey::from_u128(17);
    let hints = [
        None,
        Some(Hint::AtLeast(Duration::ZERO)),
        Some(Hint::Exactly(Duration::ZERO)),
    ];
    for (operation, repeatable) in [
        (Operation::Idempotent, true),
        (Operation::Keyed(key), true),
        (Operation::KeyedByCaller, true),
        (Operation::NotIdempotent, false),
    ] {
        for effect in [Effect::Unknown, Effect::Unsent] {
            for class in [Class::Transient, Class::Throttled, Class::Permanent] {
                for hint in hints {
                    let mut options = CallOptions::new();
                    options.operation = operation;
                    let mut call = begin(&shared, options, now);
                    let mut failure = Failure::new(class);
                    (failure.effect, failure.hint) = (effect, hint);
                    let decision = call.on_outcome(now, failure.into(), &mut || 0);
                    let expected = match class {
                        Class::Permanent => Decision::Stop(StopReason::Permanent),
                        _ if repeatable || effect == Effect::Unsent => {
                            Decision::RetryIn(Duration::ZERO)
                        }
                        _ => Decision::Stop(StopReason::NotIdempotent),
                    };
                    assert_eq!(decision, expected, "{operation:?} {failure:?}");
                }
            }
        }
    }
}

/// Each failure is judged by its own effect: an attempt that was not sent proves nothing about the
/// one after it.
#[test]
fn proof_that_nothing_was_sent_is_good_for_one_attempt() {
    let shared = shared(Policy::default(), Duration::ZERO);
    let now = Instant::ZERO;
    let mut options = CallOptions::new();
    options.operation = Operation::NotIdempotent;
    let mut call = begin(&shared, options, now);
    let refused = Failure::transient().unsent();
    let decision = call.on_outcome(now, refused.into(), &mut || 0);
    assert_eq!(decision, Decision::RetryIn(Duration::ZERO));
    call.start(now, &mut || 0).expect("no deadline");
    let decision = call.on_outcome(now, Failure::transient().into(), &mut || 0);
    assert_eq!(decision, Decision::Stop(StopReason::NotIdempotent));
}

#[test]
fn a_keyed_call_has_the_same_key_on_every_attempt() {
    let shared = shared(Policy::default(), Duration::ZERO);
    let now = Instant::ZERO;
    let key = IdempotencyKey::from_random(17);
    let mut options = CallOptions::new();
    options.operation = Operation::Keyed(key);
    let mut call = Call::begin(&shared, options, Scope::NONE, now);
    for number in 1..=4 {
        let attempt = call.start(now, &mut || 0).expect("no deadline");
        assert_eq!((attempt.number(), attempt.key()), (number, Some(key)));
        let _ = call.on_outcome(now, Failure::transient().into(), &mut || 0);
    }
}

/// A throttled failure grows from its own base, by the step that the call has reached.
#[test]
fn a_throttled_failure_waits_by_its_own_base() {
    let policy = Policy::exponential(Duration::from_millis(50))
        .throttled_base(Duration::from_secs(1))
        .jitter(Jitter::None)
        .budget(Budget::None);
    let shared = shared(policy, Duration::ZERO);
    let now = Instant::ZERO;
    let mut call = begin(&shared, CallOptions::new(), now);
    let kinds = [
        Failure::transient(),
        Failure::throttled(),
        Failure::transient(),
    ];
    let delays = kinds.map(|failure| {
        let decision = call.on_outcome(now, failure.into(), &mut || 0);
        call.start(now, &mut || 0).expect("no deadline");
        match decision {
            Decision::RetryIn(delay) => delay.as_millis(),
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(delays, [50, 2000, 200]);
}

/// A pushback starts the backoff again from its first step.
#[test]
fn an_exact_hint_resets_the_step() {
    let policy = Policy::exponential(Duration::from_millis(100))
        .jitter(Jitter::None)
        .attempts(6)
        .budget(Budget::None);
    let shared = shared(policy, Duration::ZERO);
    let now = Instant::ZERO;
    let mut call = begin(&shared, CallOptions::new(), now);
    let plain = Failure::transient();
    let pushed_back = plain.hint(Hint::Exactly(Duration::from_millis(7)));
    let delays = [plain, plain, pushed_back, plain, plain].map(|failure| {
        let decision = call.on_outcome(now, failure.into(), &mut || 0);
        call.start(now, &mut || 0).expect("no deadline");
        match decision {
            Decision::RetryIn(delay) => delay.as_millis(),
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(delays, [100, 200, 7, 100, 200]);
}

/// A suppressed call runs once, and a permanent error inside stays permanent.
#[test]
fn a_suppressed_call_stops_after_its_first_attempt() {
    let (outer, now) = (shared(Policy::default(), Duration::ZERO), Instant::ZERO);
    let above = begin(&outer, CallOptions::new(), now).scope();
    for (nested, failure, expected) in [
        (
            Nested::Outermost,
            Failure::transient(),
            Some(StopReason::NestedRetry),
        ),
        (
            Nested::Outermost,
            Failure::permanent(),
            Some(StopReason::Permanent),
        ),
        (Nested::Allow, Failure::transient(), None),
        (Nested::ShareBudget, Failure::transient(), None),
    ] {
        let inner = shared(Policy::default().nested(nested), Duration::ZERO);
        let mut call = Call::begin(&inner, CallOptions::new(), above, now);
        call.start(now, &mut || 0).expect("no deadline");
        let decision = call.on_outcome(now, failure.into(), &mut || 0);
        match expected {
            Some(reason) => assert_eq!(decision, Decision::Stop(reason)),
            None => assert_eq!(decision, Decision::RetryIn(Duration::ZERO)),
        }
    }
}
