//! Where calls may wait for a place: who is next, who gives up, and what wakes them?

use std::cell::RefCell;
use std::future::pending;
use std::task::Poll;
use std::time::Duration;

use becalm::bulkhead::Order;
use becalm::time::FakeSleeper;
use becalm::{Bulkhead, Call, CallOptions, Cancel, Instant, Scope, Sleeper, Start, StopReason};

use crate::probe::{ByHand, Fault, MS, SECOND, fixed};
use crate::world::{DEFAULT, DRIVERS, Stop, World, stop};

type Never = Result<u32, Fault>;

fn queue(calls: u32, waiting: u32) -> Bulkhead {
    Bulkhead::calls(calls).waiting(waiting)
}

fn world(bulkhead: Bulkhead) -> World {
    World::on(&FakeSleeper::new(), fixed(100 * MS).bulkhead(bulkhead))
}

macro_rules! busy {
    ($world:expr) => {{
        let mut call = ByHand::new($world.retrier.retry(|_| pending::<Never>()));
        assert!(call.run().is_pending());
        call
    }};
}

fn ended_of(polled: Poll<Result<u32, becalm::GaveUp<Fault, u32>>>) -> Option<Result<u32, Stop>> {
    match polled {
        Poll::Pending => None,
        Poll::Ready(result) => Some(result.map_err(Stop::from)),
    }
}

/// In which order calls 0 to 3 start that came in this order.
fn starts(order: Order, waiting: u32) -> Vec<u32> {
    let world = world(queue(1, waiting).order(order));
    let busy = busy!(world);
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
        let _busy = busy!(world);
        let mut waiting = ByHand::new(world.retrier.retry(|_| async { Ok::<u32, Fault>(1) }));
        assert!(waiting.run().is_pending());
        let ended = drive(&world, &DEFAULT, &|_| panic!("there is no place"));
        assert_eq!(ended, Err(stop(StopReason::BulkheadFull, 0)), "{driver}");
    }
}

/// Not a first try before it is one: neither events nor deposits.
#[test]
fn while_it_waits_a_call_has_not_begun() {
    let world = world(queue(1, 1));
    let busy = busy!(world);
    let deposits = world.ledger.book().deposits;
    let told = world.told().len();
    let mut waiting = ByHand::new(world.retrier.retry(|_| async { Ok::<u32, Fault>(17) }));
    assert!(waiting.run().is_pending());
    assert_eq!(world.ledger.book().deposits, deposits);
    assert_eq!(world.told().len(), told);
    assert_eq!(world.retrier.waiting(), 0, "it does not wait for a retry");
    drop(busy);
    assert_eq!(ended_of(waiting.run()), Some(Ok(17)));
    assert_eq!(world.ledger.book().deposits, deposits + 1);
}

