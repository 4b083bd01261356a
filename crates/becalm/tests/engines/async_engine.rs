//! What does only the async engine do? It starts with the first poll, cuts attempts, and makes no
//! timer that is not needed.

use std::cell::RefCell;
use std::future::pending;
use std::task::Poll;
use std::time::Duration;

use becalm::time::FakeSleeper;
use becalm::{Class, Effect, GaveUp, Policy, Sleeper, StopReason, run::Last};

use crate::probe::{ByHand, Fault, Ledger, MS, SECOND, fixed, on, ready, watched, yield_now};

type Ended<T> = Poll<Result<T, GaveUp<Fault>>>;

fn now(clock: &FakeSleeper) -> Duration {
    Duration::from_nanos(clock.now().as_nanos())
}

#[test]
fn nothing_happens_before_the_first_poll() {
    let clock = FakeSleeper::new();
    let ledger = Ledger::of(10);
    let retrier = fixed(MS)
        .deadline(SECOND)
        .builder()
        .sleeper(clock.clone())
        .retry_budget(ledger.clone())
        .build()
        .unwrap();
    let (mut invoked, built) = (0, clock.clock_reads());
    drop(retrier.retry(|_| {
        invoked += 1;
        async { Ok::<_, Fault>(()) }
    }));
    assert_eq!(
        (invoked, clock.clock_reads(), ledger.book().deposits),
        (0, built, 0)
    );
}

#[test]
fn the_deadline_starts_at_the_first_poll() {
    let clock = FakeSleeper::new();
    let retrier = on(&clock, fixed(MS).deadline(SECOND));
    let call = retrier.retry(|attempt| async move { Ok::<_, Fault>(attempt.remaining()) });
    clock.advance(3600 * SECOND);
    assert_eq!(ready(call).unwrap(), Some(SECOND));
}

#[test]
fn the_deadline_cuts_the_first_attempt() {
    let clock = FakeSleeper::new();
    let retrier = on(&clock, fixed(MS).deadline(SECOND));
    let mut call = ByHand::new(retrier.retry(|_| pending::<Result<(), Fault>>()));
    assert!(call.poll().is_pending());
    clock.advance(Duration::from_nanos(999_999_999));
    assert!(call.poll().is_pending());
    assert_eq!(call.wakes(), 0);
    clock.advance(Duration::from_nanos(1));
    assert_eq!(call.wakes(), 1);
    let Poll::Ready(Err(gave_up)) = call.poll() else {
        panic!("the deadline has passed");
    };
    assert_eq!(gave_up.reason(), StopReason::DeadlineExceeded);
    assert_eq!(gave_up.last(), Last::AttemptTimeout);
    assert_eq!(gave_up.attempts(), 1);
    assert_eq!(gave_up.elapsed(), Some(SECOND));
}

#[test]
fn the_deadline_cuts_a_later_attempt_and_keeps_the_error_before() {
    let clock = FakeSleeper::new();
    let retrier = on(&clock, fixed(100 * MS).deadline(SECOND));
    let mut call = ByHand::new(retrier.retry(|attempt| async move {
        if attempt.number() > 1 {
            pending::<()>().await;
        }
        Err::<(), _>(Fault::DOWN)
    }));
    assert!(call.run().is_pending());
    clock.advance(100 * MS);
    assert!(call.run().is_pending());
    assert_eq!(clock.advance_to_next(), Some(900 * MS));
    let Poll::Ready(Err(gave_up)) = call.run() else {
        panic!("the deadline has passed");
    };
    assert_eq!(gave_up.reason(), StopReason::DeadlineExceeded);
    assert_eq!(gave_up.attempts(), 2);
    assert_eq!(gave_up.last(), Last::AttemptTimeout);
    assert_eq!(gave_up.error(), Some(&Fault::DOWN));
    assert_eq!(gave_up.records().count(), 2);
}

#[test]
fn an_answer_at_the_very_deadline_counts() {
    let clock = FakeSleeper::new();
    let retrier = on(&clock, fixed(MS).deadline(SECOND));
    let mut call = ByHand::new(retrier.retry(|_| async {
        clock
            .sleep_until(becalm::time::Instant::ZERO.after(SECOND))
            .await;
        Ok::<_, Fault>(17)
    }));
    assert!(call.run().is_pending());
    clock.advance(SECOND);
    assert!(matches!(call.run(), Poll::Ready(Ok(17))));
}

/// Runs a call of attempts that never end, moving the time from timer to timer.
fn never_answered(clock: &FakeSleeper, policy: Policy) -> (GaveUp<Fault>, Vec<Duration>) {
    let retrier = on(clock, policy);
    let starts = RefCell::new(Vec::new());
    let mut call = ByHand::new(retrier.retry(|_| {
        starts.borrow_mut().push(now(clock));
        pending::<Result<(), Fault>>()
    }));
    loop {
        match call.run() {
            Poll::Ready(ended) => {
                drop(call);
                return (ended.unwrap_err(), starts.into_inner());
            }
            Poll::Pending => {
                clock.advance_to_next().expect("a timer");
            }
        }
    }
}

