//! Does a reload keep what is left, and mint no burst?
#![cfg(feature = "std")]

use std::time::Duration;

use becalm::time::FakeSleeper;
use becalm::{
    Budget, Failure, Policy, Retrier, Scope, Sleeper,
    call::{Call, CallOptions, Decision},
};

struct Dependency {
    retrier: Retrier,
    clock: FakeSleeper,
}

fn policy(budget: Budget) -> Policy {
    Policy::fixed(Duration::ZERO).attempts(2).budget(budget)
}

fn with(budget: Budget) -> Dependency {
    let clock = FakeSleeper::new();
    let retrier = policy(budget).builder().sleeper(clock.clone()).build();
    Dependency {
        retrier: retrier.expect("a valid policy"),
        clock,
    }
}

impl Dependency {
    /// A failed call, and whether its retry is paid for.
    fn fail(&self) -> (Call<&Retrier>, bool) {
        let now = self.clock.now();
        let mut call = Call::begin(&self.retrier, CallOptions::new(), Scope::NONE, now);
        call.start(now, &mut || 0).expect("no deadline");
        let decision = call.on_outcome(now, Failure::transient().into(), &mut || 0);
        (call, matches!(decision, Decision::RetryIn(_)))
    }

    /// Makes this many retries, all of which are paid for.
    fn spend(&self, retries: u32) {
        for _ in 0..retries {
            let (mut call, paid) = self.fail();
            assert!(paid, "a token is left");
            call.start(self.clock.now(), &mut || 0)
                .expect("no deadline");
        }
    }

    fn reload(&self, budget: Budget) {
        self.retrier
            .replace_policy(policy(budget))
            .expect("a valid policy");
    }

    fn assert_fill(&self, expected: f64) {
        let fill = self.retrier.budget_fill();
        // Failing calls deposit too, a millionth each.
        assert!(
            (fill - expected).abs() < 1e-4,
            "{fill} instead of {expected}"
        );
    }
}

/// Next to no deposits, so that what is left is what was not spent.
fn tokens(burst: f64) -> Budget {
    Budget::ratio(1e-6).burst(burst).floor_per_second(0.0)
}

#[test]
fn a_larger_or_smaller_burst_is_left_what_there_was_and_room_for() {
    for (spent, burst, left) in [
        (3, 100.0, 0.07),
        (3, 5.0, 1.0),
        (10, 1000.0, 0.0),
        (0, 1.0, 1.0),
    ] {
        let dependency = with(tokens(10.0));
        dependency.spend(spent);
        dependency.reload(tokens(burst));
        dependency.assert_fill(left);
        // Back again nothing is won, however often.
        for _ in 0..50 {
            dependency.reload(tokens(10.0));
            dependency.reload(tokens(burst));
        }
        dependency.assert_fill(left);
    }
}

#[test]
fn a_floor_that_comes_or_goes_changes_the_pace_and_not_what_is_left() {
    let dependency = with(tokens(10.0));
    dependency.clock.advance(Duration::from_secs(3600));
    dependency.spend(10);
    dependency.reload(tokens(10.0).floor_per_second(1.0));
    dependency.assert_fill(0.0); // the hour before the floor is not paid for
    dependency.clock.advance(Duration::from_secs(4));
    dependency.assert_fill(0.4);
    dependency.reload(tokens(20.0).floor_per_second(5.0));
    dependency.assert_fill(0.2);
    dependency.clock.advance(Duration::from_secs(1));
    dependency.assert_fill(0.45);
    dependency.reload(tokens(20.0));
    dependency.clock.advance(Duration::from_secs(3600));
    dependency.assert_fill(0.45);
}

/// Without a budget there is no fill to keep: the next one starts full, as a new one does.
#[test]
fn a_budget_that_is_taken_away_and_given_back_starts_full() {
    let dependency = with(tokens(10.0));
    dependency.spend(10);
    assert!(!dependency.fail().1);
    dependency.reload(Budget::None);
    dependency.assert_fill(1.0);
    dependency.spend(1000);
    dependency.reload(tokens(10.0));
    dependency.assert_fill(1.0);
    dependency.spend(10);
    assert!(!dependency.fail().1);
}

/// A token that was out during a reload comes back as what it was, and never above the burst.
#[test]
fn a_retry_that_waits_through_a_reload_returns_its_token() {
    for (before, after, fill) in [
        (tokens(10.0), tokens(100.0), 0.1),
        (tokens(10.0), tokens(1.0), 1.0),
        (tokens(10.0), Budget::None, 1.0),
        (Budget::None, tokens(10.0), 1.0),
    ] {
        let dependency = with(before);
        let (waiting, paid) = dependency.fail();
        assert!(paid);
        dependency.reload(after);
        drop(waiting);
        dependency.assert_fill(fill);
    }
}

/// What was taken without a budget is no token of the next one.
#[test]
fn a_free_retry_pays_nothing_into_a_budget_that_comes_later() {
    let dependency = with(Budget::None);
    let (waiting, _) = dependency.fail();
    dependency.reload(tokens(10.0));
    dependency.spend(5);
    drop(waiting);
    dependency.assert_fill(0.5);
}
