//! Do layers above retry what a breaker below refuses? Nobody does, whatever becomes of its error.

use becalm::{Nested, Retrier, StopReason};

use crate::probe::{Fault, MS, fixed, ready};
use crate::world::{World, broken_by, consecutive};

/// The error of the layer between: it keeps nothing of what becalm said.
fn mapped(_: becalm::GaveUp<Fault>) -> Fault {
    Fault::DOWN
}

fn outer() -> World {
    World::new(fixed(100 * MS))
}

fn refusing() -> World {
    let world = World::new(broken_by(consecutive(1)).nested(Nested::Allow));
    world.retrier.force_open();
    world
}

/// What the operation of the outer layer does.
fn below(inner: &Retrier) -> Result<u32, Fault> {
    inner
        .retry_blocking(|_| Ok::<u32, Fault>(17))
        .map_err(mapped)
}

#[test]
fn a_refused_first_try_stops_the_layer_above_through_a_map_err() {
    let (above, inner) = (outer(), refusing());
    let gave_up = above
        .retrier
        .retry_blocking(|_| below(&inner.retrier))
        .unwrap_err();
    assert_eq!(
        (gave_up.reason(), gave_up.attempts()),
        (StopReason::DoNotRetry, 1),
        "blocking"
    );

    let call = above.retrier.retry(|_| async {
        let call = inner.retrier.retry(|_| async { Ok::<u32, Fault>(17) });
        call.await.map_err(mapped)
    });
    let gave_up = ready(call).unwrap_err();
    assert_eq!(
        (gave_up.reason(), gave_up.attempts()),
        (StopReason::DoNotRetry, 1),
        "async"
    );

    let mut call = above.retrier.call();
    let mut attempts = 0;
    while call.next_blocking().is_some() {
        attempts += 1;
        let fault = call.enter(|| below(&inner.retrier)).unwrap_err();
        call.failure(fault);
    }
    let reason = call.gave_up().reason();
    assert_eq!((reason, attempts), (StopReason::DoNotRetry, 1), "loop");
    assert_eq!(above.ledger.book().withdrawals, 0);
}

/// The same where it is the breaker that the failing attempt itself has opened.
#[test]
fn a_stop_at_the_decision_and_one_on_waking_are_heard_above_too() {
    for opens_in_the_wait in [false, true] {
        let above = outer();
        let breaker = consecutive(if opens_in_the_wait { 9 } else { 1 });
        let inner = World::new(broken_by(breaker).nested(Nested::Allow));
        if opens_in_the_wait {
            inner.in_next_wait(|retrier| retrier.force_open());
        }
        let gave_up = above
            .retrier
            .retry_blocking(|_| {
                let result = inner.retrier.retry_blocking(|_| Err::<u32, _>(Fault::DOWN));
                let gave_up = result.unwrap_err();
                assert_eq!(gave_up.reason(), StopReason::BreakerOpen);
                Err::<u32, _>(mapped(gave_up))
            })
            .unwrap_err();
        assert_eq!(
            (gave_up.reason(), gave_up.attempts()),
            (StopReason::DoNotRetry, 1)
        );
    }
}

/// A full bulkhead is this process's own, and nothing was sent: a layer above may repeat it.
#[test]
fn a_full_bulkhead_forbids_nothing_above() {
    let above = outer();
    let policy = fixed(100 * MS)
        .bulkhead(becalm::Bulkhead::calls(1))
        .nested(Nested::Allow);
    let inner = World::new(policy);
    let mut busy = inner.retrier.call::<Fault>();
    assert!(busy.next_blocking().is_some());
    let mut busy = Some(busy);
    let result = above.retrier.blocking(|attempt| {
        if attempt.number() == 3 {
            drop(busy.take());
        }
        inner.retrier.retry_blocking(|_| Ok::<u32, Fault>(17))
    });
    let result = result.not_idempotent().call();
    assert_eq!(
        result.ok(),
        Some(17),
        "unsent, so repeated even where it is not idempotent"
    );
}
