//! Is anything lost where the first attempt of a call has no engine?

use std::task::Waker;

use becalm::run::{Core, Engine, FirstAttempt, Step};
use becalm::time::FakeSleeper;
use becalm::{Breaker, Bulkhead, Policy, Retrier, Scope, StopReason, breaker::State};

use crate::probe::{Fault, MS, SECOND, Seen, fixed, on, watched};

/// What an object of another language keeps for each call.
#[test]
fn it_is_a_fraction_of_an_engine() {
    assert!(size_of::<FirstAttempt<Core>>() <= size_of::<Engine<Core>>() / 2);
    const fn is_sync<T: Send + Sync + 'static>() {}
    const { is_sync::<FirstAttempt<Core>>() };
}

#[test]
fn each_success_earns_and_a_call_that_is_dropped_does_not() {
    for timed in [false, true] {
        let policy = Policy::default().deadline(timed.then_some(SECOND));
        let retrier = on(&FakeSleeper::auto(), policy);
        while retrier.budget_fill() >= 0.1 {
            let _ = retrier.retry_blocking(|_| Err::<(), _>(Fault::DOWN));
        }
        let before = retrier.budget_fill();
        drop(retrier.engine().first_attempt());
        assert_eq!(retrier.budget_fill(), before);
        for _ in 0..10 {
            let first = retrier.engine().first_attempt();
            first.expect("nothing holds it up").succeeded();
        }
        // A tenth of a token each, of ten tokens.
        let earned = retrier.budget_fill() - before;
        assert!((earned - 0.1).abs() < 1e-9, "{earned}");
    }
}

#[test]
fn a_place_is_held_while_it_runs_and_free_however_it_ends() {
    let policy = fixed(MS).bulkhead(Bulkhead::calls(1));
    let retrier = on(&FakeSleeper::auto(), policy);
    let begin = || retrier.engine().first_attempt();
    for end in [
        |first: FirstAttempt<_>| first.succeeded(),
        |first: FirstAttempt<_>| drop(first),
        |first: FirstAttempt<_>| {
            let inside = first.scope();
            drop(first.into_engine(inside));
        },
    ] {
        let first = begin().expect("there is a place");
        assert_eq!(retrier.in_flight(), Some(1));
        let mut refused = begin().expect_err("the place is taken");
        let stopped = refused.block_attempt().expect_err("it is refused");
        assert_eq!(stopped.reason(), StopReason::BulkheadFull);
        end(first);
        assert_eq!(retrier.in_flight(), Some(0));
    }
}

#[test]
fn what_was_held_up_starts_by_its_engine() {
    let policy = fixed(MS).bulkhead(Bulkhead::calls(1).waiting(1));
    let retrier = on(&FakeSleeper::auto(), policy);
    let first = retrier.engine().first_attempt().expect("there is a place");
    let mut waits = retrier.engine().first_attempt().expect_err("it waits");
    first.succeeded();
    let attempt = waits.block_attempt().expect("the place is free");
    waits.succeeded(attempt.number());
    assert_eq!(retrier.in_flight(), Some(0));
}

#[test]
fn a_drop_is_told_as_cancelled_and_as_no_panic() {
    let clock = FakeSleeper::auto();
    let watched = watched(&clock, fixed(MS).breaker(Breaker::consecutive(1)), 10);
    let first = watched.retrier.engine().first_attempt();
    clock.advance(5 * MS);
    drop(first);
    let told = [
        Seen::Attempt(1, 0 * MS),
        Seen::Stopped(StopReason::Cancelled, 1, 0 * MS),
    ];
    assert_eq!(watched.journal.seen(), told);
    assert_eq!(watched.retrier.breaker_state(), Some(State::Closed));
}

/// As in every other driver, the breaker counts an operation that panics.
#[test]
fn a_panic_is_counted() {
    let policy = fixed(MS).breaker(Breaker::consecutive(1));
    let retrier = on(&FakeSleeper::auto(), policy);
    let _quiet = crate::panics::Silence::new();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _first = retrier.engine().first_attempt();
        panic!("the operation's");
    }));
    assert!(panicked.is_err());
    assert!(matches!(retrier.breaker_state(), Some(State::Open)));
}