#[test]
fn an_attempt_timeout_cuts_each_attempt_and_the_wait_follows() {
    let clock = FakeSleeper::new();
    let policy = fixed(50 * MS).attempts(3).attempt_timeout(100 * MS);
    let (gave_up, starts) = never_answered(&clock, policy);
    assert_eq!(starts, [Duration::ZERO, 150 * MS, 300 * MS]);
    assert_eq!(now(&clock), 400 * MS);
    assert_eq!(gave_up.reason(), StopReason::AttemptsExhausted);
    assert_eq!(gave_up.last(), Last::AttemptTimeout);
    assert_eq!(gave_up.error(), None);
    for record in gave_up.records() {
        assert_eq!(
            (record.class, record.effect),
            (Class::Transient, Effect::Unknown)
        );
    }
}

#[test]
fn the_earlier_of_deadline_and_attempt_timeout_cuts() {
    let clock = FakeSleeper::new();
    let policy = fixed(50 * MS).attempt_timeout(100 * MS).deadline(200 * MS);
    let (gave_up, starts) = never_answered(&clock, policy);
    assert_eq!(starts, [Duration::ZERO, 150 * MS]);
    assert_eq!(gave_up.reason(), StopReason::DeadlineExceeded);
    assert_eq!(now(&clock), 200 * MS);
}

#[test]
fn an_attempt_that_timed_out_may_have_taken_effect() {
    let clock = FakeSleeper::new();
    let retrier = on(&clock, fixed(50 * MS).attempt_timeout(100 * MS));
    let mut call = ByHand::new(
        retrier
            .retry(|_| pending::<Result<(), Fault>>())
            .not_idempotent(),
    );
    assert!(call.run().is_pending());
    clock.advance(100 * MS);
    let Poll::Ready(Err(gave_up)) = call.run() else {
        panic!("not repeated");
    };
    assert_eq!(gave_up.reason(), StopReason::NotIdempotent);
    assert_eq!(gave_up.attempts(), 1);
}

#[test]
fn the_limit_of_an_attempt_is_not_the_length_of_the_wait_after_it() {
    for policy in [
        fixed(100 * MS).deadline(30 * SECOND),
        fixed(100 * MS).attempt_timeout(30 * SECOND),
    ] {
        let clock = FakeSleeper::new();
        let retrier = on(&clock, policy);
        let mut call = ByHand::new(retrier.retry(|attempt| async move {
            yield_now().await; // the limit is armed
            if attempt.number() == 1 {
                return Err(Fault::DOWN);
            }
            Ok(attempt.number())
        }));
        assert!(call.run().is_pending());
        assert_eq!(clock.advance_to_next(), Some(100 * MS));
        let ended: Ended<u32> = call.run();
        assert!(matches!(ended, Poll::Ready(Ok(2))));
    }
}

#[test]
fn timers_are_made_only_after_the_first_pending() {
    let clock = FakeSleeper::new();
    let policy = fixed(MS).deadline(SECOND).attempt_timeout(SECOND / 2);
    let retrier = on(&clock, policy);
    ready(retrier.retry(|_| async { Ok::<_, Fault>(()) })).unwrap();
    assert_eq!(clock.slept(), []);

    let mut call = ByHand::new(retrier.retry(|_| async {
        yield_now().await;
        yield_now().await;
        Ok::<_, Fault>(())
    }));
    assert!(call.poll().is_pending());
    assert_eq!(clock.slept(), [SECOND / 2]);
    assert!(matches!(call.run(), Poll::Ready(Ok(()))));
    assert_eq!(
        clock.slept(),
        [SECOND / 2],
        "one timer for the attempt, not one for each poll"
    );
    drop(call);
    assert_eq!(clock.sleepers(), 0);
}

#[test]
fn without_a_time_limit_a_pending_attempt_makes_no_timer() {
    let clock = FakeSleeper::new();
    let retrier = on(&clock, fixed(MS));
    let built = clock.clock_reads();
    let mut call = ByHand::new(retrier.retry(|_| async {
        yield_now().await;
        Ok::<_, Fault>(())
    }));
    assert!(matches!(call.run(), Poll::Ready(Ok(()))));
    assert_eq!((clock.slept(), clock.clock_reads()), (vec![], built));
}

#[test]
fn success_reads_no_clock_and_with_a_time_limit_one() {
    for (policy, reads) in [
        (fixed(MS), 0),
        (Policy::default(), 0),
        (fixed(MS).deadline(SECOND), 1),
        (fixed(MS).attempt_timeout(SECOND), 1),
        (fixed(MS).deadline(SECOND).attempt_timeout(MS), 1),
    ] {
        let clock = FakeSleeper::new();
        let retrier = on(&clock, policy.clone());
        let built = clock.clock_reads();
        ready(retrier.retry(|_| async { Ok::<_, Fault>(()) })).unwrap();
        assert_eq!(clock.clock_reads() - built, reads, "async, {policy:?}");
        retrier.retry_blocking(|_| Ok::<_, Fault>(())).unwrap();
        assert_eq!(
            clock.clock_reads() - built,
            2 * reads,
            "blocking, {policy:?}"
        );
    }
}

