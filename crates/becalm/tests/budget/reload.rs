//! Does a reload of any kinds into any others keep the fill, and mint nothing?

use std::time::Duration;

use becalm::budget::{Budgets, Gauge, Kind, RetryBudget, Withdrawal};
use becalm::{Budget, Failure, time::Instant};
use proptest::prelude::*;

fn of(config: &str) -> Budgets {
    Budgets::new(parsed(config))
}

fn parsed(config: &str) -> Budget {
    config.parse().expect("a valid budget")
}

fn take(budget: &Budgets, retries: usize, now: Instant) -> Vec<Withdrawal> {
    let retry = || budget.withdraw(now, &Failure::transient());
    std::iter::from_fn(retry).take(retries).collect()
}

fn gauge(budget: &Budgets, kind: Kind, now: Instant) -> Gauge {
    let mut gauges = budget.gauges(now);
    gauges.find(|gauge| gauge.kind == kind).expect("in force")
}

fn assert_left(budget: &Budgets, kind: Kind, expected: f64) {
    let left = gauge(budget, kind, Instant::ZERO).left;
    assert!(
        (left - expected).abs() < 1e-6,
        "{left} {kind} instead of {expected}"
    );
}

#[test]
fn a_kind_that_stays_keeps_its_fill_and_a_ratio_its_tokens() {
    for (before, taken, after, kind, left) in [
        (
            "tokens:500,cost:5",
            30,
            "tokens:50,cost:5",
            Kind::Tokens,
            35.0,
        ),
        (
            "tokens:50,cost:5",
            3,
            "tokens:500,cost:14",
            Kind::Tokens,
            350.0,
        ),
        ("per-minute:60", 15, "per-minute:20", Kind::PerMinute, 15.0),
        (
            "window:0,ttl:10s,floor:10",
            25,
            "window:0,ttl:20s,floor:1",
            Kind::Window,
            15.0,
        ),
        (
            "ratio:0.1,burst:10",
            3,
            "ratio:0.1,burst:100",
            Kind::Ratio,
            7.0,
        ),
        (
            "first-tries:0.1,burst:10",
            3,
            "first-tries:0.1,burst:100",
            Kind::FirstTries,
            7.0,
        ),
    ] {
        let budget = of(before);
        assert_eq!(take(&budget, taken, Instant::ZERO).len(), taken);
        budget.reconfigure(&parsed(after), Instant::ZERO);
        assert_left(&budget, kind, left);
        // Back and forth nothing is won, however often, and nothing lost where all is whole.
        for _ in 0..300 {
            budget.reconfigure(&parsed(before), Instant::ZERO);
            budget.reconfigure(&parsed(after), Instant::ZERO);
        }
        assert_left(&budget, kind, left);
    }
}

#[test]
fn a_ratio_of_something_else_takes_over_the_fill() {
    let budget = of("first-tries:0.1,burst:10");
    take(&budget, 3, Instant::ZERO);
    budget.reconfigure(&parsed("ratio:0.1,burst:100"), Instant::ZERO);
    assert_left(&budget, Kind::Ratio, 70.0);
}

/// C-core: old / old maximum x new maximum, below the half as above it.
#[test]
fn grpc_keeps_the_part_of_its_maximum() {
    for (failures, tokens) in [(0, 100.0), (3, 70.0), (8, 20.0), (20, 0.0)] {
        let budget = of("grpc:10");
        for _ in 0..failures {
            budget.on_failure(Instant::ZERO, &Failure::transient());
        }
        budget.reconfigure(&parsed("grpc:100"), Instant::ZERO);
        assert_left(&budget, Kind::Grpc, tokens);
    }
}

#[test]
fn a_kind_that_is_added_is_as_full_as_the_emptiest_before() {
    let budget = of("ratio:0.1,burst:10 + per-minute:60");
    take(&budget, 4, Instant::ZERO);
    budget.reconfigure(
        &parsed("tokens:500 + grpc:10 + window:0,ttl:10s,floor:1"),
        Instant::ZERO,
    );
    assert_left(&budget, Kind::Tokens, 300.0);
    assert_left(&budget, Kind::Window, 6.0);
    assert_left(&budget, Kind::Grpc, 8.0); // 60 % of what lies above the half
    budget.reconfigure(&Budget::None, Instant::ZERO);
    assert!((budget.fill(Instant::ZERO) - 1.0).abs() < 1e-9);
    assert_eq!(take(&budget, 1000, Instant::ZERO).len(), 1000);
    budget.reconfigure(&parsed("tokens:500"), Instant::ZERO);
    assert_left(&budget, Kind::Tokens, 500.0);
}

#[test]
fn a_window_of_the_same_length_keeps_its_first_tries() {
    let budget = of("window:0.5,ttl:10s,floor:0");
    (0..20).for_each(|_| budget.first_try(Instant::ZERO));
    assert_eq!(take(&budget, 4, Instant::ZERO).len(), 4);
    budget.reconfigure(&parsed("window:1,ttl:10s,floor:0"), Instant::ZERO);
    assert_left(&budget, Kind::Window, 12.0);
    // In a window of another length they cannot be placed, and are forgotten.
    budget.reconfigure(&parsed("window:1,ttl:5s,floor:0"), Instant::ZERO);
    assert_left(&budget, Kind::Window, 0.0);
}

/// So many that the short number by which a slice knows its generation comes round again.
#[test]
fn what_outlives_256_reloads_mints_nothing_either() {
    for (config, kind) in [
        ("per-minute:4", Kind::PerMinute),
        ("window:0,ttl:10s,floor:0.4", Kind::Window),
        ("tokens:56", Kind::Tokens),
    ] {
        let budget = of(config);
        let taken = take(&budget, 2, Instant::ZERO);
        for _ in 0..256 {
            budget.reconfigure(&parsed(config), Instant::ZERO);
        }
        let left = gauge(&budget, kind, Instant::ZERO).left;
        for withdrawal in taken {
            budget.refund(withdrawal);
        }
        assert_left(&budget, kind, left);
    }
}

