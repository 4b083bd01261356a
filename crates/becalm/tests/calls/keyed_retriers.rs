//! Does each host have a breaker and a budget of its own, and does no churn of names renew them?
#![cfg(feature = "std")]

use std::io::{Error, ErrorKind};
use std::time::Duration;

use becalm::breaker::{Span, State};
use becalm::keyed::Idle;
use becalm::rng::SplitMix64;
use becalm::time::FakeSleeper;
use becalm::{
    Breaker, Budget, Keyed, Policy, Retrier, Scope, Sleeper, StopReason, Throttle,
    call::{Call, CallOptions},
    rate::AdaptiveRate,
};

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
    assert_eq!(fail(&hosts.get(&1)), StopReason::AttemptsExhausted);
    assert_eq!(fail(&hosts.get(&1)), StopReason::BreakerOpen);
    assert_eq!(fail(&hosts.get(&2)), StopReason::AttemptsExhausted);
}

#[test]
fn a_host_that_owes_something_is_not_forgotten_for_a_new_name() {
    let clock = FakeSleeper::auto();
    let hosts = hosts(1, &clock, once());
    fail(&hosts.get(&1));
    for name in 2..100 {
        fail(&hosts.get(&name));
    }
    hosts.for_each(|key, _| assert!(key.is_none_or(|key| *key == 1)));
    // 98 names have shared one budget of three retries.
    assert_eq!(fail(hosts.overflow()), StopReason::BudgetExhausted);
}

/// A hundred places, a hundred hosts that failed once, and nobody asks for them again.
#[test]
fn c17_hosts_that_failed_once_do_not_wedge_new_ones() {
    for later in [Duration::from_secs(60), Duration::from_secs(365 * 86_400)] {
        let clock = FakeSleeper::auto();
        let hosts = hosts(100, &clock, once().breaker(Breaker::consecutive(2)));
        for dead in 0..100 {
            fail(&hosts.get(&dead));
        }
        clock.advance(later);
        // Some that are down among those past the bound, too.
        for dead in 100..110 {
            fail(&hosts.get(&dead));
        }
        for healthy in 1000..2000 {
            let host = hosts.get(&healthy);
            let answer = host.retry_blocking(|_| Ok::<_, Error>(healthy));
            assert_eq!(answer.ok(), Some(healthy), "{later:?}");
        }
        let mut own = 0;
        hosts.for_each(|key, _| own += u32::from(key.is_some_and(|key| *key >= 1000)));
        assert_eq!(
            own > 0,
            later > Duration::from_secs(3600),
            "{later:?}: {own}"
        );
    }
}

#[test]
fn c17_what_hosts_past_the_bound_share_judges_none_by_the_answers_of_another() {
    let clock = FakeSleeper::auto();
    let policy = once()
        .breaker(Breaker::consecutive(2))
        .throttle(Throttle::accepts(2.0))
        .rate(AdaptiveRate::cubic());
    let hosts = hosts(0, &clock, policy.clone());
    assert_eq!(hosts.overflow().breaker_state(), None);
    let shared = hosts.get(&1).policy();
    assert_eq!(
        (shared.breaker, shared.throttle, shared.rate),
        (None, None, None)
    );
    assert_eq!(shared.budget, policy.budget);
}

/// What an operator has set for a host stays, however long nobody asks for it.
#[test]
fn c17_a_host_that_was_switched_by_hand_is_kept() {
    let year = Duration::from_secs(365 * 86_400);
    let by_hand: [fn(&Retrier); 2] = [Retrier::isolate, Retrier::disable_retries];
    for set in by_hand {
        let clock = FakeSleeper::auto();
        let hosts = hosts(1, &clock, once().breaker(Breaker::consecutive(2)));
        set(&hosts.get(&1));
        clock.advance(year);
        hosts.get(&2);
        hosts.for_each(|key, _| assert!(key.is_none_or(|key| *key == 1)));
    }
}

/// As it comes out of the map, a retrier serves the sans-IO call.
#[test]
fn c12_a_retrier_in_an_arc_is_a_handle_of_a_call() {
    let clock = FakeSleeper::auto();
    let hosts = hosts(1, &clock, once());
    let mut call = Call::begin(hosts.get(&1), CallOptions::new(), Scope::NONE, clock.now());
    let attempt = call.start(clock.now(), &mut SplitMix64::new(7));
    assert_eq!(attempt.map(|attempt| attempt.number()), Ok(1));
}

#[test]
fn a_host_that_owes_nothing_makes_room_unless_it_is_in_use() {
    let clock = FakeSleeper::auto();
    let hosts = hosts(1, &clock, once().breaker(Breaker::consecutive(2)));
    let kept = Retrier::clone(&hosts.get(&1));
    hosts.get(&2);
    hosts.for_each(|key, _| assert!(key.is_none_or(|key| *key == 1)));
    drop(kept);
    hosts.get(&2);
    hosts.for_each(|key, _| assert!(key.is_none_or(|key| *key == 2)));
}

