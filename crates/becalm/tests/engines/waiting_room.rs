//! How many calls may wait at once? As many as there are places; one more fails fast.

use becalm::time::FakeSleeper;
use becalm::{Policy, StopReason};

use crate::probe::{ByHand, Fault, MS, fixed, ready, watched};

fn places(places: u32) -> Policy {
    fixed(100 * MS).max_waiting(places)
}

#[test]
fn past_the_last_place_a_call_fails_at_once_and_costs_nothing() {
    let watched = watched(&FakeSleeper::new(), places(2), 10);
    let fail = || {
        watched
            .retrier
            .retry(|_| async { Err::<(), _>(Fault::DOWN) })
    };
    let mut waiting: Vec<_> = (0..2).map(|_| ByHand::new(fail())).collect();
    for call in &mut waiting {
        assert!(call.run().is_pending());
    }
    let gave_up = ready(fail()).unwrap_err();
    assert_eq!(
        (gave_up.reason(), gave_up.attempts()),
        (StopReason::TooManyWaiting, 1)
    );
    let blocking = watched
        .retrier
        .retry_blocking(|_| Err::<(), _>(Fault::DOWN));
    assert_eq!(blocking.unwrap_err().reason(), StopReason::TooManyWaiting);
    assert_eq!(watched.retrier.waiting(), 2);
    let book = watched.ledger.book();
    assert_eq!(
        (book.withdrawals, book.denials),
        (2, 0),
        "the budget is asked last"
    );
}

#[test]
fn a_place_is_free_again_when_the_wait_is_over_or_dropped() {
    let watched = watched(&FakeSleeper::new(), places(1), 10);
    let fail = || {
        watched
            .retrier
            .retry(|_| async { Err::<(), _>(Fault::DOWN) })
    };
    let mut first = ByHand::new(fail());
    assert!(first.run().is_pending());
    drop(first);
    let mut second = ByHand::new(fail());
    assert!(second.run().is_pending());
    watched.clock.advance(100 * MS);
    // Its next attempt fails at once, and it finds its own place free.
    assert!(second.run().is_pending());
    assert_eq!(watched.retrier.waiting(), 1);
}

#[test]
fn no_place_is_held_while_an_attempt_runs() {
    let watched = watched(&FakeSleeper::auto(), places(1), 10);
    let gave_up = watched
        .retrier
        .retry_blocking(|_| {
            assert_eq!(watched.retrier.waiting(), 0);
            Err::<(), _>(Fault::DOWN)
        })
        .unwrap_err();
    assert_eq!(gave_up.attempts(), 4);
}

#[test]
fn a_denied_token_frees_the_place() {
    let watched = watched(&FakeSleeper::auto(), places(1), 0);
    let gave_up = watched
        .retrier
        .retry_blocking(|_| Err::<(), _>(Fault::DOWN))
        .unwrap_err();
    assert_eq!(gave_up.reason(), StopReason::BudgetExhausted);
    assert_eq!(watched.retrier.waiting(), 0);
}

#[test]
fn many_threads_never_wait_in_more_places_than_there_are() {
    let watched = watched(&FakeSleeper::auto(), places(3).attempts(50), u32::MAX);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let _ = watched
                        .retrier
                        .retry_blocking(|_| Err::<(), _>(Fault::DOWN));
                }
            });
        }
    });
    assert_eq!(watched.retrier.waiting(), 0);
    let book = watched.ledger.book();
    assert_eq!((book.first_tries, book.refunds), (8 * 50, 0));
}
