//! How much time has a retry inside a retry? What is left of the outer one's, if they share a clock.

use std::cell::{Cell, RefCell};
use std::future::pending;
use std::task::Poll;
use std::time::Duration;

use becalm::time::FakeSleeper;
use becalm::{GaveUp, Policy, Retrier, StopReason, run::Last, scope::Nested};

use crate::probe::{ByHand, Fault, Ledger, MS, SECOND, fixed, on, ready};

/// The remaining time that an inner attempt is told, `lead` after the outer one started.
fn told(outer: &Retrier, inner: &Retrier, clock: &FakeSleeper, lead: Duration) -> Option<Duration> {
    let call = outer.retry(|_| async {
        clock.advance(lead);
        inner
            .retry(|attempt| async move { Ok::<_, Fault>(attempt.remaining()) })
            .await
    });
    let of_async = ready(call).unwrap();
    let of_blocking = outer.retry_blocking(|_| {
        clock.advance(lead);
        inner.retry_blocking(|attempt| Ok::<_, Fault>(attempt.remaining()))
    });
    assert_eq!(of_async, of_blocking.unwrap(), "both engines");
    of_async
}

fn within(limit: Option<Duration>) -> Policy {
    let mut policy = fixed(MS);
    policy.deadline = limit;
    policy
}

#[test]
fn the_deadline_is_the_earlier_one() {
    let cases = [
        (None, None, None),
        (Some(10 * SECOND), None, Some(7 * SECOND)),
        (None, Some(2 * SECOND), Some(2 * SECOND)),
        (Some(10 * SECOND), Some(2 * SECOND), Some(2 * SECOND)),
        (Some(10 * SECOND), Some(60 * SECOND), Some(7 * SECOND)),
    ];
    for (outer, inner, expected) in cases {
        let clock = FakeSleeper::new();
        let layers = [on(&clock, within(outer)), on(&clock, within(inner))];
        let told = told(&layers[0], &layers[1], &clock, 3 * SECOND);
        assert_eq!(told, expected, "{outer:?} around {inner:?}");
    }
}

#[test]
fn it_is_handed_on_through_layers_that_have_none() {
    let clock = FakeSleeper::new();
    let (outer, between) = (
        on(&clock, within(Some(10 * SECOND))),
        on(&clock, within(None)),
    );
    let inner = on(&clock, within(None));
    let call = outer.retry(|_| async {
        clock.advance(3 * SECOND);
        let inner = between.retry(|_| async {
            clock.advance(3 * SECOND);
            inner
                .retry(|attempt| async move { Ok::<_, Fault>(attempt.remaining()) })
                .await
        });
        inner.await
    });
    assert_eq!(ready(call).unwrap(), Some(4 * SECOND));
}

#[test]
fn a_deadline_option_of_the_outer_call_is_handed_on() {
    let clock = FakeSleeper::new();
    let (outer, inner) = (on(&clock, within(None)), on(&clock, within(None)));
    let call =
        outer.retry(|_| inner.retry(|attempt| async move { Ok::<_, Fault>(attempt.remaining()) }));
    assert_eq!(ready(call.deadline(SECOND)).unwrap(), Some(SECOND));
}

#[test]
fn deadlines_of_different_clocks_are_not_mixed() {
    let (clock, other) = (FakeSleeper::new(), FakeSleeper::new());
    other.advance(3600 * SECOND);
    let outer = on(&clock, within(Some(SECOND)));
    assert_eq!(told(&outer, &on(&other, within(None)), &clock, MS), None);
    let own = Some(60 * SECOND);
    assert_eq!(told(&outer, &on(&other, within(own)), &clock, MS), own);
}

/// The deadline stays with the clock it belongs to.
#[test]
fn a_layer_on_another_clock_does_not_hide_the_deadline_above() {
    let (clock, other) = (FakeSleeper::new(), FakeSleeper::new());
    other.advance(3600 * SECOND);
    let outer = on(&clock, within(Some(10 * SECOND)));
    let inner = on(&clock, within(None));
    let through = |between: &Retrier| {
        let call = outer.retry_blocking(|_| {
            clock.advance(3 * SECOND);
            between.retry_blocking(|_| {
                inner.retry_blocking(|attempt| Ok::<_, Fault>(attempt.remaining()))
            })
        });
        call.unwrap()
    };
    assert_eq!(through(&on(&other, within(None))), Some(7 * SECOND));
    // One scope holds one deadline: that of the layer right above, if it has one.
    assert_eq!(through(&on(&other, within(Some(SECOND)))), None);
    // A clock that nobody can name has none to hand on.
    let unknown = within(Some(SECOND)).builder().sleeper(Nameless).build();
    assert_eq!(through(&unknown.unwrap()), Some(7 * SECOND));
}

