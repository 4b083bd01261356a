//! When do clients give up, or a proxy for them?

use std::time::Duration;

use crate::Known;
use crate::sample::{Sample, quantile};

/// So many who leave after the same time do not do so by chance.
const FEW: u64 = 5;

/// When clients give up: from the times of requests that were given up, by their client or by a proxy.
#[expect(clippy::cast_precision_loss)]
pub fn timeout(left: &Sample, longest: u64) -> Known<Duration> {
    let sorted = left.sorted();
    let median = quantile(&sorted, 0.5);
    let near = sorted
        .iter()
        .filter(|it| it.abs_diff(median) * 50 <= median);
    let share = near.count() as f64 / sorted.len().max(1) as f64;
    let duration = Duration::from_micros;
    if left.added() >= FEW && share >= 0.5 {
        let [low, high] = [0.025, 0.975].map(|it| duration(quantile(&sorted, it)));
        let because = format!(
            "{} requests were given up, {:.0} % of them within 2 % of this",
            left.added(),
            share * 100.0
        );
        return Known::measured(duration(median), low, high, because);
    }
    // They wait as long as that, at least.
    let stands_in = duration(longest.clamp(10_000, 10_000_000));
    let because = if left.added() == 0 {
        "no client left after a while, so the log does not show when they give up"
    } else {
        "clients left, but at different times, so the log does not show when they give up"
    };
    Known::ask(stands_in, because)
}
