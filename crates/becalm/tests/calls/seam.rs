//! What may a driver of the sans-IO call rely on?

use core::time::Duration;

use becalm::rng::SplitMix64;
use becalm::time::ClockId;
use becalm::{
    Failure, Policy, Scope, StopReason,
    call::{Call, CallOptions, Decision},
    shared::Shared,
    time::Instant,
};

fn at(seconds: u64) -> Instant {
    Instant::from_nanos(seconds * 1_000_000_000)
}

fn shared(policy: Policy) -> Shared {
    Shared::new(policy, Duration::ZERO)
        .expect("a valid policy")
        .on_clock(ClockId::PROCESS)
}

#[test]
fn a_deadline_is_handed_down_on_one_clock_and_on_no_other() {
    let outer = shared(Policy::default().deadline(Duration::from_secs(5)));
    let mut call = Call::begin(&outer, CallOptions::new(), Scope::NONE, at(0));
    assert!(call.start(at(0), &mut || 0).is_ok());

    let inner = shared(Policy::default());
    let same = Call::begin(&inner, CallOptions::new(), call.scope(), at(1));
    assert_eq!(same.deadline(), Some(at(5)));

    let elsewhere = Shared::new(Policy::default(), Duration::ZERO).expect("a valid policy");
    let other = Call::begin(&elsewhere, CallOptions::new(), call.scope(), at(1));
    assert_eq!(other.deadline(), None);
}

#[test]
fn an_attempt_that_nobody_decided_is_refused() {
    let shared = shared(Policy::default().attempts(2));
    let mut random = SplitMix64::new(1);
    let mut call = Call::begin(&shared, CallOptions::new(), Scope::NONE, at(0));
    assert!(call.start(at(0), &mut || 0).is_ok());
    assert_eq!(
        call.start(at(0), &mut || 0),
        Err(StopReason::Cancelled),
        "one is under way"
    );
    let decision = call.on_outcome(at(0), Failure::transient().into(), &mut random);
    assert!(matches!(decision, Decision::RetryIn(_)));
    assert!(call.start(at(1), &mut || 0).is_ok());
    let decision = call.on_outcome(at(1), Failure::transient().into(), &mut random);
    assert_eq!(decision, Decision::Stop(StopReason::AttemptsExhausted));
    assert_eq!(
        call.start(at(2), &mut || 0),
        Err(StopReason::Cancelled),
        "it has stopped"
    );
    assert_eq!(call.attempt_number(), 2);
}

#[test]
fn a_clamped_hint_is_never_too_long() {
    let policy = Policy::default()
        .cap(Duration::from_secs(120))
        .hint(becalm::hint::HintMode::Clamp);
    let shared = shared(policy);
    let mut random = SplitMix64::new(1);
    for seconds in [90, 600, u64::MAX] {
        let mut call = Call::begin(&shared, CallOptions::new(), Scope::NONE, at(0));
        assert!(call.start(at(0), &mut || 0).is_ok());
        let failure = Failure::throttled().retry_after(Duration::from_secs(seconds));
        let decision = call.on_outcome(at(0), failure.into(), &mut random);
        let Decision::RetryIn(delay) = decision else {
            panic!("{seconds} s: {decision:?}")
        };
        assert!(
            delay >= Duration::from_secs(60) && delay <= Duration::from_secs(66),
            "{delay:?}"
        );
    }
}

#[test]
fn retries_switched_off_in_the_wait_do_not_start_and_cost_nothing() {
    let shared = shared(Policy::default());
    let mut random = SplitMix64::new(1);
    let mut call = Call::begin(&shared, CallOptions::new(), Scope::NONE, at(0));
    assert!(call.start(at(0), &mut || 0).is_ok());
    let decision = call.on_outcome(at(0), Failure::transient().into(), &mut random);
    assert!(matches!(decision, Decision::RetryIn(_)));
    shared.disable_retries();
    assert_eq!(
        call.start(at(1), &mut || 0),
        Err(StopReason::AttemptsExhausted)
    );
    assert_eq!((shared.waiting(), shared.budget_fill(at(1))), (0, 1.0));
}
