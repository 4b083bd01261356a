//! What does a call hear of a breaker, before its first attempt and between two?

use becalm::breaker::State::{Closed, HalfOpen, Open};
use becalm::{Classify, Effect, Failure, Hint, StopReason, run::Last};

use crate::probe::{Fault, MS, SECOND, fixed, ready};
use crate::world::{
    Counted, DEFAULT, DRIVERS, Told, World, broken, broken_by, consecutive, engines, stop,
};

const DOWN: Result<u32, Fault> = Err(Fault::DOWN);

#[test]
fn failing_calls_open_it_and_the_next_is_refused_before_anything() {
    for (driver, drive) in DRIVERS {
        let world = World::new(broken_by(consecutive(2)).attempts(1));
        for _ in 0..2 {
            assert_eq!(world.state(), Closed, "{driver}");
            let ended = drive(&world, &DEFAULT, &|_| DOWN);
            assert_eq!(
                ended,
                Err(stop(StopReason::AttemptsExhausted, 1)),
                "{driver}"
            );
        }
        world.clock.advance(300 * MS);
        let operation = Counted::new(Ok(17));
        let ended = drive(&world, &DEFAULT, &|_| operation.serve());
        assert_eq!(ended, Err(broken(0, 700 * MS)), "{driver}");
        assert_eq!(operation.times.get(), 0, "{driver}: never invoked");
        assert_eq!(world.ledger.book().first_tries, 2, "{driver}: no first try");
        let demand = world.retrier.demand().expect("it is counted");
        assert_eq!((demand.first_tries, demand.attempts), (2, 2), "{driver}");
        assert_eq!(world.retrier.stops(StopReason::BreakerOpen), 1, "{driver}");
        assert_eq!(world.state(), Open, "{driver}");
        world.assert_idle(driver);
    }
}

#[test]
fn what_is_left_of_a_refused_call_says_that_nothing_was_sent() {
    let world = World::new(broken_by(consecutive(1)));
    world.retrier.force_open();
    let refused = [
        ready(world.retrier.retry(|_| async { Ok::<u32, Fault>(17) })),
        world.retrier.retry_blocking(|_| Ok::<_, Fault>(17)),
    ];
    for gave_up in refused.map(Result::unwrap_err) {
        assert_eq!(gave_up.last(), Last::NotStarted);
        assert_eq!((gave_up.records().count(), gave_up.error()), (0, None));
        assert_eq!(gave_up.next_probe(), Some(SECOND));
        assert_eq!(
            gave_up.to_string(),
            "gave up before the first attempt because the circuit breaker is open for another 1s"
        );
        let failure = gave_up.classify();
        assert_eq!(
            (failure.effect, failure.hint),
            (Effect::Unsent, Some(Hint::Below(StopReason::BreakerOpen)))
        );
    }
}

#[test]
fn the_sentence_rounds_the_open_time_up() {
    for (passed, left) in [
        (0, "1s"),
        (1, "1s"),
        (999_999, "1s"),
        (1_000_000, "999ms"),
        (999_000_000, "1ms"),
        (999_999_999, "1ms"),
    ] {
        let world = World::new(broken_by(consecutive(1)));
        world.retrier.force_open();
        world.clock.advance(std::time::Duration::from_nanos(passed));
        let gave_up = world
            .retrier
            .retry_blocking(|_| Ok::<u32, Fault>(17))
            .unwrap_err();
        let sentence = gave_up.to_string();
        assert!(
            sentence.ends_with(&format!("open for another {left}")),
            "{passed} ns: {sentence}"
        );
    }
}

