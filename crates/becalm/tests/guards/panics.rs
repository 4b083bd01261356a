//! What does a panic leave with the guards? The breaker counts a failure, and all else is back.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use becalm::breaker::State::{self, Closed, HalfOpen, Open};
use becalm::budget::Kind;
use becalm::time::FakeSleeper;
use becalm::{
    Attempt, Budget, Bulkhead, Event, Observer, Policy, Retrier, Scope,
    call::{Call, CallOptions, Decision},
};

use crate::probe::{ByHand, Fault, MS, SECOND, fixed, ready, yield_now};
use crate::world::consecutive;

/// Without a word to the panic hook.
fn unwind<T>() -> T {
    resume_unwind(Box::new("the operation's"))
}

type Engine = fn(&Retrier, &dyn Fn(Attempt) -> Result<u32, Fault>);

/// Every place in which an operation can panic.
const PLACES: [(&str, Engine); 7] = [
    ("in the first poll", |retrier, operation| {
        drop(ready(
            retrier.retry(|attempt| async move { operation(attempt) }),
        ));
    }),
    ("in a later poll", |retrier, operation| {
        drop(ready(retrier.retry(|attempt| async move {
            yield_now().await;
            operation(attempt)
        })));
    }),
    ("in the closure", |retrier, operation| {
        drop(ready(
            retrier.retry(|attempt| std::future::ready(operation(attempt))),
        ));
    }),
    ("blocking", |retrier, operation| {
        drop(retrier.retry_blocking(operation));
    }),
    ("loop", |retrier, operation| {
        ready(async {
            let mut call = retrier.call();
            while let Some(attempt) = call.next().await {
                match operation(attempt) {
                    Ok(_) => return call.success(()),
                    Err(fault) => call.failure(fault),
                }
            }
        });
    }),
    ("blocking loop", |retrier, operation| {
        let mut call = retrier.call();
        while let Some(attempt) = call.next_blocking() {
            match operation(attempt) {
                Ok(_) => return call.success(()),
                Err(fault) => call.failure(fault),
            }
        }
    }),
    ("sans-IO", |retrier, operation| {
        let clock = retrier.sleeper();
        let mut call = Call::begin(retrier, CallOptions::new(), Scope::NONE, clock.now());
        while let Ok(attempt) = call.start(clock.now(), &mut || 0) {
            let answer = catch_unwind(AssertUnwindSafe(|| operation(attempt)));
            let failure = match answer {
                Ok(Ok(_)) => return,
                Ok(Err(Fault(failure))) => failure,
                Err(panic) => {
                    call.panicked(attempt.number(), clock.now(), &mut || 0);
                    resume_unwind(panic);
                }
            };
            match call.on_outcome(clock.now(), failure.into(), &mut || 0) {
                Decision::RetryIn(delay) => ready(clock.sleep_until(clock.now().after(delay))),
                _ => return,
            }
        }
    }),
];

fn policy(failures: u32) -> Policy {
    fixed(100 * MS)
        .bulkhead(Bulkhead::calls(1))
        .breaker(consecutive(failures))
        .budget(Budget::concurrency(1.0, 0))
}

fn retrier(policy: Policy) -> (Retrier, FakeSleeper) {
    let clock = FakeSleeper::auto();
    let retrier = policy.builder().sleeper(clock.clone()).build();
    (retrier.expect("a valid policy"), clock)
}

#[track_caller]
fn assert_released(retrier: &Retrier, context: &str) {
    assert_eq!(retrier.waiting(), 0, "{context}");
    assert_eq!(retrier.in_flight(), Some(0), "{context}");
    let mut gauges = retrier.budget_gauges();
    let calls = gauges
        .find(|gauge| gauge.kind == Kind::Concurrency)
        .expect("configured");
    assert_eq!(
        (calls.most, calls.left),
        (0.0, 0.0),
        "{context}: calls and slots"
    );
}

fn panicking(run: Engine, retrier: &Retrier, operation: &dyn Fn(Attempt) -> Result<u32, Fault>) {
    let panicked = catch_unwind(AssertUnwindSafe(|| run(retrier, operation)));
    let payload = panicked.expect_err("a panic");
    assert_eq!(payload.downcast_ref(), Some(&"the operation's"));
}

