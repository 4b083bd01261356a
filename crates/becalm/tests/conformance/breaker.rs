//! Conformance, *Breaker*: does it react after any history, keep to its probes, and judge nobody by
//! what is over?

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use becalm::breaker::{Breaker, CircuitBreaker, Outcome, Permit, Span, State, Transition};
use becalm::time::Instant;

const SECOND: Duration = Duration::from_secs(1);

fn breaker(config: Breaker) -> CircuitBreaker {
    CircuitBreaker::new(config.jitter(0.0)).expect("valid")
}

fn at(seconds: u64) -> Instant {
    Instant::ZERO.after(Duration::from_secs(seconds))
}

fn record(
    breaker: &CircuitBreaker,
    permit: Permit,
    outcome: Outcome,
    now: Instant,
) -> Option<Transition> {
    breaker.record(permit, outcome, || now, Duration::ZERO, || 0)
}

fn call(breaker: &CircuitBreaker, outcome: Outcome, now: Instant) -> Option<Transition> {
    let permit = breaker.admit(|| now).expect("closed");
    record(breaker, permit, outcome, now)
}

/// Ten million successes, one each microsecond, then failures alone: how many until it opens.
fn failures_after_health(config: Breaker) -> u64 {
    let breaker = breaker(config);
    let mut now = 0;
    for _ in 0..10_000_000 {
        now += 1_000;
        let told = call(&breaker, Outcome::Success, Instant::from_nanos(now));
        assert_eq!(told, None);
    }
    for failures in 1..=10_000_000 {
        now += 1_000;
        if call(&breaker, Outcome::Failure, Instant::from_nanos(now)).is_some() {
            return failures;
        }
    }
    panic!("{config} never opened");
}

#[test]
fn conformance_13_a_row_opens_after_any_healthy_history() {
    assert_eq!(failures_after_health(Breaker::consecutive(5)), 5);
}

#[test]
fn conformance_13_a_window_of_calls_opens_within_itself_after_any_healthy_history() {
    for calls in [10, 1_000, 1_000_000] {
        let config = Breaker::share(0.5, Span::Calls(calls)).min_calls(10);
        let failures = failures_after_health(config);
        let share = u64::from(calls) / 2;
        assert!(
            (share * 9 / 10..=share).contains(&failures),
            "{failures} of {calls}"
        );
    }
}

#[test]
fn conformance_13_a_window_of_time_opens_within_itself_after_any_healthy_history() {
    for millis in [10, 1_000] {
        let config = Breaker::share(0.5, Span::Time(Duration::from_millis(millis)));
        let failures = failures_after_health(config);
        let share = millis * 1_000 / 2;
        assert!(
            (share * 9 / 10..=share).contains(&failures),
            "{failures} us of {millis} ms"
        );
    }
}

/// What it costs is measured in `bench/`; that it cannot grow shows in the memory, all of which is
/// inline and the same for every window.
#[test]
fn conformance_13_a_long_window_needs_no_memory() {
    assert!(size_of::<CircuitBreaker>() <= 1024);
    for window in [Span::Calls(100_000_000), Span::Time(86_400 * SECOND)] {
        let used = allocation_counter::measure(|| {
            let breaker = breaker(Breaker::share(1.0, window));
            for second in 0..10_000 {
                let outcome = match second % 2 {
                    0 => Outcome::Success,
                    _ => Outcome::Failure,
                };
                assert_eq!(call(&breaker, outcome, at(second)), None);
            }
        });
        assert_eq!(used.count_total, 0);
    }
}

/// Open since 0 s, due at 5 s.
fn open(config: Breaker) -> CircuitBreaker {
    let breaker = breaker(config);
    breaker.force_open(at(0), || 0).expect("it was closed");
    breaker
}

#[test]
fn conformance_14_half_open_admits_its_probes_and_no_more() {
    for probes in [1, 3] {
        let breaker = open(Breaker::consecutive(1).probes(probes).successes(10));
        assert!(breaker.admit(|| at(4)).is_err());
        let under_way: Vec<_> = (0..100)
            .filter_map(|_| breaker.admit(|| at(5)).ok())
            .collect();
        assert_eq!(under_way.len(), probes as usize);
        assert!(under_way.iter().all(Permit::is_probe));
        for permit in under_way {
            assert_eq!(record(&breaker, permit, Outcome::Success, at(6)), None);
        }
        let again = (0..100).filter(|_| breaker.admit(|| at(6)).is_ok()).count();
        assert_eq!(again, probes as usize);
    }
}

/// Dropped, refused by a bulkhead, denied by a budget: all are told as cancelled.
#[test]
fn conformance_14_a_probe_that_is_cancelled_returns_its_place_a_thousand_times_over() {
    let breaker = open(Breaker::consecutive(1).successes(1));
    for _ in 0..1_000 {
        let probe = breaker.admit(|| at(5)).expect("a free place");
        assert!(breaker.admit(|| at(5)).is_err());
        assert_eq!(record(&breaker, probe, Outcome::Cancelled, at(5)), None);
    }
    let probe = breaker.admit(|| at(5)).expect("a free place");
    let told = record(&breaker, probe, Outcome::Success, at(5));
    assert_eq!(told.map(|told| told.to), Some(State::Closed));
}

