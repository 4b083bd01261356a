//! What does a tail look like? Latency by percentile.

use becalm_report::{LineChart, Series};

use super::outcome::TailOutcome;

/// From which percentile on: the rest is the same for both.
const FROM: u32 = 900;

/// Latency from the 90th percentile to the worst, a line for each policy.
pub fn latencies(outcome: &TailOutcome) -> LineChart {
    let chart = LineChart::new("Latency of the slowest tenth")
        .x_label("percentile")
        .y_label("ms")
        .x_range(f64::from(FROM) / 10.0, 100.0);
    let lines = outcome.racers.iter().map(|racer| {
        let points = (FROM..=1_000).filter_map(|mille| {
            let share = f64::from(mille) / 1_000.0;
            let latency = racer.latencies.quantile(share)?;
            Some((share * 100.0, latency.as_secs_f64() * 1e3))
        });
        Series::line(
            &*racer.variant.title,
            racer.variant.colour,
            points.collect(),
        )
    });
    lines.fold(chart, LineChart::series).with_size(940.0, 320.0)
}
