//! Do the engines tell a policy's budget all that it wants to hear, and return all that it gave?

use std::future::pending;

use becalm::budget::Kind;
use becalm::time::FakeSleeper;
use becalm::{Budget, Failure, Hint, StopReason, call::CallOptions};

use crate::probe::{ByHand, Fault, MS, fixed};
use crate::world::{DEFAULT, DRIVERS, World, consecutive, stop};

fn world(budget: Budget) -> World {
    let policy = fixed(100 * MS).budget(budget);
    World::with_own_budget(&FakeSleeper::auto(), policy)
}

/// What is left, and at most.
fn level(world: &World, kind: Kind) -> (f64, f64) {
    let mut gauges = world.retrier.budget_gauges();
    let gauge = gauges.find(|gauge| gauge.kind == kind).expect("configured");
    (gauge.left, gauge.most)
}

fn left(world: &World, kind: Kind) -> f64 {
    level(world, kind).0
}

const DOWN: Result<u32, Fault> = Err(Fault::DOWN);

#[test]
fn conformance_10_a_success_returns_the_calls_own_last_cost_and_no_other() {
    for (driver, drive) in DRIVERS {
        let world = world(Budget::aws_2026_11());
        let tokens = || left(&world, Kind::Tokens);
        let fails = |failures: u32, fault: Fault| {
            drive(&world, &DEFAULT, &|attempt| {
                if attempt.number() <= failures {
                    Err(fault)
                } else {
                    Ok(17)
                }
            })
        };
        assert_eq!(fails(1, Fault::DOWN), Ok(17));
        assert_eq!(tokens(), 500.0, "{driver}: 14 paid, 14 back");
        assert_eq!(fails(2, Fault::DOWN), Ok(17));
        assert_eq!(tokens(), 486.0, "{driver}: 28 paid, the last 14 back");
        assert_eq!(fails(3, Fault::BUSY), Ok(17));
        assert_eq!(tokens(), 476.0, "{driver}: 15 paid, the last 5 back");
        assert_eq!(
            fails(9, Fault::DOWN).unwrap_err().reason,
            StopReason::AttemptsExhausted
        );
        assert_eq!(
            tokens(),
            434.0,
            "{driver}: nothing comes back of a call that failed"
        );
        assert_eq!(fails(0, Fault::DOWN), Ok(17));
        assert_eq!(tokens(), 435.0, "{driver}: a clean success earns its own");
        let ended = drive(&world, &DEFAULT, &|_| Err(Fault::GONE));
        assert_eq!(ended, Err(stop(StopReason::Permanent, 1)));
        assert_eq!(tokens(), 435.0, "{driver}");
    }
}

#[test]
fn the_quota_ends_the_retries_and_says_so() {
    for (driver, drive) in DRIVERS {
        let world = world(Budget::aws_2026_11());
        // 35 retries are paid for: 490 of 500 tokens.
        let mut retries = 0;
        let ended = loop {
            let ended = drive(&world, &DEFAULT, &|_| DOWN).unwrap_err();
            retries += ended.attempts - 1;
            if ended.reason == StopReason::BudgetExhausted {
                break ended;
            }
        };
        assert_eq!((retries, ended.attempts), (35, 3), "{driver}");
        let gauge = world.retrier.budget_gauges().next().expect("one kind");
        assert_eq!((gauge.left, gauge.denied), (10.0, 1), "{driver}");
    }
}

