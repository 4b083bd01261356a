//! What does an observer see? Every attempt, every retry with the delay really waited, and one end,
//! after everything is settled.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm::rng::Seed;
use becalm::time::FakeSleeper;
use becalm::{Budget, Class, Effect, Event, Observer, Operation, Policy, StopReason};

use crate::probe::{ByHand, Fault, Journal, MS, SECOND, Seen, fixed, on, ready, watched};

const NONE: Duration = Duration::ZERO;

#[test]
fn a_call_that_succeeds_at_once_is_one_event() {
    let watched = watched(&FakeSleeper::auto(), fixed(MS), 10);
    ready(watched.retrier.retry(|_| async { Ok::<_, Fault>(()) })).unwrap();
    watched
        .retrier
        .retry_blocking(|_| Ok::<_, Fault>(()))
        .unwrap();
    assert_eq!(watched.journal.seen(), [Seen::Attempt(1, NONE); 2]);
}

#[test]
fn a_recovery_tells_every_step() {
    let watched = watched(
        &FakeSleeper::auto(),
        fixed(100 * MS).deadline(60 * SECOND),
        10,
    );
    let call = watched.retrier.retry(|attempt| {
        watched.clock.advance(10 * MS);
        let failed = attempt.number() < 3;
        async move { if failed { Err(Fault::DOWN) } else { Ok(()) } }
    });
    ready(call).unwrap();
    assert_eq!(
        watched.journal.seen(),
        [
            Seen::Attempt(1, NONE),
            Seen::Retry(2, 100 * MS),
            Seen::Attempt(2, 100 * MS),
            Seen::Retry(3, 100 * MS),
            Seen::Attempt(3, 100 * MS),
            Seen::Recovered(3, 230 * MS),
        ]
    );
}

#[test]
fn a_stop_tells_every_step_and_its_reason() {
    let watched = watched(&FakeSleeper::auto(), fixed(100 * MS).attempts(2), 10);
    ready(
        watched
            .retrier
            .retry(|_| async { Err::<(), _>(Fault::DOWN) }),
    )
    .unwrap_err();
    assert_eq!(
        watched.journal.seen(),
        [
            Seen::Attempt(1, NONE),
            Seen::Retry(2, 100 * MS),
            Seen::Attempt(2, 100 * MS),
            // Without a deadline, time counts from the first failure.
            Seen::Stopped(StopReason::AttemptsExhausted, 2, 100 * MS),
        ]
    );
}

#[test]
fn a_retry_tells_class_and_effect_of_the_failure_before_it() {
    #[derive(Default)]
    struct Failures(Mutex<Vec<(Class, Effect)>>);
    impl Observer for Failures {
        fn on_event(&self, _: &becalm::observe::About<'_>, event: &Event<'_>) {
            if let Event::Retry { class, effect, .. } = event {
                self.0.lock().unwrap().push((*class, *effect));
            }
        }
    }
    let failures = Arc::new(Failures::default());
    let builder = fixed(MS).builder().sleeper(FakeSleeper::auto());
    let retrier = builder.observer(failures.clone()).build().unwrap();
    let faults = [Fault::REFUSED, Fault::BUSY, Fault::DOWN, Fault::GONE];
    let _ = retrier
        .retry_blocking(|attempt| Err::<(), _>(faults[attempt.number() as usize - 1]))
        .unwrap_err();
    assert_eq!(
        *failures.0.lock().unwrap(),
        [
            (Class::Transient, Effect::Unsent),
            (Class::Throttled, Effect::Unknown),
            (Class::Transient, Effect::Unknown),
        ]
    );
}

#[test]
fn nested_calls_sign_with_their_names_and_end_inside_out() {
    let (clock, journal) = (FakeSleeper::auto(), Journal::default());
    let named = |name| {
        let builder = fixed(MS).attempts(2).builder().sleeper(clock.clone());
        builder
            .observer(journal.clone())
            .name(name)
            .build()
            .unwrap()
    };
    let (outer, inner) = (named("outer"), named("inner"));
    let call = outer.retry(|_| inner.retry(|_| async { Err::<(), _>(Fault::DOWN) }));
    ready(call).unwrap_err();
    let nested = Seen::Stopped(StopReason::NestedRetry, 1, NONE);
    let expected = [
        ("outer", Seen::Attempt(1, NONE)),
        ("inner", Seen::Attempt(1, NONE)),
        ("inner", Seen::Retry(2, MS)),
        ("inner", Seen::Attempt(2, MS)),
        ("inner", Seen::Stopped(StopReason::AttemptsExhausted, 2, MS)),
        ("outer", Seen::Retry(2, MS)),
        ("outer", Seen::Attempt(2, MS)),
        ("inner", Seen::Attempt(1, NONE)),
        ("inner", nested),
        ("outer", Seen::Stopped(StopReason::AttemptsExhausted, 2, MS)),
    ];
    assert_eq!(
        journal.signed(),
        expected.map(|(name, seen)| (name.to_owned(), seen))
    );
}

