//! What does a call cost that succeeds at once? No allocation; the time is judged by `bench/`.
#![cfg(feature = "std")]

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use becalm::time::FakeSleeper;
use becalm::{Classify, Failure, Policy, Retrier};

#[derive(Debug)]
struct Never;

impl Classify for Never {
    fn classify(&self) -> Failure {
        Failure::permanent()
    }
}

fn succeed(retrier: &Retrier) {
    let mut call = pin!(retrier.retry(|attempt| async move { Ok::<_, Never>(attempt.number()) }));
    let polled = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(polled, Poll::Ready(Ok(1))));
    assert!(matches!(
        retrier.retry_blocking(|_| Ok::<_, Never>(2)),
        Ok(2)
    ));
}

fn allocations(policy: Policy) -> u64 {
    let retrier = policy
        .builder()
        .sleeper(FakeSleeper::new())
        .build()
        .expect("a valid policy");
    succeed(&retrier); // what a process does once
    allocation_counter::measure(|| (0..100).for_each(|_| succeed(&retrier))).count_total
}

#[test]
fn a_success_allocates_nothing() {
    assert_eq!(allocations(Policy::default()), 0);
}

#[test]
fn nor_does_it_with_time_limits_that_are_not_reached() {
    let timed = Policy::default()
        .deadline(Duration::from_secs(30))
        .attempt_timeout(Duration::from_secs(1));
    assert_eq!(allocations(timed), 0);
}
