//! When do first tries begin?

use std::ops::Range;
use std::time::Duration;

use crate::fitted::{Bursts, FirstTries};

/// First tries, counted in steps of 100 ms since the first start.
#[derive(Debug, Clone, Default)]
pub struct Arrivals {
    counts: Vec<u32>,
    trace: Vec<u64>,
    total: u64,
    last: u64,
}

/// In microseconds.
const STEP: u64 = 100_000;
/// Nineteen days; what begins later is counted, and no more.
const MOST_STEPS: u64 = 1 << 24;

impl Arrivals {
    /// Adds a first try, so many microseconds after the first start.
    pub fn add(&mut self, since: u64) {
        self.total += 1;
        self.last = self.last.max(since);
        if self.total <= FirstTries::MOST_TRACED as u64 {
            self.trace.push(since);
        }
        let at = since / STEP;
        if at < MOST_STEPS {
            let at = usize::try_from(at).unwrap_or(0);
            if at >= self.counts.len() {
                self.counts.resize(at + 1, 0);
            }
            self.counts[at] = self.counts[at].saturating_add(1);
        }
    }

    /// What there is to say about them over this length of the log; without bursts.
    #[expect(clippy::cast_precision_loss)]
    pub fn first_tries(mut self, length: Duration) -> FirstTries {
        let rate = self.total as f64 / length.as_secs_f64().max(1e-6);
        let seconds = seconds(self.whole());
        let dispersion = (dispersion(self.whole()), dispersion(&seconds));
        if self.total > FirstTries::MOST_TRACED as u64 {
            self.trace.clear();
        }
        // Some lines come late.
        self.trace.sort_unstable();
        let first = self.trace.first().copied().unwrap_or(0);
        let since_first = |it: &u64| Duration::from_micros(it - first);
        FirstTries {
            rate,
            dispersion,
            bursts: None,
            trace: self.trace.iter().map(since_first).collect(),
        }
    }

    /// The busiest stretch of so many seconds: first tries per second, and its steps. `None` if there are not so many seconds.
    #[expect(clippy::cast_precision_loss)]
    pub fn busiest(&self, length: u64) -> Option<(f64, Range<usize>)> {
        let (counts, width) = (self.whole(), usize::try_from(length).ok()?.checked_mul(10)?);
        let mut sum: u64 = counts.get(..width)?.iter().map(|it| u64::from(*it)).sum();
        let mut most = (sum, width);
        for end in width..counts.len() {
            sum = sum + u64::from(counts[end]) - u64::from(counts[end - width]);
            if sum > most.0 {
                most = (sum, end + 1);
            }
        }
        Some((most.0 as f64 / length as f64, most.1 - width..most.1))
    }

    /// The bursts in these steps, if seconds are of two kinds and there are at least so many bursts.
    pub fn bursts(&self, steps: Range<usize>, several: f64) -> Option<Bursts> {
        let counts = self.whole();
        let counts = &counts[steps.start.min(counts.len())..steps.end.min(counts.len())];
        let seconds = seconds(counts);
        if seconds.len() < 30 || dispersion(&seconds) <= BURSTY {
            return None;
        }
        bursts(&seconds, several)
    }

    /// Without the last step, which is cut off somewhere.
    fn whole(&self) -> &[u32] {
        &self.counts[..self.counts.len().saturating_sub(1)]
    }
}

fn seconds(counts: &[u32]) -> Vec<u32> {
    counts.chunks_exact(10).map(|it| it.iter().sum()).collect()
}

/// Counts that come independently of each other have 1, and of so many hardly ever more than this.
const BURSTY: f64 = 2.0;

/// Variance by mean within stretches of sixty steps, so that the course of a day is not taken for bursts; 1 of too few.
#[expect(clippy::cast_precision_loss)]
fn dispersion(counts: &[u32]) -> f64 {
    let (mut squares, mut means, mut steps) = (0.0, 0.0, 0.0);
    for stretch in counts.chunks(60).filter(|it| it.len() >= 10) {
        let n = stretch.len() as f64;
        let mean = stretch.iter().map(|it| f64::from(*it)).sum::<f64>() / n;
        squares += stretch
            .iter()
            .map(|it| (f64::from(*it) - mean).powi(2))
            .sum::<f64>();
        means += mean * (n - 1.0);
        steps += n;
    }
    if steps < 10.0 || means <= 0.0 {
        1.0
    } else {
        squares / means
    }
}

/// Two rates and how long each lasts, by whether a second is nearer to the one or to the other.
#[expect(clippy::cast_precision_loss)]
fn bursts(seconds: &[u32], several: f64) -> Option<Bursts> {
    let counts = || seconds.iter().map(|it| f64::from(*it));
    let (mut low, mut high) = counts().fold((f64::MAX, 0.0_f64), |(low, high), it| {
        (low.min(it), high.max(it))
    });
    for _ in 0..20 {
        let middle = f64::midpoint(low, high);
        let mean = |is_high: bool| {
            let those = counts().filter(|it| (*it > middle) == is_high);
            let (n, sum) = those.fold((0.0_f64, 0.0), |(n, sum), it| (n + 1.0, sum + it));
            sum / n.max(1.0)
        };
        (low, high) = (mean(false), mean(true));
    }
    if high < 1.5 * low.max(1.0) {
        return None;
    }
    let middle = f64::midpoint(low, high);
    let in_bursts = counts().filter(|it| *it > middle).count() as f64;
    let between = seconds.len() as f64 - in_bursts;
    // A second that is near the middle begins no burst and ends none.
    let sure = counts().filter(|it| (it - middle).abs() > (high - low) / 4.0);
    let is_high: Vec<bool> = sure.map(|it| it > middle).collect();
    // One that the beginning or the end cuts off is half a burst.
    let ends = is_high.windows(2).filter(|it| it[0] != it[1]).count();
    let begun = ends as f64 / 2.0;
    if begun < several {
        return None;
    }
    let begun = begun.max(1.0);
    Some(Bursts {
        rate: low,
        burst_rate: high,
        burst: Duration::from_secs_f64(in_bursts / begun),
        pause: Duration::from_secs_f64((between / begun).max(0.1)),
    })
}
