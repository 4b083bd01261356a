//! What does a drill of Redis look like? Its counts as charts.

use std::time::Duration;

use becalm_report::{Band, Grid, LineChart, Series};

use crate::judgement::Contender;
use becalm_drill::ws::clock::BUCKET;

/// What went on in every bucket from the start to the end, of all processes together.
pub mod per_bucket {
    use crate::course::Held;
    use crate::told::Line;
    use becalm_drill::ws::clock::bucket;

    pub fn of(held: &Held, count: impl Fn(&Line) -> u32) -> Vec<u32> {
        let lines = held.lines.iter().flatten();
        summed(held, lines.map(|line| (line.bucket, count(line))))
    }

    pub fn dials(held: &Held) -> Vec<u32> {
        summed(held, held.dials.iter().flatten().map(|at| (bucket(*at), 1)))
    }

    fn summed(held: &Held, counts: impl Iterator<Item = (usize, u32)>) -> Vec<u32> {
        let first = bucket(held.start);
        let mut all = vec![0; bucket(held.end).saturating_sub(first)];
        for (at, count) in counts {
            if let Some(sum) = at.checked_sub(first).and_then(|at| all.get_mut(at)) {
                *sum += count;
            }
        }
        all
    }
}

/// The dials of all processes in every bucket, one chart for each variant, all on one scale.
pub fn dials(contenders: &[Contender]) -> Grid<LineChart> {
    charts(contenders, "dials per 100 ms", |it| {
        per_bucket::dials(&it.held)
    })
}

/// What was answered in every bucket.
pub fn answers(contenders: &[Contender]) -> Grid<LineChart> {
    charts(contenders, "answers per 100 ms", |it| {
        per_bucket::of(&it.held, |line| line.answered)
    })
}

fn charts(
    contenders: &[Contender],
    label: &str,
    of: impl Fn(&Contender) -> Vec<u32>,
) -> Grid<LineChart> {
    let all: Vec<_> = contenders.iter().map(of).collect();
    let peak = all.iter().flatten().copied().max().unwrap_or(0);
    let length = all.iter().map(Vec::len).max().unwrap_or(0);
    let charts = contenders.iter().zip(all).map(|(contender, counts)| {
        let points = counts.into_iter().zip(0_u32..);
        let points = points
            .map(|(count, at)| (middle(at), f64::from(count)))
            .collect();
        let variant = &contender.variant;
        let chart = LineChart::new(format!("{}: {}", variant.title, variant.description))
            .x_label("seconds")
            .x_range(0.0, middle(u32::try_from(length).unwrap_or(u32::MAX)))
            .y_label(label)
            .y_reaches(f64::from(peak))
            .without_legend()
            .with_size(940.0, 220.0);
        let since = |at: Duration| at.saturating_sub(contender.held.start).as_secs_f64();
        let outages = contender.held.outages.iter();
        let bands = outages.map(|it| Band::new(since(it.killed), since(it.up), "down"));
        bands
            .fold(chart, LineChart::band)
            .series(Series::bars(label, variant.colour, points))
    });
    charts.fold(Grid::new("", 1), Grid::figure)
}

/// The middle of a bucket, in seconds.
fn middle(bucket: u32) -> f64 {
    (f64::from(bucket) + 0.5) * BUCKET.as_secs_f64()
}
