//! Do layers above retry what a breaker below refuses? Until many of their attempts hear of it.

use becalm::{Retrier, Scope, StopReason, scope::Nested};

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

/// So ended calls of four attempts, of which every one hears of the open breaker: the fifteenth word
/// in a row is heeded, and each after it.
const HEARD: [(StopReason, u32); 5] = [
    (StopReason::AttemptsExhausted, 4),
    (StopReason::AttemptsExhausted, 4),
    (StopReason::AttemptsExhausted, 4),
    (StopReason::BreakerOpen, 3),
    (StopReason::BreakerOpen, 1),
];

#[test]
fn a_breaker_below_that_many_calls_hear_of_stops_the_layer_above_through_a_map_err() {
    let (above, inner) = (outer(), refusing());
    let ended = HEARD.map(|_| {
        let call = above.retrier.retry_blocking(|_| below(&inner.retrier));
        let gave_up = call.unwrap_err();
        (gave_up.reason(), gave_up.attempts())
    });
    assert_eq!(ended, HEARD, "blocking");

    let (above, inner) = (outer(), refusing());
    let ended = HEARD.map(|_| {
        let call = above.retrier.retry(|_| async {
            let call = inner.retrier.retry(|_| async { Ok::<u32, Fault>(17) });
            call.await.map_err(mapped)
        });
        let gave_up = ready(call).unwrap_err();
        (gave_up.reason(), gave_up.attempts())
    });
    assert_eq!(ended, HEARD, "async");

    let (above, inner) = (outer(), refusing());
    let ended = HEARD.map(|_| {
        let mut call = above.retrier.call();
        while call.next_blocking().is_some() {
            let fault = call.enter(|| below(&inner.retrier)).unwrap_err();
            call.failure(fault);
        }
        let gave_up = call.gave_up();
        (gave_up.reason(), gave_up.attempts())
    });
    assert_eq!(ended, HEARD, "loop");
    assert_eq!(
        above.ledger.book().withdrawals,
        3 * 3 + 2,
        "only for retries"
    );
}

/// The breaker may have been opened by the failing attempt itself, or in the wait.
#[test]
fn a_stop_at_the_decision_and_one_on_waking_are_told_above_too() {
    for opens_in_the_wait in [false, true] {
        let above = outer();
        let breaker = consecutive(if opens_in_the_wait { 9 } else { 1 });
        let inner = World::new(broken_by(breaker).nested(Nested::Allow));
        if opens_in_the_wait {
            inner.in_next_wait(|retrier| retrier.force_open());
        }
        let told = above.retrier.retry_blocking(|_| {
            let result = inner.retrier.retry_blocking(|_| Err::<u32, _>(Fault::DOWN));
            assert_eq!(result.unwrap_err().reason(), StopReason::BreakerOpen);
            Ok::<_, Fault>(Scope::current().told_below())
        });
        assert_eq!(told.ok(), Some(Some(StopReason::BreakerOpen)));
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
