//! Which calls does the adaptive throttle shed, and from what does it learn?

use becalm::time::FakeSleeper;
use becalm::{
    Bulkhead, Classify, Effect, Policy, Scope, Sleeper, StopReason, Throttle,
    call::{Call, CallOptions, Start},
    throttle::Priority,
    time::Instant,
};

use crate::probe::{ByHand, Fault, MS, fixed};
use crate::world::{DEFAULT, DRIVERS, Driver, World, stop};

fn shedding() -> Policy {
    fixed(MS).throttle(Throttle::accepts(2.0))
}

/// A server that has rejected 50 critical calls.
fn rejecting(drive: Driver, policy: Policy) -> World {
    let world = World::new(policy.attempts(1));
    for _ in 0..50 {
        let _ = drive(&world, &DEFAULT, &|_| Err(Fault::BUSY));
    }
    world
}

fn with(priority: Priority) -> CallOptions {
    let mut options = CallOptions::new();
    options.priority = priority;
    options
}

/// How many of 1000 calls are shed, each of which is dropped in its first attempt: what is given up
/// teaches nothing, so that the probability stays.
fn shed_of_1000(world: &World, options: &CallOptions) -> u32 {
    let mut shed = 0;
    for _ in 0..1000 {
        let call = world
            .retrier
            .retry(|_| std::future::pending::<Result<u32, Fault>>());
        let mut call = ByHand::new(call.priority(options.priority));
        if let std::task::Poll::Ready(result) = call.run() {
            assert_eq!(result.unwrap_err().reason(), StopReason::Shed);
            shed += 1;
        }
    }
    shed
}

#[test]
fn first_tries_are_shed_while_the_server_rejects() {
    for (driver, drive) in DRIVERS {
        let world = rejecting(drive, shedding());
        let shed = (0..1000).filter(|_| {
            let ended = drive(&world, &DEFAULT, &|_| Err(Fault::BUSY));
            match ended.unwrap_err() {
                ended if ended == stop(StopReason::Shed, 0) => true,
                ended if ended == stop(StopReason::AttemptsExhausted, 1) => false,
                other => panic!("{driver}: {other:?}"),
            }
        });
        // 0.9, the largest probability; four standard deviations.
        let shed = u32::try_from(shed.count()).unwrap();
        assert!((862..=938).contains(&shed), "{driver}: {shed}");
        // Those among the first 50, too.
        let stops = world.retrier.stops(StopReason::Shed);
        let first_tries = u64::from(world.ledger.book().first_tries);
        assert_eq!(
            first_tries + stops,
            1050,
            "{driver}: what is shed is no first try"
        );
        world.assert_idle(driver);
    }
}

/// A call that was let through goes on to its end.
#[test]
fn retries_are_never_shed() {
    for (driver, drive) in DRIVERS {
        let world = World::new(shedding());
        let (mut shed, mut whole) = (0, 0);
        for _ in 0..300 {
            match drive(&world, &DEFAULT, &|_| Err(Fault::DOWN)).unwrap_err() {
                ended if ended == stop(StopReason::Shed, 0) => shed += 1,
                ended if ended == stop(StopReason::AttemptsExhausted, 4) => whole += 1,
                other => panic!("{driver}: {other:?}"),
            }
        }
        assert!(shed > 200 && whole > 10, "{driver}: {shed} {whole}");
    }
}

#[test]
fn less_critical_calls_are_shed_for_more_critical_ones_and_not_the_other_way_round() {
    let (_, drive) = DRIVERS[0];
    for (priority, shed) in [
        (Priority::CriticalPlus, 0..=0),
        (Priority::Critical, 862..=938),
        (Priority::SheddablePlus, 862..=938),
        (Priority::Sheddable, 862..=938),
    ] {
        let world = rejecting(drive, shedding());
        let count = shed_of_1000(&world, &with(priority));
        assert!(shed.contains(&count), "{priority}: {count}");
    }
}

