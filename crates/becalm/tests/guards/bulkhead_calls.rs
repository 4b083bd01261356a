//! How many attempts run at once, and what happens to one beyond?

use std::future::pending;
use std::task::Poll;

use becalm::bulkhead::{Aimd, Limit};
use becalm::time::FakeSleeper;
use becalm::{
    Bulkhead, Classify, Effect, Operation, Scope, StopReason,
    call::{Call, CallOptions},
    run::Last,
};

use crate::probe::{ByHand, Fault, MS, fixed, ready};
use crate::world::{DEFAULT, DRIVERS, World, stop};

fn calls(limit: u32) -> becalm::Policy {
    fixed(100 * MS).bulkhead(Bulkhead::calls(limit))
}

#[test]
fn past_the_last_place_a_call_fails_at_once_and_costs_nothing() {
    for (driver, drive) in DRIVERS {
        let world = World::on(&FakeSleeper::new(), calls(2));
        let attempt = || ByHand::new(world.retrier.retry(|_| pending::<Result<u32, Fault>>()));
        let mut busy = [attempt(), attempt()];
        for call in &mut busy {
            assert!(call.run().is_pending());
        }
        assert_eq!(world.retrier.in_flight(), Some(2));
        let ended = drive(&world, &DEFAULT, &|_| panic!("there is no place"));
        assert_eq!(ended, Err(stop(StopReason::BulkheadFull, 0)), "{driver}");
        assert_eq!(world.ledger.book().first_tries, 2, "{driver}: no first try");
        assert_eq!(world.retrier.stops(StopReason::BulkheadFull), 1, "{driver}");
        drop(busy);
        assert_eq!(drive(&world, &DEFAULT, &|_| Ok(17)), Ok(17), "{driver}");
        world.assert_idle(driver);
    }
}

#[test]
fn what_is_left_of_it_says_that_nothing_was_sent() {
    let world = World::new(calls(1));
    let mut busy = world.retrier.call::<Fault>();
    assert!(busy.next_blocking().is_some());
    let refused = [
        ready(world.retrier.retry(|_| async { Ok::<u32, Fault>(17) })),
        world.retrier.retry_blocking(|_| Ok::<_, Fault>(17)),
    ];
    for gave_up in refused.map(Result::unwrap_err) {
        assert_eq!(gave_up.last(), Last::NotStarted);
        let failure = gave_up.classify();
        assert_eq!(
            (failure.effect, failure.hint),
            (Effect::Unsent, None),
            "worth repeating"
        );
        assert_eq!(
            gave_up.to_string(),
            "gave up before the first attempt because the bulkhead is full"
        );
    }
}

/// Law 9: waiting holds nothing.
#[test]
fn no_place_is_held_in_a_wait_and_one_in_every_attempt() {
    for (driver, drive) in DRIVERS {
        let world = World::new(calls(1));
        let waits = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let seen = waits.clone();
        world.in_next_wait(move |retrier| seen.lock().unwrap().push(retrier.in_flight()));
        let ended = drive(&world, &DEFAULT, &|attempt| {
            assert_eq!(world.retrier.in_flight(), Some(1), "{driver}");
            if attempt.number() < 4 {
                Err(Fault::DOWN)
            } else {
                Ok(17)
            }
        });
        assert_eq!(ended, Ok(17), "{driver}");
        assert_eq!(
            *waits.lock().unwrap(),
            [Some(0)],
            "{driver}: none in the wait"
        );
        world.assert_idle(driver);
    }
}

/// A place is asked for anew before every attempt, and a token comes back where there is none.
#[test]
fn a_retry_that_finds_no_place_stops_and_returns_its_token() {
    for (driver, drive) in DRIVERS {
        let world = World::new(calls(1));
        let intruder = std::sync::Arc::new(std::sync::Mutex::new(None));
        let held = intruder.clone();
        world.in_next_wait(move |retrier| {
            let (options, now) = (CallOptions::new(), retrier.sleeper().now());
            let mut call = Call::begin(retrier.clone(), options, Scope::NONE, now);
            call.start(now, &mut || 0).expect("the place is free");
            *held.lock().unwrap() = Some(call);
        });
        let ended = drive(&world, &DEFAULT, &|_| Err(Fault::DOWN));
        assert_eq!(ended, Err(stop(StopReason::BulkheadFull, 1)), "{driver}");
        let book = world.ledger.book();
        assert_eq!((book.withdrawals, book.refunds), (1, 1), "{driver}");
        drop(intruder.lock().unwrap().take());
        world.assert_idle(driver);
    }
}

