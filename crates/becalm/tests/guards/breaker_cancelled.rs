//! Does a call count for the breaker whose owner lost interest? Only if it had been slow.

use std::future::pending;
use std::task::Poll;
use std::time::Duration;

use becalm::breaker::State::{self, Closed, Open};
use becalm::time::FakeSleeper;
use becalm::{
    Breaker, Policy, Scope, Sleeper, StopReason,
    call::{Call, CallOptions},
};

use crate::probe::{ByHand, Fault, MS, SECOND};
use crate::world::{DEFAULT, DRIVERS, World, broken_by, consecutive};

const SLOW: Duration = Duration::from_millis(300);

fn slow() -> Breaker {
    consecutive(1).slow(SLOW)
}

/// An attempt that pends for so long.
fn after(policy: Policy, lasts: Duration, end: impl FnOnce(Pending<'_>)) -> World {
    let world = World::on(&FakeSleeper::new(), policy);
    let mut call = ByHand::new(world.retrier.retry(|_| pending::<Result<u32, Fault>>()));
    assert!(call.run().is_pending());
    world.clock.advance(lasts);
    end(Box::new(move || match call.run() {
        Poll::Pending => None,
        Poll::Ready(result) => Some(result.unwrap_err().reason()),
    }));
    world
}

type Pending<'a> = Box<dyn FnMut() -> Option<StopReason> + 'a>;

const AROUND: [(Duration, State); 3] = [
    (Duration::from_millis(299), Closed),
    (SLOW, Open),
    (Duration::from_millis(400), Open),
];

#[test]
fn conformance_15_a_dropped_call_counts_if_it_had_been_slow() {
    for (lasts, state) in AROUND {
        let world = after(broken_by(slow()), lasts, |call| drop(call));
        assert_eq!(world.state(), state, "{lasts:?}");
        // Without a slow threshold no cancelled call counts.
        let world = after(broken_by(consecutive(1)), lasts, |call| drop(call));
        assert_eq!(world.state(), Closed, "{lasts:?}");
    }
}

#[test]
fn a_dropped_retry_counts_from_its_own_start() {
    for (lasts, state) in AROUND {
        let world = World::on(&FakeSleeper::new(), broken_by(consecutive(2).slow(SLOW)));
        let call = world.retrier.retry(|attempt| async move {
            if attempt.number() == 1 {
                return Err::<u32, _>(Fault::DOWN);
            }
            pending().await
        });
        let mut call = ByHand::new(call);
        assert!(call.run().is_pending());
        world.clock.advance(100 * MS);
        assert!(call.run().is_pending());
        world.clock.advance(lasts);
        drop(call);
        assert_eq!(
            world.state(),
            state,
            "{lasts:?}: the wait is not the dependency's"
        );
        assert_eq!(world.retrier.stops(StopReason::BreakerOpen), 0);
    }
}

#[test]
fn a_call_that_its_own_deadline_cuts_counts_if_it_had_been_slow() {
    for (deadline, state) in AROUND {
        let policy = broken_by(slow()).deadline(deadline);
        let world = after(policy, deadline, |mut call| {
            assert_eq!(call(), Some(StopReason::DeadlineExceeded));
        });
        let stops = world.retrier.stops(StopReason::DeadlineExceeded);
        assert_eq!(stops, 1, "counted once");
        assert_eq!(world.state(), state, "{deadline:?}");
    }
}

/// A time-out of the attempt is a failure of the dependency, however short it is.
#[test]
fn an_attempt_timeout_counts_in_any_case() {
    for breaker in [slow(), consecutive(1)] {
        let policy = broken_by(breaker).attempt_timeout(50 * MS).attempts(1);
        let world = after(policy, 50 * MS, |mut call| {
            assert_eq!(call(), Some(StopReason::AttemptsExhausted));
        });
        assert_eq!(world.state(), Open);
    }
}

#[test]
fn a_slow_success_counts_in_every_driver() {
    for (driver, drive) in DRIVERS {
        for (lasts, state) in AROUND {
            let world = World::new(broken_by(slow()));
            let ended = drive(&world, &DEFAULT, &|_| {
                world.clock.advance(lasts);
                Ok(17)
            });
            assert_eq!(ended, Ok(17), "{driver}");
            assert_eq!(world.state(), state, "{driver}, {lasts:?}");
        }
    }
}

#[test]
fn a_loop_that_is_left_in_mid_attempt_counts_if_it_had_been_slow() {
    for (lasts, state) in AROUND {
        let world = World::new(broken_by(slow()));
        let mut call = world.retrier.call::<Fault>();
        assert!(call.next_blocking().is_some());
        world.clock.advance(lasts);
        drop(call);
        assert_eq!(world.state(), state, "{lasts:?}");

        let world = World::new(broken_by(slow()));
        let mut call = Call::begin(
            &world.retrier,
            CallOptions::new(),
            Scope::NONE,
            world.clock.now(),
        );
        call.start(world.clock.now(), &mut || 0).expect("closed");
        world.clock.advance(lasts);
        call.cancel(world.clock.now(), &mut || 0);
        assert_eq!(world.state(), state, "sans-IO, {lasts:?}");
        assert_eq!(
            call.start(world.clock.now(), &mut || 0),
            Err(StopReason::Cancelled)
        );
    }
}

/// Whoever drops the call itself tells no time.
#[test]
fn a_sans_io_call_that_is_dropped_does_not_count() {
    let world = World::new(broken_by(slow()));
    let mut call = Call::begin(
        &world.retrier,
        CallOptions::new(),
        Scope::NONE,
        world.clock.now(),
    );
    call.start(world.clock.now(), &mut || 0).expect("closed");
    world.clock.advance(SECOND);
    drop(call);
    assert_eq!(world.state(), Closed);
}

/// A call that was cancelled before it started starts no more.
#[test]
fn a_cancelled_call_starts_no_attempt() {
    let world = World::new(broken_by(slow()));
    let mut call = Call::begin(
        &world.retrier,
        CallOptions::new(),
        Scope::NONE,
        world.clock.now(),
    );
    call.cancel(world.clock.now(), &mut || 0);
    assert_eq!(
        call.start(world.clock.now(), &mut || 0),
        Err(StopReason::Cancelled)
    );
    assert_eq!(world.ledger.book().first_tries, 0);
}
