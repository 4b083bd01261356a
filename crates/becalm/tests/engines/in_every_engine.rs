//! Does every engine do what is promised of all: tell the attempt its time-out, hear that the body is
//! gone, end when it is cancelled?

use std::cell::{Cell, RefCell};
use std::future::{Future as _, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::rc::Rc;
use std::sync::mpsc;
use std::task::Poll;
use std::time::Duration;

use becalm::run::{Attempts, Copies, Engine};
use becalm::scope::body_is_consumed;
use becalm::time::FakeSleeper;
use becalm::{
    Attempt, Breaker, Cancel, Classify, Effect, GaveUp, Hint, IdempotencyKey, Policy, Retrier,
    Scope, StopReason, scope::Nested,
};

use crate::probe::{ByHand, Fault, MS, SECOND, by_first_attempt, fixed, on, ready, watched};

pub type Operation<'a> = &'a dyn Fn(Attempt) -> Result<u32, Fault>;
pub type Ended = Result<u32, GaveUp<Fault>>;
pub type Driver = fn(&Retrier, Operation<'_>) -> Ended;

pub const DRIVERS: [(&str, Driver); 8] = [
    ("async", |retrier, operation| {
        ready(retrier.retry(|attempt| async move { operation(attempt) }))
    }),
    ("blocking", |retrier, operation| {
        retrier.retry_blocking(operation)
    }),
    ("loop", |retrier, operation| {
        ready(async {
            let mut call = retrier.call();
            while let Some(attempt) = call.next().await {
                match call.wrap(async { operation(attempt) }).await {
                    Ok(value) => return Ok(call.success(value)),
                    Err(fault) => call.failure(fault),
                }
            }
            Err(call.gave_up())
        })
    }),
    ("blocking loop", |retrier, operation| {
        let mut call = retrier.owned_call();
        while let Some(attempt) = call.next_blocking() {
            match call.enter(|| operation(attempt)) {
                Ok(value) => return Ok(call.success(value)),
                Err(fault) => call.failure(fault),
            }
        }
        Err(call.gave_up())
    }),
    ("a driver of futures", |retrier, operation| {
        let mut engine = retrier.engine().begin();
        let (mut copies, mut last) = (pin!(Copies::none()), None);
        let start = |attempt| async move { operation(attempt) };
        ready(poll_fn(|context| {
            let (copies, classifier) = (copies.as_mut(), retrier.classifier());
            copies.poll_call(&mut engine, classifier, &mut last, context, start)
        }))
    }),
    (
        "a driver of futures with a quick path",
        |retrier, operation| {
            let mut attempts = pin!(Attempts::new(retrier.engine()));
            let start = |attempt| async move { operation(attempt) };
            ready(poll_fn(|context| {
                let (attempts, classifier) = (attempts.as_mut(), retrier.classifier());
                attempts.poll_call(classifier, context, start, |_, future, context| {
                    Future::poll(future, context)
                })
            }))
        },
    ),
    ("a driver without futures", |retrier, operation| {
        by_first_attempt(retrier, retrier.engine(), operation)
    }),
    ("a driver of its own", |retrier, operation| {
        let mut engine = retrier.engine().begin();
        let mut last = None;
        loop {
            let attempt = match engine.block_attempt() {
                Ok(attempt) => attempt,
                Err(stopped) => return Err(stopped.with_error(last)),
            };
            match engine.inside(attempt.number(), || operation(attempt)) {
                Ok(value) => {
                    engine.succeeded(attempt.number());
                    return Ok(value);
                }
                Err(fault) => {
                    engine.failed_with(attempt, retrier.classifier(), &fault);
                    last = Some(fault);
                }
            }
        }
    }),
];

/// What each of three attempts of 90 ms, 10 ms apart, is told.
fn told(driver: Driver, policy: Policy) -> Vec<Option<Duration>> {
    let clock = FakeSleeper::auto();
    let retrier = on(&clock, policy.attempts(3));
    let told = RefCell::new(Vec::new());
    let ended = driver(&retrier, &|attempt| {
        told.borrow_mut().push(attempt.timeout());
        clock.advance(90 * MS);
        Err(Fault::DOWN)
    });
    assert_eq!(ended.unwrap_err().attempts(), 3);
    told.into_inner()
}

/// C5: what is left of the deadline, as the client's time-out, would lengthen it.
#[test]
fn c5_the_timeout_of_an_attempt_is_the_lesser_of_both() {
    let policy = || fixed(10 * MS);
    for (name, driver) in DRIVERS {
        assert_eq!(told(driver, policy()), [None; 3], "{name}");
        let short = policy().attempt_timeout(100 * MS);
        assert_eq!(told(driver, short), [Some(100 * MS); 3], "{name}");
        let left = [290, 190, 90].map(|millis| Some(millis * MS));
        let bounded = policy().deadline(290 * MS);
        assert_eq!(told(driver, bounded), left, "{name}");
        let least = [100, 100, 90].map(|millis| Some(millis * MS));
        let both = policy().attempt_timeout(100 * MS).deadline(290 * MS);
        assert_eq!(told(driver, both), least, "{name}");
    }
}

/// What a driver needs to set the header field `Idempotency-Key`.
#[test]
fn every_attempt_of_a_keyed_call_carries_its_key_in_every_engine() {
    let retrier = on(&FakeSleeper::auto(), fixed(MS).attempts(3));
    let key = IdempotencyKey::random();
    let keys = RefCell::new(Vec::new());
    let operation = |attempt: Attempt| {
        keys.borrow_mut().push(attempt.key());
        Err::<(), _>(Fault::DOWN)
    };
    let of_async = retrier.retry(|attempt| async move { operation(attempt) });
    assert!(ready(of_async.keyed_with(key)).is_err());
    assert!(retrier.blocking(operation).keyed_with(key).call().is_err());
    let mut call = retrier.call().keyed_with(key);
    while let Some(attempt) = call.next_blocking() {
        call.failure(operation(attempt).unwrap_err());
    }
    let mut engine = retrier.engine().keyed_with(key).begin();
    while let Ok(attempt) = engine.block_attempt() {
        let fault = operation(attempt).unwrap_err();
        engine.failed_with(attempt, retrier.classifier(), &fault);
    }
    assert_eq!(keys.into_inner(), [Some(key); 4 * 3]);
}

/// C4: nobody repeats it, but for a retry inside, which may repeat what it can.
#[test]
fn c4_a_body_that_is_gone_stops_every_engine() {
    for (name, driver) in DRIVERS {
        let watched = watched(&FakeSleeper::auto(), fixed(MS), 10);
        let gave_up = driver(&watched.retrier, &|_| {
            body_is_consumed();
            Err(Fault::DOWN)
        });
        let gave_up = gave_up.unwrap_err();
        assert_eq!(
            (gave_up.reason(), gave_up.attempts()),
            (StopReason::BodyNotReplayable, 1),
            "{name}"
        );
        assert_eq!(watched.ledger.book().withdrawals, 0, "{name}");
        assert_eq!(watched.retrier.waiting(), 0, "{name}");
        assert_eq!(Scope::current(), Scope::NONE, "{name}");

        let inner = on(&FakeSleeper::auto(), fixed(MS).nested(Nested::Outermost));
        let fail = || inner.retry_blocking(|_| Err::<u32, _>(Fault::DOWN));
        for (consumed, attempts) in [(false, 1), (true, 4)] {
            let inside = Cell::new(0);
            let ended = driver(&watched.retrier, &|attempt| {
                if consumed {
                    body_is_consumed();
                }
                inside.set(fail().unwrap_err().attempts());
                Ok(attempt.number())
            });
            assert_eq!(ended.unwrap(), 1, "{name}");
            assert_eq!(inside.get(), attempts, "{name}, {consumed}");
        }
    }
    body_is_consumed();
    assert_eq!(Scope::current(), Scope::NONE, "nobody is there to hear it");
}

/// C4, for drivers in which nothing is said inside: the attempt runs elsewhere.
#[test]
fn c4_a_driver_may_say_that_the_body_is_gone() {
    let retrier = on(&FakeSleeper::auto(), fixed(MS));
    let mut call = retrier.call();
    assert!(call.next_blocking().is_some());
    call.body_is_consumed();
    assert!(!call.scope().is_repeated_above());
    call.failure(Fault::DOWN);
    assert!(call.next_blocking().is_none());
    assert_eq!(call.gave_up().reason(), StopReason::BodyNotReplayable);

    let mut engine = Engine::builder(&retrier).begin();
    assert!(engine.block_attempt().is_ok());
    engine.body_is_consumed();
    assert!(!engine.scope_of(1).is_repeated_above());
    engine.failed(1, Fault::DOWN.0, Some(&Fault::DOWN));
    let stopped = engine.block_attempt().unwrap_err();
    assert_eq!(stopped.reason(), StopReason::BodyNotReplayable);
}

/// C4: an attempt that pends after it has said so is dropped, or ends, like any other.
#[test]
fn c4_a_body_that_is_gone_is_remembered_while_the_attempt_pends() {
    let retrier = on(&FakeSleeper::new(), fixed(MS));
    let mut call = ByHand::new(retrier.retry(|_| async {
        body_is_consumed();
        crate::probe::yield_now().await;
        Err::<(), _>(Fault::DOWN)
    }));
    let Poll::Ready(ended) = call.run() else {
        panic!("it waits for a second attempt");
    };
    assert_eq!(ended.unwrap_err().reason(), StopReason::BodyNotReplayable);
}

/// An attempt that pends while a neighbour on its thread panics is cancelled: its own operation has not panicked.
#[test]
fn an_attempt_that_is_dropped_by_anothers_panic_has_not_failed() {
    let policy = fixed(MS).breaker(Breaker::consecutive(1).open(SECOND));
    for policy in [policy.clone(), policy.deadline(SECOND)] {
        let retrier = on(&FakeSleeper::new(), policy);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let mut attempts = Box::pin(Attempts::new(retrier.engine()));
            let mut call = ByHand::new(poll_fn(|context| {
                let start = |_| pending::<Result<u32, Fault>>();
                attempts.as_mut().poll_call(
                    retrier.classifier(),
                    context,
                    start,
                    |_, future, context| future.poll(context),
                )
            }));
            assert!(call.run().is_pending());
            panic!("a neighbour");
        }));
        assert!(panicked.is_err());
        let next = ready(retrier.retry(|_| async { Ok::<_, Fault>(17) }));
        assert_eq!(next.ok(), Some(17), "the breaker is closed");
    }
}

