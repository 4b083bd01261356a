//! Conformance, *Calls*, as far as they concern the core: when is the operation invoked, whose is a
//! retry, and what is told of it?
#![cfg(feature = "std")]

use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use becalm::rng::Seed;
use becalm::time::FakeSleeper;
use becalm::{Budget, Event, Jitter, Observer, Policy, Retrier, Sleeper, StopReason, run::Last};

const SECOND: Duration = Duration::from_secs(1);
const ALMOST: Duration = Duration::from_nanos(999_999_999);

fn busy() -> io::Error {
    io::ErrorKind::TimedOut.into()
}

fn on(clock: &FakeSleeper, policy: Policy) -> Retrier {
    let builder = policy.builder().sleeper(clock.clone()).seed(Seed::fixed(7));
    builder.build().expect("a valid policy")
}

#[test]
fn conformance_21_the_operation_is_not_invoked_before_its_delay_has_passed() {
    let clock = FakeSleeper::new();
    let policy = Policy::fixed(SECOND).jitter(Jitter::None);
    let retrier = on(&clock, policy);
    let invoked = AtomicU32::new(0);
    let call = retrier.retry(|_| {
        invoked.fetch_add(1, Ordering::Relaxed);
        std::future::ready(Err::<(), _>(busy()))
    });
    assert_eq!(invoked.load(Ordering::Relaxed), 0, "before the first poll");
    let mut call = pin!(call);
    let mut context = Context::from_waker(Waker::noop());
    for attempt in 1..4 {
        assert!(call.as_mut().poll(&mut context).is_pending());
        clock.advance(ALMOST);
        // Woken too early, for whatever reason, it goes on waiting.
        assert!(call.as_mut().poll(&mut context).is_pending());
        assert_eq!(invoked.load(Ordering::Relaxed), attempt);
        clock.advance(SECOND.abs_diff(ALMOST));
    }
    let Poll::Ready(result) = call.poll(&mut context) else {
        panic!("the last attempt has failed")
    };
    assert_eq!(result.expect_err("it always fails").attempts(), 4);
    assert_eq!(invoked.load(Ordering::Relaxed), 4);
}

#[test]
fn conformance_21_nor_is_it_in_the_blocking_engine() {
    let clock = FakeSleeper::auto();
    let retrier = on(&clock, Policy::default().budget(Budget::None));
    let mut invoked = Vec::new();
    let result = retrier.retry_blocking(|_| {
        invoked.push(clock.now());
        Err::<(), _>(busy())
    });
    assert_eq!(result.expect_err("it always fails").attempts(), 4);
    let gaps = invoked.windows(2).map(|pair| pair[1].since(pair[0]));
    assert!(gaps.eq(clock.slept()), "each starts when its delay is over");
}

/// A retrier is made for one dependency: what is spent, switched off or refused there touches no
/// other, and each repeats only the operation it was given.
#[test]
fn conformance_24_a_policy_for_one_dependency_never_repeats_a_call_to_another() {
    let clock = FakeSleeper::auto();
    let policy = Policy::default().budget(Budget::ratio(0.1).burst(3.0));
    let orders = on(&clock, policy.clone());
    let once = on(&clock, Policy::default().attempts(1));
    let attempts = |retrier: &Retrier| {
        let gave_up = retrier.retry_blocking(|_| Err::<(), _>(busy()));
        gave_up.expect_err("it always fails").attempts()
    };
    assert_eq!(attempts(&orders), 4, "with the whole burst");
    assert_eq!(attempts(&orders), 1, "which is spent");
    assert_eq!(attempts(&once), 1, "another's policy repeats nothing here");
    let invoices = on(&clock, policy);
    assert_eq!(
        attempts(&invoices),
        4,
        "a budget of its own, though of one policy"
    );
}

#[test]
fn conformance_25_the_final_error_keeps_the_last_error_all_attempts_and_the_reason() {
    let clock = FakeSleeper::auto();
    let retrier = on(&clock, Policy::default());
    let mut number = 0;
    let gave_up = retrier
        .retry_blocking(|_| {
            number += 1;
            Err::<(), _>(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("failure {number}"),
            ))
        })
        .expect_err("it always fails");
    assert_eq!(gave_up.reason(), StopReason::AttemptsExhausted);
    assert_eq!(gave_up.attempts(), 4);
    assert_eq!(
        gave_up.error().map(ToString::to_string),
        Some("failure 4".into())
    );
    let records: Vec<_> = gave_up
        .records()
        .map(|record| (record.number, record.delay))
        .collect();
    let waited: Vec<_> = [Duration::ZERO].into_iter().chain(clock.slept()).collect();
    assert_eq!(records, (1..=4).zip(waited).collect::<Vec<_>>());
    // The sentence has it: a chain that went on there would say it twice.
    assert!(std::error::Error::source(&gave_up).is_none());
    let sentence = gave_up.to_string();
    for part in ["4 attempts", "all attempts were used", "failure 4"] {
        assert!(sentence.contains(part), "{sentence}");
    }
    assert!(matches!(gave_up.into_last(), Last::Error(error) if error.to_string() == "failure 4"));
}

/// The delays told before each wait, and what was really waited, told after it.
#[derive(Default)]
struct Waits {
    told: Mutex<Vec<Duration>>,
    waited: Mutex<Vec<Duration>>,
}

impl Observer for Waits {
    fn on_event(&self, _: &becalm::observe::About<'_>, event: &Event<'_>) {
        match event {
            Event::Retry { delay, .. } => self.told.lock().expect("no panic").push(*delay),
            Event::Attempt { number, waited, .. } if *number > 1 => {
                self.waited.lock().expect("no panic").push(*waited);
            }
            _ => {}
        }
    }
}

#[test]
fn conformance_26_callbacks_report_the_delay_that_was_really_waited() {
    for tick in [0, 1, 16].map(Duration::from_millis) {
        let clock = FakeSleeper::auto().with_tick(tick);
        let waits = Arc::new(Waits::default());
        let builder = Policy::default().builder().seed(Seed::fixed(7));
        let retrier = builder
            .sleeper(clock.clone())
            .observer(waits.clone())
            .build()
            .expect("a valid policy");
        let result = retrier.retry_blocking(|_| Err::<(), _>(busy()));
        assert_eq!(result.expect_err("it always fails").attempts(), 4);
        let told = waits.told.lock().expect("no panic");
        assert_eq!(*told, *waits.waited.lock().expect("no panic"));
        // A wait of nothing touches no timer.
        let slept = told.iter().filter(|delay| !delay.is_zero());
        assert!(slept.eq(&clock.slept()), "{told:?} on a tick of {tick:?}");
    }
}
