//! Do the figures that an operator reads add up?

use becalm::time::FakeSleeper;
use becalm::{Budget, Failure, Hint, Operation, StopReason, call::CallOptions, scope::Nested};

use crate::probe::{Fault, MS, SECOND, fixed};
use crate::world::{DEFAULT, DRIVERS, World, consecutive};

const DOWN: Result<u32, Fault> = Err(Fault::DOWN);

#[test]
fn demand_counts_first_tries_attempts_and_what_was_wanted() {
    for (driver, drive) in DRIVERS {
        let world = World::paying(&FakeSleeper::auto(), fixed(MS), 5);
        assert_eq!(
            world
                .retrier
                .demand()
                .and_then(|demand| demand.amplification()),
            None
        );
        for _ in 0..4 {
            drive(&world, &DEFAULT, &|_| Ok(17)).expect("an answer");
        }
        let demand = world.retrier.demand().expect("it is counted");
        assert_eq!(
            (demand.first_tries, demand.attempts, demand.wanted),
            (4, 4, 0),
            "{driver}"
        );
        for _ in 0..4 {
            drive(&world, &DEFAULT, &|_| DOWN).unwrap_err();
        }
        let demand = world.retrier.demand().expect("it is counted");
        // 3 and 2 retries; denied are one of the second call and one of each after it.
        assert_eq!(
            (demand.first_tries, demand.attempts, demand.wanted),
            (8, 13, 8),
            "{driver}"
        );
        assert_eq!(demand.amplification(), Some(13.0 / 8.0), "{driver}");
    }
}

#[test]
fn c18_the_first_attempt_of_a_call_is_a_first_try_also_inside_a_retry() {
    let outer = World::new(fixed(MS).attempts(3));
    let inner = World::new(fixed(MS).nested(Nested::Allow).attempts(2));
    let result = outer
        .retrier
        .retry_blocking(|_| inner.retrier.retry_blocking(|_| DOWN));
    assert!(result.is_err());
    let demand = inner.retrier.demand().expect("it is counted");
    assert_eq!((demand.first_tries, demand.attempts), (3, 6));
    assert_eq!(inner.ledger.book().first_tries, 3);
}

#[test]
fn without_being_asked_for_nothing_is_counted() {
    let builder = fixed(MS).builder().sleeper(FakeSleeper::auto());
    let retrier = builder.build().expect("a valid policy");
    assert!(retrier.retry_blocking(|_| Ok::<u32, Fault>(17)).is_ok());
    assert_eq!(retrier.demand(), None);
}

/// Each stop is counted once, under its own name, in every driver.
#[test]
fn stops_are_counted_by_reason() {
    for (driver, drive) in DRIVERS {
        let policy = fixed(100 * MS)
            .breaker(consecutive(100))
            .max_waiting(1)
            .nested(Nested::Outermost);
        let world = World::paying(&FakeSleeper::auto(), policy, 4);
        let stops = |answer: Result<u32, Fault>, options: &CallOptions| {
            drive(&world, options, &|_| answer).unwrap_err().reason
        };
        let mut seen = vec![
            stops(DOWN, &DEFAULT),
            stops(Err(Fault::GONE), &DEFAULT),
            stops(Err(Fault(Failure::throttled().hint(Hint::Stop))), &DEFAULT),
            stops(
                Err(Fault(Failure::throttled().retry_after(61 * SECOND))),
                &DEFAULT,
            ),
        ];
        let mut options = CallOptions::new();
        options.operation = Operation::NotIdempotent;
        seen.push(stops(DOWN, &options));
        let mut options = CallOptions::new();
        options.deadline = Some(50 * MS);
        seen.push(stops(DOWN, &options));
        seen.push(stops(DOWN, &DEFAULT)); // one token left
        world.retrier.isolate();
        seen.push(stops(DOWN, &DEFAULT));
        assert_eq!(
            seen,
            [
                StopReason::AttemptsExhausted,
                StopReason::Permanent,
                StopReason::DoNotRetry,
                StopReason::HintTooLong,
                StopReason::NotIdempotent,
                StopReason::DeadlineExceeded,
                StopReason::BudgetExhausted,
                StopReason::BreakerOpen,
            ],
            "{driver}"
        );
        for reason in StopReason::ALL {
            let times = seen.iter().filter(|stop| *stop == reason).count() as u64;
            assert_eq!(world.retrier.stops(*reason), times, "{driver}: {reason}");
        }
    }
}

#[test]
fn gauges_of_the_budget_are_those_of_the_policy_in_force() {
    let policy = fixed(MS).budget(Budget::ratio(0.1).and(Budget::per_minute(1)));
    let world = World::with_own_budget(&FakeSleeper::auto(), policy);
    world.one(Ok(17)).expect("an answer");
    let (_, drive) = DRIVERS[1];
    assert_eq!(drive(&world, &DEFAULT, &|_| DOWN).unwrap_err().attempts, 2);
    let names = || {
        let gauges = world.retrier.budget_gauges();
        gauges
            .map(|gauge| (gauge.kind.as_str(), gauge.denied))
            .collect::<Vec<_>>()
    };
    assert_eq!(names(), [("ratio", 0), ("per-minute", 1)]);
    assert_eq!(world.retrier.stops(StopReason::BudgetExhausted), 1);
    let other = fixed(MS).budget(Budget::per_minute(2));
    world.retrier.replace_policy(other).expect("a valid policy");
    assert_eq!(names(), [("per-minute", 1)]);
    // A budget that was given as an object has gauges of its own.
    assert_eq!(World::new(fixed(MS)).retrier.budget_gauges().count(), 0);
}
