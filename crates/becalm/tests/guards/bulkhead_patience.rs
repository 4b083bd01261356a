//! How long does a call wait for a place, and to which of its times does the wait belong?

use std::future::pending;
use std::task::Poll;

use becalm::time::FakeSleeper;
use becalm::{StopReason, call::CallOptions};

use crate::probe::{ByHand, Fault, MS, SECOND, fixed};
use crate::queued::{busy, ended_of, queue, waiting, world};
use crate::world::{DRIVERS, World, stop};

#[test]
fn a_wait_ends_after_max_wait() {
    let world = world(queue(1, 2).max_wait(30 * MS));
    let busy = busy(&world);
    let mut first = waiting(&world, 17);
    world.clock.advance(29 * MS);
    assert!(first.run().is_pending());
    let mut second = waiting(&world, 17);
    world.clock.advance(MS);
    assert_eq!(first.wakes(), 1, "the timer wakes it");
    assert_eq!(
        ended_of(first.run()),
        Some(Err(stop(StopReason::BulkheadFull, 0)))
    );
    assert!(second.run().is_pending(), "each has its own time");
    drop(busy);
    assert_eq!(ended_of(second.run()), Some(Ok(17)));
    assert_eq!(world.clock.sleepers(), 0, "no timer is left");
    world.assert_idle("all have ended");
}

/// The timer measured the wait, which is over.
#[test]
fn no_timer_of_the_wait_outlives_it() {
    let world = world(queue(1, 1).max_wait(SECOND));
    let busy = busy(&world);
    let mut waiting = ByHand::new(world.retrier.retry(|_| pending::<Result<u32, Fault>>()));
    assert!(waiting.run().is_pending());
    assert_eq!(world.clock.sleepers(), 1);
    drop(busy);
    assert!(waiting.run().is_pending());
    assert_eq!(
        world.retrier.in_flight(),
        Some(1),
        "its attempt is under way"
    );
    assert_eq!(world.clock.sleepers(), 0);
}

/// Handed a place at the very end of its patience, a call takes it.
#[test]
fn a_place_that_comes_with_the_end_of_the_wait_is_taken() {
    let world = world(queue(1, 1).max_wait(30 * MS));
    let busy = busy(&world);
    let mut waiting = waiting(&world, 17);
    world.clock.advance(30 * MS);
    drop(busy);
    assert_eq!(ended_of(waiting.run()), Some(Ok(17)));
}

/// In every driver: by the clock that jumps to the end of the wait.
#[test]
fn every_driver_waits_and_gives_up() {
    for (driver, drive) in DRIVERS {
        for (deadline, reason, after) in [
            (None, StopReason::BulkheadFull, 30 * MS),
            (Some(20 * MS), StopReason::DeadlineExceeded, 20 * MS),
            (Some(40 * MS), StopReason::BulkheadFull, 30 * MS),
        ] {
            let context = format!("{driver}, {deadline:?}");
            let policy = fixed(100 * MS).bulkhead(queue(1, 1).max_wait(30 * MS));
            let world = World::new(policy);
            let mut busy = world.retrier.call::<Fault>();
            assert!(busy.next_blocking().is_some());
            let mut options = CallOptions::new();
            options.deadline = deadline;
            let ended = drive(&world, &options, &|_| panic!("there is no place"));
            assert_eq!(ended, Err(stop(reason, 0)), "{context}");
            assert_eq!(world.now(), after, "{context}");
            assert_eq!(world.retrier.stops(reason), 1, "{context}");
            drop(busy);
            world.assert_idle(&context);
            assert_eq!(
                world.one(Ok(17)),
                Ok(17),
                "{context}: nobody is in the queue"
            );
        }
    }
}

#[test]
fn the_deadline_cuts_the_wait_of_a_retry_too() {
    let world = world(queue(1, 1));
    let call = world
        .retrier
        .retry(|_| async { Err::<u32, _>(Fault::DOWN) });
    let mut call = ByHand::new(call.deadline(SECOND));
    assert!(call.run().is_pending(), "in its delay");
    let busy = busy(&world);
    world.clock.advance(100 * MS);
    assert!(call.run().is_pending(), "in the queue");
    assert_eq!(
        world.ledger.book().tokens,
        999,
        "the token is withdrawn before the wait"
    );
    world.clock.advance(900 * MS);
    assert_eq!(
        ended_of(call.run()),
        Some(Err(stop(StopReason::DeadlineExceeded, 1)))
    );
    assert_eq!(world.ledger.book().tokens, 1000, "and comes back");
    drop(busy);
    world.assert_idle("all have ended");
}

/// The time in the queue is not the dependency's.
#[test]
fn the_attempt_timeout_begins_with_the_attempt() {
    let policy = fixed(100 * MS)
        .bulkhead(queue(1, 1))
        .attempt_timeout(50 * MS)
        .attempts(1);
    let world = World::on(&FakeSleeper::new(), policy);
    let mut busy = world.retrier.call::<Fault>();
    assert!(busy.next_blocking().is_some());
    let mut call = ByHand::new(world.retrier.retry(|_| pending::<Result<u32, Fault>>()));
    assert!(call.run().is_pending());
    world.clock.advance(40 * MS);
    drop(busy);
    assert!(call.run().is_pending());
    world.clock.advance(49 * MS);
    assert!(call.run().is_pending());
    world.clock.advance(MS);
    assert_eq!(
        ended_of(call.run()),
        Some(Err(stop(StopReason::AttemptsExhausted, 1)))
    );
}

#[test]
fn what_an_attempt_is_told_is_left_of_the_deadline_is_after_the_queue() {
    let world = world(queue(1, 1));
    let busy = busy(&world);
    let call = world
        .retrier
        .retry(|attempt| async move { Ok::<_, Fault>(attempt.remaining()) });
    let mut call = ByHand::new(call.deadline(SECOND));
    assert!(call.run().is_pending());
    world.clock.advance(300 * MS);
    drop(busy);
    let Poll::Ready(Ok(remaining)) = call.run() else {
        panic!("it has its place")
    };
    assert_eq!(remaining, Some(700 * MS));
}
