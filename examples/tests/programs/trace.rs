//! Do two drivers do the same with the same outcomes? A trace of attempts on a clock that the test
//! moves.

use std::io::{Error, ErrorKind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use becalm::rng::Seed;
use becalm::time::{FakeSleeper, Sleeper};
use becalm::{Hedge, Policy, Retrier};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::recorder::Recorder;

/// How one attempt ends.
#[derive(Debug, Clone, Copy)]
pub struct Outcome {
    millis: u64,
    error: Option<ErrorKind>,
}

/// What a call meets, and how it is made.
#[derive(Debug, Clone)]
pub struct Trace {
    outcomes: Vec<Outcome>,
    policy: Policy,
    /// After so many moves of the clock the call is dropped.
    moves: usize,
}

/// An operation that ends as the trace says; the clones count on.
#[derive(Debug, Clone)]
pub struct Traced {
    outcomes: Arc<[Outcome]>,
    next: Arc<AtomicUsize>,
    clock: FakeSleeper,
}

impl Traced {
    /// The next attempt.
    pub async fn attempt(self) -> Result<usize, Error> {
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        let outcome = self.outcomes[at % self.outcomes.len()];
        if outcome.millis > 0 {
            let ends = self
                .clock
                .now()
                .after(Duration::from_millis(outcome.millis));
            self.clock.sleep_until(ends).await;
        }
        outcome.error.map_or(Ok(at), |kind| Err(kind.into()))
    }
}

/// All that a call tells: its events, and its end.
pub fn told<F, O>(trace: &Trace, call: impl FnOnce(Retrier, Traced) -> F) -> Vec<String>
where
    F: Future<Output = O>,
    O: std::fmt::Debug,
{
    let clock = FakeSleeper::new();
    let (recorder, events) = Recorder::new();
    let builder = trace.policy.clone().builder().sleeper(clock.clone());
    let retrier = builder.observer(recorder).seed(Seed::fixed(17)).build();
    let traced = Traced {
        outcomes: trace.outcomes.clone().into(),
        next: Arc::default(),
        clock: clock.clone(),
    };
    let mut end = "dropped".to_owned();
    {
        let mut call = pin!(call(retrier.expect("a valid policy"), traced));
        for _ in 0..trace.moves {
            if let Poll::Ready(ended) = call.as_mut().poll(&mut Context::from_waker(Waker::noop()))
            {
                end = format!("{ended:?}");
                break;
            }
            clock.advance_to_next();
        }
    }
    events.try_iter().chain([end]).collect()
}

/// Traces with everything in them that an engine knows.
pub fn traces() -> impl Strategy<Value = Trace> {
    let error = prop_oneof![
        2 => Just(None),
        5 => Just(Some(ErrorKind::ConnectionReset)),
        2 => Just(Some(ErrorKind::ConnectionRefused)),
        1 => Just(Some(ErrorKind::PermissionDenied)),
    ];
    let outcome = (prop_oneof![Just(0), 1..400_u64], error)
        .prop_map(|(millis, error)| Outcome { millis, error });
    let millis = |range: std::ops::Range<u64>| range.prop_map(Duration::from_millis);
    let policy = (
        option::of(millis(1..2000)),
        option::of(millis(1..300)),
        option::of(millis(1..100)),
    )
        .prop_map(|(deadline, timeout, hedge)| {
            Policy::exponential(Duration::from_millis(50))
                .deadline(deadline)
                .attempt_timeout(timeout)
                .hedge(hedge.map(|after| Hedge::after(after).copies(2)))
        });
    let moves = prop_oneof![3 => Just(1000), 1 => 1..6_usize];
    (vec(outcome, 1..8), policy, moves).prop_map(|(outcomes, policy, moves)| Trace {
        outcomes,
        policy,
        moves,
    })
}
