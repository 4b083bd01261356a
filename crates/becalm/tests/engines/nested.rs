//! What does a retry inside a retry do? By default the nearest to the failure retries while all above
//! are at their first attempt, and runs once when one above repeats, wherever on the task or thread.

use std::cell::Cell;
use std::future::pending;

use becalm::time::FakeSleeper;
use becalm::{
    Class, Effect, Failure, GaveUp, Hint, Operation, Policy, Retrier, Scope, StopReason,
    scope::Nested,
};

use crate::probe::{ByHand, Fault, Journal, MS, SECOND, Seen, fixed, on, ready, yield_now};

/// Two retriers of 3 attempts on one clock, and how often the inner operation ran.
pub struct Layers {
    pub outer: Retrier,
    pub inner: Retrier,
    pub ran: Cell<u32>,
}

pub type Inner = Result<(), GaveUp<Fault>>;

impl Layers {
    pub fn new(outer: Policy, inner: Policy) -> Self {
        let clock = FakeSleeper::auto();
        Self {
            outer: on(&clock, outer),
            inner: on(&clock, inner),
            ran: Cell::new(0),
        }
    }

    pub fn of_three() -> Self {
        Self::new(fixed(MS).attempts(3), fixed(MS).attempts(3))
    }

    pub fn count(&self) {
        self.ran.set(self.ran.get() + 1);
    }

    pub async fn fail(&self, fault: Fault) -> Inner {
        let call = self.inner.retry(|_| async {
            self.count();
            Err(fault)
        });
        call.await
    }

    pub fn fail_blocking(&self, fault: Fault) -> Inner {
        self.inner.retry_blocking(|_| {
            self.count();
            Err(fault)
        })
    }
}

/// Every place in an attempt from which the inner retrier may be called.
async fn from_everywhere(layers: &Layers, place: usize) -> Inner {
    match place {
        0 => layers.fail(Fault::DOWN).await,
        1 => {
            yield_now().await;
            layers.fail(Fault::DOWN).await
        }
        2 => layers.fail_blocking(Fault::DOWN),
        3 => {
            yield_now().await;
            yield_now().await;
            layers.fail_blocking(Fault::DOWN)
        }
        4 => ready(layers.fail(Fault::DOWN)), // an executor inside
        5 => {
            let slow = async {
                yield_now().await;
                layers.fail(Fault::DOWN).await
            };
            futures_util::join!(slow, yield_now()).0
        }
        6 => {
            let inner = std::pin::pin!(layers.fail(Fault::DOWN));
            let never = std::pin::pin!(pending::<()>());
            match futures_util::future::select(never, inner).await {
                futures_util::future::Either::Right((ended, _)) => ended,
                futures_util::future::Either::Left(..) => unreachable!("it is pending"),
            }
        }
        _ => Box::pin(async { layers.fail(Fault::DOWN).await }).await,
    }
}

#[test]
fn the_nearest_layer_retries_until_one_above_repeats() {
    for place in 0..8 {
        let layers = Layers::of_three();
        let gave_up = ready(layers.outer.retry(|_| from_everywhere(&layers, place))).unwrap_err();
        assert_eq!(layers.ran.get(), 5, "place {place}: 5, not 9");
        assert_eq!(
            gave_up.reason(),
            StopReason::AttemptsExhausted,
            "place {place}"
        );
        let inner = gave_up.error().expect("the inner give-up");
        assert_eq!(inner.reason(), StopReason::NestedRetry, "place {place}");
        assert_eq!(inner.attempts(), 1, "place {place}");
        assert_eq!(Scope::current(), Scope::NONE, "place {place}");
    }
}

#[test]
fn a_blocking_retry_inside_a_blocking_one_knows_of_it() {
    let layers = Layers::of_three();
    let gave_up = layers
        .outer
        .retry_blocking(|_| layers.fail_blocking(Fault::DOWN))
        .unwrap_err();
    assert_eq!((layers.ran.get(), gave_up.attempts()), (5, 3));
}

