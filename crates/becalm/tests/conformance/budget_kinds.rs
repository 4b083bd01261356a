//! Conformance, *Budgets*, of every kind but the ratio: is what it grants what it was told to grant?

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use becalm::budget::{Budgets, RetryBudget, Withdrawal};
use becalm::rng::{Random, SplitMix64};
use becalm::{Budget, Failure, time::Instant};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

fn withdraw(budget: &Budgets, now: Instant) -> Option<Withdrawal> {
    budget.withdraw(now, &Failure::transient())
}

/// Retries one after the other, until one is denied.
fn take_all(budget: &Budgets, now: Instant) -> Vec<Withdrawal> {
    std::iter::from_fn(|| withdraw(budget, now)).collect()
}

#[test]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::cast_possible_truncation
)]
fn conformance_06_the_granted_share_of_a_window_is_its_own_within_1_percent() {
    for share in [
        0.001_f64,
        0.01,
        0.1,
        0.2,
        0.3,
        1.0 / 3.0,
        0.4,
        0.6,
        0.7,
        0.75,
        0.9,
        0.99,
        1.0,
        1.5,
        2.5,
        7.77,
        10.0,
    ] {
        // A million for the one that a peer rounds to a half. All at once; and over five windows.
        let calls = if share.to_bits() == 0.4_f64.to_bits() {
            1_000_000_u32
        } else {
            50_000
        };
        for pause in [Duration::ZERO, 50 * SECOND / calls] {
            let budget = Budgets::new(Budget::window(share, 10 * SECOND, 0.0));
            let (mut now, mut granted) = (Instant::ZERO, 0);
            for _ in 0..calls {
                budget.first_try(now);
                // More attempts than share + 1, so that the budget is all that bounds them.
                let retries = share as usize + 1;
                granted += (0..retries).map_while(|_| withdraw(&budget, now)).count();
                now = now.after(pause);
            }
            let measured = granted as f64 / f64::from(calls);
            let error = measured / share - 1.0;
            assert!(error.abs() < 0.01, "{measured} instead of {share}");
        }
    }
}

/// The time to the next arrival.
fn exponential(rate: f64, random: &mut SplitMix64) -> Duration {
    #[expect(clippy::cast_precision_loss)]
    let uniform = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    Duration::from_secs_f64(-(1.0 - uniform).ln() / rate)
}

/// Calls that all fail, of up to three retries each, for an hour; the retries of a second.
#[expect(clippy::cast_precision_loss)]
fn granted_per_second(budget: &Budgets, rate: f64) -> f64 {
    let (mut random, mut now, mut granted) = (SplitMix64::new(7), Instant::ZERO, 0);
    while now.since(Instant::ZERO) < 60 * MINUTE {
        budget.first_try(now);
        granted += (0..3).map_while(|_| withdraw(budget, now)).count();
        now = now.after(exponential(rate, &mut random));
    }
    granted as f64 / 3600.0
}

/// The seed is fixed. What the first window allows beside the rest is below a hundredth of an hour's.
#[test]
fn conformance_07_window_and_floor_hold_within_5_percent_under_poisson_arrivals() {
    for (share, floor, rate) in [
        (0.0, 10.0, 15.0),
        (0.0, 10.0, 100.0),
        (0.2, 0.0, 20.0),
        (0.2, 10.0, 10.0),
        (0.2, 10.0, 200.0),
        (0.4, 1.0, 50.0),
    ] {
        let budget = Budgets::new(Budget::window(share, 10 * SECOND, floor));
        let measured = granted_per_second(&budget, rate);
        let expected = share * rate + floor;
        let error = measured / expected - 1.0;
        assert!(
            error.abs() < 0.05,
            "{measured} instead of {expected} a second"
        );
    }
    for rate in [5.0, 50.0] {
        let measured = 60.0 * granted_per_second(&Budgets::new(Budget::per_minute(60)), rate);
        assert!((57.0..=61.0).contains(&measured), "{measured} a minute");
    }
}

