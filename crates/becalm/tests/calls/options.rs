//! What may one call set for itself, and does it hold in every place?

use std::time::Duration;

use becalm::{
    Failure, Operation, Policy, Scope, StopReason,
    call::{Call, CallOptions, Decision},
    shared::Shared,
    time::Instant,
};

const NOW: Instant = Instant::ZERO;

fn shared(policy: Policy) -> Shared {
    Shared::new(policy, Duration::ZERO).expect("a valid policy")
}

/// Attempts until the call stops, and why it did.
fn run(shared: &Shared, options: CallOptions, above: Scope) -> (u32, StopReason) {
    let mut call = Call::begin(shared, options, above, NOW);
    loop {
        let attempt = call.start(NOW, &mut || 0).expect("no deadline");
        match call.on_outcome(NOW, Failure::transient().into(), &mut || 0) {
            Decision::RetryIn(_) => {}
            Decision::Stop(reason) => return (attempt.number(), reason),
            other => panic!("{other:?}"),
        }
    }
}

fn with(change: impl FnOnce(&mut CallOptions)) -> CallOptions {
    let mut options = CallOptions::new();
    change(&mut options);
    options
}

#[test]
fn a_calls_own_attempts_go_before_the_policys() {
    let shared = shared(Policy::default());
    for (own, made) in [
        (None, 4),
        (Some(1), 1),
        (Some(2), 2),
        (Some(6), 6),
        (Some(0), 1),
    ] {
        let options = with(|options| options.attempts = own);
        let stopped = (made, StopReason::AttemptsExhausted);
        assert_eq!(run(&shared, options, Scope::NONE), stopped, "{own:?}");
    }
}

#[test]
fn a_layer_below_runs_once_exactly_if_this_call_repeats_and_might_from_its_start() {
    let (once, more) = (
        shared(Policy::default().attempts(1)),
        shared(Policy::default()),
    );
    let not_idempotent = with(|options| options.operation = Operation::NotIdempotent);
    let own = |attempts| with(|options| options.attempts = Some(attempts));
    for (outer, options, repeats) in [
        (&more, CallOptions::new(), true),
        (&once, CallOptions::new(), false),
        (&once, own(5), true),
        (&more, own(1), false),
        (&more, not_idempotent, false),
    ] {
        let mut call = Call::begin(outer, options, Scope::NONE, NOW);
        call.start(NOW, &mut || 0).expect("no deadline");
        let refused = Failure::transient().unsent(); // may be repeated whatever it is
        if let Decision::RetryIn(_) = call.on_outcome(NOW, refused.into(), &mut || 0) {
            call.start(NOW, &mut || 0).expect("no deadline");
        }
        let stopped = if repeats {
            (1, StopReason::NestedRetry)
        } else {
            (4, StopReason::AttemptsExhausted)
        };
        let inner = shared(Policy::default());
        assert_eq!(
            run(&inner, CallOptions::new(), call.scope()),
            stopped,
            "{options:?}"
        );
    }
}

#[test]
fn switched_off_retries_stay_off_for_a_call_that_sets_its_own_attempts() {
    let outer = shared(Policy::default());
    outer.disable_retries();
    let own = with(|options| options.attempts = Some(5));
    assert_eq!(
        run(&outer, own, Scope::NONE),
        (1, StopReason::AttemptsExhausted)
    );
    let mut call = Call::begin(&outer, own, Scope::NONE, NOW);
    call.start(NOW, &mut || 0).expect("no deadline");
    assert!(!call.scope().is_repeated_above(), "nobody repeats");
    outer.enable_retries();
    assert_eq!(
        run(&outer, own, Scope::NONE),
        (5, StopReason::AttemptsExhausted)
    );
}

#[test]
fn a_calls_own_deadline_goes_before_the_policys() {
    let shared = shared(Policy::default().deadline(Duration::from_secs(3)));
    let begun = |own| {
        let options = with(|options| options.deadline = own);
        Call::begin(&shared, options, Scope::NONE, NOW).deadline()
    };
    let after = |seconds| Some(NOW.after(Duration::from_secs(seconds)));
    assert_eq!(begun(None), after(3));
    assert_eq!(begun(Some(Duration::from_secs(5))), after(5));
    assert_eq!(begun(Some(Duration::MAX)), None, "beyond the end of time");
}
