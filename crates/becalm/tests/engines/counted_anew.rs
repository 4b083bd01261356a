//! Does a loop that connects again count anew from a session that has lived?

use std::time::Duration;

use becalm::breaker::State;
use becalm::time::FakeSleeper;
use becalm::{Breaker, Budget, Bulkhead, Jitter, Policy, Retrier, StopReason};

use crate::probe::{Fault, MS, SECOND, Seen, fixed, on, watched};

/// How many sessions there were, of which every third lives; the call ends with the first that
/// dies where none of that was said.
fn sessions(retrier: &Retrier, says: bool) -> u32 {
    let mut call = retrier.call();
    for session in 1.. {
        if session > 1000 || call.next_blocking().is_none() {
            return session - 1;
        }
        if says && session % 3 == 0 {
            call.count_anew();
        }
        call.failure(Fault::DOWN);
    }
    0
}

#[test]
fn a_loop_whose_sessions_live_runs_for_ever_and_one_whose_sessions_do_not_ends() {
    for policy in [fixed(MS), fixed(MS).deadline(20 * MS)] {
        let retrier = on(&FakeSleeper::auto(), policy);
        assert_eq!(sessions(&retrier, true), 1000);
        assert_eq!(sessions(&retrier, false), 4);
    }
}

#[test]
fn the_delays_and_the_records_begin_anew_and_the_budget_earns_a_success() {
    let clock = FakeSleeper::auto();
    let policy = Policy::exponential(MS).jitter(Jitter::None).attempts(4);
    let watched = watched(&clock, policy, 100);
    let mut call = watched.retrier.call();
    for number in 1..=3 {
        assert_eq!(call.next_blocking().map(|it| it.number()), Some(number));
        if number < 3 {
            call.failure(Fault::DOWN);
        }
    }
    assert_eq!(watched.ledger.book().deposits, 0);
    call.count_anew();
    let book = watched.ledger.book();
    assert_eq!((book.deposits, book.first_tries), (1, 2));
    call.failure(Fault::DOWN);
    while call.next_blocking().is_some() {
        call.failure(Fault::BUSY);
    }
    let gave_up = call.gave_up();
    assert_eq!(
        (gave_up.reason(), gave_up.attempts()),
        (StopReason::AttemptsExhausted, 4)
    );
    let numbers: Vec<u32> = gave_up.records().map(|record| record.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    assert_eq!(clock.slept(), [1, 2, 1, 2, 4].map(|millis| millis * MS));
    let recovered = Seen::Recovered(3, 3 * MS);
    assert!(
        watched.journal.seen().contains(&recovered),
        "{:?}",
        watched.journal.seen()
    );
}

#[test]
fn the_first_attempt_of_a_plain_call_counts_as_a_success_too() {
    let retrier = on(
        &FakeSleeper::auto(),
        Policy::fixed(MS).budget(Budget::ratio(0.5)),
    );
    let mut call = retrier.call();
    while call.next_blocking().is_some() {
        call.failure(Fault::DOWN);
    }
    let spent = retrier.budget_fill();
    let mut call = retrier.call::<Fault>();
    assert_eq!(call.next_blocking().map(|it| it.number()), Some(1));
    call.count_anew();
    assert!(retrier.budget_fill() > spent);
    call.failure(Fault::GONE);
    assert!(call.next_blocking().is_none());
    assert_eq!(call.gave_up().attempts(), 1);
}

#[test]
fn it_keeps_its_place_in_the_bulkhead_and_frees_the_probe_of_the_breaker() {
    let clock = FakeSleeper::auto();
    let breaker = Breaker::consecutive(1)
        .open(SECOND)
        .jitter(0.0)
        .successes(1);
    let retrier = on(
        &clock,
        fixed(MS).bulkhead(Bulkhead::calls(1)).breaker(breaker),
    );
    let tripped = retrier.retry_blocking(|_| Err::<(), _>(Fault::DOWN));
    assert_eq!(tripped.unwrap_err().reason(), StopReason::BreakerOpen);
    clock.advance(2 * SECOND);

    let mut call = retrier.call();
    assert!(call.next_blocking().is_some());
    assert_eq!(retrier.breaker_state(), Some(State::HalfOpen));
    call.count_anew();
    assert_eq!(retrier.breaker_state(), Some(State::Closed));
    assert_eq!(retrier.in_flight(), Some(1));
    let beside = retrier.retry_blocking(|_| Ok::<_, Fault>(17)).unwrap_err();
    assert_eq!(beside.reason(), StopReason::BulkheadFull);

    call.failure(Fault::GONE);
    assert!(call.next_blocking().is_none());
    assert_eq!(retrier.in_flight(), Some(0));
    assert_eq!(retrier.breaker_state(), Some(State::Closed));
}

#[test]
fn where_no_attempt_runs_it_says_nothing() {
    let watched = watched(&FakeSleeper::auto(), fixed(MS), 100);
    let mut call = watched.retrier.call();
    call.count_anew();
    assert!(call.next_blocking().is_some());
    call.failure(Fault::DOWN);
    call.count_anew();
    assert_eq!(call.next_blocking().map(|it| it.number()), Some(2));
    assert_eq!(watched.ledger.book().deposits, 0);
    assert_eq!(
        watched.journal.seen().last(),
        Some(&Seen::Attempt(2, Duration::from_millis(1)))
    );
}
