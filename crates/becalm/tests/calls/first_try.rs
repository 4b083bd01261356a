//! What counts as a first try, and what deposits? The first attempt of a call, if it is made, and a
//! call that succeeds, once: what never reaches the server must not earn retries.
#![cfg(feature = "std")]

use std::cell::Cell;
use std::io::{Error, ErrorKind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::counting_budget::CountingBudget;
use becalm::time::FakeSleeper;
use becalm::{
    Attempt, Budget, Failure, Policy, Retrier, Scope, Sleeper, StopReason,
    call::{Call, CallOptions, Decision},
    classify::Verdict,
    scope::Nested,
};

struct Layer {
    retrier: Retrier,
    budget: Arc<CountingBudget>,
}

fn layer(policy: Policy, clock: &FakeSleeper) -> Layer {
    let budget = Arc::new(CountingBudget::of(1000));
    let builder = policy.builder().sleeper(clock.clone());
    let retrier = builder.retry_budget(budget.clone()).build();
    Layer {
        retrier: retrier.expect("a valid policy"),
        budget,
    }
}

impl Layer {
    fn begin(&self, above: Scope) -> Call<&Retrier> {
        let now = self.retrier.sleeper().now();
        let mut call = Call::begin(&self.retrier, CallOptions::new(), above, now);
        call.start(now, &mut || 0).expect("no deadline");
        call
    }
}

fn fail(call: &mut Call<&Retrier>, clock: &FakeSleeper) {
    match call.on_outcome(clock.now(), Failure::transient().into(), &mut || 0) {
        Decision::RetryIn(_) => call.start(clock.now(), &mut || 0).expect("no deadline"),
        other => panic!("{other:?}"),
    };
}

#[test]
fn a_call_is_one_first_try_and_one_deposit_however_often_it_is_repeated() {
    let clock = FakeSleeper::new();
    let top = layer(Policy::default(), &clock);
    let mut call = top.begin(Scope::NONE);
    for _ in 0..3 {
        fail(&mut call, &clock);
    }
    assert_eq!((top.budget.first_tries(), top.budget.asked()), (1, 3));
    assert_eq!(top.budget.deposits(), 0, "not before it has succeeded");
    let done = call.on_outcome(clock.now(), Verdict::Success, &mut || 0);
    assert_eq!(done, Decision::Done);
    assert_eq!((top.budget.first_tries(), top.budget.deposits()), (1, 1));
}

/// Plain or with a time limit, ready at once or not, blocking or a future: each way through the
/// engines has its own end.
#[test]
fn whatever_way_a_call_succeeds_it_earns_its_share_once() {
    let limited = Policy::fixed(Duration::ZERO).deadline(Duration::from_secs(1));
    for policy in [Policy::fixed(Duration::ZERO), limited] {
        let budget = Budget::ratio(0.5).burst(10.0).floor_per_second(0.0);
        let retrier = policy
            .budget(budget)
            .builder()
            .build()
            .expect("a valid policy");
        let down = || Err::<(), _>(Error::from(ErrorKind::TimedOut));
        let tokens = || (retrier.budget_fill() * 20.0).round() / 2.0;
        let is_now = |expected: f64, way: &str| {
            assert!((tokens() - expected).abs() < 1e-9, "{way}: {}", tokens());
        };
        retrier.retry_blocking(|_| down()).expect_err("it is down");
        is_now(7.0, "three retries that fail");
        retrier
            .retry_blocking(|_| Ok::<_, Error>(()))
            .expect("well");
        is_now(7.5, "blocking, at once");
        let late = |attempt: Attempt| if attempt.number() < 3 { down() } else { Ok(()) };
        retrier.retry_blocking(late).expect("well in the end");
        is_now(6.0, "blocking, after two retries");

        let mut context = Context::from_waker(Waker::noop());
        let ready = retrier.retry(|_| std::future::ready(Ok::<_, Error>(())));
        assert!(pin!(ready).poll(&mut context).is_ready());
        is_now(6.5, "a future, at its first poll");
        let polls = Cell::new(0);
        let mut slow = pin!(retrier.retry(|_| {
            std::future::poll_fn(|_| match polls.replace(1) {
                0 => Poll::Pending,
                _ => Poll::Ready(Ok::<_, Error>(())),
            })
        }));
        assert!(slow.as_mut().poll(&mut context).is_pending());
        is_now(6.5, "a future under way");
        assert!(slow.as_mut().poll(&mut context).is_ready());
        is_now(7.0, "a future, at its second poll");
        let mut late = pin!(retrier.retry(|attempt| std::future::ready(late(attempt))));
        while late.as_mut().poll(&mut context).is_pending() {}
        is_now(5.5, "a future, after two retries");
    }
}

/// C18, through the seam: also where a layer above repeats.
#[test]
fn c18_a_call_inside_a_retry_is_a_first_try_and_deposits() {
    let clock = FakeSleeper::new();
    for nested in [
        Nested::Nearest,
        Nested::Outermost,
        Nested::Allow,
        Nested::ShareBudget,
    ] {
        let outer = layer(Policy::default(), &clock);
        let inner = layer(Policy::default().nested(nested), &clock);
        let mut repeated = outer.begin(Scope::NONE);
        fail(&mut repeated, &clock);
        let mut call = inner.begin(repeated.scope());
        assert_eq!(
            (inner.budget.first_tries(), inner.budget.deposits()),
            (1, 0)
        );
        call.on_outcome(clock.now(), Verdict::Success, &mut || 0);
        assert_eq!(
            (inner.budget.first_tries(), inner.budget.deposits()),
            (1, 1)
        );
        assert_eq!(outer.budget.deposits(), 0);
    }
}

#[test]
fn a_call_that_is_refused_before_its_first_attempt_is_no_first_try() {
    let clock = FakeSleeper::auto();
    let top = layer(Policy::default(), &clock);
    let attempt = |_| -> std::io::Result<()> { panic!("no attempt has room") };
    let refused = top
        .retrier
        .blocking(attempt)
        .deadline(Duration::ZERO)
        .call();
    assert_eq!(refused.unwrap_err().reason(), StopReason::DeadlineExceeded);
    assert_eq!(top.budget.first_tries(), 0);

    // Nor does a call below a deadline that has passed.
    let outer = layer(Policy::default().deadline(Duration::from_secs(1)), &clock);
    let above = outer.begin(Scope::NONE).scope();
    clock.advance(Duration::from_secs(1));
    let refused = above.enter(|| top.retrier.retry_blocking(attempt));
    assert_eq!(refused.unwrap_err().reason(), StopReason::DeadlineExceeded);
    assert_eq!(top.budget.first_tries(), 0);
}
