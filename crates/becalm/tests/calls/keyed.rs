//! Does a bounded map of budgets stay bounded, and mint nothing whatever keys come and go?
#![cfg(feature = "std")]

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use becalm::budget::{Budgets, RetryBudget, Withdrawal};
use becalm::keyed::Idle;
use becalm::rng::{Random, SplitMix64};
use becalm::{Budget, Failure, Keyed, time::Instant};
use proptest::prelude::*;

const NOW: Instant = Instant::ZERO;

fn of(bound: usize, config: Budget) -> Keyed<u32, Budgets> {
    Keyed::new(bound, move |_| Budgets::new(config))
}

fn withdraw(budget: &Budgets) -> Option<Withdrawal> {
    budget.withdraw(NOW, &Failure::transient())
}

#[test]
fn a_key_has_its_own_value_and_always_the_same() {
    let hosts: Keyed<String, Budgets> = Keyed::new(2, |_| Budgets::new(Budget::ratio(0.1)));
    let a = hosts.get_at("a", NOW);
    assert!(withdraw(&a).is_some());
    assert!(Arc::ptr_eq(&a, &hosts.get_at("a", NOW)));
    let b = hosts.get_at("b", NOW);
    assert!(!Arc::ptr_eq(&a, &b));
    assert!((b.fill(NOW) - 1.0).abs() < 1e-9);
    assert_eq!((hosts.len(), hosts.bound()), (2, 2));
}

#[test]
fn keys_past_the_bound_share_one_value() {
    let keyed = of(2, Budget::ratio(0.1));
    let held = [1, 2].map(|key| keyed.get_at(&key, NOW));
    for key in 3..100 {
        assert!(
            Arc::ptr_eq(&keyed.get_at(&key, NOW), keyed.overflow()),
            "{key}"
        );
    }
    assert_eq!(keyed.len(), 2);
    drop(held);
    let none = of(0, Budget::ratio(0.1));
    assert!(Arc::ptr_eq(&none.get_at(&1, NOW), none.overflow()));
    assert!(none.is_empty());
}

#[test]
fn only_what_is_full_and_in_nobody_s_hands_makes_room() {
    let keyed = of(1, Budget::ratio(0.5).burst(1.0));
    let first = keyed.get_at(&1, NOW);
    let is_overflow = |key: u32| Arc::ptr_eq(&keyed.get_at(&key, NOW), keyed.overflow());
    assert!(is_overflow(2), "full, but held");
    let token = withdraw(&first).expect("a full budget");
    drop(first);
    assert!(is_overflow(2), "not full");
    keyed.get_at(&1, NOW).refund(token);
    assert!(!is_overflow(2), "full, and in nobody's hands");
    assert!(!is_overflow(2), "and known from now on");
    assert!(!is_overflow(1), "and makes room again");
    assert_eq!(keyed.len(), 1);
}

#[test]
fn slots_and_windows_are_idle_only_when_nothing_is_left_of_them() {
    for config in [
        "concurrency:0,floor:2",
        "window:0,ttl:1s,floor:2",
        "per-minute:2",
    ] {
        let budget = Budgets::new(config.parse().unwrap());
        assert!(budget.is_idle(NOW), "{config}");
        let withdrawal = withdraw(&budget).expect("a full budget");
        assert!(!budget.is_idle(NOW), "{config}");
        let later = NOW.after(Duration::from_secs(61));
        assert_eq!(budget.is_idle(later), !config.starts_with("concurrency"));
        budget.refund(withdrawal);
        assert!(budget.is_idle(NOW), "{config}");
        budget.call_began();
        assert_eq!(
            budget.is_idle(NOW),
            config.ends_with("minute:2") || config.starts_with("window")
        );
    }
    assert!(Budgets::new(Budget::default()).is_idle(NOW));
}

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn c17_a_key_that_nobody_asks_for_makes_room_and_what_it_owes_is_carried_over() {
    let keyed = of(1, "ratio:0.5,burst:4,floor:0".parse().unwrap());
    let own = |key: u32, now| !Arc::ptr_eq(&keyed.get_at(&key, now), keyed.overflow());
    for _ in 0..3 {
        let _token = withdraw(&keyed.get_at(&1, NOW)).expect("a full budget");
    }
    assert!(!own(2, NOW.after(HOUR)), "asked for an hour ago");
    // Asked for again, it is not stale; held, it stays, however long ago that was.
    let asked = NOW.after(HOUR / 2);
    let held = keyed.get_at(&1, asked);
    assert!(!own(2, NOW.after(HOUR + Duration::from_secs(1))));
    assert!(!own(2, NOW.after(24 * HOUR)), "held");
    drop(held);
    let new = keyed.get_at(&2, NOW.after(24 * HOUR));
    assert!(!Arc::ptr_eq(&new, keyed.overflow()));
    assert!(
        (new.fill(NOW.after(24 * HOUR)) - 0.25).abs() < 1e-6,
        "{new:?}"
    );
}

