//! Every interleaving of threads on the ratio budget, by the model checker.
//!
//! Run with `RUSTFLAGS="--cfg becalm_loom" cargo test -p becalm --no-default-features --release
//! --test loom_budget`.
#![cfg(becalm_loom)]

use becalm::budget::RatioBudget;
use becalm::{Budget, time::Instant};
use loom::sync::Arc;
use loom::thread;

fn budget(ratio: f64, burst: f64) -> Arc<RatioBudget> {
    let budget = Budget::ratio(ratio).burst(burst).floor_per_second(0.0);
    Arc::new(RatioBudget::new(budget))
}

fn at(seconds: u64) -> Instant {
    Instant::from_nanos(seconds * 1_000_000_000)
}

/// Models whose threads add and sum up at once, with at most three preemptions: the count is of several words, and all
/// interleavings of them take hours.
fn few_preemptions(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

/// The tokens that are left, to a millionth.
fn micros(budget: &RatioBudget, now: Instant) -> i64 {
    (budget.tokens(now) * 1e6).round() as i64
}

#[test]
fn two_that_want_the_last_token_never_both_get_it() {
    loom::model(|| {
        let budget = budget(0.1, 1.0);
        let other = Arc::clone(&budget);
        let there = thread::spawn(move || other.withdraw(Instant::ZERO).is_some());
        let here = budget.withdraw(Instant::ZERO).is_some();
        assert_eq!(u8::from(here) + u8::from(there.join().unwrap()), 1);
    });
}

#[test]
fn deposits_and_withdrawals_add_up_to_the_millionth() {
    few_preemptions(|| {
        let budget = budget(0.5, 1.0);
        assert!(budget.withdraw(Instant::ZERO).is_some());
        let other = Arc::clone(&budget);
        let there = thread::spawn(move || {
            other.deposit();
            other.withdraw(Instant::ZERO).is_some()
        });
        budget.deposit();
        let here = budget.withdraw(Instant::ZERO).is_some();
        let granted = i64::from(here) + i64::from(there.join().unwrap());
        assert!(
            granted <= 1,
            "one token was deposited, {granted} were granted"
        );
        // It holds 1.5: half a token was left.
        assert_eq!(
            granted * 1_000_000 + micros(&budget, Instant::ZERO),
            1_500_000
        );
    });
}

#[test]
fn a_full_budget_is_never_overfilled_by_two_deposits_at_once() {
    loom::model(|| {
        let budget = budget(0.9, 1.0);
        assert!(budget.withdraw(Instant::ZERO).is_some());
        let other = Arc::clone(&budget);
        let there = thread::spawn(move || other.deposit());
        budget.deposit();
        there.join().unwrap();
        assert_eq!(micros(&budget, Instant::ZERO), 1_900_000);
        assert!(budget.withdraw(Instant::ZERO).is_some());
        assert!(budget.withdraw(Instant::ZERO).is_none());
    });
}

#[test]
fn two_that_fail_first_at_the_same_time_do_not_cut_what_was_earned() {
    loom::model(|| {
        // Two tokens at least, and five of the five that were earned in five seconds.
        let text = "ratio:1,burst:5s,min:1,floor:0";
        let budget = Arc::new(RatioBudget::new(text.parse().unwrap()));
        (0..5).for_each(|_| budget.deposit());
        let other = Arc::clone(&budget);
        let there = thread::spawn(move || other.withdraw(at(5)).is_some());
        assert!(budget.withdraw(at(5)).is_some() && there.join().unwrap());
        assert_eq!(micros(&budget, at(5)), 3_000_000);
    });
}

#[test]
fn a_refund_is_neither_lost_nor_doubled() {
    loom::model(|| {
        let budget = budget(0.1, 1.0);
        let token = budget.withdraw(Instant::ZERO).unwrap();
        let other = Arc::clone(&budget);
        let there = thread::spawn(move || other.withdraw(Instant::ZERO).is_some());
        budget.refund(&token);
        let granted = there.join().unwrap();
        let left = micros(&budget, Instant::ZERO);
        assert_eq!(i64::from(granted) * 1_000_000 + left, 1_100_000);
    });
}

#[test]
fn a_floor_accrues_once_whoever_looks_first() {
    loom::model(|| {
        // Empty at 0 s; one token a second; at 1 s there is one token, for one of the two.
        let budget = Arc::new(RatioBudget::new(
            Budget::ratio(0.1).burst(1.0).floor_per_second(1.0),
        ));
        assert!(budget.withdraw(at(0)).is_some());
        let other = Arc::clone(&budget);
        let there = thread::spawn(move || other.withdraw(at(1)).is_some());
        let here = budget.withdraw(at(1)).is_some();
        assert_eq!(u8::from(here) + u8::from(there.join().unwrap()), 1);
    });
}

#[test]
fn a_deposit_beside_a_withdrawal_under_a_floor_is_not_lost() {
    loom::model(|| {
        let budget = Arc::new(RatioBudget::new(
            Budget::ratio(0.5).burst(2.0).floor_per_second(1.0),
        ));
        let other = Arc::clone(&budget);
        let there = thread::spawn(move || other.withdraw(at(5)).is_some());
        budget.deposit();
        assert!(there.join().unwrap());
        // Full before: the deposit came to nothing, or refilled half of what had been withdrawn.
        let left = micros(&budget, at(5));
        assert!(left == 1_000_000 || left == 1_500_000, "{left}");
        budget.deposit();
        budget.deposit();
        assert_eq!(micros(&budget, at(5)), 2_000_000.min(left + 1_000_000));
    });
}

#[test]
fn a_reload_mints_no_token() {
    loom::model(|| {
        let budget = budget(0.1, 1.0);
        let other = Arc::clone(&budget);
        let there = thread::spawn(move || other.withdraw(Instant::ZERO).is_some());
        budget.reconfigure(Budget::ratio(0.1).burst(2.0), Instant::ZERO);
        let granted = there.join().unwrap();
        let left = micros(&budget, Instant::ZERO);
        // What was left is kept, but for a millionth where the pace changes.
        let expected = if granted { 100_000 } else { 1_100_000 };
        assert!((left - expected).abs() <= 1, "{left}, {granted}");
    });
}

/// The withdrawal notes from where on the budget is full, the reload does: deposits fill it to the
/// brim whichever was later.
#[test]
fn c22_a_reload_beside_a_withdrawal_leaves_no_budget_that_takes_itself_for_full() {
    let of = |floor| Budget::ratio(0.5).burst(2.0).floor_per_second(floor);
    for (before, after) in [(2.0, 1.0), (1.0, 2.0), (1.0, 0.0), (0.0, 1.0)] {
        loom::model(move || {
            let budget = Arc::new(RatioBudget::new(of(before)));
            let other = Arc::clone(&budget);
            let there = thread::spawn(move || other.withdraw(at(5)).is_some());
            budget.reconfigure(of(after), at(6));
            let granted = there.join().unwrap();
            let left = micros(&budget, at(6));
            assert!(
                left >= 1_000_000,
                "{left} left, {granted}, {before} to {after}"
            );
            assert!(budget.withdraw(at(6)).is_some());
            for _ in 0..6 {
                budget.deposit();
            }
            assert_eq!(micros(&budget, at(6)), 2_000_000, "{before} to {after}");
        });
    }
}

/// Two threads that succeed at once, each on a cell of its own, beside a withdrawal.
#[test]
fn deposits_of_two_threads_are_counted_once_each() {
    few_preemptions(|| {
        let budget = budget(0.5, 1.0);
        assert!(budget.withdraw(Instant::ZERO).is_some()); // half a token is left
        let others = [0, 1].map(|_| {
            let other = Arc::clone(&budget);
            thread::spawn(move || other.deposit())
        });
        let granted = budget.withdraw(Instant::ZERO).is_some();
        for other in others {
            other.join().unwrap();
        }
        let left = micros(&budget, Instant::ZERO);
        assert_eq!(i64::from(granted) * 1_000_000 + left, 1_500_000);
    });
}

/// Three threads on cells for two: two of them find one cell, of which one becomes the owner.
#[test]
fn a_cell_that_two_threads_find_at_once_loses_no_deposit() {
    few_preemptions(|| {
        let budget = budget(0.5, 3.0);
        for _ in 0..3 {
            assert!(budget.withdraw(Instant::ZERO).is_some());
        }
        let others = [0, 1].map(|_| {
            let other = Arc::clone(&budget);
            thread::spawn(move || other.deposit())
        });
        budget.deposit();
        for other in others {
            other.join().unwrap();
        }
        assert_eq!(micros(&budget, Instant::ZERO), 1_500_000);
    });
}
