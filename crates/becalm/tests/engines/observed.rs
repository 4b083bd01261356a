//! With `mode = "observe"` every call runs once, and is told what enforcing would have done.

use std::fmt::Debug;
use std::future::pending;
use std::sync::{Arc, Mutex};

use becalm::breaker::Breaker;
use becalm::observe::About;
use becalm::policy::Mode;
use becalm::scope::Nested;
use becalm::time::FakeSleeper;
use becalm::{
    Attempt, Budget, Bulkhead, Cancel, Event, GaveUp, Hedge, Observer, Policy, Retrier, Sleeper,
    StopReason,
};

use crate::probe::{ByHand, Fault, Journal, Ledger, MS, SECOND, Seen, fixed, on, ready, watched};

/// What is told of observed calls, and in which order with the other events.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Observer for Told {
    fn on_event(&self, _: &About<'_>, event: &Event<'_>) {
        let line = match event {
            Event::Attempt { number, .. } => format!("attempt {number}"),
            Event::Stopped {
                reason, attempts, ..
            } => format!("{} after {attempts}", reason.as_str()),
            Event::Observed { would } => format!("would {would:?}"),
            other => format!("{other:?}"),
        };
        self.0.lock().unwrap().push(line);
    }
}

fn observing(policy: Policy) -> (Retrier, Told, FakeSleeper) {
    let (told, clock) = (Told::default(), FakeSleeper::new());
    let builder = policy.mode(Mode::Observe).builder();
    let builder = builder.sleeper(clock.clone()).observer(told.clone());
    (builder.build().unwrap(), told, clock)
}

/// The same call in every engine.
fn in_every_engine<T: Debug + PartialEq>(
    retrier: &Retrier,
    operation: impl Fn(Attempt) -> Result<T, Fault>,
    mut see: impl FnMut(Result<T, GaveUp<Fault>>),
) {
    see(ready(retrier.retry(|attempt| {
        let outcome = operation(attempt);
        async { outcome }
    })));
    see(retrier.retry_blocking(&operation));
    let mut call = retrier.call();
    while let Some(attempt) = call.next_blocking() {
        match operation(attempt) {
            Ok(value) => return see(Ok(call.success(value))),
            Err(fault) => call.failure(fault),
        }
    }
    see(Err(call.gave_up()));
}

#[test]
fn a_failed_call_makes_one_attempt_and_gives_its_error_back() {
    for policy in [
        fixed(100 * MS),
        fixed(100 * MS).deadline(SECOND),
        fixed(100 * MS).breaker(Breaker::consecutive(99)),
    ] {
        let (retrier, told, clock) = observing(policy);
        let operation = |_| Err::<(), _>(Fault::DOWN);
        in_every_engine(&retrier, operation, |ended| {
            let gave_up = ended.unwrap_err();
            assert_eq!(gave_up.attempts(), 1);
            assert_eq!(gave_up.reason(), StopReason::AttemptsExhausted);
            assert_eq!(gave_up.into_last(), becalm::run::Last::Error(Fault::DOWN));
            let lines = [
                "attempt 1",
                "would Retry { delay: 100ms }",
                "attempts_exhausted after 1",
            ];
            assert_eq!(told.take(), lines);
        });
        assert_eq!(clock.slept(), [], "nothing was waited for");
        assert_eq!(retrier.observed().retries, 3);
        assert_eq!(retrier.stops(StopReason::AttemptsExhausted), 3);
    }
}

#[test]
fn what_ends_a_call_of_one_attempt_ends_it_by_its_own_name_and_nothing_more_is_told() {
    let (retrier, told, _) = observing(fixed(MS));
    let gone = |_| Err::<(), _>(Fault::GONE);
    in_every_engine(&retrier, gone, |ended| {
        assert_eq!(ended.unwrap_err().reason(), StopReason::Permanent);
        assert_eq!(told.take(), ["attempt 1", "permanent after 1"]);
    });
    let once = retrier
        .blocking(|_| Err::<(), _>(Fault::DOWN))
        .not_idempotent();
    assert_eq!(once.call().unwrap_err().reason(), StopReason::NotIdempotent);
    assert_eq!(told.take(), ["attempt 1", "not_idempotent after 1"]);
    assert_eq!(retrier.observed(), Default::default());
}

