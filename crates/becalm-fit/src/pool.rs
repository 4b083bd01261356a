//! What can the workers of a service do?

use std::time::Duration;

use crate::knee::{Workers, mean_time, time_taken};
use crate::known::WITHIN;
use crate::levels::{Levels, Rate};
use crate::number;
use crate::tally::Tally;
use crate::windows::Stretch;
use crate::{How, Known};

/// Fewer requests say nothing.
pub const LEAST: u64 = 200;
/// A service time may differ by this share between windows before anybody is told.
const DRIFT: f64 = 0.1;
/// At least this share of the time in which a service seems to work is work.
const LEFT: f64 = 0.1;
/// Service times that a scenario gets.
const TIMES: usize = 128;

/// The workers of a service and what they can do.
pub struct Pool {
    /// Requests at once.
    pub workers: Known<u32>,
    /// Requests per second.
    pub capacity: Known<f64>,
    /// In seconds.
    pub time: Known<f64>,
}

impl Pool {
    /// What the log shows.
    pub fn of(total: &Tally, workers: &Workers, most: f64, step: Duration) -> Self {
        // In an open interval none is known to have waited: all took as long as they took.
        let mean_time_of = match workers.high {
            Some(_) => mean_time(total, workers.value),
            None => time_taken(total),
        };
        let (mean, error) = mean_time_of.unwrap_or((1.0, 0.0));
        // Some logs cut times to steps, some round them: a quarter of one is added, which may be missing or too much.
        let by_clock = 0.3 * step.as_secs_f64();
        let (mean, error) = (mean.max(1.0) / 1e6, WITHIN * error / 1e6 + by_clock);
        let per = |workers: u32| f64::from(workers) / mean;
        let time =
            |because: &str| Known::measured(mean, (mean - error).max(0.0), mean + error, because);
        let share = error / mean;
        let Some(high) = workers.high else {
            // It did that in the log.
            let least = workers.value.max(floor(most * mean));
            let low = per(least) / (1.0 + share);
            return Self {
                workers: Known::measured(
                    least,
                    least,
                    None,
                    format!("at least {least}; the log never filled the service"),
                ),
                capacity: Known::measured(
                    per(least),
                    low,
                    None,
                    format!("at least {low:.0} a second; the log never filled the service"),
                ),
                time: time("all requests, with their waits if any waited"),
            };
        };
        // With other workers, service times are others, too: what they do together hardly changes.
        let rate = |workers: u32| {
            let mean = mean_time(total, workers).map_or(mean, |it| it.0.max(1.0) / 1e6);
            f64::from(workers) / mean
        };
        let rates = [workers.low, workers.value, high].map(rate);
        let low = rates.iter().copied().fold(f64::MAX, f64::min) / (1.0 + share);
        let top = rates.iter().copied().fold(0.0, f64::max) * (1.0 + share);
        Self {
            workers: Known::measured(
                workers.value,
                workers.low,
                high,
                "service times are the same whatever a request found",
            ),
            capacity: Known::measured(per(workers.value), low, top, "workers by the mean time"),
            time: time("all requests, from when a worker was free"),
        }
    }

    /// Values that stand in where the log does not show them, and that are no better than the service: one worker that does what the
    /// busiest window had, or one request after the other. Where nobody was answered, the time is that of those who left, in
    /// microseconds.
    pub fn asked(total: &Tally, most: f64, left: f64) -> Self {
        let times = total.times_below(usize::MAX);
        let mean = if times.len() > 0 { times.mean() } else { left };
        // A clock that was too coarse tells no time.
        let alone = if mean > 1.0 { 1e6 / mean } else { 1.0 };
        let capacity = most.max(alone);
        Self {
            workers: Known::ask(
                1,
                "how many requests does the service work on at once; one stands in",
            ),
            capacity: Known::ask(
                capacity,
                "how many requests a second can it serve; what it answered in the log stands in",
            ),
            time: Known::ask(
                1.0 / capacity,
                "how long does a request take that does not wait; one worker's share of the capacity stands in",
            ),
        }
    }

    /// Corrects the capacity by how fast the service answered at each number of requests.
    pub fn bounded_by(self, levels: &Levels, requests: u64) -> Self {
        let highest = levels.highest().map_or(f64::MAX, |it| it.rate);
        let is_closed = self.workers.interval().is_some();
        let workers = self.workers.value as usize;
        let full = levels.with(workers).filter(|_| is_closed);
        self.at_most(highest)
            .no_faster_than(full)
            .without(levels.stood_with(workers), requests)
    }

    /// Raises the upper end by what the service could have answered in these seconds of silence. In a deployment requests wait for a
    /// service that stands still, and the log looks as if it worked on them. It may have done so, and so the value stays.
    #[expect(clippy::cast_precision_loss)]
    fn without(mut self, stood: f64, requests: u64) -> Self {
        let lost = stood * self.capacity.value / requests.max(1) as f64;
        if let How::Measured {
            high: Some(high), ..
        } = &mut self.capacity.how
        {
            *high /= (1.0 - lost).max(LEFT);
        }
        self
    }

    /// With a lower end that is no higher than the service was seen to answer; where there is no upper end, so is what stands in.
    fn at_most(mut self, highest: f64) -> Self {
        let least = floor(highest * self.time.value).max(1);
        if self.workers.is_open() && self.workers.value > least {
            self.capacity.value = f64::from(least) / self.time.value;
            let because = format!("at least {least}; the log never filled the service");
            self.workers = Known::measured(least, least, None, because);
        }
        if let How::Measured { low, high } = &mut self.capacity.how {
            *low = low.min(highest).min(self.capacity.value);
            if high.is_none() {
                self.capacity.because =
                    format!("at least {low:.0} a second; the log never filled the service");
            }
        }
        self
    }

