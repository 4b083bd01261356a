//! What does a budget or a throttle cost a call that succeeds, and one that is retried?

use crate::measure::{Case, Group};
use crate::ours::throttle as ours;
use crate::peers::tower::tps_budget;
use crate::peers::tower_resilience::retry as tower_resilience;
use crate::peers::{Throttle, aws_smithy, google_gax};
use crate::together::{atomic_add, together};
use crate::versions::with_version;

/// Failures in a row within which each of them denies a retry.
const ENOUGH_FAILURES: u64 = 1_000_000;

/// Successes before the calls that are measured.
const SERVED: u64 = 1000;

/// The rows of the three tables.
pub fn cases() -> Vec<Case> {
    let mut cases = vec![atomic_add(Group::ThrottleTogether)];
    cases.extend(becalm().into_iter().chain(peers()).flatten());
    cases
}

/// What reads a clock on a success has a row with it and one besides it.
fn becalm() -> Vec<[Case; 3]> {
    vec![
        rows("becalm", "ratio", ours::ratio),
        rows("becalm", "tokens", ours::tokens),
        rows("becalm", "gRPC", ours::grpc),
        rows("becalm", "concurrency", ours::concurrency),
        rows("becalm", "per minute", ours::per_minute),
        rows("becalm", "ratio + concurrency", ours::all_of),
        rows("becalm", "window", ours::window_and_clock),
        rows("becalm", "window, besides its clock reads", ours::window),
        rows("becalm", "adaptive throttle", ours::adaptive_and_clock),
        rows(
            "becalm",
            "adaptive throttle, besides its clock reads",
            ours::adaptive,
        ),
        rows("becalm", "adaptive rate, not throttled yet", ours::rate),
    ]
}

fn peers() -> Vec<[Case; 3]> {
    vec![
        rows("tower", "`TpsBudget`", tps_budget),
        rows(
            tower_resilience::PACKAGE,
            "token bucket",
            tower_resilience::token_bucket,
        ),
        rows(tower_resilience::PACKAGE, "AIMD", tower_resilience::aimd),
        rows(
            aws_smithy::PACKAGE,
            "standard strategy",
            aws_smithy::standard,
        ),
        rows(
            aws_smithy::PACKAGE,
            "adaptive strategy, not throttled yet",
            aws_smithy::adaptive,
        ),
        rows(
            google_gax::PACKAGE,
            "`CircuitBreaker`",
            google_gax::circuit_breaker,
        ),
        rows(
            google_gax::PACKAGE,
            "`AdaptiveThrottler`",
            google_gax::adaptive,
        ),
    ]
}

/// A row in each of the tables, of a throttle that has proved that it denies.
fn rows<T: Throttle>(package: &str, note: &'static str, make: fn() -> T) -> [Case; 3] {
    denies(package, note, make());
    let name = with_version(package);
    let mut throttle = make();
    let successes = move |calls| {
        for _ in 0..calls {
            throttle.success();
        }
    };
    let success = Case::timed(Group::ThrottleSuccess, name.clone(), note, successes);
    let mut throttle = make();
    served(&mut throttle);
    let recoveries = move |calls| {
        for _ in 0..calls {
            assert!(throttle.recovery(), "every call pays for its one retry");
        }
    };
    let recovery = Case::timed(Group::ThrottleRecovery, name.clone(), note, recoveries);
    let together = together(Group::ThrottleTogether, name, note, move || {
        let throttle = make();
        [throttle.clone(), throttle].map(|mut throttle| move |_| throttle.success())
    });
    [success, recovery, together]
}

/// A throttle that draws lots grants every retry of a client that has been served before.
fn served<T: Throttle>(throttle: &mut T) {
    for _ in 0..SERVED {
        throttle.success();
    }
}

/// A throttle that grants everything would be a fast one.
fn denies<T: Throttle>(package: &str, note: &str, mut throttle: T) {
    let mut granted = (0..ENOUGH_FAILURES).map(|_| throttle.failure());
    assert!(granted.any(|is| !is), "{package}, {note}, denies nothing");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone)]
    struct Generous;

    impl Throttle for Generous {
        fn success(&mut self) {}

        fn recovery(&mut self) -> bool {
            true
        }

        fn failure(&mut self) -> bool {
            true
        }
    }

    #[test]
    #[should_panic(expected = "denies nothing")]
    fn a_throttle_that_grants_everything_is_not_measured() {
        denies("a throttle", "generous", Generous);
    }
}
