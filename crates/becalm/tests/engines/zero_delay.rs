//! What does a retry without a delay cost? No timer, and one turn for the other tasks.

use std::cell::Cell;
use std::task::Poll;
use std::time::Duration;

use becalm::time::FakeSleeper;

use crate::probe::{ByHand, Fault, fixed, on};

/// Conformance 22.
#[test]
fn conformance_22_a_zero_delay_touches_no_timer_and_yields_once_per_retry() {
    let clock = FakeSleeper::new();
    let retrier = on(&clock, fixed(Duration::ZERO).attempts(5));
    let invoked = Cell::new(0);
    let mut call = ByHand::new(retrier.retry(|_| {
        invoked.set(invoked.get() + 1);
        async { Err::<(), _>(Fault::DOWN) }
    }));
    for retries in 0..4 {
        assert!(call.poll().is_pending());
        assert_eq!(call.wakes(), retries + 1, "it wakes itself");
        assert_eq!(invoked.get(), retries + 1, "one attempt a turn");
    }
    assert!(call.poll().is_ready());
    assert_eq!((call.wakes(), invoked.get()), (4, 5));
    assert_eq!(clock.slept(), []);
}

#[test]
fn a_blocking_zero_delay_touches_no_timer() {
    let clock = FakeSleeper::new(); // a sleep on it would block for ever
    let retrier = on(&clock, fixed(Duration::ZERO));
    let gave_up = retrier
        .retry_blocking(|_| Err::<(), _>(Fault::DOWN))
        .unwrap_err();
    assert_eq!(gave_up.attempts(), 4);
    assert_eq!(clock.slept(), []);
}

#[test]
fn a_loop_by_hand_yields_once_per_retry_too() {
    let clock = FakeSleeper::new();
    let retrier = on(&clock, fixed(Duration::ZERO));
    let mut call = ByHand::new(async {
        let mut call = retrier.call();
        while call.next().await.is_some() {
            call.failure(Fault::DOWN);
        }
        call.gave_up().attempts()
    });
    for _ in 0..3 {
        assert!(call.poll().is_pending());
    }
    assert_eq!(call.poll(), Poll::Ready(4));
    assert_eq!((call.wakes(), clock.slept()), (3, vec![]));
}

#[tokio::test]
async fn another_task_runs_between_two_attempts() {
    let clock = FakeSleeper::new();
    let retrier = on(&clock, fixed(Duration::ZERO).attempts(20));
    let turns = Cell::new(0);
    let seen = Cell::new(0);
    let call = retrier.retry(|attempt| {
        seen.set(turns.get());
        async move { Err::<(), _>((becalm::Failure::transient(), attempt.number())) }
    });
    let others = async {
        for _ in 0..100 {
            turns.set(turns.get() + 1);
            tokio::task::yield_now().await;
        }
    };
    let (ended, ()) = tokio::join!(call, others);
    assert_eq!(ended.unwrap_err().attempts(), 20);
    assert!(seen.get() >= 19, "the other task had {} turns", seen.get());
}