#[test]
fn the_closure_is_inside_the_attempt_as_well_as_its_future() {
    let layers = Layers::of_three();
    let call = layers.outer.retry(|_| {
        let at_once = layers.fail_blocking(Fault::DOWN);
        async move { at_once }
    });
    ready(call).unwrap_err();
    assert_eq!(layers.ran.get(), 5);
}

#[test]
fn calls_side_by_side_in_one_attempt_all_know_of_it() {
    let layers = Layers::of_three();
    let call = layers.outer.retry(|_| async {
        let (one, two) = futures_util::join!(layers.fail(Fault::DOWN), layers.fail(Fault::DOWN));
        one.and(two)
    });
    ready(call).unwrap_err();
    assert_eq!(layers.ran.get(), 2 * 5);
}

#[test]
fn the_inner_error_keeps_class_effect_and_hint() {
    for (fault, class, effect) in [
        (Fault::REFUSED, Class::Transient, Effect::Unsent),
        (Fault::DOWN, Class::Transient, Effect::Unknown),
        (Fault::BUSY, Class::Throttled, Effect::Unknown),
    ] {
        let layers = Layers::of_three();
        let gave_up = ready(layers.outer.retry(|_| layers.fail(fault))).unwrap_err();
        for record in gave_up.records() {
            assert_eq!((record.class, record.effect), (class, effect));
        }
        assert_eq!(gave_up.attempts(), 3);
    }
    let layers = Layers::of_three();
    let hinted = Fault(Failure::throttled().hint(Hint::Exactly(7 * SECOND)));
    let gave_up = ready(layers.outer.retry(|_| layers.fail(hinted))).unwrap_err();
    let delays: Vec<_> = gave_up.records().map(|record| record.delay).collect();
    assert_eq!(
        delays,
        [0 * MS, 7 * SECOND, 7 * SECOND],
        "the outer one waits as the server said"
    );
}

#[test]
fn an_unsent_inner_attempt_lifts_the_gate_of_an_outer_call_too() {
    let layers = Layers::new(fixed(MS).attempts(3), fixed(MS).attempts(1));
    let call = layers
        .outer
        .retry(|_| layers.fail(Fault::REFUSED))
        .not_idempotent();
    assert_eq!(ready(call).unwrap_err().attempts(), 3);
    let layers = Layers::new(fixed(MS).attempts(3), fixed(MS).attempts(1));
    let call = layers
        .outer
        .retry(|_| layers.fail(Fault::DOWN))
        .not_idempotent();
    assert_eq!(ready(call).unwrap_err().reason(), StopReason::NotIdempotent);
}

#[test]
fn a_permanent_inner_error_stays_permanent() {
    let layers = Layers::of_three();
    let gave_up = ready(layers.outer.retry(|_| layers.fail(Fault::GONE))).unwrap_err();
    assert_eq!(
        (gave_up.reason(), gave_up.attempts()),
        (StopReason::Permanent, 1)
    );
    assert_eq!(gave_up.error().unwrap().reason(), StopReason::Permanent);
}