fn assert_cancelled(gave_up: &GaveUp<Fault>, error: Option<&Fault>, context: &str) {
    assert_eq!(gave_up.reason(), StopReason::Cancelled, "{context}");
    assert_eq!(gave_up.error(), error, "{context}");
    assert_eq!(gave_up.attempts(), 1, "{context}");
}

/// C7: of the async engine, whatever it does.
#[test]
fn c7_a_cancel_ends_every_engine_that_awaits() {
    let clock = FakeSleeper::new();
    for policy in [fixed(100 * MS), fixed(100 * MS).deadline(SECOND)] {
        let watched = watched(&clock, policy, 10);
        let retrier = &watched.retrier;

        let (cancel, held) = (Cancel::new(), Rc::new(()));
        let attempt = |held: Rc<()>| async move {
            let _held = held;
            pending::<Result<(), Fault>>().await
        };
        let call = retrier.retry(|_| attempt(Rc::clone(&held)));
        let mut call = ByHand::new(call.cancel(&cancel));
        assert!(call.run().is_pending());
        assert_eq!((call.wakes(), Rc::strong_count(&held)), (0, 2));
        cancel.cancel();
        assert_eq!(call.wakes(), 1, "it hears of it");
        let Poll::Ready(Err(gave_up)) = call.run() else {
            panic!("the attempt is awaited on");
        };
        assert_cancelled(&gave_up, None, "an attempt pends");
        assert_eq!(Rc::strong_count(&held), 1, "the attempt is dropped");

        let cancel = Cancel::new();
        let call = retrier.retry(|_| async { Err::<(), _>(Fault::DOWN) });
        let mut call = ByHand::new(call.cancel(&cancel));
        assert!(call.run().is_pending());
        assert_eq!((retrier.waiting(), watched.ledger.book().tokens), (1, 9));
        cancel.cancel();
        assert_eq!(call.wakes(), 1, "it hears of it");
        let Poll::Ready(Err(gave_up)) = call.run() else {
            panic!("it waits on");
        };
        assert_cancelled(&gave_up, Some(&Fault::DOWN), "it waits");

        let cancel = Cancel::new();
        let mut call = retrier.call::<Fault>().cancel(&cancel);
        assert!(call.next_blocking().is_some());
        call.failure(Fault::DOWN);
        let mut next = ByHand::new(call.next());
        assert!(next.run().is_pending());
        cancel.cancel();
        assert_eq!(next.wakes(), 1, "it hears of it");
        assert_eq!(next.run(), Poll::Ready(None), "it waits on");
        drop(next);
        assert_cancelled(&call.gave_up(), Some(&Fault::DOWN), "a loop waits");

        let call = retrier.retry(|_| async { Ok::<_, Fault>(()) });
        let gave_up = ready(call.cancel(&cancel)).unwrap_err();
        assert_eq!(gave_up.attempts(), 0, "it never begins");
        assert_eq!((retrier.waiting(), watched.ledger.book().tokens), (0, 10));
        assert_eq!(clock.sleepers(), 0, "no timer is left");
        let stops = watched.journal.stops();
        assert!(stops.iter().all(|stop| stop.0 == StopReason::Cancelled));
        assert_eq!(stops.len(), 4, "each is told once");
    }
}