/// The failure that opens it is that of the very call.
#[test]
fn a_retry_whose_wait_ends_while_it_is_open_stops_at_the_decision() {
    for (driver, drive) in DRIVERS {
        for (delay, attempts) in [(100 * MS, 1), (999 * MS, 1), (SECOND, 2), (1001 * MS, 2)] {
            let context = format!("{driver}, {delay:?}");
            let world = World::new(fixed(delay).breaker(consecutive(1)).attempts(2));
            let ended = drive(&world, &DEFAULT, &|_| DOWN);
            let book = world.ledger.book();
            if attempts == 1 {
                assert_eq!(ended, Err(broken(1, SECOND)), "{context}");
                assert_eq!(
                    (book.withdrawals, book.denials),
                    (0, 0),
                    "{context}: not asked"
                );
                assert_eq!(world.retrier.stops(StopReason::BreakerOpen), 1, "{context}");
            } else {
                // It is the probe.
                assert_eq!(
                    ended,
                    Err(stop(StopReason::AttemptsExhausted, 2)),
                    "{context}"
                );
                assert_eq!((book.withdrawals, book.refunds), (1, 0), "{context}");
            }
            world.assert_idle(&context);
        }
    }
}

#[test]
fn a_retry_that_is_refused_on_waking_returns_its_token() {
    for (driver, drive) in DRIVERS {
        let world = World::new(broken_by(consecutive(5)));
        world.in_next_wait(|retrier| retrier.force_open());
        let ended = drive(&world, &DEFAULT, &|_| DOWN);
        assert_eq!(ended, Err(broken(1, 900 * MS)), "{driver}");
        let book = world.ledger.book();
        assert_eq!((book.withdrawals, book.refunds), (1, 1), "{driver}");
        assert_eq!(
            world.retrier.stops(StopReason::BreakerOpen),
            1,
            "{driver}: counted once"
        );
        world.assert_idle(driver);
    }
}

#[test]
fn a_retry_that_was_refused_keeps_the_error_of_its_attempt() {
    let world = World::new(broken_by(consecutive(1)));
    let gave_up = world.retrier.retry_blocking(|_| DOWN).unwrap_err();
    assert_eq!(gave_up.last(), Last::Error(&Fault::DOWN));
    assert_eq!(
        gave_up.to_string(),
        "gave up after 1 attempt because the circuit breaker is open for another 1s: the shop is \
         down"
    );
    assert_eq!(gave_up.classify().effect, Effect::Unknown);
}

/// What repeating cannot mend speaks for the dependency's health.
#[test]
fn a_permanent_failure_is_none_for_the_breaker_and_any_other_is_one() {
    for (driver, drive) in DRIVERS {
        let world = World::new(broken_by(consecutive(3)).attempts(1));
        for _ in 0..10 {
            let ended = drive(&world, &DEFAULT, &|_| Err(Fault::GONE));
            assert_eq!(ended, Err(stop(StopReason::Permanent, 1)), "{driver}");
        }
        assert_eq!(world.state(), Closed, "{driver}");
        // It is as good as a success between two failures.
        for fault in [
            Fault::DOWN,
            Fault::DOWN,
            Fault::GONE,
            Fault::DOWN,
            Fault::DOWN,
        ] {
            drive(&world, &DEFAULT, &|_| Err(fault)).unwrap_err();
        }
        assert_eq!(world.state(), Closed, "{driver}");
        drive(&world, &DEFAULT, &|_| Ok(17)).expect("an answer");
        for fault in [Fault::DOWN, Fault::BUSY, Fault::REFUSED] {
            assert_eq!(world.state(), Closed, "{driver}");
            drive(&world, &DEFAULT, &|_| Err(fault)).unwrap_err();
        }
        assert_eq!(world.state(), Open, "{driver}");
        world.clock.advance(SECOND);
        drive(&world, &DEFAULT, &|_| Err(Fault::GONE)).unwrap_err();
        assert_eq!(
            world.state(),
            Closed,
            "{driver}: a probe that was answered closes it"
        );
    }
}

