//! Does a call live on tokio's clock? In a paused test, with deadlines and timeouts.

use std::future::pending;
use std::time::Duration;

use becalm::rng::Seed;
use becalm::time::{StdSleeper, TokioSleeper};
use becalm::{Budget, Jitter, Policy, Sleeper, StopReason, run::Last};
use tokio::time::Instant;

use crate::probe::{Fault, MS, SECOND, fixed};

#[tokio::test(start_paused = true)]
async fn an_hour_passes_at_once() {
    let hour = 3600 * SECOND;
    let retrier = fixed(hour).retrier().unwrap();
    let began = Instant::now();
    let gave_up = retrier
        .retry(|_| async { Err::<(), _>(Fault::DOWN) })
        .await
        .unwrap_err();
    assert_eq!(gave_up.attempts(), 4);
    assert_eq!(gave_up.elapsed_since_first_failure(), 3 * hour);
    let passed = began.elapsed();
    assert!(
        passed >= 3 * hour && passed < 3 * hour + SECOND,
        "{passed:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_deadline_cuts_an_attempt() {
    let retrier = fixed(MS).deadline(30 * SECOND).retrier().unwrap();
    let began = Instant::now();
    let gave_up = retrier
        .retry(|_| pending::<Result<(), Fault>>())
        .await
        .unwrap_err();
    assert_eq!(
        (gave_up.reason(), gave_up.last()),
        (StopReason::DeadlineExceeded, Last::AttemptTimeout)
    );
    let passed = began.elapsed();
    assert!(passed >= 30 * SECOND && passed < 31 * SECOND, "{passed:?}");
}

#[tokio::test(start_paused = true)]
async fn the_remaining_time_is_tokios() {
    let retrier = fixed(100 * MS).deadline(SECOND).retrier().unwrap();
    let told = std::cell::RefCell::new(Vec::new());
    let call = retrier.retry(|attempt| {
        told.borrow_mut().push(attempt.remaining().unwrap());
        async {
            tokio::time::sleep(100 * MS).await;
            Err::<(), _>(Fault::DOWN)
        }
    });
    assert_eq!(call.await.unwrap_err().attempts(), 4);
    let told = told.into_inner();
    for (told, expected) in told.iter().zip([1000, 800, 600, 400]) {
        let expected = Duration::from_millis(expected);
        assert!(
            *told <= expected && *told + 10 * MS > expected,
            "{told:?} for {expected:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_outer_timeout_of_tokio_cancels() {
    let retrier = fixed(10 * SECOND).retrier().unwrap();
    let call = retrier.retry(|_| async { Err::<(), _>(Fault::DOWN) });
    let cut = tokio::time::timeout(SECOND, call).await;
    assert!(cut.is_err());
    assert_eq!(retrier.waiting(), 0);
}

/// The timer's tick is 1 ms, so delays are whole milliseconds, at random: a base below it is still
/// spread.
#[tokio::test(start_paused = true)]
async fn delays_fall_on_the_timers_tick_and_stay_spread() {
    let policy = Policy::fixed(MS)
        .jitter(Jitter::Full)
        .budget(Budget::None)
        .attempts(200);
    let retrier = policy.builder().seed(Seed::fixed(7)).build().unwrap();
    let gave_up = retrier
        .retry(|_| async { Err::<(), _>(Fault::DOWN) })
        .await
        .unwrap_err();
    let mut delays: Vec<_> = gave_up
        .records()
        .skip(1)
        .map(|record| record.delay)
        .collect();
    delays.sort();
    delays.dedup();
    assert_eq!(delays, [Duration::ZERO, MS]);
}

/// What an inner call on the one sleeper is told inside an outer one on the other, with a deadline of
/// 30 s.
async fn told(outer: impl Sleeper, inner: impl Sleeper) -> Option<Duration> {
    let outer = fixed(MS).deadline(30 * SECOND).builder().sleeper(outer);
    let inner = fixed(MS).builder().sleeper(inner).build().unwrap();
    let outer = outer.build().unwrap();
    let call =
        outer.retry(|_| inner.retry(|attempt| async move { Ok::<_, Fault>(attempt.remaining()) }));
    call.await.unwrap()
}

/// Both ways.
async fn told_both_ways() -> [Option<Duration>; 2] {
    let (std, tokio) = (StdSleeper::new(), TokioSleeper::new());
    [told(std, tokio).await, told(tokio, std).await]
}

/// A deadline on the moved clock would be 20 s too late on the other, and the other way round past
/// already.
#[tokio::test(start_paused = true)]
async fn a_paused_clock_hands_no_deadline_to_the_real_one() {
    for moved in [0 * SECOND, 20 * SECOND, 3600 * SECOND] {
        tokio::time::advance(moved).await;
        assert_eq!(told_both_ways().await, [None, None]);
        let same = told(TokioSleeper::new(), TokioSleeper::new()).await;
        assert_eq!(same, Some(30 * SECOND));
    }
}

#[tokio::test]
async fn a_running_clock_is_the_real_one() {
    let is_close = |told: Option<Duration>| told.is_some_and(|told| told > 20 * SECOND);
    assert!(told_both_ways().await.into_iter().all(is_close));
    let outside = std::thread::spawn(|| crate::probe::block_on(told_both_ways()));
    assert!(outside.join().unwrap().into_iter().all(is_close));
}

/// A paused clock that was moved is far ahead of the real one; a blocking wait must not wait for
/// the real one to catch up.
#[tokio::test(start_paused = true)]
async fn a_blocking_wait_lasts_as_long_as_its_delay_on_a_moved_clock() {
    let retrier = fixed(2 * MS).attempts(2).retrier().unwrap();
    tokio::time::advance(Duration::from_secs(20)).await;
    let began = std::time::Instant::now();
    retrier
        .retry_blocking(|_| Err::<(), _>(Fault::DOWN))
        .unwrap_err();
    let passed = began.elapsed();
    assert!(passed >= 2 * MS && passed < 10 * SECOND, "{passed:?}");
}