/// C7: of those that block a thread, on a clock that nobody moves.
#[test]
fn c7_a_cancel_ends_every_engine_that_blocks() {
    type Blocks = fn(&Retrier, &Cancel) -> GaveUp<Fault>;
    let engines: [(&str, Blocks); 2] = [
        ("blocking", |retrier, cancel| {
            let call = retrier.blocking(|_| Err::<(), _>(Fault::DOWN));
            call.cancel(cancel).call().unwrap_err()
        }),
        ("loop", |retrier, cancel| {
            let mut call = retrier.call().cancel(cancel);
            while call.next_blocking().is_some() {
                call.failure(Fault::DOWN);
            }
            call.gave_up()
        }),
    ];
    for (name, blocks) in engines {
        let (clock, cancel) = (FakeSleeper::new(), Cancel::new());
        let (done, ended) = mpsc::channel();
        let (retrier, handle) = (on(&clock, fixed(SECOND)), cancel.clone());
        std::thread::spawn(move || done.send(blocks(&retrier, &handle)));
        while clock.sleepers() == 0 {
            std::thread::yield_now();
        }
        cancel.cancel();
        let gave_up = ended.recv_timeout(60 * SECOND).expect("it waits on");
        assert_cancelled(&gave_up, Some(&Fault::DOWN), name);
        assert_eq!(clock.sleepers(), 0, "{name}: no timer is left");
    }
}

