//! Does the loop by hand keep what its documentation promises?

use std::num::ParseIntError;
use std::task::Poll;
use std::time::Duration;

use becalm::time::FakeSleeper;
use becalm::{Failure, GaveUp, IdempotencyKey, Operation, Scope, StopReason, run::Last};

use crate::probe::{ByHand, Fault, MS, SECOND, Seen, fixed, on, ready, watched};

#[test]
fn it_hands_the_value_of_a_success_through() {
    let watched = watched(&FakeSleeper::auto(), fixed(MS), 10);
    let answer = ready(async {
        let mut call = watched.retrier.call::<Fault>();
        call.next()
            .await
            .map(|attempt| call.success(attempt.number()))
    });
    assert_eq!(answer, Some(1));
    assert_eq!(watched.journal.seen(), [Seen::Attempt(1, Duration::ZERO)]);
}

#[test]
fn mutable_captures_and_early_exits_are_its_purpose() {
    async fn flush(
        retrier: &becalm::Retrier,
        buffer: &mut Vec<u8>,
    ) -> Result<usize, GaveUp<Fault>> {
        let mut call = retrier.call();
        while let Some(attempt) = call.next().await {
            buffer.push(0);
            match attempt.number() {
                1 => call.failure(Fault::DOWN),
                _ => return Ok(call.success(buffer.len())),
            }
        }
        Err(call.gave_up())
    }
    let retrier = on(&FakeSleeper::auto(), fixed(MS));
    let mut buffer = Vec::new();
    assert_eq!(ready(flush(&retrier, &mut buffer)).unwrap(), 2);
}

#[test]
fn after_its_last_attempt_there_is_no_next_however_often_it_is_asked() {
    let watched = watched(&FakeSleeper::auto(), fixed(MS).attempts(2), 10);
    let gave_up = ready(async {
        let mut call = watched.retrier.call();
        while call.next().await.is_some() {
            call.failure(Fault::DOWN);
        }
        for _ in 0..3 {
            assert!(call.next().await.is_none());
            assert!(call.next_blocking().is_none());
        }
        call.gave_up()
    });
    assert_eq!(
        (gave_up.reason(), gave_up.attempts()),
        (StopReason::AttemptsExhausted, 2)
    );
    assert_eq!(gave_up.error(), Some(&Fault::DOWN));
    assert_eq!(
        watched.journal.stops(),
        [(StopReason::AttemptsExhausted, 2)],
        "told once"
    );
}

#[test]
fn an_attempt_of_which_nothing_was_told_counts_as_transient() {
    let watched = watched(&FakeSleeper::auto(), fixed(MS).attempts(3), 10);
    let gave_up = ready(async {
        let mut call = watched.retrier.call::<Fault>();
        while call.next().await.is_some() {}
        call.gave_up()
    });
    assert_eq!(
        (gave_up.reason(), gave_up.attempts()),
        (StopReason::AttemptsExhausted, 3)
    );
    assert_eq!(gave_up.error(), None);

    let mut options = becalm::call::CallOptions::new();
    options.operation = Operation::NotIdempotent;
    let mut call = watched.retrier.call::<Fault>().options(options);
    while call.next_blocking().is_some() {}
    assert_eq!(
        call.gave_up().reason(),
        StopReason::NotIdempotent,
        "it may have taken effect"
    );
}

#[test]
fn a_time_out_of_its_own_is_told_and_keeps_the_error_before() {
    let retrier = on(&FakeSleeper::auto(), fixed(MS).attempts(2));
    let mut call = retrier.call();
    call.next_blocking().unwrap();
    call.failure(Fault::DOWN);
    call.next_blocking().unwrap();
    call.timed_out();
    assert!(call.next_blocking().is_none());
    let gave_up = call.gave_up();
    assert_eq!(gave_up.last(), Last::AttemptTimeout);
    assert_eq!(gave_up.error(), Some(&Fault::DOWN));
}