#[test]
fn a_success_is_told_of_nothing() {
    for policy in [
        fixed(MS),
        fixed(MS).deadline(SECOND).attempt_timeout(SECOND),
    ] {
        let (retrier, told, _) = observing(policy);
        in_every_engine(&retrier, |_| Ok(17), |ended| assert_eq!(ended.unwrap(), 17));
        assert_eq!(told.take(), ["attempt 1"; 3]);
        assert_eq!(retrier.observed(), Default::default());
    }
}

/// A first retry is paid for, so that what is denied is what enforcing denies while all calls fail.
#[test]
fn the_budget_pays_for_first_retries_and_denies_when_it_is_spent() {
    let policy = fixed(MS).budget(Budget::ratio(0.1).burst(3.0));
    let (retrier, told, _) = observing(policy);
    for _ in 0..5 {
        let failed = retrier.retry_blocking(|_| Err::<(), _>(Fault::DOWN));
        assert_eq!(failed.unwrap_err().reason(), StopReason::AttemptsExhausted);
    }
    let observed = retrier.observed();
    assert_eq!(observed.retries, 3);
    assert_eq!(observed.stopped(StopReason::BudgetExhausted), 2);
    assert_eq!(retrier.stops(StopReason::BudgetExhausted), 0);
    let denied = told.take().split_off(12);
    assert_eq!(denied[1], "would Stop(BudgetExhausted)");
}

#[test]
fn an_open_breaker_lets_the_call_through_and_the_call_teaches_it_nothing() {
    let policy = fixed(MS)
        .attempts(1)
        .breaker(Breaker::consecutive(2).open(SECOND));
    let (retrier, told, clock) = observing(policy);
    for _ in 0..2 {
        retrier
            .retry_blocking(|_| Err::<(), _>(Fault::DOWN))
            .unwrap_err();
    }
    assert_eq!(retrier.breaker_state(), Some(becalm::breaker::State::Open));
    told.take();
    let good = retrier.retry_blocking(|_| Ok::<_, Fault>(17));
    assert_eq!(good.unwrap(), 17, "it is let through");
    let lines = ["would Refuse(BreakerOpen)", "attempt 1", "would Fail"];
    assert_eq!(told.take(), lines);
    assert_eq!(retrier.breaker_state(), Some(becalm::breaker::State::Open));
    let observed = retrier.observed();
    assert_eq!(observed.refused(StopReason::BreakerOpen), 1);
    assert_eq!(observed.failures, 1);
    // It closes when enforcing would have let a probe through that is good.
    clock.advance(2 * SECOND);
    for _ in 0..3 {
        retrier.retry_blocking(|_| Ok::<_, Fault>(17)).unwrap();
    }
    assert_eq!(
        retrier.breaker_state(),
        Some(becalm::breaker::State::Closed)
    );
    assert_eq!(retrier.observed().refused(StopReason::BreakerOpen), 1);
}

#[test]
fn past_a_full_bulkhead_calls_run_and_take_no_place() {
    for (waiting, would) in [(0, "would Refuse(BulkheadFull)"), (9, "would Wait")] {
        let policy = fixed(MS).bulkhead(Bulkhead::calls(1).waiting(waiting));
        let (retrier, told, _) = observing(policy);
        let mut runs = ByHand::new(retrier.retry(|_| pending::<Result<(), Fault>>()));
        assert!(runs.poll().is_pending());
        assert_eq!(told.take(), ["attempt 1"]);
        let mut beside = ByHand::new(retrier.retry(|_| pending::<Result<(), Fault>>()));
        assert!(beside.poll().is_pending());
        assert_eq!(told.take(), [would, "attempt 1"]);
        assert_eq!(retrier.in_flight(), Some(1));
        drop((runs, beside));
        assert_eq!(retrier.in_flight(), Some(0));
    }
}