/// A failure that no retry follows needs no engine: it is told as an engine tells it.
#[test]
fn a_permanent_first_failure_is_told_alike_with_and_without_an_engine() {
    let hints = [None, Some(Hint::Stop), Some(Hint::AtLeast(SECOND))];
    let effects = [Effect::Unknown, Effect::Unsent];
    for (hint, effect) in hints
        .iter()
        .flat_map(|hint| effects.map(|effect| (*hint, effect)))
    {
        let mut fault = Fault::GONE;
        (fault.0.hint, fault.0.effect) = (hint, effect);
        // A policy whose calls are plain, and one whose calls never are.
        for policy in [Policy::default(), fixed(MS)] {
            let told = DRIVERS.map(|(name, driver)| {
                let retrier = on(&FakeSleeper::auto(), policy.clone());
                let gave_up = driver(&retrier, &|_| Err(fault)).unwrap_err();
                let stops = retrier.stops(StopReason::Permanent);
                let facts = (gave_up.classify(), stops);
                assert_eq!(Scope::current(), Scope::NONE, "{name}");
                format!("{gave_up}; {gave_up:?}; {facts:?}")
            });
            let [first, others @ ..] = &told;
            assert!(others.iter().all(|other| other == first), "{told:#?}");
            assert!(first.contains("gave up after 1 attempt because the failure is permanent"));
        }
    }
}
