//! How are attempts held to the rate that a throttling server leaves?

use std::cell::RefCell;
use std::task::{Poll, Waker};
use std::time::Duration;

use becalm::time::FakeSleeper;
use becalm::{
    Bulkhead, Policy, Retrier, Scope, Sleeper, StopReason, Throttle,
    call::{Call, CallOptions, Start},
    rate::AdaptiveRate,
    throttle::Priority,
    time::Instant,
};

use crate::probe::{ByHand, Fault, MS, SECOND, fixed};
use crate::world::{DEFAULT, DRIVERS, World, consecutive, stop};

/// Whole milliseconds: the limiter rounds up to the nanosecond at which the token is there.
fn millis(time: Duration) -> Duration {
    Duration::from_millis(u64::try_from(time.as_millis()).unwrap())
}

fn held() -> Policy {
    fixed(100 * MS).rate(AdaptiveRate::cubic())
}

/// The lowest rate is a token in two seconds, and the first throttle finds none.
#[test]
fn after_a_throttle_every_driver_waits_for_its_token() {
    for (driver, drive) in DRIVERS {
        let world = World::new(held());
        let starts = RefCell::new(Vec::new());
        let ended = drive(&world, &DEFAULT, &|attempt| {
            starts.borrow_mut().push(millis(world.now()));
            if attempt.number() == 1 {
                Err(Fault::BUSY)
            } else {
                Ok(17)
            }
        });
        assert_eq!(ended, Ok(17), "{driver}");
        assert_eq!(*starts.borrow(), [Duration::ZERO, 2 * SECOND], "{driver}");
        // A first try of another call waits, too.
        let ended = drive(&world, &DEFAULT, &|_| {
            starts.borrow_mut().push(millis(world.now()));
            Ok(17)
        });
        assert_eq!(ended, Ok(17), "{driver}");
        assert!(starts.borrow()[2] > 2 * SECOND, "{driver}: {starts:?}");
        world.assert_idle(driver);
    }
}

#[test]
fn what_is_no_throttle_holds_nobody() {
    for (driver, drive) in DRIVERS {
        let world = World::new(held().base(Duration::ZERO));
        for answer in [
            Ok(17),
            Err(Fault::DOWN),
            Err(Fault::GONE),
            Err(Fault::REFUSED),
        ] {
            let _ = drive(&world, &DEFAULT, &|_| answer);
        }
        assert_eq!(world.now(), Duration::ZERO, "{driver}");
    }
}

#[test]
fn past_max_wait_a_call_is_refused_and_a_retry_returns_its_token() {
    for (driver, drive) in DRIVERS {
        let policy = fixed(100 * MS).rate(AdaptiveRate::cubic().max_wait(SECOND));
        let world = World::new(policy);
        let ended = drive(&world, &DEFAULT, &|_| Err(Fault::BUSY));
        assert_eq!(ended, Err(stop(StopReason::RateLimited, 1)), "{driver}");
        let book = world.ledger.book();
        assert_eq!((book.withdrawals, book.refunds), (1, 1), "{driver}");
        let ended = drive(&world, &DEFAULT, &|_| panic!("there is no token"));
        assert_eq!(ended, Err(stop(StopReason::RateLimited, 0)), "{driver}");
        assert_eq!(world.ledger.book().first_tries, 1, "{driver}");
        assert_eq!(world.retrier.stops(StopReason::RateLimited), 2, "{driver}");
        // It took none: within the longest wait it is there.
        world.clock.advance(SECOND);
        assert_eq!(drive(&world, &DEFAULT, &|_| Ok(17)), Ok(17), "{driver}");
        assert_eq!(millis(world.now()), 2 * SECOND, "{driver}");
    }
}