/// What the outer call is, and how many attempts the inner one makes in all, if it is to be the
/// nearest that retries or the outermost. Nothing was sent, so that any call may be repeated.
#[test]
fn only_an_outer_call_that_may_repeat_suppresses() {
    let once = || fixed(MS).attempts(1);
    let thrice = || fixed(MS).attempts(3);
    type Change = fn(Operation, Option<u32>) -> (Operation, Option<u32>);
    let as_it_is: Change = |operation, attempts| (operation, attempts);
    let cases: [(&str, Policy, Change, [u32; 2]); 6] = [
        ("one attempt by policy", once(), as_it_is, [3, 3]),
        (
            "one attempt by option",
            thrice(),
            |operation, _| (operation, Some(1)),
            [3, 3],
        ),
        (
            "not idempotent",
            thrice(),
            |_, attempts| (Operation::NotIdempotent, attempts),
            [9, 9],
        ),
        ("three attempts", thrice(), as_it_is, [5, 3]),
        (
            "three attempts by option",
            once(),
            |operation, _| (operation, Some(3)),
            [5, 3],
        ),
        (
            "keyed",
            thrice(),
            |_, attempts| (Operation::KeyedByCaller, attempts),
            [5, 3],
        ),
    ];
    for (name, outer, change, expected) in cases {
        for (nested, expected) in [Nested::Nearest, Nested::Outermost]
            .into_iter()
            .zip(expected)
        {
            let layers = Layers::new(outer.clone(), thrice().nested(nested));
            let (operation, attempts) = change(Operation::Idempotent, None);
            let run = |_| layers.fail_blocking(Fault::REFUSED);
            let call = layers.outer.blocking(run).operation(operation);
            let call = match attempts {
                Some(attempts) => call.attempts(attempts),
                None => call,
            };
            call.call().unwrap_err();
            assert_eq!(layers.ran.get(), expected, "{name}, {nested}");
        }
    }
}

#[test]
fn an_outer_retrier_that_is_switched_off_does_not_suppress() {
    for attempts in [None, Some(3)] {
        let layers = Layers::of_three();
        layers.outer.disable_retries();
        let call = layers.outer.blocking(|_| layers.fail_blocking(Fault::DOWN));
        let call = match attempts {
            Some(attempts) => call.attempts(attempts),
            None => call.operation(Operation::KeyedByCaller),
        };
        call.call().unwrap_err();
        assert_eq!(layers.ran.get(), 3, "{attempts:?} by option");
    }
    let layers = Layers::of_three();
    layers.outer.disable_retries();
    ready(layers.outer.retry(|_| layers.fail(Fault::DOWN))).unwrap_err();
    assert_eq!(layers.ran.get(), 3, "plain");
}

#[test]
fn a_layer_between_that_runs_once_does_not_hide_the_one_above() {
    let layers = Layers::of_three();
    let between = on(&FakeSleeper::auto(), fixed(MS).attempts(1));
    let call = layers.outer.retry(|_| {
        between.retry(|_| layers.fail(Fault::DOWN)) // its error is a give-up in a give-up
    });
    let gave_up = ready(call).unwrap_err();
    assert_eq!((layers.ran.get(), gave_up.attempts()), (5, 3));
}

#[test]
fn an_inner_retrier_that_may_multiply_does() {
    let layers = Layers::new(
        fixed(MS).attempts(3),
        fixed(MS).attempts(3).nested(Nested::Allow),
    );
    ready(layers.outer.retry(|_| layers.fail(Fault::DOWN))).unwrap_err();
    assert_eq!(layers.ran.get(), 9);
}

/// A call in the middle of an attempt, on one thread with another that has nothing to do with it.
#[test]
fn another_task_of_the_thread_knows_nothing_of_it() {
    let layers = Layers::of_three();
    let mut outer = ByHand::new(layers.outer.retry(|_| async {
        yield_now().await;
        Err::<(), _>(Fault::DOWN)
    }));
    assert!(outer.poll().is_pending());
    assert_eq!(Scope::current(), Scope::NONE);
    let gave_up = ready(layers.fail(Fault::DOWN)).unwrap_err();
    assert_eq!(gave_up.reason(), StopReason::AttemptsExhausted);
    assert_eq!(layers.ran.get(), 3);
    assert!(outer.run().is_ready());
}

