//! Is anything lost where the second attempt of a call has no engine? Beside the same call as a loop by hand, which has one.

use std::cell::Cell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use becalm::policy::Mode;
use becalm::rng::Seed;
use becalm::time::FakeSleeper;
use becalm::{Attempt, Breaker, Budget, GaveUp, Policy, Retrier, Scope, StopReason};

use crate::panics::Silence;
use crate::probe::{ByHand, Fault, MS, SECOND, yield_now};

/// What happens in the wait.
const EVENTS: [fn(&Retrier); 5] = [
    |_| (),
    |retrier| retrier.disable_retries(),
    |retrier| retrier.set_mode(Mode::Observe),
    |retrier| replace(retrier, policy().breaker(Breaker::consecutive(1))),
    |retrier| replace(retrier, policy().attempts(2).deadline(SECOND)),
];

/// How the second attempt ends, and those that follow it.
#[derive(Debug, Clone, Copy)]
enum End {
    Success,
    Later,
    Failure,
    Permanent,
    Forbidden,
    Panic,
    /// Of the call: in the wait, or while the attempt pends.
    Dropped,
    DroppedLater,
}

const ENDS: [End; 8] = [
    End::Success,
    End::Later,
    End::Failure,
    End::Permanent,
    End::Forbidden,
    End::Panic,
    End::Dropped,
    End::DroppedLater,
];

fn policy() -> Policy {
    Policy::exponential(100 * MS).budget(Budget::ratio(0.1).burst(3.0))
}

fn replace(retrier: &Retrier, policy: Policy) {
    retrier.replace_policy(policy).expect("a valid policy");
}

async fn attempt(attempt: Attempt, end: End) -> Result<u32, Fault> {
    assert_eq!(Scope::current().attempt(), attempt.number());
    if attempt.number() == 1 {
        return Err(Fault::DOWN);
    }
    match end {
        End::Later | End::DroppedLater => yield_now().await,
        End::Forbidden => Scope::NONE.telling(StopReason::DoNotRetry).report(),
        End::Panic => std::panic::panic_any("the operation's"),
        _ => (),
    }
    match end {
        End::Failure | End::Forbidden => Err(Fault::DOWN),
        End::Permanent => Err(Fault::GONE),
        _ => Ok(attempt.number()),
    }
}

async fn by_retry(retrier: &Retrier, end: End) -> Result<u32, GaveUp<Fault>> {
    retrier.retry(|it| attempt(it, end)).await
}

async fn by_hand(retrier: &Retrier, end: End) -> Result<u32, GaveUp<Fault>> {
    let mut call = retrier.call();
    while let Some(it) = call.next().await {
        match call.wrap(attempt(it, end)).await {
            Ok(value) => return Ok(call.success(value)),
            Err(error) => call.failure(error),
        }
    }
    Err(call.gave_up())
}

/// What is left after one call, by this way to make it.
fn left<F>(event: usize, end: End, call: impl FnOnce(&'static Retrier, End) -> F) -> String
where
    F: Future<Output = Result<u32, GaveUp<Fault>>>,
{
    let clock = FakeSleeper::new();
    let builder = policy().builder().sleeper(clock.clone());
    let retrier = builder.seed(Seed::fixed(7)).build();
    let retrier = &*Box::leak(Box::new(retrier.expect("a valid policy")));
    let mut call = ByHand::new(call(retrier, end));
    assert!(call.run().is_pending());
    let mut told = format!("{} {}\n", retrier.waiting(), retrier.budget_fill());
    EVENTS[event](retrier);
    let mut ended = Poll::Pending;
    if !matches!(end, End::Dropped) {
        clock.advance_to_next();
        let hook = Silence::new();
        let panicked = catch_unwind(AssertUnwindSafe(|| ended = call.poll())).is_err();
        drop(hook);
        told += &format!("{panicked} {} {}\n", call.wakes(), retrier.waiting());
        let is_dropped = panicked || matches!(end, End::DroppedLater);
        while !is_dropped && ended.is_pending() && call.wakes() + clock.sleepers() > 0 {
            clock.advance_to_next();
            ended = call.poll();
        }
    }
    drop(call);
    let stops = StopReason::ALL.iter().map(|reason| retrier.stops(*reason));
    let stops: Vec<u64> = stops.collect();
    let ended = match &ended {
        Poll::Ready(Err(gave_up)) => {
            let records: Vec<_> = gave_up.records().collect();
            let last = (gave_up.last(), gave_up.elapsed_since_first_failure());
            format!("{gave_up} {last:?} {records:?}")
        }
        ended => format!("{ended:?}"),
    };
    let (waiting, fill) = (retrier.waiting(), retrier.budget_fill());
    let state = (retrier.breaker_state(), waiting, fill, stops, clock.slept());
    format!("{told}{ended}\n{state:?}")
}

#[test]
fn it_is_what_the_same_call_is_with_an_engine() {
    for event in 0..EVENTS.len() {
        for end in ENDS {
            let (ours, theirs) = (left(event, end, by_retry), left(event, end, by_hand));
            assert_eq!(ours, theirs, "{event} {end:?}");
        }
    }
}

/// The second of them succeeds, and panics as it is dropped.
struct Spiteful(u32);

impl Future for Spiteful {
    type Output = Result<u32, Fault>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(if self.0 == 1 {
            Err(Fault::DOWN)
        } else {
            Ok(self.0)
        })
    }
}

impl Drop for Spiteful {
    fn drop(&mut self) {
        if self.0 == 2 {
            std::panic::panic_any("its drop's");
        }
    }
}

#[test]
fn after_a_panic_in_the_drop_of_its_future_nothing_runs_again() {
    let clock = FakeSleeper::new();
    let retrier = policy().builder().sleeper(clock.clone()).build();
    let retrier = retrier.expect("a valid policy");
    let runs = Cell::new(0);
    let mut call = ByHand::new(retrier.retry(|it| {
        runs.set(runs.get() + 1);
        Spiteful(it.number())
    }));
    assert!(call.run().is_pending());
    clock.advance_to_next();
    let hook = Silence::new();
    assert!(catch_unwind(AssertUnwindSafe(|| call.poll())).is_err());
    drop(hook);
    assert!(call.poll().is_pending());
    assert_eq!(runs.get(), 2);
}

#[test]
fn it_is_sent_to_another_thread_as_a_call_with_an_engine_is() {
    fn is_sync<T: Send + Sync>(_: &T) {}
    let retrier = policy().retrier().expect("a valid policy");
    is_sync(&retrier.retry(|_| std::future::ready(Ok::<_, Fault>(17))));
}