/// The attempt is handed no limit, runs on past all of them, and its end tells which had cut it.
#[test]
fn limits_are_told_by_the_time_at_which_the_attempt_ended() {
    let policy = fixed(100 * MS).deadline(SECOND).attempt_timeout(200 * MS);
    let timed_out = ["would Cut { after: 200ms }", "would Retry { delay: 100ms }"];
    let no_timeout = policy.clone().attempt_timeout(None);
    let too_late = ["would Cut { after: 1s }", "would Stop(DeadlineExceeded)"];
    for (policy, takes, told_first) in [
        (policy.clone(), 200, &[][..]),
        (policy, 201, &timed_out),
        (no_timeout.clone(), 1000, &[]),
        (no_timeout, 1001, &too_late),
    ] {
        let (retrier, told, clock) = observing(policy);
        let mut call = ByHand::new(retrier.retry(|attempt| {
            assert_eq!((attempt.remaining(), attempt.timeout()), (None, None));
            let ends = clock.now().after(takes * MS);
            let sleep = clock.sleep_until(ends);
            async move {
                sleep.await;
                Ok::<_, Fault>(17)
            }
        }));
        assert!(call.poll().is_pending());
        assert_eq!(
            clock.advance_to_next(),
            Some(takes * MS),
            "no timer of a limit"
        );
        assert!(matches!(call.poll(), std::task::Poll::Ready(Ok(17))));
        let mut expected = vec!["attempt 1"];
        expected.extend(told_first);
        if told_first == too_late {
            expected.push("would Fail");
        }
        assert_eq!(told.take(), expected, "{takes} ms");
    }
}

/// A caller that gave up by a time-out of its own is told of the earlier one of the policy.
#[test]
fn a_call_that_is_dropped_is_told_of_the_limits_that_it_had_passed() {
    let (retrier, told, clock) = observing(fixed(MS).attempt_timeout(200 * MS));
    let mut call = ByHand::new(retrier.retry(|_| pending::<Result<(), Fault>>()));
    assert!(call.poll().is_pending());
    clock.advance(300 * MS);
    drop(call);
    let lines = [
        "attempt 1",
        "would Cut { after: 200ms }",
        "would Retry { delay: 1ms }",
        "cancelled after 1",
    ];
    assert_eq!(told.take(), lines);
}

/// Enforcing, such an engine cuts nothing either.
#[test]
fn a_blocking_call_is_told_of_no_cut() {
    let (retrier, told, clock) = observing(fixed(MS).deadline(SECOND).attempt_timeout(MS));
    let good = retrier.retry_blocking(|_| {
        clock.advance(10 * SECOND);
        Ok::<_, Fault>(17)
    });
    assert_eq!(good.unwrap(), 17);
    assert_eq!(told.take(), ["attempt 1"]);
    // But of the wait that would not have fitted.
    let failed = retrier.retry_blocking(|_| {
        clock.advance(10 * SECOND);
        Err::<(), _>(Fault::DOWN)
    });
    assert_eq!(failed.unwrap_err().reason(), StopReason::AttemptsExhausted);
    assert_eq!(told.take()[1], "would Stop(DeadlineExceeded)");
}

#[test]
fn a_hedge_is_told_paid_for_and_not_sent() {
    for (takes, outcome) in [(60, Ok(17)), (60, Err(Fault::DOWN)), (50, Ok(17))] {
        let policy = fixed(MS).hedge(Hedge::after(50 * MS));
        let watched = watched(&FakeSleeper::new(), policy.mode(Mode::Observe), 1);
        let mut starts = 0;
        let mut call = ByHand::new(watched.retrier.retry(|_| {
            starts += 1;
            let ends = watched.clock.now().after(takes * MS);
            let sleep = watched.clock.sleep_until(ends);
            async move {
                sleep.await;
                outcome
            }
        }));
        assert!(call.poll().is_pending());
        assert_eq!(watched.clock.advance_to_next(), Some(takes * MS));
        assert!(call.poll().is_ready());
        drop(call);
        assert_eq!(starts, 1);
        let hedged = u64::from(takes > 50);
        let observed = watched.retrier.observed();
        assert_eq!((observed.hedges, observed.retries), (hedged, 0));
        assert_eq!(u64::from(watched.ledger.book().spent()), hedged);
    }
}

