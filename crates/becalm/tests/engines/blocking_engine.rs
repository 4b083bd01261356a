//! What does only the blocking engine do? It can be cancelled from outside, and its deadline refuses
//! attempts without cutting one.

use std::cell::Cell;
use std::time::{Duration, Instant as StdInstant};

use becalm::time::{FakeSleeper, StdSleeper};
use becalm::{Cancel, Policy, StopReason, run::Last};

use crate::probe::{Fault, MS, SECOND, Seen, fixed, on, watched};

#[test]
fn cancelled_before_the_first_attempt_there_is_none() {
    let clock = FakeSleeper::new();
    let watched = watched(&clock, fixed(MS), 10);
    let cancel = Cancel::new();
    cancel.cancel();
    let call = watched
        .retrier
        .blocking(|_| -> Result<(), Fault> { panic!("an attempt") });
    let gave_up = call.cancel(&cancel).call().unwrap_err();
    assert_eq!(gave_up.reason(), StopReason::Cancelled);
    assert_eq!(gave_up.last(), Last::NotStarted);
    assert_eq!(gave_up.attempts(), 0);
    assert_eq!(
        watched.journal.seen(),
        [Seen::Stopped(StopReason::Cancelled, 0, Duration::ZERO)]
    );
    assert_eq!(
        watched.ledger.book().deposits,
        0,
        "no first try, no deposit"
    );
}

#[test]
fn cancelled_during_an_attempt_no_further_one_starts() {
    let clock = FakeSleeper::new(); // a sleep would block for ever
    let watched = watched(&clock, fixed(MS), 10);
    let cancel = Cancel::new();
    let call = watched.retrier.blocking(|_| {
        cancel.cancel();
        Err::<(), _>(Fault::DOWN)
    });
    let gave_up = call.cancel(&cancel).call().unwrap_err();
    assert_eq!(gave_up.reason(), StopReason::Cancelled);
    assert_eq!(gave_up.last(), Last::Error(&Fault::DOWN));
    assert_eq!(gave_up.attempts(), 1);
    let book = watched.ledger.book();
    assert_eq!((book.spent(), book.tokens), (0, 10), "the token came back");
    assert_eq!(watched.retrier.waiting(), 0);
}

#[test]
fn cancelled_during_an_attempt_of_retries_without_a_wait_no_further_one_starts() {
    let clock = FakeSleeper::new();
    let retrier = on(&clock, fixed(Duration::ZERO).attempts(Policy::UNLIMITED));
    let cancel = Cancel::new();
    let call = retrier.blocking(|attempt| {
        if attempt.number() == 3 {
            cancel.cancel();
        }
        Err::<(), _>(Fault::DOWN)
    });
    let gave_up = call.cancel(&cancel).call().unwrap_err();
    assert_eq!(
        (gave_up.reason(), gave_up.attempts()),
        (StopReason::Cancelled, 3)
    );
}

#[test]
fn a_success_stays_a_success_though_cancelled() {
    let clock = FakeSleeper::new();
    let retrier = on(&clock, fixed(MS));
    let cancel = Cancel::new();
    let call = retrier.blocking(|_| {
        cancel.cancel();
        Ok::<_, Fault>(17)
    });
    assert_eq!(call.cancel(&cancel).call().unwrap(), 17);
}

/// Waits for a thread, but not for ever.
fn joined<T>(thread: std::thread::JoinHandle<T>) -> T {
    let began = StdInstant::now();
    while !thread.is_finished() {
        assert!(began.elapsed() < 60 * SECOND, "it waits on");
        std::thread::yield_now();
    }
    thread.join().expect("no panic")
}

/// On the real clock and on a fake one, through real threads: an hour's wait ends at once, for all
/// that wait on one handle.
#[test]
fn cancelling_ends_the_waits_of_other_threads() {
    let hour = fixed(3600 * SECOND);
    let retriers = [
        hour.clone()
            .builder()
            .sleeper(StdSleeper::new())
            .build()
            .unwrap(),
        hour.builder().sleeper(FakeSleeper::new()).build().unwrap(),
    ];
    for retrier in retriers {
        let cancel = Cancel::new();
        let calls: Vec<_> = (0..8)
            .map(|_| {
                let (retrier, cancel) = (retrier.clone(), cancel.clone());
                std::thread::spawn(move || {
                    let call = retrier.blocking(|_| Err::<(), _>(Fault::DOWN));
                    call.cancel(&cancel).call().unwrap_err().reason()
                })
            })
            .collect();
        while retrier.waiting() < 8 {
            std::thread::yield_now();
        }
        cancel.cancel();
        for call in calls {
            assert_eq!(joined(call), StopReason::Cancelled);
        }
        assert_eq!(retrier.waiting(), 0);
    }
}