#[test]
fn grpc_hears_every_outcome() {
    for (driver, drive) in DRIVERS {
        let world = world(Budget::grpc(10, 0.5));
        let tokens = || left(&world, Kind::Grpc);
        drive(&world, &DEFAULT, &|attempt| {
            if attempt.number() <= 2 { DOWN } else { Ok(17) }
        })
        .expect("an answer");
        assert_eq!(tokens(), 8.5, "{driver}: two failures and a success");
        drive(&world, &DEFAULT, &|_| Err(Fault::GONE)).unwrap_err();
        assert_eq!(tokens(), 8.5, "{driver}: not worth a retry, so no failure");
        let refusal = Fault(Failure::throttled().hint(Hint::Stop));
        drive(&world, &DEFAULT, &|_| Err(refusal)).unwrap_err();
        assert_eq!(tokens(), 7.5, "{driver}: told not to retry");
        for _ in 0..9 {
            drive(&world, &DEFAULT, &|_| Ok(17)).expect("an answer");
        }
        assert_eq!(tokens(), 10.0, "{driver}: full again");
        // Five failures leave five, which is not more than half.
        let ended = drive(&world, &DEFAULT, &|_| DOWN);
        assert_eq!(
            ended,
            Err(stop(StopReason::AttemptsExhausted, 4)),
            "{driver}"
        );
        let ended = drive(&world, &DEFAULT, &|_| DOWN);
        assert_eq!(ended, Err(stop(StopReason::BudgetExhausted, 1)), "{driver}");
        assert_eq!(tokens(), 5.0, "{driver}");
    }
}

/// With a share of 1 and no floor there are as many slots as calls under way.
fn active_and_taken(world: &World) -> (f64, f64) {
    let (left, most) = level(world, Kind::Concurrency);
    (most, most - left)
}

#[test]
fn a_concurrency_knows_the_calls_and_the_retries_under_way() {
    for (driver, drive) in DRIVERS {
        for (fault, ended) in [
            (Fault::DOWN, Ok(17)),
            (Fault::GONE, Err(StopReason::Permanent)),
        ] {
            let world = world(Budget::concurrency(1.0, 0));
            let seen = std::cell::RefCell::new(Vec::new());
            let result = drive(&world, &DEFAULT, &|attempt| {
                seen.borrow_mut().push(active_and_taken(&world));
                match attempt.number() {
                    1 => DOWN,
                    2 => Err(fault),
                    _ => Ok(17),
                }
            });
            assert_eq!(result.map_err(|stop| stop.reason), ended, "{driver}");
            let attempts = seen.borrow().len();
            assert_eq!(
                seen.borrow()[..],
                [(1.0, 0.0), (1.0, 1.0), (1.0, 1.0)][..attempts]
            );
            assert_eq!(active_and_taken(&world), (0.0, 0.0), "{driver}, {ended:?}");
        }
    }
}

#[test]
fn every_end_of_a_call_is_told_to_a_concurrency() {
    for (driver, drive) in DRIVERS {
        let policy = fixed(100 * MS)
            .budget(Budget::concurrency(1.0, 0))
            .breaker(consecutive(1000))
            .deadline(250 * MS);
        let world = World::with_own_budget(&FakeSleeper::auto(), policy);
        let idle = |context: &str| {
            assert_eq!(active_and_taken(&world), (0.0, 0.0), "{driver}: {context}");
            world.assert_idle(driver);
        };
        drive(&world, &DEFAULT, &|_| Ok(17)).expect("an answer");
        idle("clean success");
        drive(&world, &DEFAULT, &|_| DOWN).unwrap_err();
        idle("deadline at the decision");
        world.in_next_wait(|retrier| retrier.force_open());
        drive(&world, &DEFAULT, &|_| DOWN).unwrap_err();
        idle("refused on waking");
        drive(&world, &DEFAULT, &|_| Ok(17)).unwrap_err();
        idle("refused before the first attempt");
        world.retrier.force_close();
        world.in_next_wait(|retrier| retrier.disable_retries());
        let ended = drive(&world, &DEFAULT, &|_| DOWN);
        assert_eq!(
            ended,
            Err(stop(StopReason::AttemptsExhausted, 1)),
            "{driver}"
        );
        idle("retries switched off in the wait");
        world.retrier.enable_retries();
        let mut options = CallOptions::new();
        options.deadline = Some(core::time::Duration::ZERO);
        drive(&world, &options, &|_| Ok(17)).unwrap_err();
        idle("no time at all");
        assert_eq!(
            world.retrier.demand().map(|demand| demand.first_tries),
            Some(4),
            "{driver}"
        );
    }
}