/// An error that knows nothing of becalm.
#[test]
fn a_foreign_error_is_classified_as_it_is_told() {
    let retrier = on(&FakeSleeper::auto(), fixed(MS));
    let parse = |text: &str| text.parse::<u32>();
    let mut call = retrier.call::<ParseIntError>();
    call.next_blocking().unwrap();
    call.failure_as(Failure::transient(), parse("").unwrap_err());
    call.next_blocking().unwrap();
    call.failure_as(Failure::permanent(), parse("x").unwrap_err());
    assert!(call.next_blocking().is_none());
    let gave_up = call.gave_up();
    assert_eq!(
        (gave_up.reason(), gave_up.attempts()),
        (StopReason::Permanent, 2)
    );
}

#[test]
fn the_last_word_on_an_attempt_counts() {
    let retrier = on(&FakeSleeper::auto(), fixed(MS));
    let mut call = retrier.call();
    call.next_blocking().unwrap();
    call.failure(Fault::DOWN);
    call.failure(Fault::GONE);
    assert!(call.next_blocking().is_none());
    assert_eq!(call.gave_up().reason(), StopReason::Permanent);
}

mod ended_early {
    use super::*;

    #[test]
    fn before_its_first_attempt() {
        let retrier = on(&FakeSleeper::auto(), fixed(MS));
        let gave_up = retrier.call::<Fault>().gave_up();
        assert_eq!(
            (gave_up.reason(), gave_up.attempts()),
            (StopReason::Cancelled, 0)
        );
        assert_eq!(gave_up.last(), Last::NotStarted);
    }

    #[test]
    fn after_a_failure_the_error_is_kept() {
        let watched = watched(&FakeSleeper::auto(), fixed(MS), 10);
        let mut call = watched.retrier.call();
        call.next_blocking().unwrap();
        call.failure(Fault::DOWN);
        let gave_up = call.gave_up();
        assert_eq!(
            (gave_up.reason(), gave_up.attempts()),
            (StopReason::Cancelled, 1)
        );
        assert_eq!(gave_up.last(), Last::Error(&Fault::DOWN));
        assert_eq!(gave_up.records().count(), 1);
        assert_eq!(watched.journal.stops(), [(StopReason::Cancelled, 1)]);
        assert_eq!(watched.ledger.book().withdrawals, 0);
    }

    #[test]
    fn in_the_middle_of_an_attempt_it_is_counted() {
        let watched = watched(&FakeSleeper::auto(), fixed(MS), 10);
        let mut call = watched.retrier.call();
        call.next_blocking().unwrap();
        call.failure(Fault::DOWN);
        call.next_blocking().unwrap();
        let gave_up = call.gave_up();
        assert_eq!(
            (gave_up.reason(), gave_up.attempts()),
            (StopReason::Cancelled, 2)
        );
        assert_eq!(gave_up.error(), Some(&Fault::DOWN));
        assert_eq!(watched.journal.stops(), [(StopReason::Cancelled, 2)]);
    }
}

#[test]
fn dropped_before_its_first_attempt_it_never_was() {
    let watched = watched(&FakeSleeper::auto(), fixed(MS), 10);
    drop(watched.retrier.call::<Fault>());
    assert_eq!(watched.journal.seen(), []);
    assert_eq!(watched.ledger.book().first_tries, 0);
}

#[test]
fn dropped_in_an_attempt_it_is_cancelled() {
    let watched = watched(&FakeSleeper::auto(), fixed(MS), 10);
    let mut call = watched.retrier.call();
    call.next_blocking().unwrap();
    call.failure(Fault::DOWN);
    call.next_blocking().unwrap();
    drop(call);
    assert_eq!(watched.journal.stops(), [(StopReason::Cancelled, 2)]);
    assert_eq!(watched.ledger.book().spent(), 1);
}

#[test]
fn dropped_in_its_wait_it_returns_what_it_holds() {
    let watched = watched(&FakeSleeper::new(), fixed(100 * MS), 10);
    let mut call = ByHand::new(async {
        let mut call = watched.retrier.call();
        while call.next().await.is_some() {
            call.failure(Fault::DOWN);
        }
    });
    assert!(call.run().is_pending());
    assert_eq!(
        (watched.retrier.waiting(), watched.ledger.book().tokens),
        (1, 9)
    );
    drop(call);
    assert_eq!(
        (watched.retrier.waiting(), watched.ledger.book().tokens),
        (0, 10)
    );
    assert_eq!(watched.journal.stops(), [(StopReason::Cancelled, 1)]);
}