#[test]
fn a_wait_ends_after_max_wait() {
    let world = world(queue(1, 2).max_wait(30 * MS));
    let busy = busy!(world);
    let mut first = ByHand::new(world.retrier.retry(|_| async { Ok::<u32, Fault>(17) }));
    assert!(first.run().is_pending());
    world.clock.advance(29 * MS);
    assert!(first.run().is_pending());
    let mut second = ByHand::new(world.retrier.retry(|_| async { Ok::<u32, Fault>(17) }));
    assert!(second.run().is_pending());
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
    let busy = busy!(world);
    let mut waiting = ByHand::new(world.retrier.retry(|_| pending::<Never>()));
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
    let busy = busy!(world);
    let mut waiting = ByHand::new(world.retrier.retry(|_| async { Ok::<u32, Fault>(17) }));
    assert!(waiting.run().is_pending());
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
    let busy = busy!(world);
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
    let mut call = ByHand::new(world.retrier.retry(|_| pending::<Never>()));
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
    let busy = busy!(world);
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

#[test]
fn a_cancelled_waiter_leaves_the_queue_and_passes_on_what_it_was_handed() {
    let world = world(queue(1, 3));
    let busy = busy!(world);
    let mut calls: Vec<_> = (0..3)
        .map(|number| {
            ByHand::new(
                world
                    .retrier
                    .retry(move |_| async move { Ok::<u32, Fault>(number) }),
            )
        })
        .collect();
    for call in &mut calls {
        assert!(call.run().is_pending());
    }
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
    let _busy = busy!(world);
    let mut waiting = ByHand::new(world.retrier.retry(|_| async { Ok::<u32, Fault>(17) }));
    assert!(waiting.run().is_pending());
    drop(waiting);
    let last = world.told().pop();
    assert_eq!(
        last,
        Some(crate::world::Told::Stopped(StopReason::Cancelled, 0))
    );
}

/// Woken by another thread, in no time of the clock.
#[test]
fn a_cancel_handle_ends_a_blocking_wait() {
    let world = world(queue(1, 1).max_wait(SECOND));
    let busy = busy!(world);
    let cancel = Cancel::new();
    let ended = std::thread::scope(|scope| {
        let waits = scope.spawn(|| {
            let operation = |_| -> Never { panic!("there is no place") };
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
    let mut next = ByHand::new(world.retrier.retry(|_| async { Ok::<u32, Fault>(17) }));
    assert!(next.run().is_pending(), "the waiting place is free");
    drop(busy);
    assert_eq!(ended_of(next.run()), Some(Ok(17)));
}

/// Blocking threads and futures wait in one queue, and each is woken by the end of another.
#[test]
fn threads_take_turns() {
    let policy = fixed(MS).bulkhead(queue(2, 64)).attempts(3);
    let world = World::new(policy);
    let most = std::sync::atomic::AtomicU32::new(0);
    let running = std::sync::atomic::AtomicU32::new(0);
    use std::sync::atomic::Ordering::SeqCst;
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

#[test]
fn a_reload_that_raises_the_limit_wakes_who_waits() {
    let world = world(queue(1, 4));
    let _busy = busy!(world);
    let mut calls: Vec<_> = (0..3)
        .map(|number| {
            ByHand::new(
                world
                    .retrier
                    .retry(move |_| async move { Ok::<u32, Fault>(number) }),
            )
        })
        .collect();
    for call in &mut calls {
        assert!(call.run().is_pending());
    }
    let policy = fixed(100 * MS).bulkhead(queue(3, 4));
    world
        .retrier
        .replace_policy(policy)
        .expect("a valid policy");
    let wakes: Vec<_> = calls.iter().map(ByHand::wakes).collect();
    assert_eq!(wakes, [1, 1, 0], "two more places");
    assert_eq!(world.retrier.concurrency_limit(), Some(3));
    assert_eq!(ended_of(calls[0].run()), Some(Ok(0)));
    assert_eq!(ended_of(calls[1].run()), Some(Ok(1)));
    assert_eq!(ended_of(calls[2].run()), Some(Ok(2)));
}

/// Nobody is left behind where the bulkhead goes while calls wait for it.
#[test]
fn a_reload_that_takes_the_bulkhead_out_leaves_nobody_behind() {
    let world = world(queue(1, 4));
    let busy = busy!(world);
    let mut calls: Vec<_> = (0..3)
        .map(|number| {
            ByHand::new(
                world
                    .retrier
                    .retry(move |_| async move { Ok::<u32, Fault>(number) }),
            )
        })
        .collect();
    for call in &mut calls {
        assert!(call.run().is_pending());
    }
    world
        .retrier
        .replace_policy(fixed(100 * MS))
        .expect("a valid policy");
    drop(busy);
    for (number, call) in (0..).zip(&mut calls) {
        assert_eq!(call.wakes(), 1, "woken by the one before");
        assert_eq!(ended_of(call.run()), Some(Ok(number)));
    }
    let put_back = fixed(100 * MS).bulkhead(queue(1, 4));
    world
        .retrier
        .replace_policy(put_back)
        .expect("a valid policy");
    world.assert_idle("all have ended");
}

#[test]
fn a_loop_by_hand_waits_too_and_its_wait_can_be_interrupted() {
    let world = world(queue(1, 1));
    let busy = busy!(world);
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

#[test]
fn a_loop_that_is_left_in_the_queue_leaves_it() {
    for gives_up in [false, true] {
        let world = world(queue(1, 1));
        let busy = busy!(world);
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
        let mut next = ByHand::new(world.retrier.retry(|_| async { Ok::<u32, Fault>(17) }));
        assert!(next.run().is_pending(), "the waiting place is free");
        drop(busy);
        assert_eq!(ended_of(next.run()), Some(Ok(17)));
    }
}

#[test]
fn a_sans_io_call_waits_only_where_it_is_polled() {
    let world = world(queue(1, 1).max_wait(30 * MS));
    let clock = &world.clock;
    let busy = busy!(world);
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

    // Without a longest wait there is no time of its own.
    let policy = fixed(100 * MS).bulkhead(queue(1, 1));
    world
        .retrier
        .replace_policy(policy)
        .expect("a valid policy");
    let _busy = busy!(world);
    let mut call = begin();
    let waits = call.poll_start(clock.now(), waker, &mut || 0);
    assert_eq!(waits, Ok(Start::Wait(Instant::NEVER)));
    call.cancel(clock.now(), &mut || 0);
    let mut options = CallOptions::new();
    options.deadline = Some(Duration::from_millis(7));
    let mut call = Call::begin(&world.retrier, options, Scope::NONE, clock.now());
    let waits = call.poll_start(clock.now(), waker, &mut || 0);
    assert_eq!(
        waits,
        Ok(Start::Wait(clock.now().after(7 * MS))),
        "the deadline ends it"
    );
}
