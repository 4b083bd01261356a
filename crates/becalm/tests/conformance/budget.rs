//! Conformance, *Budgets*, of the ratio budget: is what it grants what it was told to grant?

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use becalm::budget::RatioBudget;
use becalm::rng::{Random, SplitMix64};
use becalm::{
    Budget, Failure, Policy, Scope,
    call::{Call, CallOptions, Decision},
    shared::Shared,
    time::Instant,
};

const NOW: Instant = Instant::ZERO;

/// Calls that always fail; how many retries they made.
fn failing_calls(budget: &RatioBudget, calls: u64, retries_each: u64) -> u64 {
    let mut granted = 0;
    for _ in 0..calls {
        budget.deposit();
        for _ in 0..retries_each {
            if budget.withdraw(NOW).is_none() {
                break;
            }
            granted += 1;
        }
    }
    granted
}

#[test]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::cast_possible_truncation
)]
fn conformance_06_the_granted_share_is_the_ratio_within_1_percent() {
    let calls = 1_000_000;
    for ratio in [
        0.001,
        0.01,
        0.1,
        0.2,
        0.3,
        1.0 / 3.0,
        0.4,
        0.5,
        0.6,
        0.7,
        0.75,
        0.9,
        0.99,
        1.0,
        1.5,
        2.5,
        std::f64::consts::PI,
        7.77,
        10.0,
    ] {
        let burst = 10.0;
        let budget = RatioBudget::new(Budget::ratio(ratio).burst(burst));
        // More attempts than ratio + 1, so that the budget is all that bounds them.
        let granted = failing_calls(&budget, calls, ratio as u64 + 1);
        let share = (granted as f64 - burst) / calls as f64;
        assert!(
            (share / ratio - 1.0).abs() < 0.01,
            "{share} instead of {ratio}"
        );
    }
}

/// The bound holds for calls that all fail, with the default ratio and the one that a peer rounds to
/// 50 %.
#[test]
fn conformance_06_so_it_is_for_whole_calls() {
    for ratio in [0.1, 0.4] {
        let policy = Policy::fixed(Duration::ZERO).budget(Budget::first_tries(ratio));
        let shared = Shared::new(policy, Duration::ZERO).expect("a valid policy");
        let calls = 50_000;
        let mut attempts = 0;
        for _ in 0..calls {
            let mut call = Call::begin(&shared, CallOptions::new(), Scope::NONE, NOW);
            loop {
                attempts += 1;
                call.start(NOW, &mut || 0).expect("no deadline");
                let decision = call.on_outcome(NOW, Failure::transient().into(), &mut || 0);
                if let Decision::Stop(_) = decision {
                    break;
                }
            }
        }
        let share = f64::from(attempts - calls - 10) / f64::from(calls);
        assert!(
            (share / ratio - 1.0).abs() < 0.01,
            "{share} instead of {ratio}"
        );
    }
}

/// 10 tokens a second from the clock, next to nothing from the traffic: 600 in a minute and the
/// burst, whenever the calls arrive. The seed is fixed.
#[test]
fn conformance_07_the_floor_holds_within_5_percent_under_poisson_arrivals() {
    for rate in [15.0, 50.0, 1000.0] {
        let budget = RatioBudget::new(Budget::ratio(1e-6).floor_per_second(10.0));
        let (mut random, mut now, mut granted) = (SplitMix64::new(7), Instant::ZERO, 0);
        while now.since(Instant::ZERO) < Duration::from_secs(60) {
            budget.deposit();
            // A call that fails makes up to three retries.
            granted += (0..3).map_while(|_| budget.withdraw(now)).count();
            now = now.after(exponential(rate, &mut random));
        }
        assert!(
            (571..=631).contains(&granted),
            "{granted} at {rate} calls a second"
        );
    }
}

/// The time to the next arrival.
fn exponential(rate: f64, random: &mut SplitMix64) -> Duration {
    #[expect(clippy::cast_precision_loss)]
    let uniform = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    Duration::from_secs_f64(-(1.0 - uniform).ln() / rate)
}

/// Four threads that deposit, withdraw and refund as fast as they can. Under load the scheduler
/// finds interleavings; the model checker finds the rest.
#[test]
fn conformance_08_under_any_interleaving_the_budget_never_over_grants() {
    for (ratio, burst, floor) in [(0.1, 10, 0), (0.7, 2, 0), (1.0, 3, 0), (0.1, 10, 100)] {
        let config = Budget::ratio(ratio).burst(f64::from(burst));
        let budget = RatioBudget::new(config.floor_per_second(f64::from(floor)));
        let clock = AtomicU64::new(0);
        let [deposited, granted, refunded] = [0, 0, 0].map(AtomicU64::new);
        std::thread::scope(|threads| {
            for seed in 0..4 {
                let (budget, clock) = (&budget, &clock);
                let (deposited, granted, refunded) = (&deposited, &granted, &refunded);
                threads.spawn(move || {
                    let mut random = SplitMix64::new(seed);
                    for _ in 0..50_000 {
                        // A microsecond and less for each step of all threads.
                        let now = clock.fetch_add(random.next_u64() % 1000, Ordering::Relaxed);
                        match random.next_u64() % 8 {
                            0..3 => {
                                deposited.fetch_add(1, Ordering::Relaxed);
                                budget.deposit();
                            }
                            action => {
                                let withdrawal = budget.withdraw(Instant::from_nanos(now));
                                let Some(withdrawal) = withdrawal else {
                                    continue;
                                };
                                granted.fetch_add(1, Ordering::Relaxed);
                                if action == 7 {
                                    refunded.fetch_add(1, Ordering::Relaxed);
                                    budget.refund(&withdrawal);
                                }
                            }
                        }
                    }
                });
            }
        });
        let [deposited, granted, refunded] =
            [deposited, granted, refunded].map(AtomicU64::into_inner);
        // All in millionths of a token, and the floor's part in whole ones below it.
        let micros = |tokens: f64| Duration::from_secs_f64(tokens).as_micros();
        let from_calls = u128::from(deposited) * micros(ratio);
        let from_clock = u128::from(clock.into_inner()) * micros(f64::from(floor)) / 1_000_000_000;
        let most = from_calls + from_clock + micros(f64::from(burst));
        let used = u128::from(granted - refunded) * 1_000_000;
        assert!(used <= most, "{used} of {most} millionths");
        // Nor does it lose what was paid in where the demand is far above it and never fills it.
        if ratio < 0.5 {
            assert!(used >= most - most / 50, "{used} of {most} millionths");
        }
    }
}