/// The layer below tells, while the attempt goes on in the driver's own hands.
#[test]
fn what_was_told_inside_is_heard() {
    let retrier = on(&FakeSleeper::auto(), fixed(MS));
    let first = retrier.engine().first_attempt().expect("it runs");
    let stopped =
        |_: &_| Err::<(), _>(Fault(becalm::Failure::transient().hint(becalm::Hint::Stop)));
    let (_, inside) = first
        .scope()
        .enter_with_scope(|| retrier.retry_blocking(|attempt| stopped(&attempt)));
    assert_eq!(inside.told_below(), Some(StopReason::DoNotRetry));
    let mut engine = first.into_engine(inside);
    engine.failed(1, becalm::Failure::transient(), None);
    let stopped = engine.take_stopped().expect("it stops");
    assert_eq!(stopped.reason(), StopReason::DoNotRetry);
}

/// A call as an object of another language holds it.
#[expect(
    clippy::large_enum_variant,
    reason = "a box would be an allocation of each call"
)]
enum Held {
    First(FirstAttempt<Core>),
    Driven(Box<Engine<Core>>),
    Gone,
}

impl Held {
    fn scope(&self) -> Scope {
        match self {
            Self::First(first) => first.scope(),
            Self::Driven(engine) => engine.scope_of(engine.attempts()),
            Self::Gone => Scope::NONE,
        }
    }

    /// A layer below has run in its scope, on whatever thread.
    fn hear(&mut self, inside: Scope) {
        if let Self::Driven(engine) = self {
            engine.hear(inside);
        } else if inside.told_below().is_some() {
            self.engine(inside);
        }
    }

    fn engine(&mut self, inside: Scope) -> &mut Engine<Core> {
        *self = match std::mem::replace(self, Self::Gone) {
            Self::First(first) => Self::Driven(Box::new(first.into_engine(inside))),
            other => other,
        };
        match self {
            Self::Driven(engine) => engine,
            _ => panic!("the call is gone"),
        }
    }

    fn succeeded(self, number: u32) {
        match self {
            Self::First(first) => first.succeeded(),
            Self::Driven(mut engine) => engine.succeeded(number),
            Self::Gone => (),
        }
    }
}

/// Runs it in the scope of the call above, which a variable of the other language carries: nothing is
/// entered while the operation runs.
fn below<R>(above: &mut Option<&mut Held>, run: impl FnOnce() -> R) -> R {
    let Some(above) = above else {
        return run();
    };
    let (result, inside) = above.scope().enter_with_scope(run);
    above.hear(inside);
    result
}

type Body<'a> = dyn FnMut(&mut Held) -> Result<(), Fault> + 'a;

fn bound(
    retrier: &Retrier,
    mut above: Option<&mut Held>,
    body: &mut Body<'_>,
) -> Result<(), Fault> {
    let begun = below(&mut above, || retrier.engine().first_attempt());
    let mut held = begun.map_or_else(Held::Driven, Held::First);
    let mut number = 1;
    loop {
        let fault = match body(&mut held) {
            Ok(()) => {
                below(&mut above, || held.succeeded(number));
                return Ok(());
            }
            Err(fault) => fault,
        };
        let inside = held.scope();
        let engine = held.engine(inside);
        let step = below(&mut above, || {
            engine.failed(number, fault.0, Some(&fault));
            loop {
                match engine.step(Waker::noop(), &mut |_| ()) {
                    Step::Wait(until) => retrier.sleeper().block_until(until, None),
                    step => return step,
                }
            }
        });
        match step {
            Step::Start(attempt) => number = attempt.number(),
            _ => return Err(fault),
        }
    }
}

/// As with the engines of Rust, though no scope is the thread's while the operation runs: so a layer in another task,
/// or behind an `await` of another language, knows of the one above.
#[test]
fn layers_of_a_binding_add_and_hear_each_other() {
    for (fault, runs) in [
        (Fault::DOWN, 7),
        (
            Fault(becalm::Failure::transient().hint(becalm::Hint::Stop)),
            1,
        ),
    ] {
        let clock = FakeSleeper::auto();
        let [outer, inner] = [fixed(MS), fixed(MS)].map(|policy| on(&clock, policy));
        let mut ran = 0;
        let ended = bound(&outer, None, &mut |outer| {
            bound(&inner, Some(outer), &mut |_| {
                assert_eq!(Scope::current(), Scope::NONE);
                ran += 1;
                Err(fault)
            })
            .map_err(|_| Fault::DOWN)
        });
        assert!(ended.is_err());
        assert_eq!(ran, runs);
        assert_eq!(bound(&outer, None, &mut |_| Ok(())), Ok(()));
    }
}
