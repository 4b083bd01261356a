//! Where calls may wait for a place: who is next, and who may wait at all?

use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::task::Poll;

use becalm::bulkhead::Order;
use becalm::{
    Scope, Sleeper, StopReason,
    call::{Call, CallOptions, Start},
    time::Instant,
};

use crate::probe::{ByHand, Fault, MS, fixed};
use crate::queued::{busy, ended_of, queue, waiting, world};
use crate::world::{DEFAULT, DRIVERS, World, stop};

/// In which order calls 0 to 3 start that came in this order.
fn starts(order: Order, waiting: u32) -> Vec<u32> {
    let world = world(queue(1, waiting).order(order));
    let busy = busy(&world);
    let started = RefCell::new(Vec::new());
    let started = &started;
    let mut calls: Vec<_> = (0..4)
        .map(|number| {
            let call = world.retrier.retry(move |_| {
                started.borrow_mut().push(number);
                async move { Ok::<u32, Fault>(number) }
            });
            ByHand::new(call)
        })
        .collect();
    for call in &mut calls {
        assert!(call.poll().is_pending());
    }
    drop(busy);
    for _ in 0..4 {
        // Only one was woken: the others do not even look.
        let woken = |call: &ByHand<_>| call.wakes() > 0;
        let at = calls.iter().position(woken).expect("one is woken");
        assert_eq!(calls.iter().filter(|call| woken(call)).count(), 1);
        assert!(calls.swap_remove(at).poll().is_ready());
    }
    world.assert_idle("all have ended");
    started.borrow().clone()
}

#[test]
fn calls_are_woken_in_their_order() {
    assert_eq!(starts(Order::Fifo, 4), [0, 1, 2, 3]);
    // The newest while more than half of the places are taken.
    assert_eq!(starts(Order::Lifo, 4), [3, 2, 0, 1]);
    assert_eq!(
        starts(Order::Lifo, 100),
        [0, 1, 2, 3],
        "a short queue is fair"
    );
}

#[test]
fn past_the_last_waiting_place_a_call_fails_at_once() {
    for (driver, drive) in DRIVERS {
        let world = world(queue(1, 1));
        let _busy = busy(&world);
        let _waiting = waiting(&world, 1);
        let ended = drive(&world, &DEFAULT, &|_| panic!("there is no place"));
        assert_eq!(ended, Err(stop(StopReason::BulkheadFull, 0)), "{driver}");
    }
}

/// Not a first try before it is one: neither events nor first tries.
#[test]
fn while_it_waits_a_call_has_not_begun() {
    let world = world(queue(1, 1));
    let busy = busy(&world);
    let first_tries = world.ledger.book().first_tries;
    let told = world.told().len();
    let mut waiting = waiting(&world, 17);
    assert_eq!(world.ledger.book().first_tries, first_tries);
    assert_eq!(world.told().len(), told);
    assert_eq!(world.retrier.waiting(), 0, "it does not wait for a retry");
    drop(busy);
    assert_eq!(ended_of(waiting.run()), Some(Ok(17)));
    assert_eq!(world.ledger.book().first_tries, first_tries + 1);
}

#[test]
fn a_sans_io_call_waits_only_where_it_is_polled() {
    let world = world(queue(1, 1).max_wait(30 * MS));
    let clock = &world.clock;
    let busy = busy(&world);
    let begin = || Call::begin(&world.retrier, CallOptions::new(), Scope::NONE, clock.now());
    let mut call = begin();
    assert_eq!(
        call.start(clock.now(), &mut || 0),
        Err(StopReason::BulkheadFull)
    );
    let mut refused = call;
    let mut call = begin();
    let waker = std::task::Waker::noop();
    let until = clock.now().after(30 * MS);
    let waits = call.poll_start(clock.now(), waker, &mut || 0);
    assert_eq!(waits, Ok(Start::Wait(until)));
    drop(busy);
    assert!(matches!(
        call.poll_start(clock.now(), waker, &mut || 0),
        Ok(Start::Go(_))
    ));
    drop(call);
    let again = refused.start(clock.now(), &mut || 0);
    assert_eq!(
        again,
        Err(StopReason::Cancelled),
        "a place is free, but it is over"
    );
}

#[test]
fn without_a_longest_wait_only_the_deadline_ends_one() {
    let world = world(queue(1, 1));
    let now = world.clock.now();
    let _busy = busy(&world);
    let waker = std::task::Waker::noop();
    for (deadline, until) in [(None, Instant::NEVER), (Some(7 * MS), now.after(7 * MS))] {
        let mut options = CallOptions::new();
        options.deadline = deadline;
        let mut call = Call::begin(&world.retrier, options, Scope::NONE, now);
        let waits = call.poll_start(now, waker, &mut || 0);
        assert_eq!(waits, Ok(Start::Wait(until)), "{deadline:?}");
        call.cancel(now, &mut || 0);
    }
}

#[test]
fn a_loop_by_hand_waits_too_and_its_wait_can_be_interrupted() {
    let world = world(queue(1, 1));
    let busy = busy(&world);
    let mut call = world.retrier.call::<Fault>();
    for _ in 0..3 {
        // Dropped and asked again, it is in the queue once.
        assert!(ByHand::new(call.next()).run().is_pending());
    }
    drop(busy);
    let Poll::Ready(Some(attempt)) = ByHand::new(call.next()).run() else {
        panic!("it has its place")
    };
    assert_eq!(attempt.number(), 1);
    assert_eq!(call.success(17), 17);
    world.assert_idle("all have ended");
}

/// Blocking threads and futures wait in one queue, and each is woken by the end of another.
#[test]
fn threads_take_turns() {
    let policy = fixed(MS).bulkhead(queue(2, 64)).attempts(3);
    let world = World::new(policy);
    let most = AtomicU32::new(0);
    let running = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for thread in 0..4_u32 {
            let (world, most, running) = (&world, &most, &running);
            scope.spawn(move || {
                for round in 0..200_u32 {
                    let operation = |attempt: becalm::Attempt| {
                        most.fetch_max(running.fetch_add(1, SeqCst) + 1, SeqCst);
                        std::thread::yield_now();
                        running.fetch_sub(1, SeqCst);
                        if (round + attempt.number()) % 3 == 0 {
                            Err(Fault::DOWN)
                        } else {
                            Ok(17)
                        }
                    };
                    let result = if thread % 2 == 0 {
                        world.retrier.retry_blocking(operation)
                    } else {
                        let call = world
                            .retrier
                            .retry(|attempt| async move { operation(attempt) });
                        crate::probe::block_on(call)
                    };
                    assert_eq!(result.ok(), Some(17));
                }
            });
        }
    });
    assert!(most.load(SeqCst) <= 2);
    world.assert_idle("all have ended");
}