#[test]
fn a_dropped_call_is_told_to_a_concurrency_in_whatever_state() {
    let policy = fixed(100 * MS).budget(Budget::concurrency(1.0, 0));
    let world = World::with_own_budget(&FakeSleeper::new(), policy);
    for advances in 0..3_u32 {
        let call = world.retrier.retry(|attempt| async move {
            if attempt.number() == 1 {
                return DOWN;
            }
            pending().await
        });
        let mut call = ByHand::new(call);
        let states = [(0.0, 0.0), (1.0, 1.0), (1.0, 1.0)];
        for _ in 0..advances {
            assert!(call.run().is_pending());
            if advances == 2 {
                world.clock.advance(100 * MS);
            }
        }
        assert_eq!(
            active_and_taken(&world),
            states[advances as usize],
            "{advances}"
        );
        drop(call);
        assert_eq!(active_and_taken(&world), (0.0, 0.0), "{advances}");
    }
    let mut first = ByHand::new(world.retrier.retry(|_| pending::<Result<u32, Fault>>()));
    assert!(first.run().is_pending());
    assert_eq!(active_and_taken(&world), (1.0, 0.0));
    drop(first);
    assert_eq!(active_and_taken(&world), (0.0, 0.0), "in its first attempt");
}

#[test]
fn of_several_kinds_a_denial_of_one_takes_nothing_from_the_others() {
    for (driver, drive) in DRIVERS {
        let all = Budget::ratio(0.1)
            .burst(5.0)
            .floor_per_second(0.0)
            .and(Budget::tokens())
            .and(Budget::grpc(1000, 0.1))
            .and(Budget::concurrency(1.0, 3))
            .and(Budget::per_minute(2));
        let world = world(all);
        let ended = drive(&world, &DEFAULT, &|_| DOWN);
        assert_eq!(
            ended,
            Err(stop(StopReason::BudgetExhausted, 3)),
            "{driver}: two a minute"
        );
        let expected = [
            (Kind::Ratio, 3.0, 0),
            (Kind::Tokens, 472.0, 0),
            (Kind::Grpc, 997.0, 0),
            (Kind::Concurrency, 3.0, 0),
            (Kind::PerMinute, 0.0, 1),
        ];
        let gauges = world.retrier.budget_gauges();
        let seen: Vec<_> = gauges
            .map(|gauge| (gauge.kind, gauge.left, gauge.denied))
            .collect();
        assert_eq!(seen, expected, "{driver}");
        assert_eq!(
            world.retrier.budget_fill(),
            0.0,
            "{driver}: of the emptiest"
        );
    }
}

/// Refunded whole: by a wait that is dropped, and by a guard on waking.
#[test]
fn a_retry_that_never_starts_gives_all_kinds_back_what_they_gave() {
    let all = Budget::ratio(0.1)
        .burst(5.0)
        .and(Budget::tokens())
        .and(Budget::concurrency(1.0, 3))
        .and(Budget::per_minute(2))
        .and(Budget::window(0.5, crate::probe::SECOND, 10.0));
    let policy = fixed(100 * MS).budget(all).breaker(consecutive(1000));
    let world = World::with_own_budget(&FakeSleeper::new(), policy);
    let lefts = || {
        world
            .retrier
            .budget_gauges()
            .map(|gauge| gauge.left)
            .collect::<Vec<_>>()
    };
    let full = [5.0, 500.0, 3.0, 2.0, 10.0];
    assert_eq!(lefts(), full);
    for refused in [false, true] {
        let mut call = ByHand::new(world.retrier.retry(|_| async { DOWN }));
        assert!(call.run().is_pending());
        assert_eq!(lefts()[..4], [4.0, 486.0, 2.0, 1.0]);
        if refused {
            world.retrier.force_open();
            world.clock.advance(100 * MS);
            assert!(call.run().is_ready());
            world.retrier.force_close();
        }
        drop(call);
        assert_eq!(lefts()[..4], full[..4], "{refused}");
        assert!(lefts()[4] >= 10.0, "{refused}");
    }
}
