//! What has an inner layer learnt that the outer one must hear, even if its error is thrown away?

use std::future::{Future, pending};
use std::task::Poll;

use becalm::time::FakeSleeper;
use becalm::{Failure, Hint, Retrier, Scope, StopReason, scope::Nested};

use crate::nested::{Inner, Layers};
use crate::probe::{ByHand, Fault, MS, SECOND, fixed, on, ready, yield_now};

const STOP: Fault = Fault(Failure::throttled().hint(Hint::Stop));

/// The user's own error: knows nothing of retries, and says it is transient.
fn mapped(ended: Inner) -> Result<(), Fault> {
    ended.map_err(|_| Fault::DOWN)
}

fn assert_obeyed<F: Future<Output = Result<(), Fault>>>(
    place: &str,
    attempt: impl Fn(&'static Layers) -> F,
) {
    let layers: &'static Layers = Box::leak(Box::new(Layers::of_three()));
    let gave_up = ready(layers.outer.retry(|_| attempt(layers))).unwrap_err();
    assert_eq!(gave_up.reason(), StopReason::DoNotRetry, "{place}");
    assert_eq!((gave_up.attempts(), layers.ran.get()), (1, 1), "{place}");
    assert_eq!(
        Scope::current(),
        Scope::NONE,
        "{place}: nothing is left on the thread"
    );
}

#[test]
fn a_servers_stop_stops_the_outer_call() {
    assert_obeyed("at once", |layers| async {
        mapped(layers.fail(STOP).await)
    });
    assert_obeyed("blocking", |layers| async {
        mapped(layers.fail_blocking(STOP))
    });
}

#[test]
fn it_is_remembered_while_the_attempt_awaits_something_else() {
    assert_obeyed("an await after it", |layers| async {
        let ended = layers.fail(STOP).await;
        yield_now().await; // writes a log, closes a connection
        mapped(ended)
    });
    assert_obeyed("awaits around it", |layers| async {
        yield_now().await;
        let ended = mapped(layers.fail(STOP).await);
        yield_now().await;
        yield_now().await;
        ended
    });
    assert_obeyed("joined with a slower one", |layers| async {
        let slower = async {
            for _ in 0..3 {
                yield_now().await;
            }
        };
        mapped(futures_util::join!(layers.fail(STOP), slower).0)
    });
}

#[test]
fn it_is_heard_from_the_closure_too() {
    assert_obeyed("the closure", |layers| {
        std::future::ready(mapped(layers.fail_blocking(STOP)))
    });
}

#[test]
fn it_is_heard_from_an_attempt_that_then_times_out() {
    let layers = Layers::of_three();
    let clock = FakeSleeper::new();
    let outer = on(&clock, fixed(MS).attempts(3).attempt_timeout(SECOND));
    let mut call = ByHand::new(outer.retry(|_| async {
        let _ = layers.fail(STOP).await;
        pending::<Result<(), Fault>>().await
    }));
    assert!(call.run().is_pending());
    clock.advance(SECOND);
    let Poll::Ready(Err(gave_up)) = call.run() else {
        panic!("not repeated");
    };
    assert_eq!(gave_up.reason(), StopReason::DoNotRetry);
}

#[test]
fn it_stops_a_blocking_outer_call() {
    let layers = Layers::of_three();
    let gave_up = layers
        .outer
        .retry_blocking(|_| mapped(layers.fail_blocking(STOP)))
        .unwrap_err();
    assert_eq!(
        (gave_up.reason(), layers.ran.get()),
        (StopReason::DoNotRetry, 1)
    );
}

#[test]
fn it_stops_every_layer_above() {
    let layers = Layers::of_three();
    let between = on(&FakeSleeper::auto(), fixed(MS).nested(Nested::Allow));
    let call = layers.outer.retry(|_| async {
        let middle = between.retry(|_| async { mapped(layers.fail(STOP).await) });
        yield_now().await;
        mapped(middle.await)
    });
    assert_eq!(ready(call).unwrap_err().reason(), StopReason::DoNotRetry);
    assert_eq!(layers.ran.get(), 1);
}

/// A task of its own does not reach the attempt that spawned it; what it brings back does.
#[test]
fn a_carried_scope_brings_it_back() {
    for (reported, reason) in [
        (false, StopReason::AttemptsExhausted),
        (true, StopReason::DoNotRetry),
    ] {
        let layers = Layers::of_three();
        let call = layers.outer.retry(|_| async {
            let carried = async {
                yield_now().await;
                mapped(layers.fail(STOP).await)
            };
            let (ended, scope) = Scope::current().wrap(carried).with_scope().await;
            assert_eq!(scope.told_below(), Some(StopReason::DoNotRetry));
            if reported {
                scope.report();
            }
            ended
        });
        assert_eq!(ready(call).unwrap_err().reason(), reason);
    }
}

#[test]
fn a_wrapped_future_tells_it_while_it_runs() {
    let layers = Layers::of_three();
    let scope = Scope::NONE.enter(|| {
        layers
            .outer
            .retry_blocking(|_| Ok::<_, Fault>(Scope::current()))
    });
    let mut carried = Box::pin(scope.unwrap().wrap(async {
        yield_now().await;
        let _ = layers.fail(STOP).await;
        pending::<()>().await
    }));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(carried.as_mut().poll(&mut context).is_pending());
    assert_eq!(carried.scope().told_below(), None);
    assert!(carried.as_mut().poll(&mut context).is_pending());
    let reason = carried.scope().told_below();
    assert_eq!(reason, Some(StopReason::DoNotRetry));
}

#[test]
fn a_scope_that_forbids_nothing_reports_nothing() {
    let layers = Layers::of_three();
    let call = layers.outer.retry_blocking(|_| {
        Scope::current().report();
        Scope::NONE.report();
        Err::<(), _>(Fault::DOWN)
    });
    assert_eq!(call.unwrap_err().attempts(), 3);
    Scope::NONE.telling(StopReason::DoNotRetry).report();
    assert_eq!(Scope::current(), Scope::NONE, "nobody is there to hear it");
}

/// How a loop by hand runs what is in its attempts.
fn by_hand(layers: &Layers, way: &str, fault: Fault) -> StopReason {
    let clock = FakeSleeper::new();
    let outer = on(&clock, fixed(MS * 0).attempts(3));
    let mut call = outer.call();
    while let Some(_attempt) = call.next_blocking() {
        match way {
            "wrap" => {
                let below = async {
                    yield_now().await;
                    layers.fail(fault).await
                };
                let _ = ready(call.wrap(below));
            }
            "wrap, then dropped" => {
                let mut below = ByHand::new(call.wrap(async {
                    let _ = layers.fail(fault).await;
                    pending::<()>().await
                }));
                assert!(below.run().is_pending());
            }
            "enter" => {
                let _ = call.enter(|| layers.fail_blocking(fault));
            }
            "hear" => {
                let carried = call.scope().wrap(layers.fail(fault)).with_scope();
                call.hear(ready(carried).1);
            }
            _ => {
                let _ = ready(call.scope().wrap(layers.fail(fault)));
            }
        }
        call.failure(Fault::DOWN);
        assert_eq!(Scope::current(), Scope::NONE);
    }
    call.gave_up().reason()
}

#[test]
fn a_loop_by_hand_hears_what_runs_in_its_attempts() {
    for way in ["wrap", "wrap, then dropped", "enter", "hear"] {
        for (fault, reason, ran) in [
            (STOP, StopReason::DoNotRetry, 1),
            (Fault::DOWN, StopReason::AttemptsExhausted, 5),
        ] {
            let layers = Layers::of_three();
            assert_eq!(by_hand(&layers, way, fault), reason, "{way}");
            assert_eq!(layers.ran.get(), ran, "{way}");
        }
    }
    assert_eq!(
        by_hand(&Layers::of_three(), "its scope alone", STOP),
        StopReason::AttemptsExhausted
    );
}

#[test]
fn a_give_up_that_is_not_mapped_says_it_itself() {
    let layers = Layers::of_three();
    let gave_up = ready(layers.outer.retry(|_| layers.fail(STOP))).unwrap_err();
    assert_eq!(gave_up.reason(), StopReason::DoNotRetry);
    assert_eq!(gave_up.error().unwrap().reason(), StopReason::DoNotRetry);
}

#[test]
fn it_does_not_poison_the_next_call() {
    let layers = Layers::of_three();
    for _ in 0..2 {
        let fallback = layers.outer.retry(|_| async {
            let _ = layers.fail(STOP).await; // served from a cache instead
            Ok::<_, Fault>(17)
        });
        assert_eq!(ready(fallback).unwrap(), 17);
        let call = layers.outer.retry(|_| async { Err::<(), _>(Fault::DOWN) });
        let gave_up = ready(call).unwrap_err();
        assert_eq!(gave_up.reason(), StopReason::AttemptsExhausted);
    }
}

/// An attempt that started after the word is free again.
#[test]
fn it_counts_for_the_attempt_in_which_it_was_said() {
    let clock = FakeSleeper::auto();
    let retrier = on(&clock, fixed(MS));
    let mut call = becalm::call::Call::begin(
        &retrier,
        becalm::call::CallOptions::new(),
        Scope::NONE,
        becalm::time::Instant::ZERO,
    );
    let mut random = retrier.random();
    let mut fail = |call: &mut becalm::call::Call<&Retrier>| {
        call.on_outcome(
            becalm::time::Instant::ZERO,
            Fault::DOWN.0.into(),
            &mut random,
        )
    };
    call.start(becalm::time::Instant::ZERO, &mut || 0).unwrap();
    assert_eq!(fail(&mut call), becalm::call::Decision::RetryIn(MS));
    call.forbid_retry(); // too late for the attempt that is over
    call.start(becalm::time::Instant::ZERO, &mut || 0).unwrap();
    assert_eq!(fail(&mut call), becalm::call::Decision::RetryIn(MS));
    call.start(becalm::time::Instant::ZERO, &mut || 0).unwrap();
    call.forbid_retry();
    assert_eq!(
        fail(&mut call),
        becalm::call::Decision::Stop(StopReason::DoNotRetry)
    );
}

#[test]
fn at_the_top_there_is_nobody_to_tell() {
    let layers = Layers::of_three();
    ready(layers.fail(STOP)).unwrap_err();
    layers.fail_blocking(STOP).unwrap_err();
    assert_eq!(Scope::current(), Scope::NONE);
}