    /// With a capacity that is no higher than how fast it answered while its workers had enough to do: that rate is a
    /// fact, also where the fitted number of workers is wrong, as with requests that take no worker or that share processors.
    fn no_faster_than(mut self, full: Option<Rate>) -> Self {
        let capacity = self.capacity.value;
        let slower = |it: &Rate| it.rate + WITHIN * it.error < capacity;
        let Some(full) = full.filter(slower) else {
            return self;
        };
        if let How::Measured { low, .. } = &mut self.capacity.how {
            *low = low.min(full.rate - WITHIN * full.error).max(0.0);
        }
        self.capacity.value = full.rate;
        self.capacity.because = "how fast it answered while requests waited".into();
        self.time.value *= capacity / full.rate;
        if let How::Measured {
            high: Some(high), ..
        } = &mut self.time.how
        {
            *high = high.max(self.time.value);
        }
        self
    }

    /// With the time of its slowest window, if it drifts between these, in microseconds; and its service times.
    pub fn at_its_slowest(
        mut self,
        total: &Tally,
        drift: Option<(f64, f64)>,
    ) -> (Self, Vec<Duration>) {
        if let Some((fastest, slowest)) = drift {
            let (fastest, slowest) = (fastest / 1e6, slowest / 1e6);
            let by = self.time.value / slowest;
            self.time = Known::measured(slowest, fastest, slowest, "the slowest window");
            if let How::Measured { low, .. } = &mut self.capacity.how {
                *low *= by.min(1.0);
            }
            self.capacity.value *= by;
        }
        let workers = self.workers.value as usize;
        // Those that found few tell best how times are spread; else those that did not wait.
        let few = [workers.div_ceil(2), workers, usize::MAX];
        let spreads = few.map(|it| total.times_below(it));
        let spread = spreads.iter().find(|it| it.len() >= LEAST);
        let spread = spread.unwrap_or(&spreads[2]);
        let times = spread.equally_likely(TIMES, self.time.value * 1e6);
        (self, times)
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn floor(number: f64) -> u32 {
    number.floor() as u32
}

/// The mean service times, in microseconds, of the fastest and the slowest window, if they differ by more than chance. In a window that
/// was too slow for its load hardly a request found a worker free: those that waited count, too, where the workers are known.
#[expect(clippy::cast_precision_loss)]
pub fn drift(windows: &[Stretch], workers: &Known<u32>) -> Option<(f64, f64)> {
    let at = number::group(workers.value as usize);
    let counted = workers.interval().map_or(at, |_| usize::MAX);
    let mut means = Vec::new();
    for window in windows {
        let (mut requests, mut sum, mut clipped, mut squares) = (0.0, 0.0, 0.0, 0.0);
        for (number, row) in window.tally.rows.iter().enumerate().take(counted) {
            let served = row.served.get(at).filter(|_| number >= at);
            let (time, moments) = served.map_or((row.times.sum, row.clipped[0]), |it| {
                (it.sum, it.clipped[0])
            });
            requests += row.requests as f64;
            sum += time;
            clipped += moments.sum;
            squares += moments.squares;
        }
        if requests >= 50.0 {
            let mean = clipped / requests;
            let variance = (squares / requests - mean * mean).max(0.0) / requests;
            means.push((sum / requests, mean, variance));
        }
    }
    let by_mean = |a: &&(f64, f64, f64), b: &&(f64, f64, f64)| a.1.total_cmp(&b.1);
    let (fastest, slowest) = (means.iter().min_by(by_mean)?, means.iter().max_by(by_mean)?);
    let difference = slowest.1 - fastest.1;
    // Of two dozen windows the two that differ most.
    let error = 5.0 * (slowest.2 + fastest.2).sqrt();
    (difference > error.max(DRIFT * fastest.1)).then_some((fastest.0, slowest.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capacity_is_no_higher_than_what_was_answered_while_all_had_work() {
        let pool = || Pool {
            workers: Known::measured(10, 10, 10, ""),
            capacity: Known::measured(660.0, 640.0, 680.0, ""),
            time: Known::measured(10.0 / 660.0, 0.014, 0.016, ""),
        };
        let error = 10.0;
        let slower = pool().no_faster_than(Some(Rate { rate: 570.0, error }));
        assert!((slower.capacity.value - 570.0).abs() < 1e-9);
        assert!((slower.time.value - 10.0 / 570.0).abs() < 1e-9);
        let (low, high) = slower.capacity.interval().unwrap();
        assert!(*low < 560.0 && (high - 680.0).abs() < 1e-9);
        for rate in [None, Some(Rate { rate: 650.0, error })] {
            let same = pool().no_faster_than(rate);
            assert!((same.capacity.value - 660.0).abs() < 1e-9);
        }
    }

    #[test]
    fn where_a_service_stood_still_the_upper_end_rises_alone() {
        let pool = Pool {
            workers: Known::measured(6, 6, 6, ""),
            capacity: Known::measured(270.0, 260.0, 280.0, ""),
            time: Known::measured(6.0 / 270.0, 0.022, 0.023, ""),
        };
        // In 5 s it could have answered a tenth of all.
        let pool = pool.without(5.0, 13_500);
        assert!((pool.capacity.value - 270.0).abs() < 1e-9);
        let (low, high) = pool.capacity.interval().unwrap();
        assert!((low - 260.0).abs() < 1e-9 && (high - 280.0 / 0.9).abs() < 1e-9);
    }
}