/// An observer, a budget of another kind and options cost a success no clock read either.
#[test]
fn success_reads_no_clock_though_it_is_watched() {
    let watched = watched(&FakeSleeper::new(), fixed(MS), 10);
    let built = watched.clock.clock_reads();
    let call = watched.retrier.retry(|_| async { Ok::<_, Fault>(()) });
    ready(call.attempts(2).keyed()).unwrap();
    let call = watched.retrier.blocking(|_| Ok::<_, Fault>(()));
    call.not_idempotent().call().unwrap();
    assert_eq!(watched.clock.clock_reads(), built);
}

#[test]
fn a_deadline_of_the_call_reads_the_clock_once_too() {
    let clock = FakeSleeper::new();
    let retrier = on(&clock, fixed(MS));
    let built = clock.clock_reads();
    ready(
        retrier
            .retry(|_| async { Ok::<_, Fault>(()) })
            .deadline(SECOND),
    )
    .unwrap();
    assert_eq!(clock.clock_reads() - built, 1);
}

#[test]
fn a_budget_that_wants_the_time_shares_the_read_at_the_start_and_has_one_at_the_end() {
    for (policy, reads) in [(fixed(MS), 2), (fixed(MS).deadline(SECOND), 2)] {
        let clock = FakeSleeper::new();
        let retrier = policy
            .builder()
            .sleeper(clock.clone())
            .retry_budget(Ledger::reading_the_clock(10))
            .build()
            .unwrap();
        let built = clock.clock_reads();
        ready(retrier.retry(|_| async { Ok::<_, Fault>(()) })).unwrap();
        assert_eq!(clock.clock_reads() - built, reads);
    }
}

/// Conformance 21.
#[test]
fn the_operation_is_not_invoked_before_its_delay_has_passed() {
    let clock = FakeSleeper::new();
    let retrier = on(&clock, fixed(100 * MS));
    let invoked = RefCell::new(0);
    let mut call = ByHand::new(retrier.retry(|_| {
        *invoked.borrow_mut() += 1;
        async { Err::<(), _>(Fault::DOWN) }
    }));
    for attempt in 1..=4 {
        let ended = call.run();
        assert_eq!(*invoked.borrow(), attempt);
        if attempt == 4 {
            assert!(ended.is_ready());
            break;
        }
        clock.advance(Duration::from_nanos(99_999_999));
        for _ in 0..3 {
            assert!(call.poll().is_pending(), "a spurious poll");
        }
        assert_eq!(*invoked.borrow(), attempt, "too early");
        clock.advance(Duration::from_nanos(1));
    }
}

/// Conformance 19: the deadline as each attempt sees it, after a wait that took longer than asked.
#[test]
fn the_remaining_time_is_computed_after_the_wait() {
    let clock = FakeSleeper::new();
    let retrier = on(&clock, fixed(100 * MS).deadline(SECOND));
    let told = RefCell::new(Vec::new());
    let mut call = ByHand::new(retrier.retry(|attempt| {
        told.borrow_mut().push(attempt.remaining());
        async { Err::<(), _>(Fault::DOWN) }
    }));
    assert!(call.run().is_pending());
    clock.advance(700 * MS); // the executor was busy
    assert!(call.run().is_pending());
    drop(call);
    assert_eq!(told.into_inner(), [Some(SECOND), Some(300 * MS)]);
}

#[test]
fn a_keyed_call_has_one_key_and_another_call_another() {
    let clock = FakeSleeper::auto();
    let retrier = on(&clock, fixed(MS));
    let keys = RefCell::new(Vec::new());
    for _ in 0..2 {
        let call = retrier.retry(|attempt| {
            keys.borrow_mut().push(attempt.key().expect("a key"));
            async { Err::<(), _>(Fault::DOWN) }
        });
        let gave_up = ready(call.keyed()).unwrap_err();
        assert_eq!(gave_up.reason(), StopReason::AttemptsExhausted);
    }
    let keys = keys.into_inner();
    assert_eq!(keys.len(), 8);
    assert!(keys[..4].iter().all(|key| *key == keys[0]));
    assert!(keys[4..].iter().all(|key| *key == keys[4]));
    assert_ne!(keys[0], keys[4]);
}

#[test]
fn a_future_that_has_ended_stays_quiet() {
    let clock = FakeSleeper::auto();
    let retrier = on(&clock, fixed(MS));
    let mut call = ByHand::new(retrier.retry(|_| async { Ok::<_, Fault>(()) }));
    assert!(call.poll().is_ready());
    assert!(call.poll().is_pending());
}
