//! Who leaves the queue for a place before its turn, and what is left behind?

use becalm::{Cancel, StopReason};

use crate::probe::{ByHand, Fault, SECOND};
use crate::queued::{busy, ended_of, queue, waiting, world};
use crate::world::{Stop, Told, stop};

#[test]
fn a_cancelled_waiter_leaves_the_queue_and_passes_on_what_it_was_handed() {
    let world = world(queue(1, 3));
    let busy = busy(&world);
    let mut calls: Vec<_> = (0..3).map(|number| waiting(&world, number)).collect();
    drop(calls.remove(1));
    drop(busy); // handed to the first
    assert_eq!((calls[0].wakes(), calls[1].wakes()), (1, 0));
    drop(calls.remove(0)); // who passes it on
    assert_eq!(calls[0].wakes(), 1);
    assert_eq!(ended_of(calls[0].run()), Some(Ok(2)));
    world.assert_idle("all have ended");
    assert_eq!(world.retrier.stops(StopReason::BulkheadFull), 0);
}

/// A dropped wait for a first try is a call that was cancelled before its first attempt.
#[test]
fn a_call_that_is_dropped_in_the_queue_is_told_as_cancelled() {
    let world = world(queue(1, 1));
    let _busy = busy(&world);
    drop(waiting(&world, 17));
    let last = world.told().pop();
    assert_eq!(last, Some(Told::Stopped(StopReason::Cancelled, 0)));
}

/// Woken by another thread, in no time of the clock.
#[test]
fn a_cancel_handle_ends_a_blocking_wait() {
    let world = world(queue(1, 1).max_wait(SECOND));
    let busy = busy(&world);
    let cancel = Cancel::new();
    let ended = std::thread::scope(|scope| {
        let waits = scope.spawn(|| {
            let operation = |_| -> Result<u32, Fault> { panic!("there is no place") };
            let call = world.retrier.blocking(operation).cancel(&cancel);
            Stop::from(call.call().unwrap_err())
        });
        while world.clock.sleepers() == 0 {
            std::thread::yield_now(); // it is not in its wait yet
        }
        cancel.cancel();
        waits.join().expect("no panic")
    });
    assert_eq!(ended, stop(StopReason::Cancelled, 0));
    assert_eq!(world.retrier.stops(StopReason::Cancelled), 1);
    assert_eq!(
        (world.retrier.in_flight(), world.clock.sleepers()),
        (Some(1), 0)
    );
    let mut next = waiting(&world, 17); // the place in the queue is free
    drop(busy);
    assert_eq!(ended_of(next.run()), Some(Ok(17)));
}

#[test]
fn a_loop_that_is_left_in_the_queue_leaves_it() {
    for gives_up in [false, true] {
        let world = world(queue(1, 1));
        let busy = busy(&world);
        let mut call = world.retrier.call::<Fault>();
        assert!(ByHand::new(call.next()).run().is_pending());
        if gives_up {
            let gave_up = call.gave_up();
            assert_eq!(
                (gave_up.reason(), gave_up.attempts()),
                (StopReason::Cancelled, 0)
            );
        } else {
            drop(call);
        }
        let mut next = waiting(&world, 17); // the place in the queue is free
        drop(busy);
        assert_eq!(ended_of(next.run()), Some(Ok(17)));
    }
}
