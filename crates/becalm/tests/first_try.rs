//! What counts as a first try? Only a call whose whole ancestry is at attempt 1, and only if it
//! makes that attempt: what never reaches the server must not earn retries.
#![cfg(feature = "std")]

mod counting_budget;

use std::sync::Arc;
use std::time::Duration;

use becalm::time::FakeSleeper;
use becalm::{
    Call, CallOptions, Decision, Failure, Nested, Policy, Retrier, Scope, Sleeper, StopReason,
};
use counting_budget::CountingBudget;

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
fn a_call_deposits_once_however_often_it_is_repeated() {
    let clock = FakeSleeper::new();
    let top = layer(Policy::default(), &clock);
    let mut call = top.begin(Scope::NONE);
    assert_eq!(top.budget.deposits(), 1);
    for _ in 0..3 {
        fail(&mut call, &clock);
    }
    assert_eq!((top.budget.deposits(), top.budget.asked()), (1, 3));
}

#[test]
fn below_a_first_attempt_a_call_is_a_first_try_and_below_a_retry_it_is_not() {
    let clock = FakeSleeper::new();
    for nested in [Nested::Suppress, Nested::Allow, Nested::ShareBudget] {
        let outer = layer(Policy::default(), &clock);
        let middle = layer(Policy::default().nested(Nested::Allow), &clock);
        let inner = layer(Policy::default().nested(nested), &clock);
        let mut repeated = outer.begin(Scope::NONE);
        inner.begin(middle.begin(repeated.scope()).scope());
        assert_eq!((middle.budget.deposits(), inner.budget.deposits()), (1, 1));

        fail(&mut repeated, &clock);
        inner.begin(middle.begin(repeated.scope()).scope());
        assert_eq!((middle.budget.deposits(), inner.budget.deposits()), (1, 1));

        // The layer right above is at attempt 1, but the one over it is not.
        let mut repeated = middle.begin(Scope::NONE);
        inner.begin(repeated.scope());
        assert_eq!(inner.budget.deposits(), 2);
        fail(&mut repeated, &clock);
        inner.begin(repeated.scope());
        assert_eq!(inner.budget.deposits(), 2);
    }
}

#[test]
fn a_call_that_is_refused_before_its_first_attempt_deposits_nothing() {
    let clock = FakeSleeper::auto();
    let top = layer(Policy::default(), &clock);
    let attempt = |_| -> std::io::Result<()> { panic!("no attempt has room") };
    let refused = top
        .retrier
        .blocking(attempt)
        .deadline(Duration::ZERO)
        .call();
    assert_eq!(refused.unwrap_err().reason(), StopReason::DeadlineExceeded);
    assert_eq!(top.budget.deposits(), 0);

    // Nor does a call below a deadline that has passed.
    let outer = layer(Policy::default().deadline(Duration::from_secs(1)), &clock);
    let above = outer.begin(Scope::NONE).scope();
    clock.advance(Duration::from_secs(1));
    let refused = above.enter(|| top.retrier.retry_blocking(attempt));
    assert_eq!(refused.unwrap_err().reason(), StopReason::DeadlineExceeded);
    assert_eq!(top.budget.deposits(), 0);
}