#[test]
fn a_slot_is_given_back_whatever_is_in_force_by_then() {
    let budget = of("concurrency:0,floor:2");
    let mut slots = take(&budget, 2, Instant::ZERO);
    for config in ["none", "tokens:500", "concurrency:0,floor:5"] {
        budget.reconfigure(&parsed(config), Instant::ZERO);
        assert!(budget.hears_calls(), "slots are out");
    }
    assert_left(&budget, Kind::Concurrency, 3.0);
    budget.spent(slots.pop().unwrap());
    budget.on_success(Instant::ZERO, slots.pop());
    assert_left(&budget, Kind::Concurrency, 5.0);
    budget.reconfigure(&Budget::None, Instant::ZERO);
    assert!(!budget.hears_calls());
}

#[test]
fn only_what_a_success_means_nothing_to_is_plain() {
    for (config, plain, hears, clock) in [
        ("none", true, false, false),
        ("ratio:0.1", true, false, false),
        ("ratio:0.1 + per-minute:60", true, false, false),
        ("first-tries:0.1", false, false, false),
        ("window:0.2", false, false, true),
        ("tokens:500", false, true, false),
        ("grpc:10", false, true, false),
        ("concurrency:0.2", false, true, false),
        ("ratio:0.1 + grpc:10 + window:0.2", false, true, true),
    ] {
        let budget = of(config);
        assert_eq!(budget.is_plain(), plain, "{config}");
        assert_eq!(budget.hears_calls(), hears, "{config}");
        assert_eq!(budget.reads_clock(), clock, "{config}");
    }
}

#[test]
fn who_denied_is_counted() {
    let budget = of("ratio:0.1,burst:2 + per-minute:1");
    take(&budget, 1, Instant::ZERO);
    for _ in 0..3 {
        assert!(take(&budget, 1, Instant::ZERO).is_empty());
    }
    assert_eq!(budget.denied(Kind::PerMinute), 3);
    assert_eq!(gauge(&budget, Kind::PerMinute, Instant::ZERO).denied, 3);
    assert_eq!(budget.denied(Kind::Ratio), 0, "it had one more to give");
    assert_left(&budget, Kind::Ratio, 1.0);
}

fn any_config() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "ratio:0.000001,burst:10",
        "ratio:0.000001,burst:4 + per-minute:9",
        "tokens:140,clean:0",
        "tokens:14,clean:0",
        "per-minute:10",
        "per-minute:3 + tokens:500,cost:50,clean:0",
        "window:0,ttl:10s,floor:1",
        "window:0,ttl:5s,floor:1 + ratio:0.000001,burst:20",
    ])
}

#[derive(Debug, Clone)]
enum Step {
    Withdraw,
    Refund,
    Spent,
    Success,
    Reload(&'static str),
    Pass,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Withdraw),
        2 => Just(Step::Refund),
        1 => Just(Step::Spent),
        1 => Just(Step::Success),
        2 => any_config().prop_map(Step::Reload),
        1 => Just(Step::Pass),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// At a reload no kind becomes fuller than it was, or than the emptiest if it is new; nor later,
    /// by what is returned to kinds that count anew.
    #[test]
    fn no_reload_and_no_late_return_mints(
        config in any_config(), steps in proptest::collection::vec(any_step(), 1..100),
    ) {
        let budget = of(config);
        let (mut now, mut out, mut reloads) = (Instant::ZERO, Vec::new(), 0);
        for step in steps {
            let before: Vec<Gauge> = budget.gauges(now).collect();
            let late = |out: &mut Vec<(Withdrawal, i32)>| (!out.is_empty()).then(|| out.remove(0));
            match step {
                Step::Withdraw => {
                    out.extend(take(&budget, 1, now).into_iter().map(|taken| (taken, reloads)));
                }
                Step::Reload(config) => {
                    budget.reconfigure(&parsed(config), now);
                    reloads += 1;
                    let emptiest = before.iter().map(|gauge| gauge.fill).fold(1.0, f64::min);
                    for after in budget.gauges(now) {
                        let own = before.iter().find(|before| before.kind == after.kind);
                        // A ratio keeps its tokens.
                        let is_kept = |own: &&Gauge| {
                            after.left <= own.left + 1e-6 && matches!(own.kind, Kind::Ratio | Kind::FirstTries)
                        };
                        let most = own.map_or(emptiest, |own| own.fill);
                        let is_no_fuller = after.fill <= most + 1e-6 || own.is_some_and(|own| is_kept(&own));
                        prop_assert!(is_no_fuller, "{before:?}, {after:?}");
                    }
                }
                Step::Refund | Step::Spent | Step::Success => {
                    let Some((withdrawal, taken_at)) = late(&mut out) else {
                        continue;
                    };
                    match step {
                        Step::Refund => budget.refund(withdrawal),
                        Step::Spent => budget.spent(withdrawal),
                        _ => budget.on_success(now, Some(withdrawal)),
                    }
                    for (before, after) in before.iter().zip(budget.gauges(now)) {
                        prop_assert!(after.left <= after.most + 1e-6, "{after:?}");
                        // The ratio's token is worth a token under every configuration.
                        if taken_at < reloads && before.kind != Kind::Ratio {
                            prop_assert!(after.left <= before.left, "{before:?}, {after:?}");
                        }
                    }
                }
                Step::Pass => now = now.after(Duration::from_millis(700)),
            }
        }
    }
}
