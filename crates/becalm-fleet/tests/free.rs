//! What does a leased budget cost? No allocation, and no look at the clock.
#![cfg(feature = "std")]

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use becalm::budget::RetryBudget;
use becalm::time::{FakeSleeper, Instant};
use becalm::{Budget, Classify, Failure, Policy};
use becalm_fleet::budget::{Fleet, FleetBudget};

#[derive(Debug)]
struct Never;

impl std::fmt::Display for Never {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("never")
    }
}

impl Classify for Never {
    fn classify(&self) -> Failure {
        Failure::permanent()
    }
}

#[test]
fn a_retry_of_a_fleets_budget_and_a_success_on_it_allocate_nothing() {
    let fleet = Fleet::new(Budget::ratio(0.1).burst(100.0));
    let budget = Arc::new(FleetBudget::new(fleet).expect("a valid fleet"));
    let clock = FakeSleeper::auto();
    let builder = Policy::default().builder().sleeper(clock.clone());
    let retrier = builder.retry_budget(budget.clone()).build();
    let retrier = retrier.expect("a valid policy");
    let built = clock.clock_reads();
    let succeed = || {
        let call = pin!(retrier.retry(|attempt| async move { Ok::<_, Never>(attempt.number()) }));
        let polled = call.poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(polled, Poll::Ready(Ok(1))));
        assert!(retrier.retry_blocking(|_| Ok::<_, Never>(2)).is_ok());
    };
    succeed(); // what a process does once
    let successes = allocation_counter::measure(|| (0..100).for_each(|_| succeed()));
    assert_eq!(successes.count_total, 0);
    assert_eq!(clock.clock_reads(), built);
    let failure = Failure::transient();
    let asked = allocation_counter::measure(|| {
        for _ in 0..10 {
            let token = budget.withdraw(Instant::ZERO, &failure);
            budget.refund(token.expect("its one"));
        }
        let refused = |_| budget.withdraw(Instant::ZERO, &failure).is_none();
        assert_eq!((0..10).filter(|it| refused(*it)).count(), 9);
    });
    assert_eq!(asked.count_total, 0);
}
