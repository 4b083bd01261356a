//! How many calls does a half-open breaker let through at once, and who gives its slot back?

use std::future::pending;

use becalm::breaker::State::{Closed, HalfOpen, Open};
use becalm::time::FakeSleeper;
use becalm::{Bulkhead, StopReason, call::CallOptions};

use crate::probe::{ByHand, Fault, MS, SECOND, fixed};
use crate::world::{DEFAULT, DRIVERS, Stop, World, broken, broken_by, consecutive, stop};

const DOWN: Result<u32, Fault> = Err(Fault::DOWN);

/// Open, and its open time is over.
fn due(breaker: becalm::Breaker) -> World {
    let world = World::on(&FakeSleeper::new(), broken_by(breaker).attempts(1));
    world.retrier.force_open();
    world.clock.advance(SECOND);
    world
}

#[test]
fn conformance_14_half_open_admits_no_more_than_its_probes_at_once() {
    for (driver, drive) in DRIVERS {
        for probes in [1, 3] {
            let world = due(consecutive(1).probes(probes));
            let attempt = || ByHand::new(world.retrier.retry(|_| pending::<Result<u32, Fault>>()));
            let mut under_way: Vec<_> = (0..probes).map(|_| attempt()).collect();
            for probe in &mut under_way {
                assert!(probe.run().is_pending());
            }
            let ended = drive(&world, &DEFAULT, &|_| panic!("one probe too many"));
            // Asks again one `open` from now.
            assert_eq!(ended, Err(broken(0, SECOND)), "{driver}, {probes}");
            assert_eq!(world.state(), HalfOpen);

            // One that is dropped gives its slot to one other.
            under_way.pop();
            assert_eq!(
                world.state(),
                HalfOpen,
                "{driver}: a dropped probe proves nothing"
            );
            let ended = drive(&world, &DEFAULT, &|_| {
                let other = world.one(Ok(1));
                assert_eq!(
                    other.map_err(|stop| stop.reason),
                    Err(StopReason::BreakerOpen)
                );
                Ok(17)
            });
            assert_eq!(ended, Ok(17), "{driver}, {probes}");
            assert_eq!(world.state(), Closed, "{driver}, {probes}");
        }
    }
}

/// Slots come back however often probes are given up.
#[test]
fn conformance_14_probes_that_are_dropped_never_wedge_it() {
    let world = due(consecutive(1));
    for round in 0..50 {
        let call = world.retrier.retry(|_| pending::<Result<u32, Fault>>());
        let mut probe = ByHand::new(call);
        assert!(probe.run().is_pending(), "round {round}");
        assert_eq!(
            world.one(Ok(1)).unwrap_err().reason,
            StopReason::BreakerOpen
        );
    }
    assert_eq!(world.one(Ok(17)), Ok(17));
}

/// Asked for a token before it asks for the slot.
#[test]
fn conformance_14_a_retry_that_the_budget_denies_takes_no_slot() {
    for (driver, drive) in DRIVERS {
        let policy = fixed(SECOND).breaker(consecutive(1)).attempts(2);
        let world = World::paying(&FakeSleeper::new(), policy, 0);
        // Its retry would be the probe.
        let ended = drive(&world, &DEFAULT, &|_| DOWN);
        assert_eq!(ended, Err(stop(StopReason::BudgetExhausted, 1)), "{driver}");
        world.clock.advance(SECOND);
        assert_eq!(world.one(Ok(17)), Ok(17), "{driver}: the slot is free");
        assert_eq!(world.state(), Closed, "{driver}");
    }
}

#[test]
fn conformance_14_a_call_that_the_bulkhead_refuses_takes_no_slot() {
    for (driver, drive) in DRIVERS {
        let policy = broken_by(consecutive(1))
            .attempts(1)
            .bulkhead(Bulkhead::calls(1));
        let world = World::on(&FakeSleeper::new(), policy);
        let mut busy = ByHand::new(world.retrier.retry(|_| pending::<Result<u32, Fault>>()));
        assert!(busy.run().is_pending());
        world.retrier.force_open();
        world.clock.advance(SECOND);
        let ended = drive(&world, &DEFAULT, &|_| panic!("there is no place"));
        assert_eq!(ended, Err(stop(StopReason::BulkheadFull, 0)), "{driver}");
        assert_eq!(world.state(), HalfOpen, "{driver}");
        drop(busy);
        assert_eq!(
            drive(&world, &DEFAULT, &|_| Ok(17)),
            Ok(17),
            "{driver}: the slot is free"
        );
        world.assert_idle(driver);
    }
}

/// The other way round: the breaker refuses, and the place in the bulkhead is free again.
#[test]
fn a_call_that_the_breaker_refuses_keeps_no_place() {
    for (driver, drive) in DRIVERS {
        let policy = broken_by(consecutive(1)).bulkhead(Bulkhead::calls(1));
        let world = World::on(&FakeSleeper::new(), policy);
        world.retrier.force_open();
        for _ in 0..3 {
            let ended = drive(&world, &DEFAULT, &|_| Ok(17));
            assert_eq!(ended, Err(broken(0, SECOND)), "{driver}");
            world.assert_idle(driver);
        }
    }
}