/// The option of each driver, and the priority under which an outcome counts.
#[test]
fn every_driver_knows_the_priority() {
    for (driver, drive) in DRIVERS {
        let world = World::new(shedding().attempts(1));
        for _ in 0..50 {
            let _ = drive(&world, &with(Priority::Sheddable), &|_| Err(Fault::BUSY));
        }
        for _ in 0..50 {
            let ended = drive(&world, &with(Priority::SheddablePlus), &|_| Ok(17));
            assert_eq!(ended, Ok(17), "{driver}: counted as sheddable");
        }
        let shed = shed_of_1000(&world, &with(Priority::Sheddable));
        assert!(shed > 800, "{driver}: {shed}");
    }
}

/// What the server did, or refused for good, it has accepted.
#[test]
fn answers_count_as_accepted_and_calls_that_were_given_up_as_nothing() {
    for (driver, drive) in DRIVERS {
        for answer in [Ok(17), Err(Fault::GONE)] {
            let world = World::new(shedding().attempts(1));
            for _ in 0..50 {
                let _ = drive(&world, &DEFAULT, &|_| answer);
            }
            for fault in [Fault::DOWN, Fault::BUSY, Fault::REFUSED] {
                // 50 accepted allow as many rejected.
                for _ in 0..16 {
                    let ended = drive(&world, &DEFAULT, &|_| Err(fault));
                    let reason = ended.unwrap_err().reason;
                    assert_eq!(reason, StopReason::AttemptsExhausted, "{driver}");
                }
            }
            assert_eq!(shed_of_1000(&world, &DEFAULT), 0, "{driver}");
            for _ in 0..1000 {
                let _ = drive(&world, &DEFAULT, &|_| Err(Fault::DOWN));
            }
            assert!(shed_of_1000(&world, &DEFAULT) > 700, "{driver}");
        }
    }
}

#[test]
fn what_is_shed_takes_nothing_from_the_guards_behind_it() {
    let policy = shedding()
        .bulkhead(Bulkhead::calls(1))
        .breaker(crate::world::consecutive(1000).slow(crate::probe::SECOND));
    let world = rejecting(DRIVERS[1].1, policy);
    let shed = shed_of_1000(&world, &DEFAULT);
    assert!(shed > 800);
    world.assert_idle("shed");
}

#[test]
fn a_layer_above_may_repeat_what_was_shed() {
    let world = World::on(&FakeSleeper::new(), shedding().attempts(1));
    let gave_up = loop {
        let result = world.retrier.retry_blocking(|_| Err::<u32, _>(Fault::BUSY));
        let gave_up = result.unwrap_err();
        if gave_up.reason() == StopReason::Shed {
            break gave_up;
        }
    };
    let failure = gave_up.classify();
    assert_eq!((failure.effect, failure.hint), (Effect::Unsent, None));
    assert_eq!(
        gave_up.to_string(),
        "gave up before the first attempt because the adaptive throttle shed the call"
    );
}

/// Past the throttle once, a call is not shed while it waits for its place.
#[test]
fn a_call_that_waits_for_a_place_is_not_asked_again() {
    let policy = shedding().bulkhead(Bulkhead::calls(1).waiting(1));
    let world = rejecting(DRIVERS[1].1, policy);
    let clock = &world.clock;
    let mut busy = world
        .retrier
        .call::<Fault>()
        .options(with(Priority::CriticalPlus));
    assert!(busy.next_blocking().is_some());
    let begin = || Call::begin(&world.retrier, CallOptions::new(), Scope::NONE, clock.now());
    let waker = std::task::Waker::noop();
    let mut waits = begin();
    for mut bits in [u64::MAX, 0, 0] {
        // Bits of 0 are shed wherever anything is.
        let started = waits.poll_start(clock.now(), waker, &mut || std::mem::take(&mut bits));
        assert_eq!(started, Ok(Start::Wait(Instant::NEVER)));
    }
    assert_eq!(begin().start(clock.now(), &mut || 0), Err(StopReason::Shed));
    drop(busy);
    let started = waits.poll_start(clock.now(), waker, &mut || 0);
    assert!(matches!(started, Ok(Start::Go(_))), "{started:?}");
}