/// A window of 10 s lasts 9 to 10 s, whenever it begins.
#[test]
fn conformance_07_so_a_window_lasts_as_long_as_it_says() {
    let mut random = SplitMix64::new(7);
    for _ in 0..1000 {
        let budget = Budgets::new(Budget::window(1.0, 10 * SECOND, 0.0));
        let start = Instant::from_nanos(random.next_u64() % 100_000_000_000);
        budget.first_try(start);
        let counts = |after: Duration| withdraw(&budget, start.after(after)).is_some();
        assert!(!counts(10 * SECOND), "{start:?}");
        let budget = Budgets::new(Budget::window(1.0, 10 * SECOND, 0.0));
        budget.first_try(start);
        let counts = |after: Duration| withdraw(&budget, start.after(after)).is_some();
        assert!(counts(9 * SECOND), "{start:?}");
    }
}

/// What four threads did to a budget as fast as they could.
#[derive(Debug, Default)]
struct Totals {
    first_tries: AtomicU64,
    granted: AtomicU64,
    refunded: AtomicU64,
    returned: AtomicU64,
    clean_successes: AtomicU64,
    under_way: AtomicU64,
    most_under_way: AtomicU64,
}

impl Totals {
    fn of(budget: &Budgets) -> Self {
        let totals = Self::default();
        std::thread::scope(|threads| {
            for seed in 0..4 {
                let totals = &totals;
                threads.spawn(move || totals.act(budget, &mut SplitMix64::new(seed)));
            }
        });
        totals
    }

    fn act(&self, budget: &Budgets, random: &mut SplitMix64) {
        let one = |count: &AtomicU64| count.fetch_add(1, Ordering::Relaxed);
        for step in 0..50_000 {
            // Half a second in all: several slices of a window, within one window.
            let now = Instant::from_nanos(step * 10_000);
            match random.next_u64() % 8 {
                0..2 => {
                    one(&self.first_tries);
                    budget.first_try(now);
                }
                2 => {
                    one(&self.clean_successes);
                    budget.on_success(now, None);
                }
                action => {
                    budget.on_failure(now, &Failure::transient());
                    let Some(withdrawal) = withdraw(budget, now) else {
                        continue;
                    };
                    one(&self.granted);
                    let under_way = one(&self.under_way) + 1;
                    self.most_under_way.fetch_max(under_way, Ordering::Relaxed);
                    if action == 3 {
                        std::thread::yield_now();
                    }
                    // Before the slot is free: what is counted here is never more than what is.
                    self.under_way.fetch_sub(1, Ordering::Relaxed);
                    match action {
                        4 => {
                            one(&self.refunded);
                            budget.refund(withdrawal);
                        }
                        5 => {
                            one(&self.returned);
                            budget.on_success(now, Some(withdrawal));
                        }
                        _ => budget.spent(withdrawal),
                    }
                }
            }
        }
    }

    fn all(&self) -> [u64; 5] {
        [
            &self.first_tries,
            &self.granted,
            &self.refunded,
            &self.returned,
            &self.clean_successes,
        ]
        .map(|count| count.load(Ordering::Relaxed))
    }
}

#[test]
fn conformance_08_under_any_interleaving_no_kind_over_grants() {
    for clean in [0, 1, 3] {
        let text = format!("tokens:500,cost:14,clean:{clean}");
        let totals = Totals::of(&Budgets::new(text.parse().unwrap()));
        let [_, granted, refunded, returned, successes] = totals.all();
        let net = 14 * (granted - refunded - returned);
        assert!(net <= 500 + clean * successes, "{totals:?}");
        // Nor is anything lost: the demand is far above what is earned.
        assert!(net + 14 * 8 >= 500 + clean * successes, "{totals:?}");
    }
    for share in [200_000_u32, 700_000] {
        let config = Budget::window(f64::from(share) / 1e6, 10 * SECOND, 2.0);
        let totals = Totals::of(&Budgets::new(config));
        let [first_tries, granted, refunded, ..] = totals.all();
        let earned = u64::from(share) * first_tries / 1_000_000 + 20;
        let net = granted - refunded;
        assert!(net <= earned && net + 100 >= earned, "{totals:?}, {earned}");
    }
    let totals = Totals::of(&Budgets::new(Budget::per_minute(1000)));
    let [_, granted, refunded, ..] = totals.all();
    assert_eq!(granted - refunded, 1000, "{totals:?}");

    let totals = Totals::of(&Budgets::new(Budget::concurrency(0.0, 2)));
    let most = totals.most_under_way.into_inner();
    assert!((1..=2).contains(&most), "{most} at once");

    let both = Budget::first_tries(0.1)
        .burst(3.0)
        .and(Budget::per_minute(1000));
    let totals = Totals::of(&Budgets::new(both));
    let [first_tries, granted, refunded, ..] = totals.all();
    let net = granted - refunded;
    assert!(net <= 1000 && 10 * net <= first_tries + 30, "{totals:?}");
}