#[test]
fn conformance_15_a_result_of_a_call_admitted_earlier_decides_nothing() {
    // How the old call ends, in which state: nothing follows from it.
    for answer in [Ok(17), DOWN] {
        let world = World::on(&FakeSleeper::new(), broken_by(consecutive(1)).attempts(1));
        let (release, gate) = std::sync::mpsc::channel::<()>();
        let gate = &gate;
        let old = |_| {
            std::future::poll_fn(move |_| match gate.try_recv() {
                Ok(()) => std::task::Poll::Ready(answer),
                Err(_) => std::task::Poll::Pending,
            })
        };
        let mut calls: Vec<_> = (0..3)
            .map(|_| ByHand::new(world.retrier.retry(old)))
            .collect();
        for call in &mut calls {
            assert!(call.run().is_pending());
        }
        let mut end_one = || {
            release.send(()).expect("the gate is there");
            assert!(calls.pop().expect("a call").run().is_ready());
        };
        world.retrier.force_open();
        end_one();
        assert_eq!(world.state(), Open, "{answer:?}");
        world.clock.advance(SECOND);
        let mut probe = ByHand::new(world.retrier.retry(|_| pending::<Result<u32, Fault>>()));
        assert!(probe.run().is_pending());
        end_one();
        assert_eq!(world.state(), HalfOpen, "{answer:?}");
        let refused = world.one(Ok(1)).unwrap_err().reason;
        assert_eq!(
            refused,
            StopReason::BreakerOpen,
            "{answer:?}: the probe keeps its slot"
        );
        drop(probe);
        assert_eq!(world.one(Ok(17)), Ok(17));
        assert_eq!(world.state(), Closed);
        end_one();
        assert_eq!(world.state(), Closed, "{answer:?}");
    }
}

/// A probe of an earlier half-open period is as late as any.
#[test]
fn conformance_15_a_late_probe_decides_nothing() {
    let world = due(consecutive(1).probes(2));
    let (release, gate) = std::sync::mpsc::channel::<()>();
    let call = world.retrier.retry(|_| {
        let gate = &gate;
        std::future::poll_fn(move |_| match gate.try_recv() {
            Ok(()) => std::task::Poll::Ready(Ok::<_, Fault>(17)),
            Err(_) => std::task::Poll::Pending,
        })
    });
    let mut late = ByHand::new(call);
    assert!(late.run().is_pending());
    world.one(DOWN).unwrap_err(); // the other probe opens it again
    assert_eq!(world.state(), Open);
    world.clock.advance(2 * SECOND);
    let mut probe = ByHand::new(world.retrier.retry(|_| pending::<Result<u32, Fault>>()));
    assert!(probe.run().is_pending());
    release.send(()).expect("the gate is there");
    assert!(late.run().is_ready());
    assert_eq!(world.state(), HalfOpen, "one success would have closed it");
}

/// Half-open, what fails opens it for longer.
#[test]
fn a_probe_that_fails_opens_it_again_in_every_driver() {
    for (driver, drive) in DRIVERS {
        let world = due(consecutive(9));
        let ended = drive(&world, &DEFAULT, &|_| DOWN);
        assert_eq!(
            ended,
            Err(stop(StopReason::AttemptsExhausted, 1)),
            "{driver}"
        );
        assert_eq!(world.one(Ok(1)), Err(broken(0, 2 * SECOND)), "{driver}");
    }
}

/// What the fleet finds out about a dependency that may be down earns no retries.
#[test]
fn a_probe_is_no_first_try_and_deposits_nothing() {
    for (driver, drive) in DRIVERS {
        let world = due(consecutive(1));
        assert_eq!(drive(&world, &DEFAULT, &|_| Ok(17)), Ok(17), "{driver}");
        let told = || {
            (
                world.ledger.book().first_tries,
                world.ledger.book().deposits,
            )
        };
        assert_eq!(told(), (0, 0), "{driver}: it was a probe");
        assert_eq!(drive(&world, &DEFAULT, &|_| Ok(17)), Ok(17), "{driver}");
        assert_eq!(told(), (1, 1), "{driver}: closed");
        let demand = world.retrier.demand().expect("it is counted");
        assert_eq!(
            (demand.first_tries, demand.attempts),
            (2, 2),
            "{driver}: both are calls"
        );
    }
}

/// A probe that is cut by its own deadline gives its slot back, too.
#[test]
fn a_probe_that_the_deadline_cuts_returns_its_slot() {
    let world = due(consecutive(1));
    let call = world.retrier.retry(|_| pending::<Result<u32, Fault>>());
    let mut probe = ByHand::new(call.deadline(100 * MS));
    assert!(probe.run().is_pending());
    world.clock.advance(100 * MS);
    let std::task::Poll::Ready(Err(gave_up)) = probe.run() else {
        panic!("cut");
    };
    let cut: Stop = gave_up.into();
    assert_eq!(cut, stop(StopReason::DeadlineExceeded, 1));
    assert_eq!(world.state(), HalfOpen);
    assert_eq!(world.one(Ok(17)), Ok(17));
}

/// Refused before its first attempt by the deadline, a call asks nobody for a slot.
#[test]
fn a_call_without_time_takes_no_slot() {
    for (driver, drive) in DRIVERS {
        let world = due(consecutive(1));
        let mut options = CallOptions::new();
        options.deadline = Some(core::time::Duration::ZERO);
        let ended = drive(&world, &options, &|_| panic!("there is no time"));
        assert_eq!(
            ended,
            Err(stop(StopReason::DeadlineExceeded, 0)),
            "{driver}"
        );
        assert_eq!(world.one(Ok(17)), Ok(17), "{driver}");
    }
}