#[test]
fn the_mode_is_the_policys_until_it_is_set_by_hand_and_again_after_a_reload() {
    let retrier = on(&FakeSleeper::auto(), fixed(MS));
    let attempts = || {
        let failed = retrier.retry_blocking(|_| Err::<(), _>(Fault::DOWN));
        failed.unwrap_err().attempts()
    };
    assert_eq!((retrier.mode(), attempts()), (Mode::Enforce, 4));
    retrier.clone().set_mode(Mode::Observe);
    assert_eq!((retrier.mode(), attempts()), (Mode::Observe, 1));
    assert_eq!(retrier.policy().mode, Mode::Enforce, "what it was given");
    retrier.set_mode(Mode::Enforce);
    assert_eq!(attempts(), 4);
    retrier
        .replace_policy(fixed(MS).mode(Mode::Observe))
        .unwrap();
    assert_eq!((retrier.mode(), attempts()), (Mode::Observe, 1));
    retrier.replace_policy(fixed(MS)).unwrap();
    assert_eq!((retrier.mode(), attempts()), (Mode::Enforce, 4));
    assert_eq!(retrier.observed().retries, 2);
}

#[test]
fn while_retries_are_switched_off_no_retry_would_have_been() {
    let (retrier, told, _) = observing(fixed(MS));
    retrier.disable_retries();
    retrier
        .retry_blocking(|_| Err::<(), _>(Fault::DOWN))
        .unwrap_err();
    assert_eq!(told.take(), ["attempt 1", "attempts_exhausted after 1"]);
}

#[test]
fn layers_below_retry_as_if_it_were_not_there_and_layers_above_as_well() {
    let clock = FakeSleeper::auto();
    let (outer, inner) = (on(&clock, fixed(MS)), on(&clock, fixed(MS)));
    let tries = |outer: &Retrier, inner: &Retrier| {
        let mut tries = 0;
        let call = outer.retry_blocking(|_| {
            inner.retry_blocking(|_| {
                tries += 1;
                Err::<(), _>(Fault::DOWN)
            })
        });
        call.unwrap_err();
        tries
    };
    assert_eq!(tries(&outer, &inner), 7, "layers add");
    outer.set_mode(Mode::Observe);
    assert_eq!(tries(&outer, &inner), 4);
    outer.set_mode(Mode::Enforce);
    inner.set_mode(Mode::Observe);
    assert_eq!(tries(&outer, &inner), 4);
    // At its first attempt alone it would have repeated: later the layer above does.
    assert_eq!(inner.observed().retries, 1);
}

/// One that runs once below a layer that may repeat is not held back by one that only observes.
#[test]
fn what_leaves_repeating_to_the_outermost_repeats_below_one_that_observes() {
    let clock = FakeSleeper::auto();
    let outer = on(&clock, fixed(MS).attempts(2));
    let inner = on(&clock, fixed(MS).nested(Nested::Outermost));
    for (mode, expected) in [(Mode::Enforce, 2), (Mode::Observe, 4)] {
        outer.set_mode(mode);
        let mut tries = 0;
        let call = outer.retry_blocking(|_| {
            inner.retry_blocking(|_| {
                tries += 1;
                Err::<(), _>(Fault::DOWN)
            })
        });
        call.unwrap_err();
        assert_eq!(tries, expected, "{mode:?}");
    }
}

/// The deadline of a layer above is that layer's to keep: it is handed on, and refuses nothing here.
#[test]
fn the_deadline_above_is_handed_on_and_refuses_nothing() {
    let clock = FakeSleeper::auto();
    let outer = on(&clock, fixed(MS).deadline(SECOND));
    let inner = on(&clock, fixed(MS).deadline(MS).mode(Mode::Observe));
    let good = outer.retry_blocking(|_| {
        let seen = inner.retry_blocking(|attempt| Ok::<_, Fault>(attempt.remaining()));
        assert_eq!(seen.unwrap(), Some(SECOND));
        clock.advance(2 * SECOND);
        inner.retry_blocking(|_| Ok::<_, Fault>(17))
    });
    assert_eq!(good.unwrap(), 17);
    assert_eq!(inner.observed().refused(StopReason::DeadlineExceeded), 1);
}

