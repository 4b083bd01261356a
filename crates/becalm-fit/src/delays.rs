//! How long do clients wait before they try again?

use std::time::Duration;

use crate::sample::{Sample, quantile};

/// The ceiling of the first delay, its growth, and the spread below it, from the gaps before each retry.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]
pub fn delays(gaps: &[Sample]) -> (Duration, f64, String) {
    let seen: Vec<Vec<u64>> = gaps
        .iter()
        .take_while(|it| it.added() >= 50)
        .map(Sample::sorted)
        .collect();
    let ends = |sorted: &[u64]| {
        let (low, high) = (quantile(sorted, 0.02), quantile(sorted, 0.98));
        // Of numbers that are evenly spread 4 % lie outside.
        let beyond = (high - low) as f64 / 48.0;
        ((low as f64 - beyond).max(0.0), high as f64 + beyond)
    };
    let Some(first) = seen.first().map(|it| ends(it)) else {
        return (Duration::ZERO, 1.0, "none".into());
    };
    let share = first.0 / first.1.max(1.0);
    let jitter = match share {
        ..0.15 => "full".into(),
        0.4..0.6 => "equal".into(),
        0.93.. => "none".into(),
        share => format!("proportional:{:.2}", (1.0 - share) / (1.0 + share)),
    };
    // Below 0.6 delays are spread below the ceiling, and above it around it.
    let ceiling = |(low, high): (f64, f64)| {
        if share < 0.6 {
            high
        } else {
            f64::midpoint(low, high)
        }
    };
    let ceilings: Vec<f64> = seen.iter().map(|it| ceiling(ends(it))).collect();
    let mut growth: Vec<f64> = ceilings
        .windows(2)
        .map(|it| it[1] / it[0].max(1.0))
        .collect();
    growth.sort_by(f64::total_cmp);
    let multiplier = growth.get(growth.len() / 2).copied().unwrap_or(2.0);
    // What people write down: tenths of a factor.
    let multiplier = ((multiplier * 10.0).round() / 10.0).max(1.0);
    let base = Duration::from_micros(rounded(ceilings[0]) as u64);
    (base, multiplier, jitter)
}

/// To two digits, as people write delays.
fn rounded(value: f64) -> f64 {
    if value < 1.0 {
        return 0.0;
    }
    let scale = 10_f64.powf(value.log10().floor() - 1.0);
    (value / scale).round() * scale
}