#[test]
fn a_token_that_comes_after_the_deadline_is_not_waited_for() {
    for (driver, drive) in DRIVERS {
        let world = World::new(held());
        let mut options = CallOptions::new();
        options.deadline = Some(SECOND);
        let ended = drive(&world, &options, &|_| Err(Fault::BUSY));
        assert_eq!(
            ended,
            Err(stop(StopReason::DeadlineExceeded, 1)),
            "{driver}"
        );
        assert_eq!(world.now(), 100 * MS, "{driver}: after the wait alone");
        assert_eq!(world.ledger.book().tokens, 1000, "{driver}");
        // What it did not wait for is the next one's.
        assert_eq!(drive(&world, &DEFAULT, &|_| Ok(17)), Ok(17), "{driver}");
        assert_eq!(millis(world.now()), 2 * SECOND, "{driver}");
    }
}

fn throttled(policy: Policy) -> World {
    let world = World::on(&FakeSleeper::new(), policy);
    let busy = world.one(Err(Fault::BUSY));
    assert_eq!(busy.unwrap_err().reason, StopReason::AttemptsExhausted);
    world
}

fn begin(world: &World) -> Call<&Retrier> {
    let options = CallOptions::new();
    Call::begin(&world.retrier, options, Scope::NONE, world.clock.now())
}