/// The payer enforces: what it grants to retries that never begin would be taken from those that do.
#[test]
fn a_payer_above_that_enforces_is_asked_and_not_charged() {
    for (mode, spent) in [(Mode::Enforce, 0), (Mode::Observe, 1)] {
        let clock = FakeSleeper::auto();
        let outer = watched(&clock, fixed(MS), 5);
        outer.retrier.set_mode(mode);
        let inner = fixed(MS).nested(Nested::ShareBudget).mode(Mode::Observe);
        let inner = on(&clock, inner);
        let good = outer.retrier.retry_blocking(|_| {
            let failed = inner.retry_blocking(|_| Err::<(), _>(Fault::DOWN));
            failed.unwrap_err();
            Ok::<_, Fault>(17)
        });
        good.unwrap();
        assert_eq!(inner.observed().retries, 1);
        assert_eq!(outer.ledger.book().spent(), spent);
        assert_eq!(outer.ledger.book().withdrawals, 1);
    }
}

#[test]
fn a_cancelled_call_is_cancelled_before_it_begins() {
    let (retrier, told, _) = observing(fixed(MS).deadline(SECOND));
    let cancel = Cancel::new();
    cancel.cancel();
    let ended = retrier
        .blocking(|_| Ok::<_, Fault>(17))
        .cancel(&cancel)
        .call();
    assert_eq!(ended.unwrap_err().reason(), StopReason::Cancelled);
    assert_eq!(told.take(), ["cancelled after 0"]);
}

#[test]
fn an_observed_panic_returns_what_the_attempt_held() {
    let policy = fixed(MS).bulkhead(Bulkhead::calls(1)).mode(Mode::Observe);
    let retrier = on(&FakeSleeper::new(), policy);
    let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = retrier.retry_blocking(|_| -> Result<(), Fault> { panic!("the operation") });
    }));
    assert!(unwound.is_err());
    assert_eq!((retrier.in_flight(), retrier.waiting()), (Some(0), 0));
}

/// It earns as any call does, unless enforcing would have refused it.
#[test]
fn a_success_earns_and_one_that_would_have_been_refused_does_not() {
    let ledger = Ledger::of(9);
    let policy = fixed(MS).breaker(Breaker::consecutive(1).open(SECOND));
    let builder = policy.mode(Mode::Observe).builder();
    let builder = builder
        .sleeper(FakeSleeper::new())
        .observer(Journal::default());
    let retrier = builder.retry_budget(ledger.clone()).build().unwrap();
    retrier.retry_blocking(|_| Ok::<_, Fault>(17)).unwrap();
    assert_eq!((ledger.book().first_tries, ledger.book().deposits), (1, 1));
    retrier.force_open();
    retrier.retry_blocking(|_| Ok::<_, Fault>(17)).unwrap();
    assert_eq!((ledger.book().first_tries, ledger.book().deposits), (1, 1));
}

#[test]
fn a_loop_that_counts_anew_goes_on_in_the_mode_of_the_moment() {
    let (journal, clock) = (Journal::default(), FakeSleeper::auto());
    let policy = fixed(MS).breaker(Breaker::consecutive(1).open(SECOND));
    let builder = policy.mode(Mode::Observe).builder().sleeper(clock);
    let retrier = builder.observer(journal.clone()).build().unwrap();
    retrier.force_open();
    let mut call = retrier.call::<Fault>();
    assert!(call.next_blocking().is_some(), "let through");
    call.count_anew();
    assert_eq!(retrier.observed().failures, 1);
    retrier.force_close();
    retrier.set_mode(Mode::Enforce);
    call.count_anew();
    call.failure(Fault::DOWN);
    assert!(call.next_blocking().is_some(), "enforced from here on");
    let retries = journal.seen().into_iter();
    assert_eq!(
        retries.filter(|it| matches!(it, Seen::Retry(..))).count(),
        1
    );
}