#[test]
fn an_outer_deadline_ends_the_inner_call_first() {
    let journal = Journal::default();
    let named = |name, clock: &FakeSleeper, policy: Policy| {
        let builder = policy.builder().sleeper(clock.clone());
        builder
            .observer(journal.clone())
            .name(name)
            .build()
            .unwrap()
    };
    // On clocks of their own, so that the inner call does not know of the deadline.
    let clock = FakeSleeper::new();
    let outer = named("outer", &clock, fixed(MS).deadline(SECOND));
    let inner = named("inner", &FakeSleeper::new(), fixed(MS));
    let mut call = ByHand::new(outer.retry(|_| inner.retry(|_| pending::<Result<(), Fault>>())));
    assert!(call.run().is_pending());
    clock.advance(SECOND);
    assert!(call.run().is_ready());
    let ends = [
        (
            "inner".to_owned(),
            Seen::Stopped(StopReason::Cancelled, 1, NONE),
        ),
        (
            "outer".to_owned(),
            Seen::Stopped(StopReason::DeadlineExceeded, 1, SECOND),
        ),
    ];
    assert_eq!(journal.signed()[2..], ends);
}

/// Conformance 26: what was really waited, when the executor woke the call late.
#[test]
fn the_delay_that_was_really_waited_is_told() {
    let watched = watched(&FakeSleeper::new(), fixed(100 * MS), 10);
    let mut call = ByHand::new(
        watched
            .retrier
            .retry(|_| async { Err::<(), _>(Fault::DOWN) }),
    );
    assert!(call.run().is_pending());
    watched.clock.advance(140 * MS);
    assert!(call.run().is_pending());
    drop(call);
    assert_eq!(
        watched.journal.seen()[1..3],
        [Seen::Retry(2, 100 * MS), Seen::Attempt(2, 140 * MS)]
    );
}

/// Whatever the jitter drew, the retry's delay, the record's and the sleeper's are one.
#[test]
fn the_delay_told_is_the_delay_slept_and_the_delay_recorded() {
    let (clock, journal) = (FakeSleeper::auto(), Journal::default());
    let policy = Policy::exponential(100 * MS)
        .attempts(8)
        .budget(Budget::None);
    let builder = policy
        .builder()
        .sleeper(clock.clone())
        .observer(journal.clone());
    let retrier = builder.build().unwrap();
    let gave_up = retrier
        .retry_blocking(|_| Err::<(), _>(Fault::DOWN))
        .unwrap_err();
    let told: Vec<_> = journal
        .seen()
        .into_iter()
        .filter_map(|seen| match seen {
            Seen::Retry(_, delay) => Some(delay),
            _ => None,
        })
        .collect();
    let recorded: Vec<_> = gave_up
        .records()
        .map(|record| record.delay)
        .skip(1)
        .collect();
    assert_eq!(told, clock.slept());
    assert_eq!(told, recorded);
    assert_eq!(told.len(), 7);
}

#[test]
fn the_same_seed_waits_the_same_with_and_without_an_observer() {
    let slept = |observer: Option<Journal>| {
        let clock = FakeSleeper::auto();
        let policy = Policy::exponential(100 * MS)
            .attempts(8)
            .budget(Budget::None);
        let builder = policy.builder().sleeper(clock.clone()).seed(Seed::fixed(7));
        let retrier = match observer {
            Some(observer) => builder.observer(observer).build(),
            None => builder.build(),
        }
        .unwrap();
        retrier
            .retry_blocking(|_| Err::<(), _>(Fault::DOWN))
            .unwrap_err();
        ready(retrier.retry(|_| async { Err::<(), _>(Fault::DOWN) })).unwrap_err();
        clock.slept()
    };
    assert_eq!(slept(None), slept(Some(Journal::default())));
}

#[test]
fn without_an_observer_the_same_happens_unseen() {
    let clock = FakeSleeper::auto();
    let retrier = on(&clock, fixed(MS));
    let call = retrier.retry(|_| async { Err::<(), _>(Fault::DOWN) });
    assert_eq!(
        ready(call.operation(Operation::Idempotent))
            .unwrap_err()
            .attempts(),
        4
    );
    assert_eq!(clock.slept(), [MS; 3]);
}