/// The wait of a retry that never starts costs nothing, however the call ends.
#[test]
fn conformance_09_the_token_of_a_retry_that_was_cancelled_in_its_wait_comes_back() {
    let policy = Policy::default().budget(Budget::ratio(0.1).burst(1.0));
    let policy = policy.deadline(Duration::from_secs(3600));
    let shared = Shared::new(policy, Duration::ZERO).expect("a valid policy");
    let failed = || {
        let mut call = Call::begin(&shared, CallOptions::new(), Scope::NONE, NOW);
        call.start(NOW, &mut || 0).expect("the deadline is ahead");
        let decision = call.on_outcome(NOW, Failure::transient().into(), &mut || 0);
        (call, decision)
    };
    for _ in 0..1000 {
        let (call, decision) = failed();
        assert_eq!(decision, Decision::RetryIn(Duration::ZERO));
        let (second, denied) = failed();
        assert!(
            matches!(denied, Decision::Stop(_)),
            "there is one token only"
        );
        drop(second);
        drop(call);
    }
}

/// A server that is down for some and fine for others: the good ones earn their own small deposit,
/// and no more.
#[test]
fn conformance_10_a_success_never_returns_what_another_call_has_spent() {
    let policy = Policy::fixed(Duration::ZERO).budget(Budget::ratio(1e-6).burst(10.0));
    let shared = Shared::new(policy, Duration::ZERO).expect("a valid policy");
    let begin = || {
        let mut call = Call::begin(&shared, CallOptions::new(), Scope::NONE, NOW);
        call.start(NOW, &mut || 0).expect("no deadline");
        call
    };
    let (mut down, mut retries) = (0, 0);
    for _ in 0..40 {
        let mut call = begin();
        down += 1;
        while let Decision::RetryIn(_) =
            call.on_outcome(NOW, Failure::transient().into(), &mut || 0)
        {
            call.start(NOW, &mut || 0).expect("no deadline");
            retries += 1;
        }
        for _ in 0..25 {
            let mut call = begin();
            let done = call.on_outcome(NOW, becalm::classify::Verdict::Success, &mut || 0);
            assert_eq!(done, Decision::Done);
        }
    }
    assert_eq!(
        (down, retries),
        (40, 10),
        "the burst, and not one retry more"
    );
}

/// An event of the simulation below: a call's attempt starts.
struct Start {
    at: Instant,
    call: usize,
}

/// The server always fails, after 20 ms; 150 calls a second for 8 s, 3 retries each, 20 %, on a
/// timer of 1 ms. (On real sockets, against a real server, the same is measured elsewhere.)
#[test]
fn conformance_11_amplification_is_at_most_1_point_2_and_the_burst() {
    let policy = Policy::exponential(Duration::from_millis(25)).budget(Budget::first_tries(0.2));
    let shared = Shared::new(policy, Duration::from_millis(1)).expect("a valid policy");
    let mut random = SplitMix64::new(7);
    let mut calls = Vec::new();
    let mut starts = Vec::new();
    for call in 0..1200_u32 {
        let at = NOW.after(Duration::from_secs(1) * call / 150);
        let call = calls.len();
        calls.push(None);
        starts.push(Start { at, call });
    }
    let mut attempts = 0_u32;
    while let Some(next) = (0..starts.len()).min_by_key(|next| starts[*next].at) {
        let Start { at, call } = starts.swap_remove(next);
        let this = calls[call]
            .get_or_insert_with(|| Call::begin(&shared, CallOptions::new(), Scope::NONE, at));
        this.start(at, &mut || 0).expect("no deadline");
        attempts += 1;
        let failed = at.after(Duration::from_millis(20));
        match this.on_outcome(failed, Failure::transient().into(), &mut random) {
            Decision::RetryIn(delay) => starts.push(Start {
                at: failed.after(delay),
                call,
            }),
            Decision::Stop(_) => {}
            other => panic!("{other:?}"),
        }
    }
    let amplification = f64::from(attempts) / 1200.0;
    let most = 1.2 + 10.0 / 1200.0;
    assert!(amplification <= most, "{amplification} instead of {most}");
    // And the budget is used: what was paid in is granted.
    assert!(
        amplification > most - 0.01,
        "{amplification} instead of {most}"
    );
}
