//! Every interleaving of threads on each kind of budget, by the model checker: nothing is granted
//! twice, nothing is lost, and no reload mints.
//!
//! Run with `RUSTFLAGS="--cfg becalm_loom" cargo test -p becalm --no-default-features --release
//! --test loom_budget_kinds`.
#![cfg(becalm_loom)]

use std::time::Duration;

use becalm::budget::{Budgets, Kind, RetryBudget, Withdrawal};
use becalm::{Budget, Failure, time::Instant};
use loom::sync::Arc;
use loom::thread;

const FAILURE: Failure = Failure::transient();
const SECOND: Duration = Duration::from_secs(1);

fn of(config: &str) -> Arc<Budgets> {
    Arc::new(Budgets::new(parsed(config)))
}

fn parsed(config: &str) -> Budget {
    config.parse().expect("a valid budget")
}

fn at(millis: u64) -> Instant {
    Instant::ZERO.after(Duration::from_millis(millis))
}

fn withdraw(budget: &Budgets, millis: u64) -> Option<Withdrawal> {
    budget.withdraw(at(millis), &FAILURE)
}

/// What this kind has left, in thousandths.
fn left(budget: &Budgets, kind: Kind, millis: u64) -> i64 {
    let mut gauges = budget.gauges(at(millis));
    let gauge = gauges.find(|gauge| gauge.kind == kind);
    gauge.map_or(-1, |gauge| (gauge.left * 1e3).round() as i64)
}

/// Two threads ask at these times; how many were granted, and what they took.
fn two_ask(budget: &Arc<Budgets>, here: u64, there: u64) -> Vec<Withdrawal> {
    let other = Arc::clone(budget);
    let there = thread::spawn(move || withdraw(&other, there));
    let mut granted: Vec<_> = withdraw(budget, here).into_iter().collect();
    granted.extend(there.join().unwrap());
    granted
}

#[test]
fn two_that_want_the_last_of_any_kind_never_both_get_it() {
    for config in [
        "tokens:20",
        "concurrency:0,floor:1",
        "per-minute:1",
        "window:0,ttl:1s,floor:1",
        "ratio:0.1,burst:1 + per-minute:1",
    ] {
        loom::model(move || {
            let budget = of(config);
            let granted = two_ask(&budget, 0, 0);
            // In one slice, and for one kind, exactly one; of two kinds each may take the other's.
            let expected = if config.contains('+') { 0..=1 } else { 1..=1 };
            assert!(expected.contains(&granted.len()), "{config}");
            for withdrawal in granted {
                budget.refund(withdrawal);
            }
            assert!(withdraw(&budget, 0).is_some(), "all came back");
            assert!(withdraw(&budget, 0).is_none(), "and no more");
        });
    }
}

#[test]
fn on_either_side_of_a_slice_the_last_one_is_not_granted_twice() {
    for config in ["per-minute:1", "window:0,ttl:10s,floor:0.1"] {
        loom::model(move || {
            let budget = of(config);
            let granted = two_ask(&budget, 999, 1000);
            assert!(granted.len() <= 1, "{config}");
            for withdrawal in granted {
                budget.refund(withdrawal);
            }
            assert!(withdraw(&budget, 1000).is_some(), "all came back");
            assert!(withdraw(&budget, 1000).is_none(), "and no more");
        });
    }
}

#[test]
fn the_slice_of_a_minute_ago_is_taken_over_by_one_of_two() {
    loom::model(|| {
        let budget = of("per-minute:1");
        assert!(withdraw(&budget, 0).is_some());
        // Here a minute has three slices, so this one has the word of that of second 0.
        assert_eq!(two_ask(&budget, 60_000, 60_500).len(), 1);
        assert_eq!(left(&budget, Kind::PerMinute, 60_500), 0);
    });
}

#[test]
fn first_tries_at_once_are_all_counted_in_the_window() {
    loom::model(|| {
        let budget = of("window:0.5,ttl:1s,floor:0");
        let other = Arc::clone(&budget);
        let there = thread::spawn(move || {
            other.first_try(at(0));
            withdraw(&other, 0).is_some()
        });
        budget.first_try(at(0));
        let here = withdraw(&budget, 0).is_some();
        let granted = u8::from(here) + u8::from(there.join().unwrap());
        assert!(granted <= 1, "two first tries earn one retry");
        let more = withdraw(&budget, 0).is_some();
        assert_eq!(granted + u8::from(more), 1, "and one they earn");
    });
}

#[test]
fn tokens_add_up_beside_clean_successes_and_refunds() {
    loom::model(|| {
        let budget = of("tokens:28,cost:14,clean:1");
        let first = withdraw(&budget, 0).expect("a full budget");
        let other = Arc::clone(&budget);
        let there = thread::spawn(move || {
            other.on_success(at(0), None);
            withdraw(&other, 0).is_some()
        });
        budget.on_success(at(0), Some(first));
        let granted = i64::from(there.join().unwrap());
        // 14 left, 14 came back; the 1 of the clean success found room, or it was full already.
        let left = left(&budget, Kind::Tokens, 0) + 14_000 * granted;
        assert!(left == 28_000 || left == 29_000, "{left}");
        assert_eq!(granted, 1);
    });
}

