//! What happens to guards when the policy is replaced under running calls?

use std::future::pending;

use becalm::breaker::State::{Closed, HalfOpen, Open};
use becalm::time::FakeSleeper;
use becalm::{Bulkhead, StopReason};

use crate::probe::{ByHand, Fault, MS, SECOND, fixed};
use crate::world::{DEFAULT, DRIVERS, World, broken, broken_by, consecutive};

type Never = Result<u32, Fault>;

#[test]
fn an_open_breaker_stays_open_through_a_reload() {
    for (driver, drive) in DRIVERS {
        let world = World::new(broken_by(consecutive(1)));
        world.retrier.force_open();
        world.clock.advance(100 * MS);
        let policy = broken_by(consecutive(7)).attempts(9);
        world
            .retrier
            .replace_policy(policy)
            .expect("a valid policy");
        assert_eq!(
            drive(&world, &DEFAULT, &|_| Ok(17)),
            Err(broken(0, 900 * MS)),
            "{driver}"
        );
    }
}

#[test]
fn taken_out_a_breaker_lets_all_pass_and_put_back_it_is_where_it_was() {
    for (driver, drive) in DRIVERS {
        let world = World::new(broken_by(consecutive(1)));
        world.retrier.force_open();
        world
            .retrier
            .replace_policy(fixed(100 * MS))
            .expect("a valid policy");
        assert_eq!(world.retrier.breaker_state(), None, "{driver}");
        assert_eq!(drive(&world, &DEFAULT, &|_| Ok(17)), Ok(17), "{driver}");
        world.retrier.force_close(); // there is none
        let put_back = broken_by(consecutive(1));
        world
            .retrier
            .replace_policy(put_back)
            .expect("a valid policy");
        assert_eq!(
            drive(&world, &DEFAULT, &|_| Ok(17)),
            Err(broken(0, SECOND)),
            "{driver}"
        );
        assert_eq!(world.state(), Open, "{driver}");
    }
}

#[test]
fn a_breaker_that_a_reload_brings_counts_from_then_on() {
    for (driver, drive) in DRIVERS {
        let world = World::new(fixed(100 * MS).attempts(1));
        let fail = || {
            drive(&world, &DEFAULT, &|_| Err(Fault::DOWN))
                .unwrap_err()
                .reason
        };
        for _ in 0..3 {
            assert_eq!(fail(), StopReason::AttemptsExhausted, "{driver}");
        }
        let policy = broken_by(consecutive(2)).attempts(1);
        world
            .retrier
            .replace_policy(policy)
            .expect("a valid policy");
        assert_eq!(world.state(), Closed, "{driver}");
        fail();
        fail();
        assert_eq!(fail(), StopReason::BreakerOpen, "{driver}");
    }
}

/// The probe returns its slot to the breaker that it has it from.
#[test]
fn a_probe_that_ends_while_the_breaker_is_out_gives_its_slot_back() {
    let world = World::on(&FakeSleeper::new(), broken_by(consecutive(1)));
    world.retrier.force_open();
    world.clock.advance(SECOND);
    let mut probe = ByHand::new(world.retrier.retry(|_| pending::<Never>()));
    assert!(probe.run().is_pending());
    world
        .retrier
        .replace_policy(fixed(100 * MS))
        .expect("a valid policy");
    drop(probe);
    let put_back = broken_by(consecutive(1));
    world
        .retrier
        .replace_policy(put_back)
        .expect("a valid policy");
    assert_eq!(world.state(), HalfOpen);
    assert_eq!(world.one(Ok(17)), Ok(17), "the slot is free");
}

/// Nobody knew when it started: what a reload wants to measure, it measures from then on.
#[test]
fn an_attempt_that_began_unmeasured_is_not_taken_for_a_slow_one() {
    let world = World::on(&FakeSleeper::new(), broken_by(consecutive(1)));
    world.clock.advance(3600 * SECOND);
    world.retrier.force_open();
    world.clock.advance(SECOND);
    let mut probe = ByHand::new(world.retrier.retry(|_| pending::<Never>()));
    assert!(probe.run().is_pending());
    let slow = broken_by(consecutive(1).slow(SECOND));
    world.retrier.replace_policy(slow).expect("a valid policy");
    world.clock.advance(MS);
    drop(probe);
    assert_eq!(
        world.state(),
        HalfOpen,
        "it took a millisecond, not an hour"
    );
}

#[test]
fn nor_does_an_adaptive_limit_learn_from_it() {
    let world = World::on(
        &FakeSleeper::new(),
        fixed(100 * MS).bulkhead(Bulkhead::calls(20)),
    );
    world.clock.advance(3600 * SECOND);
    let answers = |count: usize| {
        let calls = (0..count).map(|_| {
            let mut polls = 0;
            let call = world.retrier.retry(move |_| {
                std::future::poll_fn(move |_| {
                    polls += 1;
                    if polls > 1 {
                        std::task::Poll::Ready(Ok::<_, Fault>(17))
                    } else {
                        std::task::Poll::Pending
                    }
                })
            });
            let mut call = ByHand::new(call);
            assert!(call.poll().is_pending());
            call
        });
        calls.collect::<Vec<_>>()
    };
    let mut unmeasured = answers(20);
    let adaptive = Bulkhead::adaptive(); // 20 to begin with
    let policy = fixed(100 * MS).bulkhead(adaptive);
    world
        .retrier
        .replace_policy(policy)
        .expect("a valid policy");
    world.clock.advance(MS);
    for call in &mut unmeasured {
        assert!(call.poll().is_ready());
    }
    // A few windows of calls of 10 ms, which are fast by any measure but that of an hour.
    for _ in 0..100 {
        let mut calls = answers(10);
        world.clock.advance(10 * MS);
        for call in &mut calls {
            assert!(call.poll().is_ready());
        }
    }
    let limit = world.retrier.concurrency_limit().expect("a bulkhead");
    assert!(limit >= 20, "{limit}");
    world.assert_idle("all have ended");
}

#[test]
fn a_place_goes_back_to_the_bulkhead_that_was_taken_out() {
    let with = || fixed(100 * MS).bulkhead(Bulkhead::calls(1));
    let world = World::on(&FakeSleeper::new(), with());
    let mut call = ByHand::new(world.retrier.retry(|_| pending::<Never>()));
    assert!(call.run().is_pending());
    world
        .retrier
        .replace_policy(fixed(100 * MS))
        .expect("a valid policy");
    assert_eq!(world.retrier.in_flight(), None);
    assert_eq!(world.one(Ok(17)), Ok(17), "no bound");
    world
        .retrier
        .replace_policy(with())
        .expect("a valid policy");
    assert_eq!(world.retrier.in_flight(), Some(1), "it is under way still");
    assert_eq!(
        world.one(Ok(17)).unwrap_err().reason,
        StopReason::BulkheadFull
    );
    world
        .retrier
        .replace_policy(fixed(100 * MS))
        .expect("a valid policy");
    drop(call);
    world
        .retrier
        .replace_policy(with())
        .expect("a valid policy");
    assert_eq!(world.retrier.in_flight(), Some(0));
}

#[test]
fn an_invalid_guard_is_refused_and_the_old_one_stays() {
    let world = World::new(broken_by(consecutive(1)));
    let invalid = fixed(100 * MS)
        .bulkhead(Bulkhead::calls(0))
        .breaker(consecutive(5));
    assert!(world.retrier.replace_policy(invalid).is_err());
    assert_eq!(world.retrier.in_flight(), None);
    world.one(Err(Fault::DOWN)).unwrap_err();
    assert_eq!(world.state(), Open, "one failure opens it, as before");
}