#[tokio::test(flavor = "current_thread")]
async fn it_does_not_follow_spawn_and_wrap_carries_it() {
    static CLOCK: std::sync::LazyLock<FakeSleeper> = std::sync::LazyLock::new(FakeSleeper::auto);
    static INNER: std::sync::LazyLock<Retrier> =
        std::sync::LazyLock::new(|| on(&CLOCK, fixed(MS).attempts(3)));

    async fn inner() -> Result<(), GaveUp<Fault>> {
        INNER.retry(|_| async { Err(Fault::DOWN) }).await
    }

    let outer = on(&CLOCK, fixed(MS).attempts(2));
    for (carried, reason, attempts) in [
        (false, StopReason::AttemptsExhausted, 3),
        (true, StopReason::NestedRetry, 1),
    ] {
        let call = outer.retry(|_| async move {
            let task = if carried {
                tokio::spawn(Scope::current().wrap(inner()))
            } else {
                tokio::spawn(inner())
            };
            task.await.expect("no panic")
        });
        let gave_up = call.await.unwrap_err();
        let inner = gave_up.error().unwrap();
        assert_eq!((inner.reason(), inner.attempts()), (reason, attempts));
    }
}

#[test]
fn a_thread_of_its_own_is_entered_by_hand() {
    let three = || fixed(MS).attempts(3);
    let Layers { outer, inner, .. } = Layers::new(three(), three().nested(Nested::Outermost));
    let reason = |scope: Scope| {
        let inner = inner.clone();
        let call = move || inner.retry_blocking(|_| Err::<(), _>(Fault::DOWN));
        let run = move || scope.enter(call).unwrap_err().reason();
        std::thread::spawn(run).join().unwrap()
    };
    let _ = outer.retry_blocking(|_| {
        assert_eq!(reason(Scope::NONE), StopReason::AttemptsExhausted);
        assert_eq!(reason(Scope::current()), StopReason::NestedRetry);
        Ok::<_, Fault>(())
    });
}

#[test]
fn the_loop_by_hand_is_a_layer_where_it_says_so() {
    let layers = Layers::of_three();
    ready(async {
        let mut call = layers.outer.call();
        while call.next().await.is_some() {
            match call.scope().wrap(layers.fail(Fault::DOWN)).await {
                Ok(()) => unreachable!(),
                Err(gave_up) => call.failure(gave_up),
            }
        }
        assert_eq!(call.gave_up().attempts(), 3);
    });
    assert_eq!(layers.ran.get(), 5);
}

#[test]
fn the_loop_by_hand_knows_of_the_layers_above_it() {
    let layers = Layers::of_three();
    let call = layers.outer.retry(|_| async {
        let mut call = layers.inner.call();
        while call.next().await.is_some() {
            layers.count();
            call.failure(Fault::DOWN);
        }
        Err::<(), _>(call.gave_up())
    });
    assert_eq!(ready(call).unwrap_err().attempts(), 3);
    assert_eq!(layers.ran.get(), 5);
}

#[test]
fn the_inner_layer_ends_before_the_outer_one_says_so() {
    let clock = FakeSleeper::new();
    let journal = Journal::default();
    let named = |name: &str, policy: Policy| {
        let builder = policy.builder().sleeper(clock.clone());
        builder
            .observer(journal.clone())
            .name(name)
            .build()
            .unwrap()
    };
    let outer = named("outer", fixed(MS).deadline(SECOND));
    let inner = named("inner", fixed(MS));
    let mut call = ByHand::new(outer.retry(|_| {
        let inner = inner.clone();
        async move {
            inner
                .retry(|_| pending::<Result<(), Fault>>())
                .not_idempotent()
                .await
        }
    }));
    assert!(call.run().is_pending());
    clock.advance(SECOND);
    assert!(call.run().is_ready());
    let stops: Vec<_> = journal
        .signed()
        .into_iter()
        .filter_map(|(name, seen)| match seen {
            Seen::Stopped(reason, ..) => Some((name, reason)),
            _ => None,
        })
        .collect();
    assert_eq!(
        stops,
        [
            // On one clock both know of the deadline, and the inner one is asked first.
            ("inner".to_owned(), StopReason::DeadlineExceeded),
            ("outer".to_owned(), StopReason::DeadlineExceeded),
        ]
    );
}