/// A clock that does not say which it is.
#[derive(Debug)]
struct Nameless;

impl becalm::Sleeper for Nameless {
    fn now(&self) -> becalm::time::Instant {
        becalm::time::Instant::ZERO
    }

    fn sleep_until(&self, _at: becalm::time::Instant) -> becalm::time::Sleep {
        Box::pin(pending())
    }
}

/// A clone of a fake clock is the same clock.
#[test]
fn clones_of_a_clock_are_one() {
    let clock = FakeSleeper::new();
    let (outer, inner) = (
        on(&clock, within(Some(SECOND))),
        on(&clock.clone(), within(None)),
    );
    assert_eq!(told(&outer, &inner, &clock, MS), Some(999 * MS));
}

#[test]
fn an_inner_wait_that_would_pass_the_outer_deadline_is_not_begun() {
    let clock = FakeSleeper::auto();
    let outer = on(&clock, within(Some(250 * MS)).attempts(1));
    let inner = on(&clock, fixed(100 * MS));
    let gave_up = outer
        .retry_blocking(|_| inner.retry_blocking(|_| Err::<(), _>(Fault::DOWN)))
        .unwrap_err();
    let inner = gave_up.error().unwrap();
    assert_eq!(inner.reason(), StopReason::DeadlineExceeded);
    assert_eq!(inner.attempts(), 3);
}

#[test]
fn an_inner_attempt_is_cut_by_the_outer_deadline() {
    let clock = FakeSleeper::new();
    let outer = on(&clock, within(Some(SECOND)).attempts(1));
    let inner = on(&clock, within(None));
    let mut call = ByHand::new(outer.retry(|_| inner.retry(|_| pending::<Result<(), Fault>>())));
    assert!(call.run().is_pending());
    clock.advance(SECOND);
    let Poll::Ready(Err(gave_up)) = call.run() else {
        panic!("the deadline has passed");
    };
    // Both see the same moment; the inner one is asked first and says what it knows.
    let Last::Error(inner) = gave_up.into_last() else {
        panic!("the inner give-up");
    };
    assert_eq!(inner.reason(), StopReason::DeadlineExceeded);
    assert_eq!(inner.last(), Last::AttemptTimeout);
}

#[test]
fn what_a_later_outer_attempt_has_left_is_what_the_inner_one_gets() {
    let clock = FakeSleeper::auto();
    let outer = on(&clock, fixed(100 * MS).deadline(SECOND));
    let inner = on(&clock, within(None).attempts(1));
    let told = RefCell::new(Vec::new());
    let _ = outer.retry_blocking(|_| {
        inner.retry_blocking(|attempt| {
            told.borrow_mut().push(attempt.remaining().unwrap());
            Err::<(), _>(Fault::DOWN)
        })
    });
    assert_eq!(told.into_inner(), [1000 * MS, 900 * MS, 800 * MS, 700 * MS]);
}

#[test]
fn past_the_outer_deadline_an_inner_call_does_not_start_and_deposits_nothing() {
    let clock = FakeSleeper::new();
    let ledger = Ledger::of(10);
    let outer = on(&clock, within(Some(SECOND)).attempts(1));
    let inner = fixed(MS)
        .nested(Nested::Allow)
        .builder()
        .sleeper(clock.clone())
        .retry_budget(ledger.clone())
        .build()
        .unwrap();
    let invoked = Cell::new(0);
    let gave_up: GaveUp<GaveUp<Fault>> = outer
        .retry_blocking(|_| {
            clock.advance(2 * SECOND);
            inner.retry_blocking(|_| {
                invoked.set(invoked.get() + 1);
                Err::<(), _>(Fault::DOWN)
            })
        })
        .unwrap_err();
    let inner = gave_up.error().unwrap();
    assert_eq!(inner.reason(), StopReason::DeadlineExceeded);
    assert_eq!(inner.last(), Last::NotStarted);
    assert_eq!((inner.attempts(), invoked.get()), (0, 0));
    assert_eq!(ledger.book().first_tries, 0);
}

/// In an async attempt, time may pass without an await.
#[test]
fn past_the_outer_deadline_an_inner_future_does_not_start_either() {
    let clock = FakeSleeper::new();
    let outer = on(&clock, within(Some(SECOND)).attempts(1));
    let inner = on(&clock, within(None));
    let call = outer.retry(|_| async {
        clock.advance(SECOND);
        let attempt = |_| async { panic!("an attempt") as Result<(), Fault> };
        inner.retry(attempt).await
    });
    let gave_up = ready(call).unwrap_err();
    assert_eq!(gave_up.error().unwrap().last(), Last::NotStarted);
}
