//! What does a breaker do that refuses retries alone?

use becalm::StopReason;
use becalm::breaker::Refuses;
use becalm::breaker::State::{Closed, HalfOpen, Isolated, Open};
use becalm::time::FakeSleeper;

use crate::probe::{Fault, MS, SECOND};
use crate::world::{Counted, DEFAULT, DRIVERS, World, broken, broken_by, consecutive, stop};

const DOWN: Result<u32, Fault> = Err(Fault::DOWN);

fn sparing() -> becalm::Breaker {
    consecutive(2).refuses(Refuses::Retries)
}

#[test]
fn while_it_is_open_first_tries_pass_and_retries_do_not() {
    for (driver, drive) in DRIVERS {
        let world = World::new(broken_by(sparing()).attempts(3));
        world.retrier.force_open();
        let good = drive(&world, &DEFAULT, &|_| Ok(17));
        assert_eq!(good, Ok(17), "{driver}");

        let operation = Counted::new(DOWN);
        let bad = drive(&world, &DEFAULT, &|_| operation.serve());
        assert_eq!(
            bad.map_err(|stop| stop.reason),
            Err(StopReason::BreakerOpen),
            "{driver}"
        );
        assert_eq!(operation.times.get(), 1, "{driver}: the first try alone");
        assert_eq!(world.state(), Open, "{driver}: neither call counts");
        world.assert_idle(driver);
    }
}

#[test]
fn a_first_try_is_the_probe_where_one_is_due_and_closes_it() {
    for (driver, drive) in DRIVERS {
        let world = World::on(&FakeSleeper::new(), broken_by(sparing()).attempts(1));
        world.retrier.force_open();
        world.clock.advance(SECOND);
        let ended = drive(&world, &DEFAULT, &|_| {
            // Its place is taken: the other call passes, and decides nothing.
            assert_eq!(world.one(DOWN), Err(stop(StopReason::AttemptsExhausted, 1)));
            assert_eq!(world.state(), HalfOpen, "{driver}");
            Ok(17)
        });
        assert_eq!((ended, world.state()), (Ok(17), Closed), "{driver}");
        world.assert_idle(driver);
    }
}

#[test]
fn an_isolated_one_refuses_first_tries_too() {
    for (driver, drive) in DRIVERS {
        let world = World::new(broken_by(sparing()).attempts(3));
        world.retrier.isolate();
        let ended = drive(&world, &DEFAULT, &|_| panic!("isolated"));
        let stopped = ended.map_err(|stop| (stop.reason, stop.attempts));
        assert_eq!(stopped, Err((StopReason::BreakerOpen, 0)), "{driver}");
        assert_eq!(world.state(), Isolated, "{driver}");
    }
}

/// A reload decides for the calls after it.
#[test]
fn a_reload_changes_what_is_refused() {
    let world = World::new(broken_by(consecutive(1)).attempts(1));
    world.retrier.force_open();
    assert_eq!(world.one(Ok(1)), Err(broken(0, SECOND)));
    let policy = broken_by(sparing()).attempts(1);
    world
        .retrier
        .replace_policy(policy)
        .expect("a valid policy");
    world.clock.advance(100 * MS);
    assert_eq!((world.one(Ok(1)), world.state()), (Ok(1), Open));
}
