//! How long does a request take that hardly meets another? What the steps of the lowest load show.

use std::time::Duration;

use super::range::Point;
use crate::known::WITHIN;

/// Requests that tell what a time is.
const ENOUGH: f64 = 500.0;
/// Of the highest rate, a low one is this share at most.
const LOW: f64 = 0.7;
/// The mean time of a step in which something stood still, by that of the others.
const STILL: f64 = 3.0;
/// Few answers at low load are so quick, or quicker.
const QUICK: f64 = 0.1;
/// With more than this share below its first bound a histogram does not tell what is quick.
const HALF: f64 = 0.5;
/// No request takes longer, in seconds; also where none is served.
const LONGEST: f64 = 1e6;
/// Service times that a scenario gets.
const TIMES: u32 = 64;

/// What low load shows.
pub struct Alone {
    /// The mean service time, in seconds.
    pub time: f64,
    /// By which share of it that may be wrong, by chance.
    pub error: f64,
    /// The highest rate of it.
    pub rate: f64,
    /// Half of one and the squared variation of times.
    pub spread: f64,
    /// A bound that few answers keep, and the share that does: refusals keep it, too.
    pub quick: Option<(f64, f64)>,
    pub times: Vec<Duration>,
    /// Whether the load was low enough for it.
    pub is_low: bool,
}

impl Alone {
    /// What the steps of the lowest load show: a quarter of them, or as many as it takes.
    pub fn of(points: &[Point], step: f64) -> Self {
        let mut sorted: Vec<&Point> = points.iter().collect();
        sorted.sort_by(|one, other| one.rate.total_cmp(&other.rate));
        let quarter = sorted.len().div_ceil(4);
        let mut requests = 0.0;
        let low = sorted.iter().enumerate().take_while(|(at, it)| {
            let is_needed = *at < quarter || requests < ENOUGH;
            requests += it.rate * step;
            is_needed
        });
        let low: Vec<&Point> = low.map(|(_, it)| *it).collect();
        let mut means: Vec<f64> = low.iter().map(|it| it.time / it.rate).collect();
        means.sort_by(f64::total_cmp);
        let median = means.get(means.len() / 2).copied().unwrap_or(0.0);
        // In a step in which something stood still nothing is told of the service itself.
        let is_usual = |it: &&&Point| it.time <= STILL * median * it.rate;
        let usual: Vec<&Point> = low.iter().filter(is_usual).copied().collect();
        let sum = |of: fn(&Point) -> f64| usual.iter().map(|it| of(it)).sum::<f64>();
        // All of the time is that of those who were served: a refusal is quick, and would make the service seem so.
        let (rate, inside) = (sum(|it| it.rate - it.failed), sum(|it| it.time));
        let shares = pooled(&usual);
        let bounds = || shares.iter().filter(|it| it.0.is_finite());
        let few = bounds().rfind(|it| it.1 <= QUICK);
        let quick = few.or_else(|| bounds().next().filter(|it| it.1 <= HALF));
        let times = times(&shares);
        let variation = variation(&times).clamp(0.0, 10.0);
        let most = sorted.last().map_or(0.0, |it| it.rate);
        let highest = low.last().map_or(0.0, |it| it.rate);
        Self {
            time: (inside / rate.max(1e-12)).min(LONGEST),
            error: WITHIN * (variation.max(1.0) / (rate * step).max(1.0)).sqrt(),
            rate: highest,
            spread: f64::midpoint(1.0, variation),
            quick: quick.copied(),
            times,
            is_low: highest <= LOW * most,
        }
    }

    /// Its times, with this mean.
    pub fn scaled(&self, mean: f64) -> Vec<Duration> {
        #[expect(clippy::cast_precision_loss)] // a handful
        let own = self.times.iter().map(Duration::as_secs_f64).sum::<f64>()
            / self.times.len().max(1) as f64;
        if own <= 0.0 || mean <= 0.0 {
            return Vec::new();
        }
        let each = self.times.iter().map(|it| it.as_secs_f64() * mean / own);
        each.map(|it| Duration::from_secs_f64(it.clamp(1e-6, LONGEST)))
            .collect()
    }
}

/// Of these points, which share of answers kept which bound.
fn pooled(points: &[&Point]) -> Vec<(f64, f64)> {
    let bounds = points.iter().find(|it| !it.buckets.is_empty());
    let all: f64 = points
        .iter()
        .filter_map(|it| Some(it.buckets.last()?.rate))
        .sum();
    let bounds = bounds.map_or(&[][..], |it| &it.buckets);
    let each = bounds.iter().map(|bucket| {
        let within = points.iter().filter_map(|it| {
            let same = it.buckets.iter().find(|it| it.bound >= bucket.bound);
            same.map(|it| it.rate)
        });
        (bucket.bound, within.sum::<f64>() / all.max(1e-12))
    });
    each.collect()
}

/// Times that are equally likely by these shares, each in the middle of what its bucket leaves.
fn times(shares: &[(f64, f64)]) -> Vec<Duration> {
    if shares.len() < 2 {
        return Vec::new();
    }
    let each = (0..TIMES).map(|at| {
        let share = (f64::from(at) + 0.5) / f64::from(TIMES);
        let mut before = (0.0, 0.0);
        for (bound, within) in shares {
            if *within >= share {
                // The last bucket has no end: twice its beginning stands in.
                let bound = if bound.is_finite() {
                    *bound
                } else {
                    before.0 * 2.0
                };
                let part = (share - before.1) / (within - before.1).max(1e-12);
                return before.0 + (bound - before.0) * part;
            }
            before = (*bound, *within);
        }
        before.0
    });
    each.map(|it| Duration::from_secs_f64(it.clamp(0.0, LONGEST)))
        .collect()
}

/// The squared variation of these times; 1 of none, as of exponential ones.
fn variation(times: &[Duration]) -> f64 {
    #[expect(clippy::cast_precision_loss)] // a handful
    let count = times.len() as f64;
    let sum = |of: fn(f64) -> f64| times.iter().map(|it| of(it.as_secs_f64())).sum::<f64>();
    let mean = sum(|it| it) / count;
    if times.is_empty() || mean <= 0.0 {
        return 1.0;
    }
    (sum(|it| it * it) / count / (mean * mean) - 1.0).max(0.0)
}
