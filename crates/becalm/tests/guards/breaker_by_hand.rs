//! What can an operator do with a breaker?

use becalm::StopReason;
use becalm::breaker::State::{Closed, HalfOpen, Isolated, Open};

use crate::probe::{Fault, MS, SECOND, fixed};
use crate::world::{DEFAULT, DRIVERS, World, broken, broken_by, consecutive, stop};

#[test]
fn force_open_begins_an_open_time_and_probes_follow() {
    for (driver, drive) in DRIVERS {
        let world = World::new(broken_by(consecutive(1)));
        world.retrier.force_open();
        world.clock.advance(400 * MS);
        world.retrier.force_open(); // it is: the open time does not begin again
        assert_eq!(
            drive(&world, &DEFAULT, &|_| Ok(17)),
            Err(broken(0, 600 * MS)),
            "{driver}"
        );
        world.clock.advance(600 * MS);
        assert_eq!(world.state(), HalfOpen, "{driver}");
        assert_eq!(drive(&world, &DEFAULT, &|_| Ok(17)), Ok(17), "{driver}");
        assert_eq!(world.state(), Closed, "{driver}");
    }
}

#[test]
fn force_close_counts_anew() {
    for (driver, drive) in DRIVERS {
        let world = World::new(broken_by(consecutive(2)).attempts(1));
        let fail = || drive(&world, &DEFAULT, &|_| Err(Fault::DOWN)).unwrap_err();
        fail();
        fail();
        assert_eq!(world.state(), Open, "{driver}");
        world.retrier.force_close();
        fail();
        assert_eq!(world.state(), Closed, "{driver}: one of two");
        fail();
        // And forgets how often it has opened: a second, not two.
        assert_eq!(world.one(Ok(1)), Err(broken(0, SECOND)), "{driver}");
    }
}

#[test]
fn isolated_it_lets_nobody_pass_and_knows_no_next_probe() {
    for (driver, drive) in DRIVERS {
        let world = World::new(broken_by(consecutive(1)));
        world.retrier.isolate();
        world.clock.advance(3600 * SECOND);
        let refused = Err(stop(StopReason::BreakerOpen, 0));
        assert_eq!(drive(&world, &DEFAULT, &|_| Ok(17)), refused, "{driver}");
        assert_eq!(world.state(), Isolated, "{driver}");
        world.retrier.end_isolation();
        assert_eq!(world.state(), HalfOpen, "{driver}");
        assert_eq!(drive(&world, &DEFAULT, &|_| Ok(17)), Ok(17), "{driver}");
        assert_eq!(world.state(), Closed, "{driver}: the probe was good");

        world.retrier.isolate();
        world.retrier.force_open();
        assert_eq!(
            world.state(),
            Isolated,
            "{driver}: opening it would let probes through"
        );
        world.retrier.force_close();
        assert_eq!(world.state(), Closed, "{driver}");
    }
}

#[test]
fn the_sentence_of_an_isolated_breaker_promises_no_time() {
    let world = World::new(broken_by(consecutive(1)));
    world.retrier.isolate();
    let gave_up = world
        .retrier
        .retry_blocking(|_| Ok::<u32, Fault>(17))
        .unwrap_err();
    assert_eq!(
        gave_up.to_string(),
        "gave up before the first attempt because the circuit breaker is open"
    );
}

#[test]
fn what_is_done_by_hand_is_told_once() {
    let world = World::new(broken_by(consecutive(1)));
    for _ in 0..2 {
        world.retrier.force_open();
    }
    for _ in 0..2 {
        world.retrier.isolate();
    }
    for _ in 0..2 {
        world.retrier.end_isolation();
    }
    for _ in 0..2 {
        world.retrier.force_close();
    }
    let expected = [
        (Closed, Open, Some(SECOND)),
        (Open, Isolated, None),
        (Isolated, HalfOpen, None),
        (HalfOpen, Closed, None),
    ];
    assert_eq!(world.breaker_told(), expected);
}

#[test]
fn without_a_breaker_nothing_happens() {
    let world = World::new(fixed(100 * MS));
    let retrier = &world.retrier;
    retrier.force_open();
    retrier.isolate();
    assert_eq!(retrier.breaker_state(), None);
    retrier.end_isolation();
    retrier.force_close();
    assert_eq!(world.one(Ok(17)), Ok(17));
    assert_eq!(world.breaker_told(), []);
}