/// A panic is told as a failure: it opens again, and the next half-open period has its place.
#[test]
fn conformance_14_a_probe_that_panics_does_not_wedge_it() {
    let breaker = open(Breaker::consecutive(1));
    let mut now = 5;
    for _ in 0..20 {
        let probe = breaker.admit(|| at(now)).expect("due");
        let told = record(&breaker, probe, Outcome::Failure, at(now)).expect("it opens");
        now += told.open_for.expect("a time").as_secs() + 1;
    }
}

/// Nobody should lose a permit; a breaker that stays half-open for ever would be worse.
#[test]
fn conformance_14_a_probe_that_never_comes_back_is_given_up() {
    let breaker = open(Breaker::consecutive(1).open_max(20 * SECOND).successes(1));
    let lost = breaker.admit(|| at(5)).expect("due");
    assert!(breaker.admit(|| at(24)).is_err());
    let next = breaker.admit(|| at(25)).expect("the place of the lost one");
    assert!(breaker.admit(|| at(25)).is_err());
    assert_eq!(record(&breaker, lost, Outcome::Failure, at(26)), None);
    let told = record(&breaker, next, Outcome::Success, at(26));
    assert_eq!(told.map(|told| told.to), Some(State::Closed));
}

#[test]
fn conformance_14_four_threads_never_have_more_probes_under_way_than_there_may_be() {
    const PROBES: usize = 2;
    let breaker = Arc::new(open(Breaker::consecutive(1).probes(2).successes(10_000)));
    let under_way = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let (breaker, under_way) = (Arc::clone(&breaker), Arc::clone(&under_way));
            std::thread::spawn(move || {
                for _ in 0..20_000 {
                    if let Ok(probe) = breaker.admit(|| at(5)) {
                        let before = under_way.fetch_add(1, Ordering::SeqCst);
                        assert!(before < PROBES, "{before} were under way");
                        under_way.fetch_sub(1, Ordering::SeqCst);
                        record(&breaker, probe, Outcome::Cancelled, at(5));
                    }
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("never too many");
    }
    let free = (0..10).filter(|_| breaker.admit(|| at(5)).is_ok()).count();
    assert_eq!(free, PROBES, "no place was lost");
}

/// Calls admitted while closed come back while it is half-open: they neither open nor close it.
#[test]
fn conformance_15_a_result_of_the_closed_state_does_not_decide_the_half_open_one() {
    let breaker = breaker(Breaker::consecutive(1).successes(1));
    let mut old: Vec<_> = (0..4)
        .map(|_| breaker.admit(|| at(0)).expect("closed"))
        .collect();
    let first = old.pop().expect("four");
    assert!(record(&breaker, first, Outcome::Failure, at(0)).is_some());
    let probe = breaker.admit(|| at(5)).expect("due");
    for (permit, outcome) in
        old.into_iter()
            .zip([Outcome::Success, Outcome::Failure, Outcome::Cancelled])
    {
        assert_eq!(record(&breaker, permit, outcome, at(6)), None);
        assert_eq!(breaker.state(at(6)), State::HalfOpen);
        assert!(breaker.admit(|| at(6)).is_err(), "no place came free");
    }
    let told = record(&breaker, probe, Outcome::Success, at(6));
    assert_eq!(told.map(|told| told.to), Some(State::Closed));
}

#[test]
fn conformance_15_a_probe_of_one_half_open_state_does_not_decide_the_next() {
    let breaker = open(Breaker::consecutive(1).probes(2).successes(1));
    let late = breaker.admit(|| at(5)).expect("due");
    let bad = breaker.admit(|| at(5)).expect("a second place");
    record(&breaker, bad, Outcome::Failure, at(5)).expect("it opens");
    let probe = breaker.admit(|| at(15)).expect("due again");
    assert_eq!(record(&breaker, late, Outcome::Success, at(16)), None);
    assert_eq!(breaker.state(at(16)), State::HalfOpen);
    assert!(record(&breaker, probe, Outcome::Success, at(16)).is_some());
}

#[test]
fn conformance_15_a_call_that_was_cancelled_counts_as_failed_if_it_outlasted_the_slow_threshold() {
    let slow = SECOND;
    for (took, opens) in [
        (slow, true),
        (Duration::from_nanos(999_999_999), false),
        (Duration::ZERO, false),
        (Duration::MAX, true),
    ] {
        let config = Breaker::consecutive(2).slow(slow);
        let breaker = breaker(config);
        let told: Vec<_> = (0..2)
            .map(|_| {
                let permit = breaker.admit(|| at(0)).expect("closed");
                breaker.record(permit, Outcome::Cancelled, || at(0), took, || 0)
            })
            .collect();
        assert_eq!(told[1].is_some(), opens, "after {took:?}");

        let breaker = open(config);
        let probe = breaker.admit(|| at(5)).expect("due");
        let told = breaker.record(probe, Outcome::Cancelled, || at(5), took, || 0);
        assert_eq!(told.is_some(), opens, "a probe after {took:?}");
    }
}

#[test]
fn conformance_15_without_a_slow_threshold_a_cancelled_call_counts_nothing() {
    let breaker = breaker(Breaker::consecutive(1));
    let permit = breaker.admit(|| at(0)).expect("closed");
    let told = breaker.record(permit, Outcome::Cancelled, || at(0), Duration::MAX, || 0);
    assert_eq!(told, None);
    assert_eq!(breaker.state(at(0)), State::Closed);
}
