//! Are the delays what pen and paper say? Tolerances are five standard errors.

use std::time::Duration;

use becalm::support::Lone;
use becalm::{Budget, Jitter, Policy};

use super::{Found, draws};
use crate::catalogue::fleet::float;
use crate::oracle::moments::Moments;
use crate::study::{Comparison, Plan, Tolerance};

/// Five standard errors: one check in 1.7 million fails by chance.
const ERRORS: f64 = 5.0;

pub(super) fn check(plan: &Plan<'_>, quick: bool) -> Vec<Comparison> {
    let calls = if quick { 4_000 } else { 300_000 };
    let base = Duration::from_millis(100);
    // The first ceiling, the third, and one at the cap.
    let ceilings = [(1, 0.1), (3, 0.4), (6, 1.0)];
    let jitters = [
        Jitter::None,
        Jitter::Full,
        Jitter::Equal,
        Jitter::Proportional(0.25),
        Jitter::Additive(base),
    ];
    let mut comparisons = Vec::new();
    for jitter in jitters {
        let found = measured(plan, jitter, Duration::from_secs(1), calls);
        for (retry, ceiling) in ceilings {
            let expected = independent(jitter, ceiling);
            comparisons.extend(compare(&found, jitter, retry, &expected, calls));
        }
    }
    let jitter = Jitter::Decorrelated;
    let found = measured(plan, jitter, Duration::from_secs(3600), calls);
    for retry in 1..=4 {
        let expected = Moments::decorrelated(base.as_secs_f64(), retry);
        comparisons.extend(compare(&found, jitter, retry, &expected, calls));
    }
    comparisons
}

/// The moments of a delay below a ceiling, both in seconds, with a cap of 1 s.
fn independent(jitter: Jitter, ceiling: f64) -> Moments {
    match jitter {
        Jitter::Full => Moments::uniform(0.0, ceiling),
        Jitter::Equal => Moments::uniform(ceiling / 2.0, ceiling),
        Jitter::Proportional(share) => {
            let high = (ceiling * (1.0 + share)).min(1.0);
            Moments::uniform(ceiling * (1.0 - share), high)
        }
        Jitter::Additive(width) => {
            let start = ceiling.min(1.0 - width.as_secs_f64());
            Moments::uniform(start, start + width.as_secs_f64())
        }
        _ => Moments::certain(ceiling),
    }
}

fn measured(plan: &Plan<'_>, jitter: Jitter, cap: Duration, calls: u64) -> Vec<Found> {
    let policy = Policy::exponential(Duration::from_millis(100))
        .cap(cap)
        .jitter(jitter)
        .attempts(Policy::UNLIMITED)
        .budget(Budget::None);
    let drawn = Lone::new(policy, Duration::ZERO).map(|lone| draws(&lone, plan, 6, calls));
    let drawn = drawn.unwrap_or_default();
    drawn.iter().map(|delays| Found::of(delays)).collect()
}

fn compare(
    found: &[Found],
    jitter: Jitter,
    retry: u32,
    expected: &Moments,
    calls: u64,
) -> [Comparison; 2] {
    let nothing = Found {
        mean: f64::NAN,
        variance: f64::NAN,
        fourth: f64::NAN,
        count: 1.0,
    };
    let found = found.get(retry as usize - 1).unwrap_or(&nothing);
    let calls = float(calls);
    // A delay is a whole number of nanoseconds.
    let mean = ERRORS * expected.error_of_mean(calls) + 1e-9;
    let variance = ERRORS * expected.error_of_variance(calls) + 1e-9 * expected.mean;
    [
        Comparison {
            what: format!("{jitter}: mean of delay {retry}, in seconds"),
            expected: expected.mean,
            got: found.mean / 1e9,
            tolerance: Tolerance::Absolute(mean),
        },
        Comparison {
            what: format!("{jitter}: variance of delay {retry}, in seconds squared"),
            expected: expected.variance,
            got: found.variance / 1e18,
            tolerance: Tolerance::Absolute(variance),
        },
    ]
}
