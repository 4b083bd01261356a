//! Is anything lost where the first attempt of a call has no engine?

use becalm::run::FirstAttempt;
use becalm::time::FakeSleeper;
use becalm::{Breaker, Bulkhead, Policy, StopReason, breaker::State};

use crate::probe::{Fault, MS, SECOND, Seen, fixed, on, watched};

/// What an object of another language keeps for each call.
#[test]
fn it_is_a_fraction_of_an_engine() {
    use becalm::run::{Core, Engine};
    assert!(size_of::<FirstAttempt<Core>>() <= size_of::<Engine<Core>>() / 2);
    const fn is_sync<T: Send + Sync + 'static>() {}
    const { is_sync::<FirstAttempt<Core>>() };
}

#[test]
fn each_success_earns_and_a_call_that_is_dropped_does_not() {
    for timed in [false, true] {
        let policy = Policy::default().deadline(timed.then_some(SECOND));
        let retrier = on(&FakeSleeper::auto(), policy);
        while retrier.budget_fill() >= 0.1 {
            let _ = retrier.retry_blocking(|_| Err::<(), _>(Fault::DOWN));
        }
        let before = retrier.budget_fill();
        drop(retrier.engine().first_attempt());
        assert_eq!(retrier.budget_fill(), before);
        for _ in 0..10 {
            let first = retrier.engine().first_attempt();
            first.expect("nothing holds it up").succeeded();
        }
        // A tenth of a token each, of ten tokens.
        let earned = retrier.budget_fill() - before;
        assert!((earned - 0.1).abs() < 1e-9, "{earned}");
    }
}

#[test]
fn a_place_is_held_while_it_runs_and_free_however_it_ends() {
    let policy = fixed(MS).bulkhead(Bulkhead::calls(1));
    let retrier = on(&FakeSleeper::auto(), policy);
    let begin = || retrier.engine().first_attempt();
    for end in [
        |first: FirstAttempt<_>| first.succeeded(),
        |first: FirstAttempt<_>| drop(first),
        |first: FirstAttempt<_>| {
            let inside = first.scope();
            drop(first.into_engine(inside));
        },
    ] {
        let first = begin().expect("there is a place");
        assert_eq!(retrier.in_flight(), Some(1));
        let mut refused = begin().expect_err("the place is taken");
        let stopped = refused.block_attempt().expect_err("it is refused");
        assert_eq!(stopped.reason(), StopReason::BulkheadFull);
        end(first);
        assert_eq!(retrier.in_flight(), Some(0));
    }
}

#[test]
fn what_was_held_up_starts_by_its_engine() {
    let policy = fixed(MS).bulkhead(Bulkhead::calls(1).waiting(1));
    let retrier = on(&FakeSleeper::auto(), policy);
    let first = retrier.engine().first_attempt().expect("there is a place");
    let mut waits = retrier.engine().first_attempt().expect_err("it waits");
    first.succeeded();
    let attempt = waits.block_attempt().expect("the place is free");
    waits.succeeded(attempt.number());
    assert_eq!(retrier.in_flight(), Some(0));
}

#[test]
fn a_drop_is_told_as_cancelled_and_as_no_panic() {
    let clock = FakeSleeper::auto();
    let watched = watched(&clock, fixed(MS).breaker(Breaker::consecutive(1)), 10);
    let first = watched.retrier.engine().first_attempt();
    clock.advance(5 * MS);
    drop(first);
    let told = [
        Seen::Attempt(1, 0 * MS),
        Seen::Stopped(StopReason::Cancelled, 1, 0 * MS),
    ];
    assert_eq!(watched.journal.seen(), told);
    assert_eq!(watched.retrier.breaker_state(), Some(State::Closed));
}

/// As in every other driver, the breaker counts an operation that panics.
#[test]
fn a_panic_is_counted() {
    let policy = fixed(MS).breaker(Breaker::consecutive(1));
    let retrier = on(&FakeSleeper::auto(), policy);
    let _quiet = crate::panics::Silence::new();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _first = retrier.engine().first_attempt();
        panic!("the operation's");
    }));
    assert!(panicked.is_err());
    assert!(matches!(retrier.breaker_state(), Some(State::Open)));
}

/// The layer below tells, while the attempt goes on in the driver's own hands.
#[test]
fn what_was_told_inside_is_heard() {
    let retrier = on(&FakeSleeper::auto(), fixed(MS));
    let first = retrier.engine().first_attempt().expect("it runs");
    let stopped =
        |_: &_| Err::<(), _>(Fault(becalm::Failure::transient().hint(becalm::Hint::Stop)));
    let (_, inside) = first
        .scope()
        .enter_with_scope(|| retrier.retry_blocking(|attempt| stopped(&attempt)));
    assert_eq!(inside.told_below(), Some(StopReason::DoNotRetry));
    let mut engine = first.into_engine(inside);
    engine.failed(1, becalm::Failure::transient(), None, &mut |_| ());
    let stopped = engine.take_stopped().expect("it stops");
    assert_eq!(stopped.reason(), StopReason::DoNotRetry);
}