/// In a `select!`, the future of `next` is dropped and made anew.
#[test]
fn a_next_that_was_dropped_is_taken_up_where_it_was() {
    let watched = watched(&FakeSleeper::new(), fixed(100 * MS), 10);
    let mut call = watched.retrier.call();
    call.next_blocking().unwrap();
    call.failure(Fault::DOWN);
    for _ in 0..4 {
        let mut next = ByHand::new(call.next());
        assert!(next.poll().is_pending());
        drop(next);
        watched.clock.advance(20 * MS);
    }
    assert_eq!(watched.ledger.book().withdrawals, 1);
    watched.clock.advance(20 * MS);
    assert_eq!(ready(call.next()).unwrap().number(), 2);
    call.failure(Fault::GONE);
    assert!(ready(call.next()).is_none());
    let gave_up = call.gave_up();
    assert_eq!((gave_up.attempts(), gave_up.records().count()), (2, 2));
    assert_eq!(
        watched.journal.seen(),
        [
            Seen::Attempt(1, Duration::ZERO),
            Seen::Retry(2, 100 * MS),
            Seen::Attempt(2, 100 * MS),
            Seen::Stopped(StopReason::Permanent, 2, 100 * MS),
        ]
    );
}

#[test]
fn its_deadline_refuses_attempts_and_is_told() {
    let clock = FakeSleeper::auto();
    let retrier = on(&clock, fixed(100 * MS));
    let mut options = becalm::call::CallOptions::new();
    options.deadline = Some(250 * MS);
    let mut call = retrier.call().options(options);
    let mut told = Vec::new();
    while let Some(attempt) = call.next_blocking() {
        told.push(attempt.remaining().unwrap());
        call.failure(Fault::DOWN);
    }
    assert_eq!(told, [250 * MS, 150 * MS, 50 * MS]);
    let gave_up = call.gave_up();
    assert_eq!(gave_up.reason(), StopReason::DeadlineExceeded);
    assert_eq!(gave_up.elapsed(), Some(200 * MS));
}

#[test]
fn a_deadline_that_passes_in_the_wait_returns_the_token() {
    let watched = watched(&FakeSleeper::new(), fixed(100 * MS).deadline(SECOND), 10);
    let mut call = watched.retrier.call();
    call.next_blocking().unwrap();
    call.failure(Fault::DOWN);
    let mut next = ByHand::new(call.next());
    assert!(next.run().is_pending());
    watched.clock.advance(SECOND);
    assert_eq!(next.run(), Poll::Ready(None));
    drop(next);
    let gave_up = call.gave_up();
    assert_eq!(
        (gave_up.reason(), gave_up.attempts()),
        (StopReason::DeadlineExceeded, 1)
    );
    assert_eq!(watched.ledger.book().tokens, 10);
}

#[test]
fn every_attempt_carries_the_key() {
    let retrier = on(&FakeSleeper::auto(), fixed(MS));
    let key = IdempotencyKey::random();
    let mut options = becalm::call::CallOptions::new();
    options.operation = Operation::Keyed(key);
    let mut call = retrier.call().options(options);
    while let Some(attempt) = call.next_blocking() {
        assert_eq!(attempt.key(), Some(key));
        call.failure(Fault::DOWN);
    }
    assert_eq!(call.gave_up().attempts(), 4);
}

#[test]
fn success_at_once_reads_no_clock() {
    let clock = FakeSleeper::new();
    let retrier = on(&clock, fixed(MS));
    let built = clock.clock_reads();
    let mut call = retrier.call::<Fault>();
    call.next_blocking().unwrap();
    call.success(());
    assert_eq!(clock.clock_reads(), built);
}

#[test]
fn it_does_not_enter_its_scope_by_itself() {
    let retrier = on(&FakeSleeper::auto(), fixed(MS));
    let mut call = retrier.call::<Fault>();
    call.next_blocking().unwrap();
    assert_eq!(Scope::current(), Scope::NONE);
    assert!(call.scope().is_repeated_above() && call.scope().is_first_try());
    call.failure(Fault::DOWN);
    call.next_blocking().unwrap();
    assert!(!call.scope().is_first_try());
}