#[test]
fn conformance_09_what_a_cancelled_retry_took_comes_back_to_every_kind() {
    for (config, most) in [
        ("tokens:500", 35),
        ("tokens:500,refund:none", 35),
        ("window:0,ttl:10s,floor:10", 100),
        ("per-minute:60", 60),
        ("concurrency:0,floor:3", 3),
        ("ratio:0.1,burst:5 + tokens:500 + per-minute:60", 5),
    ] {
        let budget = Budgets::new(config.parse().unwrap());
        for _ in 0..100 {
            let taken = take_all(&budget, Instant::ZERO);
            assert_eq!(taken.len(), most, "{config}");
            for retry in taken {
                budget.refund(retry);
            }
            assert!((budget.fill(Instant::ZERO) - 1.0).abs() < 1e-9, "{config}");
        }
    }
}

/// A server that is down for some and fine for others. A peer gave the cost of the failed calls back
/// to those that succeeded, and made 124 attempts where 11 were due.
#[test]
fn conformance_10_one_call_s_cost_is_never_returned_by_another_s_success() {
    let budget = Budgets::new("tokens:140,clean:0".parse().unwrap());
    let now = Instant::ZERO;
    let mut retries = 0;
    for _ in 0..40 {
        // One call fails, with up to three retries.
        for _ in 0..3 {
            let Some(withdrawal) = withdraw(&budget, now) else {
                break;
            };
            retries += 1;
            budget.spent(withdrawal);
        }
        // One succeeds at its first retry, and has its own cost back; 25 succeed at once.
        if let Some(withdrawal) = withdraw(&budget, now) {
            budget.on_success(now, Some(withdrawal));
        }
        (0..25).for_each(|_| budget.on_success(now, None));
    }
    assert_eq!(retries, 10, "140 tokens are ten retries, whoever succeeds");
}

/// Of several retries of one call only the last comes back.
#[test]
fn conformance_10_and_of_its_own_only_the_last() {
    let budget = Budgets::new(Budget::aws_2026_11());
    let now = Instant::ZERO;
    let throttled = budget.withdraw(now, &Failure::throttled()).unwrap();
    assert_eq!(throttled.micros(), 5_000_000);
    budget.spent(throttled);
    let last = withdraw(&budget, now).unwrap();
    assert_eq!(last.micros(), 14_000_000);
    budget.on_success(now, Some(last));
    let gauge = budget.gauges(now).next().unwrap();
    assert!((gauge.left - 495.0).abs() < 1e-9, "{gauge:?}");
    budget.on_success(now, None);
    let gauge = budget.gauges(now).next().unwrap();
    assert!((gauge.left - 496.0).abs() < 1e-9, "{gauge:?}");
}

/// Failing calls in a row until the first that gets no retry.
fn failures_until_it_reacts(config: &str, successes: u32) -> usize {
    let budget = Budgets::new(config.parse().unwrap());
    let now = Instant::ZERO;
    (0..successes).for_each(|_| {
        budget.first_try(now);
        budget.deposit(now);
        budget.on_success(now, None);
    });
    let later = now.after(10 * SECOND);
    let denied = (1..10_000).find(|_| {
        budget.first_try(later);
        budget.on_failure(later, &Failure::transient());
        withdraw(&budget, later).is_none()
    });
    denied.expect("it reacts")
}

#[test]
fn conformance_12_after_a_million_successes_it_reacts_as_after_none() {
    for (config, within) in [
        ("tokens:500", 36),
        ("tokens:500,cost:5", 101),
        ("grpc:10,ratio:0.1", 5),
        ("grpc:1000,ratio:1", 500),
        ("window:0.2,ttl:10s,floor:1", 13),
        ("per-minute:60", 61),
        ("ratio:0.1,burst:10,floor:0", 11),
        ("first-tries:0.1,burst:10", 12),
    ] {
        for successes in [0, 1_000_000] {
            assert_eq!(
                failures_until_it_reacts(config, successes),
                within,
                "{config}"
            );
        }
    }
}
