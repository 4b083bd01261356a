//! Every interleaving of threads on a leased budget, by the model checker: no token is there twice, none is lost.
//!
//! Run with `RUSTFLAGS="--cfg becalm_loom" cargo test -p becalm-fleet --no-default-features --release
//! --test loom_budget`.
#![cfg(becalm_loom)]

use std::time::Duration;

use becalm::budget::RetryBudget;
use becalm::rng::SplitMix64;
use becalm::{Budget, Failure, time::Instant};
use becalm_fleet::budget::{Answer, Fleet, FleetBudget, Step};
use loom::sync::Arc;
use loom::thread;

const FAILURE: Failure = Failure::transient();

fn at(millis: u64) -> Instant {
    Instant::ZERO.after(Duration::from_millis(millis))
}

/// Beside two retries an exchange takes what is beyond the target, and another grants: all tokens are accounted for.
#[test]
fn what_is_leased_spent_and_given_back_adds_up() {
    loom::model(|| {
        let fleet = Fleet::new(Budget::ratio(0.1));
        let budget = Arc::new(FleetBudget::new(fleet).expect("a valid fleet"));
        let mut exchanges = budget.exchanges(SplitMix64::new(1), Instant::ZERO);
        let Step::Send(first) = exchanges.poll(&budget, at(1000)) else {
            panic!("it is due");
        };
        let answer = Answer::new(2, 1, 0, 0);
        exchanges.answered(&budget, at(1000), first.sequence, answer);
        let other = Arc::clone(&budget);
        let there = thread::spawn(move || u32::from(other.withdraw(at(0), &FAILURE).is_some()));
        let Step::Send(second) = exchanges.poll(&budget, at(3000)) else {
            panic!("it is due");
        };
        let here = u32::from(budget.withdraw(at(0), &FAILURE).is_some());
        let spent = here + there.join().unwrap();
        let left = budget.gauges().held;
        // It was born with one and was granted two.
        assert_eq!(f64::from(spent + second.returned) + left, 3.0);
    });
}

/// While a lease ends and the next begins, no token is there twice.
#[test]
fn a_lease_that_ends_and_comes_back_mints_nothing() {
    loom::model(|| {
        let fleet = Fleet::new(Budget::ratio(0.1));
        let budget = Arc::new(FleetBudget::new(fleet).expect("a valid fleet"));
        let mut exchanges = budget.exchanges(SplitMix64::new(1), Instant::ZERO);
        let other = Arc::clone(&budget);
        let there = thread::spawn(move || u32::from(other.withdraw(at(0), &FAILURE).is_some()));
        let Step::Send(first) = exchanges.poll(&budget, at(3000)) else {
            panic!("it is due");
        };
        let answer = Answer::new(0, 1, 0, 0);
        exchanges.answered(&budget, at(3000), first.sequence, answer);
        let spent = there.join().unwrap();
        let left = budget.gauges().held;
        assert!(f64::from(spent) + left <= 1.0, "{spent} and {left}");
    });
}