fn ask(world: &World, call: &mut Call<&Retrier>) -> Option<Duration> {
    match call.poll_start(world.clock.now(), Waker::noop(), &mut || 0) {
        Ok(Start::Wait(until)) => Some(millis(until.since(Instant::ZERO))),
        Ok(Start::Go(_)) => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn calls_wait_in_turn_and_a_cancelled_one_leaves_its_token_to_the_next_that_asks() {
    let world = throttled(held());
    let (mut first, mut second) = (begin(&world), begin(&world));
    assert_eq!(ask(&world, &mut first), Some(2 * SECOND));
    assert_eq!(ask(&world, &mut second), Some(4 * SECOND));
    assert_eq!(
        ask(&world, &mut first),
        Some(2 * SECOND),
        "its turn stays its own"
    );
    drop(first);
    let mut third = begin(&world);
    assert_eq!(ask(&world, &mut third), Some(2 * SECOND));
    third.cancel(world.clock.now(), &mut || 0);
    let mut fourth = begin(&world);
    assert_eq!(ask(&world, &mut fourth), Some(2 * SECOND));
    world.clock.advance(2001 * MS);
    assert_eq!(ask(&world, &mut fourth), None);
    assert_eq!(ask(&world, &mut second), Some(4 * SECOND));
}

/// The token of a future that is dropped in its wait, and of a loop that is left there.
#[test]
fn in_the_engines_too() {
    let world = throttled(held());
    let mut waits = ByHand::new(world.retrier.retry(|_| async { Ok::<u32, Fault>(17) }));
    assert!(waits.run().is_pending());
    drop(waits);
    let mut by_hand = world.retrier.call::<Fault>();
    assert!(ByHand::new(by_hand.next()).run().is_pending());
    drop(by_hand);
    assert_eq!(world.clock.sleepers(), 0);
    let mut waits = ByHand::new(world.retrier.retry(|_| async { Ok::<u32, Fault>(17) }));
    assert!(waits.run().is_pending());
    world.clock.advance(2001 * MS);
    assert!(matches!(waits.run(), Poll::Ready(Ok(17))));
}

/// A sans-IO start without a waker waits for nobody, and keeps no turn.
#[test]
fn who_does_not_wait_takes_no_turn() {
    let world = throttled(held());
    for _ in 0..3 {
        let refused = begin(&world).start(world.clock.now(), &mut || 0);
        assert_eq!(refused, Err(StopReason::RateLimited));
    }
    assert_eq!(ask(&world, &mut begin(&world)), Some(2 * SECOND));
}

/// Throttle, rate, bulkhead, breaker: in this order, and what an earlier one gave goes back.
#[test]
fn of_several_guards_that_refuse_the_outermost_is_named() {
    let policy = |rate: bool| {
        let mut policy = fixed(100 * MS)
            .throttle(Throttle::accepts(2.0))
            .bulkhead(Bulkhead::calls(1))
            .breaker(consecutive(1).open_max(SECOND))
            .attempts(1);
        policy.rate = rate.then(|| AdaptiveRate::cubic().max_wait(Duration::ZERO));
        policy
    };
    let world = World::on(&FakeSleeper::new(), policy(true));
    let mut busy = world.retrier.call::<Fault>();
    assert!(busy.next_blocking().is_some());
    let now = world.clock.now();
    let end = |mut call: Call<&Retrier>| {
        call.on_outcome(now, becalm::Failure::throttled().into(), &mut || 0);
    };
    // The bulkhead has one place: the throttle's counts come from elsewhere.
    world
        .retrier
        .replace_policy({
            let mut wide = policy(true);
            wide.bulkhead = None;
            wide
        })
        .expect("a valid policy");
    let mut call = begin(&world);
    call.start(now, &mut || u64::MAX)
        .expect("nothing is known yet");
    end(call);
    world
        .retrier
        .replace_policy(policy(true))
        .expect("a valid policy");

    // Random bits of 0 are shed where anything is; more critical calls are not.
    let start = |priority: Priority| {
        let mut options = CallOptions::new();
        options.priority = priority;
        let mut call = Call::begin(&world.retrier, options, Scope::NONE, world.clock.now());
        call.start(world.clock.now(), &mut || 0)
            .map(|attempt| attempt.number())
    };
    assert_eq!(start(Priority::Critical), Err(StopReason::Shed));
    assert_eq!(start(Priority::CriticalPlus), Err(StopReason::RateLimited));
    world.clock.advance(2001 * MS);
    world.retrier.force_close();
    world.retrier.force_open();
    for _ in 0..3 {
        // The token goes back each time: there is but one.
        assert_eq!(start(Priority::CriticalPlus), Err(StopReason::BulkheadFull));
    }
    drop(busy);
    for _ in 0..3 {
        assert_eq!(start(Priority::CriticalPlus), Err(StopReason::BreakerOpen));
        world.assert_idle("refused");
    }
    world.retrier.force_close();
    assert_eq!(
        start(Priority::CriticalPlus),
        Ok(1),
        "token and place are there"
    );
    assert_eq!(
        start(Priority::CriticalPlus),
        Err(StopReason::RateLimited),
        "the token is spent"
    );
    world
        .retrier
        .replace_policy(policy(false))
        .expect("a valid policy");
    assert_eq!(start(Priority::Critical), Err(StopReason::Shed));
    assert_eq!(start(Priority::CriticalPlus), Ok(1));
}

/// A crowd that waits for tokens is in the waiting room, in which there may be few places.
#[test]
fn c24_waits_for_the_rate_are_counted_and_bounded() {
    let world = World::on(&FakeSleeper::new(), held().attempts(1).max_waiting(3));
    let _ = world.one(Err(Fault::BUSY));
    let call = || ByHand::new(world.retrier.retry(|_| async { Ok::<_, Fault>(17) }));
    let mut waiting: Vec<_> = (0..3).map(|_| call()).collect();
    for (before, call) in waiting.iter_mut().enumerate() {
        assert_eq!(world.retrier.waiting(), before as u64);
        assert!(call.run().is_pending());
    }
    for (driver, drive) in DRIVERS {
        let ended = drive(&world, &DEFAULT, &|_| panic!("there is no place"));
        assert_eq!(ended, Err(stop(StopReason::TooManyWaiting, 0)), "{driver}");
        assert_eq!(world.retrier.waiting(), 3, "{driver}");
    }
    // What was refused has taken no token, nor holds a place what was dropped.
    drop(waiting.pop());
    assert_eq!(world.retrier.waiting(), 2);
    while world.retrier.waiting() > 0 {
        world.clock.advance_to_next().expect("somebody waits");
        waiting.retain_mut(|call| call.run().is_pending());
    }
    assert!(waiting.is_empty());
    assert!(world.now() < 5 * SECOND, "{:?}", world.now());
}