#[test]
fn c17_the_time_until_a_key_is_stale_can_be_set_and_calls_under_way_keep_it() {
    let config: Budget = "ratio:0.5,burst:4,floor:0 + concurrency:0,floor:2"
        .parse()
        .unwrap();
    let keyed = of(1, config).stale_after(Duration::from_secs(1));
    let own = |key: u32, now| !Arc::ptr_eq(&keyed.get_at(&key, now), keyed.overflow());
    let budget = keyed.get_at(&1, NOW);
    budget.call_began();
    let token = withdraw(&budget).expect("a full budget");
    budget.spent(token);
    drop(budget);
    assert!(!own(2, NOW.after(HOUR)), "a call is under way");
    keyed.get_at(&1, NOW).call_ended();
    assert!(!own(2, NOW.after(Duration::from_secs(1))), "not stale yet");
    assert!(own(2, NOW.after(Duration::from_millis(1001))));
}

/// Each key is made once, and a map whose factory panicked goes on.
#[test]
fn a_factory_that_panics_leaves_the_map_as_it_was() {
    let keyed: Keyed<u32, Budgets> = Keyed::new(3, |key| {
        assert_ne!(key, Some(&13));
        Budgets::new(Budget::ratio(0.1))
    });
    let one = keyed.get_at(&1, NOW);
    let panicked =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| keyed.get_at(&13, NOW)));
    assert!(panicked.is_err());
    assert!(Arc::ptr_eq(&one, &keyed.get_at(&1, NOW)));
    keyed.get_at(&2, NOW);
    let mut keys = Vec::new();
    keyed.for_each(|key, _| keys.push(key.copied()));
    assert_eq!(keys, [Some(1), Some(2), None]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever keys come and go: retries <= (bound + 1) x what one holds + ratio x successes.
    #[test]
    fn churning_keys_mint_no_bursts(
        bound in 0..5_usize, burst in 1..4_u32, ratio in 1..10_u32,
        steps in proptest::collection::vec((0..40_u32, 0..6_u32, 0..40_u64), 1..400),
    ) {
        let config = Budget::ratio(f64::from(ratio) / 10.0).burst(f64::from(burst));
        let keyed = of(bound, config.floor_per_second(0.0))
            .stale_after(Duration::from_secs(60));
        let (mut successes, mut granted, mut out) = (0_u64, 0_u64, Vec::new());
        let mut now = NOW;
        for (key, action, seconds) in steps {
            now = now.after(Duration::from_secs(seconds));
            let budget = keyed.get_at(&key, now);
            match action {
                0..=1 => {
                    successes += 1;
                    budget.deposit(NOW);
                }
                2 => {
                    // A retry that never starts, in whatever it was that paid for it.
                    if let Some((payer, token)) = out.pop() {
                        let payer: Arc<Budgets> = payer;
                        payer.refund(token);
                        granted -= 1;
                    }
                }
                3 => {
                    if let Some(token) = withdraw(&budget) {
                        granted += 1;
                        out.push((Arc::clone(&budget), token));
                    }
                }
                _ => {
                    if let Some(token) = withdraw(&budget) {
                        granted += 1;
                        budget.spent(token);
                    }
                }
            }
            prop_assert!(keyed.len() <= bound);
            let held = u64::from(10 * burst).max(u64::from(10 + ratio)); // tenths
            let most = (bound as u64 + 1) * held + u64::from(ratio) * successes;
            prop_assert!(10 * granted <= most, "{granted} granted after {successes} successes");
        }
    }
}

/// Four threads churn keys, and every key has one value for all of them.
#[test]
fn threads_that_churn_keys_mint_no_bursts() {
    let (bound, burst) = (4, 3);
    let keyed = of(bound, Budget::ratio(0.1).burst(3.0));
    let [first_tries, granted] = [0, 0].map(AtomicU64::new);
    std::thread::scope(|threads| {
        for seed in 0..4 {
            let (keyed, first_tries, granted) = (&keyed, &first_tries, &granted);
            threads.spawn(move || {
                let mut random = SplitMix64::new(seed);
                for _ in 0..20_000 {
                    let key = u32::try_from(random.next_u64() % 16).unwrap();
                    let budget = keyed.get_at(&key, NOW);
                    if random.next_u64() % 4 == 0 {
                        first_tries.fetch_add(1, Ordering::Relaxed);
                        budget.deposit(NOW);
                    } else if let Some(token) = withdraw(&budget) {
                        granted.fetch_add(1, Ordering::Relaxed);
                        budget.spent(token);
                    }
                }
            });
        }
    });
    let most = 10 * (bound as u64 + 1) * burst + first_tries.into_inner();
    let granted = granted.into_inner();
    assert!(10 * granted <= most, "{granted} of {most} tenths");
    assert!(granted > 1000, "{granted}: what was paid in is granted");
}

/// A flood of new keys finds the idle ones among many that are not.
#[test]
fn idle_ones_are_found_among_many() {
    let keyed = of(100, Budget::ratio(0.5).burst(1.0));
    let busy: Vec<_> = (0..90)
        .map(|key| withdraw(&keyed.get_at(&key, NOW)))
        .collect();
    assert!(busy.iter().all(Option::is_some));
    (90..100).for_each(|key| drop(keyed.get_at(&key, NOW)));
    let own = (1000..1200)
        .filter(|key| !Arc::ptr_eq(&keyed.get_at(key, NOW), keyed.overflow()))
        .collect::<HashSet<_>>();
    assert!(own.len() >= 10, "{}", own.len());
    assert_eq!(keyed.len(), 100);
}