#[test]
fn the_deadline_cuts_no_attempt_and_refuses_the_next() {
    let clock = FakeSleeper::auto();
    let retrier = on(&clock, fixed(100 * MS).deadline(SECOND));
    let invoked = Cell::new(0);
    let gave_up = retrier
        .retry_blocking(|attempt| {
            invoked.set(invoked.get() + 1);
            assert_eq!(attempt.remaining(), Some(SECOND));
            clock.advance(5 * SECOND);
            Err::<(), _>(Fault::DOWN)
        })
        .unwrap_err();
    assert_eq!(gave_up.reason(), StopReason::DeadlineExceeded);
    assert_eq!(gave_up.last(), Last::Error(&Fault::DOWN));
    assert_eq!((gave_up.attempts(), invoked.get()), (1, 1));
    assert_eq!(gave_up.elapsed(), Some(5 * SECOND));
}

#[test]
fn an_attempt_timeout_cuts_no_blocking_attempt() {
    let clock = FakeSleeper::auto();
    let retrier = on(&clock, fixed(MS).attempt_timeout(MS));
    let answer = retrier.retry_blocking(|_| {
        clock.advance(SECOND);
        Ok::<_, Fault>(17)
    });
    assert_eq!(answer.unwrap(), 17);
}

#[test]
fn mutable_captures_need_no_ceremony() {
    let clock = FakeSleeper::auto();
    let retrier = on(&clock, fixed(MS));
    let mut tried = Vec::new();
    let answer = retrier.retry_blocking(|attempt| {
        tried.push(attempt.number());
        if tried.len() < 3 {
            Err(Fault::DOWN)
        } else {
            Ok(tried.len())
        }
    });
    assert_eq!(answer.unwrap(), 3);
    assert_eq!(tried, [1, 2, 3]);
}

#[cfg(feature = "tokio")]
mod in_a_runtime {
    use super::*;
    use crate::probe::Journal;

    fn journaled() -> (becalm::Retrier, Journal) {
        let journal = Journal::default();
        let retrier = fixed(MS)
            .builder()
            .observer(journal.clone())
            .build()
            .unwrap();
        (retrier, journal)
    }

    fn warnings(journal: &Journal) -> usize {
        let is_warning = |seen: &Seen| *seen == Seen::BlocksRuntime;
        journal.seen().into_iter().filter(is_warning).count()
    }

    #[tokio::test]
    async fn a_blocking_retry_works_and_warns_once() {
        let (retrier, journal) = journaled();
        for _ in 0..2 {
            let answer = retrier
                .clone()
                .retry_blocking(|attempt| match attempt.number() {
                    1 | 2 => Err(Fault::DOWN),
                    number => Ok(number),
                });
            assert_eq!(answer.unwrap(), 3);
        }
        assert_eq!(warnings(&journal), 1);
        let mut call = retrier.call();
        while call.next_blocking().is_some() {
            call.failure(Fault::DOWN);
        }
        drop(call);
        assert_eq!(warnings(&journal), 1);
        assert_eq!(
            journal.seen()[1..3],
            [Seen::Retry(2, MS), Seen::BlocksRuntime]
        );
    }

    #[tokio::test]
    async fn without_a_wait_there_is_nothing_to_warn_of() {
        let (retrier, journal) = journaled();
        retrier.retry_blocking(|_| Ok::<_, Fault>(())).unwrap();
        retrier
            .retry_blocking(|_| Err::<(), _>(Fault::GONE))
            .unwrap_err();
        assert_eq!(warnings(&journal), 0);
    }

    #[test]
    fn outside_of_a_runtime_there_is_nothing_to_warn_of() {
        let (retrier, journal) = journaled();
        retrier
            .retry_blocking(|_| Err::<(), _>(Fault::DOWN))
            .unwrap_err();
        assert_eq!(warnings(&journal), 0);
    }
}