#[test]
fn a_panic_counts_as_a_failure_and_releases_all() {
    for (place, run) in PLACES {
        // In the attempt of this number, after failures.
        for at in 1..=3 {
            let context = format!("{place}, {at}");
            for (failures, state) in [(at, Open), (at + 1, Closed)] {
                let (retrier, _) = retrier(policy(failures));
                panicking(run, &retrier, &|attempt| {
                    if attempt.number() == at {
                        unwind()
                    } else {
                        Err(Fault::DOWN)
                    }
                });
                assert_eq!(
                    retrier.breaker_state(),
                    Some(state),
                    "{context} of {failures}"
                );
                assert_released(&retrier, &context);
            }
        }
    }
}

#[test]
fn conformance_14_a_probe_that_panics_returns_its_slot() {
    for (place, run) in PLACES {
        let (retrier, clock) = retrier(policy(9));
        retrier.force_open();
        clock.advance(SECOND);
        panicking(run, &retrier, &|_| unwind());
        assert_eq!(retrier.breaker_state(), Some(Open), "{place}: it failed");
        assert_released(&retrier, place);
        clock.advance(2 * SECOND);
        assert_eq!(retrier.breaker_state(), Some(HalfOpen), "{place}");
        assert_eq!(
            retrier.retry_blocking(|_| Ok::<u32, Fault>(17)).ok(),
            Some(17),
            "{place}"
        );
        assert_eq!(retrier.breaker_state(), Some(Closed), "{place}");
    }
}

/// Who drops a pending call while another panic unwinds has not made the operation panic.
#[test]
fn a_call_that_is_dropped_by_a_panic_elsewhere_is_cancelled() {
    let (retrier, _) = retrier(policy(1));
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let mut call = ByHand::new(retrier.retry(|_| std::future::pending::<Result<u32, Fault>>()));
        assert!(call.run().is_pending());
        unwind::<()>();
    }));
    assert!(panicked.is_err());
    assert_eq!(retrier.breaker_state(), Some(Closed));
    assert_released(&retrier, "dropped");
    // And in a retry: one failure of two.
    let clock = FakeSleeper::new();
    let builder = policy(2).builder().sleeper(clock.clone());
    let retrier = builder.build().expect("a valid policy");
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let call = retrier.retry(|attempt| async move {
            if attempt.number() == 1 {
                return Err::<u32, _>(Fault::DOWN);
            }
            std::future::pending().await
        });
        let mut call = ByHand::new(call);
        assert!(call.run().is_pending());
        clock.advance(100 * MS);
        assert!(call.run().is_pending());
        assert_eq!(retrier.in_flight(), Some(1));
        unwind::<()>();
    }));
    assert!(panicked.is_err());
    assert_eq!(retrier.breaker_state(), Some(Closed));
    assert_released(&retrier, "dropped in a retry");
}

/// An observer that panics once, at an event that it is told to.
struct Panicky {
    at: fn(&Event<'_>) -> bool,
    armed: Arc<AtomicBool>,
}

impl Observer for Panicky {
    fn on_event(&self, _: &becalm::observe::About<'_>, event: &Event<'_>) {
        if (self.at)(event) && self.armed.swap(false, Ordering::SeqCst) {
            resume_unwind(Box::new("the operation's"));
        }
    }
}

/// The operation was never invoked, or had ended: it has not panicked.
#[test]
fn a_panic_of_the_observer_is_no_failure_of_the_dependency() {
    let kinds: [(&str, fn(&Event<'_>) -> bool, State); 5] = [
        (
            "first attempt",
            |event| matches!(event, Event::Attempt { number: 1, .. }),
            Closed,
        ),
        (
            "second attempt",
            |event| matches!(event, Event::Attempt { number: 2, .. }),
            Closed,
        ),
        (
            "retry",
            |event| matches!(event, Event::Retry { .. }),
            Closed,
        ),
        ("stop", |event| matches!(event, Event::Stopped { .. }), Open),
        (
            "breaker",
            |event| matches!(event, Event::Breaker { .. }),
            Open,
        ),
    ];
    for (place, run) in PLACES.into_iter().filter(|(place, _)| *place != "sans-IO") {
        for (kind, at, state) in kinds {
            let context = format!("{place}, {kind}");
            let armed = Arc::new(AtomicBool::new(true));
            let observer = Panicky { at, armed };
            let builder = policy(3).attempts(3).builder().sleeper(FakeSleeper::auto());
            let retrier = builder.observer(observer).build().expect("a valid policy");
            panicking(run, &retrier, &|_| Err(Fault::DOWN));
            assert_eq!(retrier.breaker_state(), Some(state), "{context}");
            assert_released(&retrier, &context);
        }
    }
}