#[test]
fn a_breaker_is_as_new_once_all_is_forgotten() {
    let window = Span::Time(Duration::from_secs(10));
    for config in [
        Breaker::consecutive(2),
        Breaker::share(0.5, Span::Calls(2)).min_calls(2),
        Breaker::share(0.5, window).min_calls(2),
    ] {
        let clock = FakeSleeper::auto();
        let policy = once().attempts(1).budget(Budget::None).breaker(config);
        let hosts = hosts(1, &clock, policy);
        let is_idle = || {
            let mut idle = false;
            hosts.for_each(|key, host| {
                if key.is_some() {
                    idle = host.is_idle(clock.now());
                }
            });
            idle
        };
        hosts.get(&1);
        assert!(is_idle(), "{config}");
        clock.advance(Duration::from_secs(1));
        fail(&hosts.get(&1));
        assert!(!is_idle(), "{config}");
        fail(&hosts.get(&1));
        assert_eq!(hosts.get(&1).breaker_state(), Some(State::Open));
        assert!(!is_idle(), "{config}");
        clock.advance(Duration::from_secs(60));
        for _ in 0..2 {
            let probe = hosts.get(&1).retry_blocking(|_| Ok::<_, Error>(17));
            assert!(probe.is_ok(), "{config}");
        }
        assert_eq!(hosts.get(&1).breaker_state(), Some(State::Closed));
        assert!(!is_idle(), "it would open for longer: {config}");
        clock.advance(Duration::from_secs(3600));
        assert!(is_idle(), "{config}");
    }
}

/// What a reload of a file makes of every host.
fn reload(hosts: &Keyed<u32, Retrier>, clock: &FakeSleeper, policy: &Policy) {
    let (clock, policy) = (clock.clone(), policy.clone());
    hosts.replace(move |_| {
        let builder = policy.clone().builder().sleeper(clock.clone());
        builder.build().expect("a valid policy")
    });
}

#[test]
fn replaced_policies_hold_for_live_keys_for_those_to_come_and_for_all_others() {
    let clock = FakeSleeper::auto();
    let hosts = hosts(2, &clock, once());
    let held = hosts.get(&1);
    for _ in 0..4 {
        fail(&held);
    }
    assert_eq!(fail(&held), StopReason::BudgetExhausted);
    assert_eq!(fail(hosts.overflow()), StopReason::AttemptsExhausted);

    let breaker = Breaker::consecutive(3);
    let twice_as_much = Budget::ratio(0.1).burst(6.0);
    reload(
        &hosts,
        &clock,
        &once().attempts(3).budget(twice_as_much).breaker(breaker),
    );
    assert_eq!(held.policy().attempts, 3);
    assert!(held.policy().breaker.is_some());
    assert!(held.budget_fill() < 0.1, "{}", held.budget_fill());
    let overflow = hosts.overflow();
    assert_eq!(overflow.policy().attempts, 3);
    assert!(
        overflow.policy().breaker.is_none(),
        "it judges none by another"
    );
    // One of three retries was spent there, and two are left.
    assert!((overflow.budget_fill() - 2.0 / 6.0).abs() < 0.01);
    let new = hosts.get(&2);
    assert_eq!((new.policy().attempts, new.budget_fill()), (3, 1.0));
    assert!(std::sync::Arc::ptr_eq(&held, &hosts.get(&1)));
}

/// A reload each time a new key comes, for a thousand keys in three places.
#[test]
fn neither_reloads_nor_keys_that_come_and_go_between_them_mint_a_retry() {
    let clock = FakeSleeper::auto();
    let none_by_time = |burst| once().budget(Budget::ratio(0.1).burst(burst).floor_per_second(0.0));
    let hosts = hosts(3, &clock, none_by_time(3.0));
    let mut retries = 0;
    let mut drain = |host: &Retrier| {
        while fail(host) != StopReason::BudgetExhausted {
            retries += 1;
        }
    };
    for key in 0..1000 {
        drain(&hosts.get(&key));
        drain(hosts.overflow());
        let burst = if key % 2 == 0 { 6.0 } else { 3.0 };
        reload(&hosts, &clock, &none_by_time(burst));
        clock.advance(Duration::from_secs(1801)); // each key is stale for the key after the next
    }
    // A full budget for each of the first three places, made under either burst, and for all others.
    assert!(retries <= 3 + 6 + 3 + 3, "{retries}");
    assert_eq!(hosts.len(), 3);
}

/// What `make` panics with leaves the map, its policies and its maker as they were.
#[test]
fn a_maker_that_panics_changes_nothing() {
    let clock = FakeSleeper::auto();
    let hosts = hosts(2, &clock, once());
    let held = hosts.get(&1);
    let replaced = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        hosts.replace(|key| {
            assert!(key.is_none(), "no retrier for a key");
            once().attempts(9).retrier().expect("a valid policy")
        });
    }));
    assert!(replaced.is_err());
    for host in [&held, &hosts.get(&2), hosts.overflow()] {
        assert_eq!(host.policy().attempts, 2);
    }
}
