//! When is a token spent, and when does it come back? Withdrawn before the wait, spent when the
//! operation is invoked, returned on any exit before that.
#![cfg(feature = "std")]

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use becalm::budget::RatioBudget;
use becalm::time::FakeSleeper;
use becalm::{
    Budget, Cancel, Failure, Policy, Retrier, Scope, Sleeper, StopReason,
    call::{Call, CallOptions, Decision},
};

const SECOND: Duration = Duration::from_secs(1);

/// Ten tokens, next to no deposits, and waits of a second.
fn retrier(clock: &FakeSleeper) -> Retrier {
    let policy = Policy::fixed(SECOND)
        .jitter(becalm::Jitter::None)
        .budget(Budget::ratio(1e-6).burst(10.0).floor_per_second(0.0));
    let retrier = policy.builder().sleeper(clock.clone()).build();
    retrier.expect("a valid policy")
}

fn busy() -> io::Error {
    io::ErrorKind::TimedOut.into()
}

fn assert_tokens(retrier: &Retrier, expected: f64) {
    let tokens = retrier.budget_fill() * 10.0;
    assert!(
        (tokens - expected).abs() < 1e-3,
        "{tokens} instead of {expected}"
    );
}

fn waiting(retrier: &Retrier) -> Call<&Retrier> {
    let now = retrier.sleeper().now();
    let mut call = Call::begin(retrier, CallOptions::new(), Scope::NONE, now);
    call.start(now, &mut || 0).expect("no deadline");
    let decision = call.on_outcome(now, Failure::transient().into(), &mut || 0);
    assert_eq!(decision, Decision::RetryIn(SECOND));
    call
}

#[test]
fn the_token_is_withdrawn_before_the_wait_and_spent_with_the_attempt() {
    let clock = FakeSleeper::new();
    let retrier = retrier(&clock);
    let mut call = waiting(&retrier);
    assert_tokens(&retrier, 9.0);
    clock.advance(SECOND);
    call.start(clock.now(), &mut || 0).expect("no deadline");
    assert_tokens(&retrier, 9.0);
    drop(call);
    assert_tokens(&retrier, 9.0);
}

#[test]
fn a_call_holds_one_token_however_often_it_is_decided() {
    let clock = FakeSleeper::new();
    let retrier = retrier(&clock);
    let mut call = waiting(&retrier);
    for _ in 0..5 {
        // A driver that changes its mind while it waits.
        let decision = call.on_outcome(clock.now(), Failure::throttled().into(), &mut || 0);
        assert_eq!(decision, Decision::RetryIn(SECOND));
        assert_tokens(&retrier, 9.0);
        assert_eq!(retrier.waiting(), 1);
    }
    let decision = call.on_outcome(clock.now(), Failure::permanent().into(), &mut || 0);
    assert_eq!(decision, Decision::Stop(StopReason::Permanent));
    assert_tokens(&retrier, 10.0);
    assert_eq!(retrier.waiting(), 0);
}

#[test]
fn dropped_in_its_wait_a_call_returns_its_token() {
    let clock = FakeSleeper::new();
    let retrier = retrier(&clock);
    let all: Vec<_> = (0..10).map(|_| waiting(&retrier)).collect();
    assert_tokens(&retrier, 0.0);
    drop(all);
    assert_tokens(&retrier, 10.0);
}

#[test]
fn dropped_in_its_wait_a_future_returns_its_token() {
    let clock = FakeSleeper::new();
    let retrier = retrier(&clock);
    let mut context = Context::from_waker(Waker::noop());
    {
        let mut call = pin!(retrier.retry(|_| std::future::ready(Err::<(), _>(busy()))));
        assert!(call.as_mut().poll(&mut context).is_pending());
        assert_tokens(&retrier, 9.0);
    }
    assert_tokens(&retrier, 10.0);
}

#[test]
fn cancelled_in_its_wait_a_blocking_call_returns_its_token() {
    let clock = FakeSleeper::auto();
    let retrier = retrier(&clock);
    let cancel = Cancel::new();
    let gave_up = retrier
        .blocking(|_| {
            cancel.cancel();
            Err::<(), _>(busy())
        })
        .cancel(&cancel)
        .call()
        .expect_err("it is cancelled");
    assert_eq!(gave_up.reason(), StopReason::Cancelled);
    assert_tokens(&retrier, 10.0);
}

#[test]
fn woken_behind_the_deadline_a_call_returns_its_token() {
    let clock = FakeSleeper::new();
    let retrier = retrier(&clock);
    let mut context = Context::from_waker(Waker::noop());
    let call = retrier.retry(|_| std::future::ready(Err::<(), _>(busy())));
    let mut call = pin!(call.deadline(2 * SECOND));
    assert!(call.as_mut().poll(&mut context).is_pending());
    assert_tokens(&retrier, 9.0);
    clock.advance(3 * SECOND);
    assert!(call.as_mut().poll(&mut context).is_ready());
    assert_tokens(&retrier, 10.0);
}

/// Dropped while the second attempt runs: the server may have had the work.
#[test]
fn dropped_in_mid_attempt_a_call_has_spent_its_token() {
    let clock = FakeSleeper::new();
    let retrier = retrier(&clock);
    let mut context = Context::from_waker(Waker::noop());
    {
        let call = retrier.retry(|attempt| async move {
            if attempt.number() > 1 {
                std::future::pending::<()>().await;
            }
            Err::<(), _>(busy())
        });
        let mut call = pin!(call);
        assert!(call.as_mut().poll(&mut context).is_pending());
        clock.advance(SECOND);
        assert!(call.as_mut().poll(&mut context).is_pending());
    }
    assert_tokens(&retrier, 9.0);
}

#[test]
fn a_panic_of_the_operation_has_spent_its_token_and_holds_no_other() {
    let clock = FakeSleeper::auto();
    let retrier = retrier(&clock);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        retrier.retry_blocking(|attempt| {
            // No message: a test that passes is quiet.
            if attempt.number() == 3 {
                std::panic::resume_unwind(Box::new("on purpose"));
            }
            Err::<(), _>(busy())
        })
    }));
    assert!(panicked.is_err());
    assert_tokens(&retrier, 8.0);
    assert_eq!(retrier.waiting(), 0);
}

/// An attempt that turns out not to have been sent counts and pays like any other.
#[test]
fn a_late_proof_that_nothing_was_sent_returns_nothing() {
    let clock = FakeSleeper::auto();
    let retrier = retrier(&clock);
    let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
    let gave_up = retrier.retry_blocking(|_| Err::<(), _>(refused()));
    assert_eq!(gave_up.expect_err("it always fails").attempts(), 4);
    assert_tokens(&retrier, 7.0);
}

#[test]
fn a_denied_retry_changes_nothing() {
    let clock = FakeSleeper::auto();
    let retrier = retrier(&clock);
    let fail = || {
        retrier
            .retry_blocking(|_| Err::<(), _>(busy()))
            .expect_err("it always fails")
    };
    for _ in 0..3 {
        assert_eq!(fail().attempts(), 4);
    }
    assert_eq!(fail().attempts(), 2, "the last token");
    for _ in 0..100 {
        let gave_up = fail();
        assert_eq!(gave_up.reason(), StopReason::BudgetExhausted);
        assert_eq!(gave_up.attempts(), 1);
    }
    assert_tokens(&retrier, 0.0);
    assert_eq!(retrier.waiting(), 0);
}

/// Ten thousand keys have one each.
#[test]
fn a_budget_on_which_no_two_threads_met_takes_two_cache_lines() {
    assert_eq!(size_of::<RatioBudget>(), 128);
}