#[test]
fn every_end_of_an_attempt_gives_its_place_back() {
    for (driver, drive) in DRIVERS {
        let world = World::new(calls(1).attempts(2));
        let once = CallOptions::new();
        let mut unsafe_to_repeat = CallOptions::new();
        unsafe_to_repeat.operation = Operation::NotIdempotent;
        for (options, answer) in [
            (once, Ok(17)),
            (once, Err(Fault::GONE)),
            (once, Err(Fault::DOWN)),
            (once, Err(Fault::REFUSED)),
            (unsafe_to_repeat, Err(Fault::DOWN)),
        ] {
            let _ = drive(&world, &options, &|_| answer);
            world.assert_idle(driver);
        }
    }
    let world = World::on(&FakeSleeper::new(), calls(1).attempts(1).deadline(50 * MS));
    for timeout in [None, Some(20 * MS)] {
        let mut policy = world.retrier.policy();
        policy.attempt_timeout = timeout;
        world
            .retrier
            .replace_policy(policy)
            .expect("a valid policy");
        let mut call = ByHand::new(world.retrier.retry(|_| pending::<Result<u32, Fault>>()));
        assert!(call.run().is_pending());
        world.clock.advance(50 * MS);
        let Poll::Ready(Err(_)) = call.run() else {
            panic!("cut")
        };
        world.assert_idle("cut");
    }
}

#[test]
fn nested_calls_on_one_bulkhead_do_not_share_a_place() {
    let world = World::new(calls(2));
    let ended = world.retrier.retry_blocking(|_| {
        let inner = world
            .retrier
            .retry_blocking(|_| Ok::<_, Fault>(world.retrier.in_flight()));
        Ok::<_, Fault>(inner.ok())
    });
    assert_eq!(ended.ok(), Some(Some(Some(2))));
}

fn aimd(initial: u32) -> Bulkhead {
    let mut aimd = Aimd::default();
    aimd.initial = initial;
    Bulkhead::limited(Limit::Aimd(aimd))
}

/// So many calls at once, of 10 ms each, that end like this.
fn wave(world: &World, calls: u32, answer: Result<u32, Fault>) {
    let ends = std::cell::Cell::new(false);
    let ends = &ends;
    let call = || {
        ByHand::new(world.retrier.retry(move |_| {
            std::future::poll_fn(move |_| {
                if ends.get() {
                    Poll::Ready(answer)
                } else {
                    Poll::Pending
                }
            })
        }))
    };
    let mut calls: Vec<_> = (0..calls).map(|_| call()).collect();
    world.clock.advance(MS);
    for call in &mut calls {
        assert!(call.run().is_pending());
    }
    world.clock.advance(10 * MS);
    ends.set(true);
    for call in &mut calls {
        assert!(call.run().is_ready());
    }
}

#[test]
fn an_adaptive_limit_learns_from_the_calls() {
    let policy = fixed(100 * MS).bulkhead(aimd(10)).attempts(1);
    for (answer, limit) in [
        (Ok(17), 11),           // of each wave the half that ends while the limit is in use
        (Err(Fault::GONE), 11), // an answer all the same
        (Err(Fault::DOWN), 7),  // dropped: a tenth less each time
        (Err(Fault::BUSY), 7),
        (Err(Fault::REFUSED), 10), // says nothing about how many fit
    ] {
        let world = World::on(&FakeSleeper::new(), policy.clone());
        for _ in 0..3 {
            let limit = world.retrier.concurrency_limit().expect("a bulkhead");
            wave(&world, limit, answer);
        }
        assert_eq!(world.retrier.concurrency_limit(), Some(limit), "{answer:?}");
    }
    // Nor does a call that was given up teach anything.
    let world = World::on(&FakeSleeper::new(), policy);
    let mut calls: Vec<_> = (0..10)
        .map(|_| ByHand::new(world.retrier.retry(|_| pending::<Result<u32, Fault>>())))
        .collect();
    assert!(calls.iter_mut().all(|call| call.run().is_pending()));
    drop(calls);
    assert_eq!(world.retrier.concurrency_limit(), Some(10));
    world.assert_idle("dropped");
}

/// A call that takes longer than `slow` is a drop: its time is told.
#[test]
fn an_adaptive_limit_hears_how_long_a_call_took() {
    for (driver, drive) in DRIVERS {
        for (lasts, limit) in [(99 * MS, 10), (100 * MS, 9)] {
            let mut aimd = Aimd::default();
            (aimd.initial, aimd.slow) = (10, Some(100 * MS));
            let policy = fixed(100 * MS).bulkhead(Bulkhead::limited(Limit::Aimd(aimd)));
            let world = World::new(policy);
            let ended = drive(&world, &DEFAULT, &|attempt| {
                if attempt.number() == 1 {
                    return Err(Fault::REFUSED);
                }
                world.clock.advance(lasts);
                Ok(17)
            });
            assert_eq!(ended, Ok(17));
            assert_eq!(
                world.retrier.concurrency_limit(),
                Some(limit),
                "{driver}, {lasts:?}"
            );
        }
    }
}
