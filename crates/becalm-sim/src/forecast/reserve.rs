//! What does a full budget hold at a rate of calls, and how much later is a service back for it?

use std::time::Duration;

use serde::Serialize;

use super::grant::{Earner, Grant};
use super::millis::millis;

/// The retries that a client has in hand when its service fails.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reserve {
    /// Calls of the client that succeed in a second, before.
    pub calls_per_second: f64,
    /// Retries that it grants at once.
    pub retries: f64,
    /// How much later the service is back than without retries, if it serves this client alone: the most of a fluid, and so of the mean
    /// over runs. Chance makes single ones later, and a short queue holds less.
    pub late: [Late; 3],
}

/// The lateness at a load: what the client has in hand, over what the service can spare.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Late {
    /// The calls over the capacity of the service.
    pub load: f64,
    /// The time.
    #[serde(rename = "late_ms", serialize_with = "millis")]
    pub by: Duration,
}

/// The loads that are told.
const LOADS: [f64; 3] = [0.7, 0.9, 0.95];

impl Reserve {
    /// Of these kinds of a budget, at this number of calls a second. There is none where no kind is fed by successes: what
    /// grants retries also while nothing succeeds bounds no lateness.
    pub fn of(grants: &[Grant], calls_per_second: f64) -> Option<Self> {
        let fed_by_successes =
            |it: &Grant| matches!(it.of, Earner::Successes | Earner::CleanSuccesses);
        // What a window or a share of the calls in progress grants at once depends on more than this rate.
        let is_known = |it: &&Grant| fed_by_successes(it) || it.of == Earner::Time;
        if !grants.iter().any(fed_by_successes) {
            return None;
        }
        let retries = grants
            .iter()
            .filter(is_known)
            .map(|it| it.at_once(calls_per_second))
            .reduce(f64::min)?;
        let late = LOADS.map(|load| {
            let spare = calls_per_second * (1.0 / load - 1.0);
            let by = Duration::try_from_secs_f64(retries / spare).unwrap_or(Duration::MAX);
            Late { load, by }
        });
        Some(Self {
            calls_per_second,
            retries,
            late,
        })
    }
}

#[cfg(test)]
mod tests {
    use becalm::Budget;

    use super::super::grant::grants;
    use super::*;

    fn of(budget: &str, calls_per_second: f64) -> Option<Reserve> {
        let budget: Budget = budget.parse().unwrap();
        Reserve::of(&grants(budget), calls_per_second)
    }

    fn late(reserve: &Reserve) -> [u128; 3] {
        reserve.late.map(|it| it.by.as_millis())
    }

    #[test]
    fn a_burst_in_time_is_as_late_at_any_rate_and_one_of_tokens_is_not() {
        for (rate, retries) in [(100.0, 50.0), (1e4, 5_000.0)] {
            let reserve = of("ratio:0.1", rate).unwrap();
            assert_eq!(
                (reserve.retries, late(&reserve)),
                (retries, [1_166, 4_500, 9_500])
            );
        }
        let few = of("ratio:0.1", 10.0).unwrap();
        assert_eq!((few.retries, late(&few)), (10.0, [2_333, 9_000, 19_000]));
        let fixed = of("ratio:0.1,burst:10", 1_000.0).unwrap();
        assert_eq!((fixed.retries, late(&fixed)), (10.0, [23, 90, 190]));
    }

    #[test]
    fn of_several_kinds_the_least_and_of_what_earns_in_an_outage_nothing() {
        let several = of("ratio:0.1 + tokens:140 + per-minute:1", 1_000.0).unwrap();
        assert!((several.retries - 1.0).abs() < 1e-9, "{several:?}");
        assert_eq!(
            of("first-tries:0.1,burst:5s + per-minute:60", 1_000.0),
            None
        );
        assert_eq!(of("none", 1_000.0), None);
    }
}