#[test]
fn failures_and_successes_of_grpc_add_up() {
    loom::model(|| {
        let budget = of("grpc:4,ratio:0.5");
        budget.on_failure(at(0), &FAILURE);
        let other = Arc::clone(&budget);
        let there = thread::spawn(move || {
            other.on_failure(at(0), &FAILURE);
        });
        budget.on_success(at(0), None);
        // 3, then -1 and +0.5 in either order; 2 of 4 are not more than half.
        there.join().unwrap();
        assert_eq!(left(&budget, Kind::Grpc, 0), 2_500);
        assert!(withdraw(&budget, 0).is_some());
        budget.on_failure(at(0), &FAILURE);
        assert!(withdraw(&budget, 0).is_none());
    });
}

#[test]
fn a_slot_is_neither_lost_nor_doubled() {
    loom::model(|| {
        let budget = of("concurrency:0.5,floor:0");
        budget.call_began();
        let other = Arc::clone(&budget);
        // With two calls under way one may retry.
        let there = thread::spawn(move || {
            other.call_began();
            let slot = withdraw(&other, 0);
            let got = slot.is_some();
            if let Some(slot) = slot {
                other.spent(slot);
            }
            other.call_ended();
            got
        });
        let here = withdraw(&budget, 0);
        assert!(there.join().unwrap() || here.is_some());
        if let Some(slot) = here {
            budget.refund(slot);
        }
        budget.call_began();
        let slot = withdraw(&budget, 0).expect("all slots are free again");
        assert!(withdraw(&budget, 0).is_none());
        budget.on_success(at(0), Some(slot));
        assert_eq!(left(&budget, Kind::Concurrency, 0), 1_000);
    });
}

#[test]
fn what_one_kind_denies_comes_back_to_the_others() {
    loom::model(|| {
        let budget = of("ratio:0.1,burst:2 + per-minute:1");
        let granted = two_ask(&budget, 0, 0);
        assert_eq!(
            granted.len(),
            1,
            "the ratio has two tokens, so one is granted"
        );
        assert_eq!(left(&budget, Kind::Ratio, 0), 1_000);
        assert_eq!(left(&budget, Kind::PerMinute, 0), 0);
    });
}

/// One retry was allowed before the reload, and one after it: not one each. (Both may be denied: what
/// is taken in the moment of the reload, and denied, does not come back.)
fn over_a_reload_no_second_is_granted(before: &'static str, after: &'static str) {
    // A reload writes every slice: all interleavings with up to two preemptions.
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(move || {
        let budget = of(before);
        let other = Arc::clone(&budget);
        let there = thread::spawn(move || withdraw(&other, 0).is_some());
        budget.reconfigure(&parsed(after), at(0));
        let here = withdraw(&budget, 0).is_some();
        let granted = u8::from(here) + u8::from(there.join().unwrap());
        assert!(granted <= 1, "{before} to {after}");
    });
}

#[test]
fn a_reload_from_one_kind_to_another_mints_no_retry() {
    over_a_reload_no_second_is_granted("ratio:0.1,burst:1", "tokens:14");
    over_a_reload_no_second_is_granted("tokens:14", "per-minute:1");
    over_a_reload_no_second_is_granted("per-minute:1", "ratio:0.1,burst:1");
}

#[test]
fn a_reload_of_one_kind_mints_no_retry() {
    over_a_reload_no_second_is_granted("tokens:14", "tokens:14,clean:2");
    over_a_reload_no_second_is_granted("per-minute:1", "per-minute:1");
    over_a_reload_no_second_is_granted("window:0,ttl:1s,floor:1", "window:0,ttl:2s,floor:0.5");
}

#[test]
fn a_kind_that_is_added_is_asked_or_nothing_is_granted() {
    over_a_reload_no_second_is_granted("ratio:0.1,burst:1", "ratio:0.1,burst:1 + per-minute:1");
}

#[test]
fn a_withdrawal_that_outlives_a_reload_mints_nothing() {
    loom::model(|| {
        let budget = of("tokens:28");
        let taken = withdraw(&budget, 0).expect("a full budget");
        let other = Arc::clone(&budget);
        let there = thread::spawn(move || other.refund(taken));
        budget.reconfigure(&parsed("tokens:14 + per-minute:2"), at(0));
        there.join().unwrap();
        // Refunded before the reload: full. In its middle or after it: half, as it was left.
        let tokens = left(&budget, Kind::Tokens, 0);
        let retries = left(&budget, Kind::PerMinute, 0);
        let found = (tokens, retries);
        assert!(
            [(14_000, 2_000), (7_000, 1_000)].contains(&found),
            "{found:?}"
        );
    });
}

#[test]
fn a_slot_is_free_again_although_a_reload_came_in_between() {
    loom::model(|| {
        let budget = of("concurrency:0,floor:1");
        let slot = withdraw(&budget, 0).expect("a free slot");
        let other = Arc::clone(&budget);
        let there = thread::spawn(move || {
            assert!(other.hears_calls(), "a slot is out");
            other.spent(slot);
        });
        budget.reconfigure(&Budget::None, at(0));
        budget.reconfigure(&Budget::concurrency(0.0, 1), at(0).after(SECOND));
        there.join().unwrap();
        assert!(withdraw(&budget, 0).is_some());
    });
}