#[test]
fn every_change_of_state_is_told_once() {
    for (driver, drive) in engines() {
        let world = World::new(broken_by(consecutive(2)).attempts(1));
        drive(&world, &DEFAULT, &|_| DOWN).unwrap_err();
        drive(&world, &DEFAULT, &|_| DOWN).unwrap_err();
        drive(&world, &DEFAULT, &|_| DOWN).unwrap_err(); // refused
        world.clock.advance(SECOND);
        drive(&world, &DEFAULT, &|_| DOWN).unwrap_err();
        world.clock.advance(2 * SECOND);
        drive(&world, &DEFAULT, &|_| Ok(17)).expect("an answer");
        let expected = [
            (Closed, Open, Some(SECOND)),
            (Open, HalfOpen, None),
            (HalfOpen, Open, Some(2 * SECOND)),
            (Open, HalfOpen, None),
            (HalfOpen, Closed, None),
        ];
        assert_eq!(world.breaker_told(), expected, "{driver}");
    }
}

/// A retry as the probe: told before the attempt, and its result before the end.
#[test]
fn changes_are_told_where_they_happen() {
    for (driver, drive) in engines() {
        let world = World::new(fixed(SECOND).breaker(consecutive(1)));
        drive(&world, &DEFAULT, &|attempt| {
            if attempt.number() == 1 { DOWN } else { Ok(17) }
        })
        .expect("an answer");
        let told = world.told();
        let order = [
            Told::Attempt(1),
            Told::Breaker(Closed, Open, Some(SECOND)),
            Told::Retry(2),
            Told::Breaker(Open, HalfOpen, None),
            Told::Attempt(2),
            Told::Breaker(HalfOpen, Closed, None),
            Told::Recovered(2),
        ];
        assert_eq!(told, order, "{driver}");
        // The first attempt as the probe.
        world.retrier.force_open();
        world.clock.advance(2 * SECOND); // the second time in a row
        let before = world.told().len();
        drive(&world, &DEFAULT, &|_| Ok(17)).expect("an answer");
        let order = [
            Told::Breaker(Open, HalfOpen, None),
            Told::Attempt(1),
            Told::Breaker(HalfOpen, Closed, None),
        ];
        assert_eq!(world.told()[before..], order, "{driver}");
    }
}

#[test]
fn the_sans_io_call_hands_the_change_out_once() {
    use becalm::{
        Failure, Scope,
        call::{Call, CallOptions},
        shared::Shared,
        time::Instant,
    };
    let shared = Shared::new(
        fixed(SECOND).breaker(consecutive(1)),
        core::time::Duration::ZERO,
    )
    .expect("a valid policy");
    let mut call = Call::begin(&shared, CallOptions::new(), Scope::NONE, Instant::ZERO);
    call.start(Instant::ZERO, &mut || 0).expect("closed");
    assert_eq!(call.take_transition(), None);
    call.on_outcome(Instant::ZERO, Failure::transient().into(), &mut || 0);
    let opened = call.take_transition().expect("it has opened");
    assert_eq!(
        (opened.from, opened.to, opened.open_for),
        (Closed, Open, Some(SECOND))
    );
    assert_eq!(call.take_transition(), None, "once");
    let at = Instant::ZERO.after(SECOND);
    call.start(at, &mut || 0).expect("a probe");
    let probed = call.take_transition().expect("it is half-open");
    assert_eq!((probed.from, probed.to), (Open, HalfOpen));
    call.on_outcome(at, becalm::classify::Verdict::Success, &mut || 0);
    let closed = call.take_transition().expect("it has closed");
    assert_eq!((closed.from, closed.to), (HalfOpen, Closed));
}

/// A server that refuses a token that has ended is well.
#[test]
fn a_refusal_of_a_healthy_server_does_not_open_it() {
    let world = World::new(broken_by(consecutive(2)).attempts(1));
    for (failure, state) in [
        (Failure::transient().healthy(), Closed),
        (Failure::transient(), Open),
    ] {
        for _ in 0..2 {
            let call = world
                .retrier
                .retry(|_| async move { Err::<u32, _>((failure, "refused")) });
            assert_eq!(ready(call).unwrap_err().attempts(), 1);
        }
        assert_eq!(world.state(), state, "{failure:?}");
    }
}
