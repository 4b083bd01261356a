//! Does each host have a breaker and a budget of its own, and does no churn of names renew them?
#![cfg(feature = "std")]

use std::io::{Error, ErrorKind};
use std::time::Duration;

use becalm::breaker::{CircuitBreaker, Outcome, Span, State};
use becalm::keyed::Idle;
use becalm::time::FakeSleeper;
use becalm::{Breaker, Budget, Instant, Keyed, Policy, Retrier, Sleeper, StopReason};

fn hosts(bound: usize, clock: &FakeSleeper, policy: Policy) -> Keyed<u32, Retrier> {
    let clock = clock.clone();
    Keyed::new(bound, move |_| {
        let builder = policy.clone().builder().sleeper(clock.clone());
        builder.build().expect("a valid policy")
    })
}

fn fail(host: &Retrier) -> StopReason {
    let gave_up = host.retry_blocking(|_| Err::<(), _>(Error::from(ErrorKind::TimedOut)));
    gave_up.unwrap_err().reason()
}

fn once() -> Policy {
    let budget = Budget::ratio(0.1).burst(3.0);
    Policy::fixed(Duration::ZERO).budget(budget).attempts(2)
}

#[test]
fn the_breaker_of_one_host_stops_no_call_to_another() {
    let clock = FakeSleeper::auto();
    let hosts = hosts(10, &clock, once().breaker(Breaker::consecutive(2)));
    assert_eq!(
        fail(&hosts.get(&1, clock.now())),
        StopReason::AttemptsExhausted
    );
    assert_eq!(fail(&hosts.get(&1, clock.now())), StopReason::BreakerOpen);
    assert_eq!(
        fail(&hosts.get(&2, clock.now())),
        StopReason::AttemptsExhausted
    );
}

#[test]
fn a_host_that_owes_something_is_not_forgotten_for_a_new_name() {
    let clock = FakeSleeper::auto();
    for policy in [
        once(),
        once().budget(Budget::None).breaker(Breaker::consecutive(3)),
    ] {
        let hosts = hosts(1, &clock, policy);
        fail(&hosts.get(&1, clock.now()));
        for name in 2..100 {
            fail(&hosts.get(&name, clock.now()));
        }
        hosts.for_each(|key, _| assert!(key.is_none_or(|key| *key == 1)));
        // 98 names have shared one budget of three retries, or one breaker.
        let denied = fail(hosts.overflow());
        assert_ne!(denied, StopReason::AttemptsExhausted);
    }
}

#[test]
fn a_host_that_owes_nothing_makes_room_unless_it_is_in_use() {
    let clock = FakeSleeper::auto();
    let hosts = hosts(1, &clock, once().breaker(Breaker::consecutive(2)));
    let kept = Retrier::clone(&hosts.get(&1, clock.now()));
    hosts.get(&2, clock.now());
    hosts.for_each(|key, _| assert!(key.is_none_or(|key| *key == 1)));
    drop(kept);
    hosts.get(&2, clock.now());
    hosts.for_each(|key, _| assert!(key.is_none_or(|key| *key == 2)));
}

#[test]
fn a_breaker_is_as_new_once_all_is_forgotten() {
    let at = |seconds: u64| Instant::from_nanos(seconds * 1_000_000_000);
    let window = Span::Time(Duration::from_secs(10));
    for config in [
        Breaker::consecutive(2),
        Breaker::share(0.5, Span::Calls(2)).min_calls(2),
        Breaker::share(0.5, window).min_calls(2),
    ] {
        let breaker = CircuitBreaker::new(config).expect("a valid breaker");
        let call = |outcome, now: Instant| {
            let permit = breaker.admit(|| now).expect("it lets this one through");
            breaker.record(permit, outcome, || now, Duration::ZERO, || 0);
        };
        assert!(breaker.is_idle(at(0)), "{config}");
        call(Outcome::Failure, at(1));
        assert!(!breaker.is_idle(at(1)), "{config}");
        call(Outcome::Failure, at(1));
        assert_eq!(breaker.state(at(1)), State::Open);
        assert!(!breaker.is_idle(at(1)), "{config}");
        let probe = breaker.admit(|| at(1)).unwrap_err().until.expect("a time");
        for _ in 0..2 {
            call(Outcome::Success, probe);
        }
        assert_eq!(breaker.state(probe), State::Closed, "{config}");
        assert!(
            !breaker.is_idle(probe),
            "it would open for longer: {config}"
        );
        assert!(
            breaker.is_idle(probe.after(Duration::from_secs(3600))),
            "{config}"
        );
    }
}
