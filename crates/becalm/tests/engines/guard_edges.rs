//! What becomes of calls at the edges of guards and budgets: reloads, shared budgets, told failures,
//! deadlines?

use becalm::breaker::State;
use becalm::run::CallLoop;
use becalm::time::FakeSleeper;
use becalm::{
    Breaker, Budget, Call, CallOptions, Decision, Failure, Nested, Policy, Retrier, Scope, Shared,
    StopReason,
};

use crate::probe::{Fault, MS, fixed, on, ready};

/// A call that no concurrency has counted takes none of those away that it has.
#[test]
fn a_call_from_before_a_concurrency_ends_for_itself_alone() {
    let policy = |budget| fixed(MS).budget(budget);
    let shared = Shared::new(policy(Budget::grpc(10, 0.1)), MS * 0).unwrap();
    let now = becalm::Instant::ZERO;
    let mut random = becalm::rng::SplitMix64::new(7);
    let begin = |random: &mut becalm::rng::SplitMix64| {
        let mut call = Call::begin(&shared, CallOptions::new(), Scope::NONE, now);
        call.start(now, random).unwrap();
        call
    };
    let before = begin(&mut random);
    shared
        .replace_policy(policy(Budget::concurrency(1.0, 0)), now)
        .unwrap();
    let mut after = begin(&mut random);
    drop(before);
    let decision = after.on_outcome(now, Failure::transient().into(), &mut random);
    assert!(matches!(decision, Decision::RetryIn(_)), "{decision:?}");
}

fn grpc_left(retrier: &Retrier) -> f64 {
    retrier.budget_gauges().next().unwrap().left
}

/// Whoever pays for retries after failures hears of the failures.
#[test]
fn who_pays_for_retries_hears_of_the_failures() {
    let clock = FakeSleeper::auto();
    let throttled = |policy: Policy| on(&clock, policy.budget(Budget::grpc(20, 0.5)));
    let outer = throttled(fixed(MS).attempts(1));
    let inner = throttled(fixed(MS).attempts(4).nested(Nested::ShareBudget));
    let fail = || inner.retry(|_| async { Err::<(), _>(Fault::DOWN) });
    ready(outer.retry(|_| fail())).unwrap_err();
    assert_eq!((grpc_left(&outer), grpc_left(&inner)), (15.0, 20.0));
    ready(fail()).unwrap_err();
    assert_eq!((grpc_left(&outer), grpc_left(&inner)), (15.0, 16.0));
}

fn tripping(clock: &FakeSleeper) -> Retrier {
    on(clock, fixed(MS).breaker(Breaker::consecutive(1)))
}

/// What the loop has told is known, whether it asks for another attempt or not.
#[test]
fn a_failure_told_by_a_loop_counts_however_the_loop_ends() {
    let clock = FakeSleeper::new();
    for is_dropped in [false, true] {
        for tell in [
            (|call| call.failure(Fault::DOWN)) as fn(&mut CallLoop<'_, Fault>),
            |call| call.timed_out(),
        ] {
            let retrier = tripping(&clock);
            let mut call = retrier.call();
            assert!(call.next_blocking().is_some());
            tell(&mut call);
            if is_dropped {
                drop(call);
            } else {
                assert_eq!(call.gave_up().reason(), StopReason::Cancelled);
            }
            assert_eq!(retrier.breaker_state(), Some(State::Open), "{is_dropped}");
        }
        let retrier = tripping(&clock);
        let mut call = retrier.call::<Fault>();
        assert!(call.next_blocking().is_some());
        if is_dropped {
            drop(call);
        } else {
            call.gave_up();
        }
        assert_eq!(
            retrier.breaker_state(),
            Some(State::Closed),
            "nothing was told"
        );
    }
}
