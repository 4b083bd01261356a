//! How are many times kept in little room? In groups of 1/64 of their size.

use std::time::Duration;

use crate::known::WITHIN;
use crate::number::{group_of_any, least};

/// Times are spread by no higher power.
const MOST_RAISED: f64 = 3.0;

/// Times in microseconds, each to within 1.6 %.
#[derive(Debug, Clone, Default)]
pub struct Times {
    counts: Vec<u32>,
    total: u64,
    sum: f64,
}

impl Times {
    /// Adds a time.
    #[inline]
    pub fn add(&mut self, micros: u64) {
        let at = group_of_any(usize::try_from(micros).unwrap_or(usize::MAX));
        if at >= self.counts.len() {
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] = self.counts[at].saturating_add(1);
        self.total += 1;
        #[expect(clippy::cast_precision_loss)]
        {
            self.sum += micros as f64;
        }
    }

    /// Adds all times of another.
    pub fn merge(&mut self, other: &Self) {
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count = count.saturating_add(*more);
        }
        self.total += other.total;
        self.sum += other.sum;
    }

    /// How many times were added.
    pub const fn len(&self) -> u64 {
        self.total
    }

    /// The mean, in microseconds; 0 of none.
    #[expect(clippy::cast_precision_loss)]
    pub fn mean(&self) -> f64 {
        self.sum / self.total.max(1) as f64
    }

    /// At most this number of times in order, each equally likely, with this mean in microseconds; none where there are no times. They
    /// are spread as widely as the log allows: a service comes back late from long times, and a log has few of them.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )]
    pub fn equally_likely(&self, most: usize, mean: f64) -> Vec<Duration> {
        let shares = (self.total as usize).min(most);
        let each = self.total as f64 / shares.max(1) as f64;
        let mut means = Vec::with_capacity(shares);
        let (mut room, mut sum) = (each, 0.0);
        for (at, count) in self.counts.iter().enumerate() {
            let mut left = f64::from(*count);
            while left > 0.0 && means.len() < shares {
                let taken = left.min(room);
                sum += taken * middle(at);
                left -= taken;
                room -= taken;
                if room <= each * 1e-9 {
                    means.push(sum / each);
                    (room, sum) = (each, 0.0);
                }
            }
        }
        if means.len() < shares {
            means.push(sum / (each - room).max(1e-9));
        }
        let spread = spread(&means, self.most_spread());
        let scaled = spread.iter().map(|it| (it * mean).round() as u64);
        scaled.map(|it| Duration::from_micros(it.max(1))).collect()
    }

    /// The upper end of the interval of the mean square of these times by the square of their mean.
    #[expect(clippy::cast_precision_loss)]
    fn most_spread(&self) -> f64 {
        let all = self.total.max(1) as f64;
        let over = |of: &dyn Fn(f64) -> f64| {
            let each = self.counts.iter().enumerate();
            let each = each.map(|(at, count)| f64::from(*count) * of(middle(at)));
            each.sum::<f64>() / all
        };
        let mean = over(&|it| it).max(1e-9);
        let square = over(&|it| (it / mean).powi(2));
        // By how much each of them moves the ratio.
        let moves =
            over(&|it| ((it / mean).powi(2) - square - 2.0 * square * (it / mean - 1.0)).powi(2));
        square + WITHIN * (moves / all).sqrt()
    }
}

/// Times of mean 1, in their order, with this mean square if theirs is less. Long times grow, and short ones shrink.
#[expect(clippy::cast_precision_loss)]
fn spread(times: &[f64], square: f64) -> Vec<f64> {
    let raised = |power: f64| -> Vec<f64> {
        let raised: Vec<f64> = times.iter().map(|it| it.powf(power)).collect();
        let mean = raised.iter().sum::<f64>() / raised.len().max(1) as f64;
        raised.iter().map(|it| it / mean.max(1e-9)).collect()
    };
    let is_less =
        |times: &[f64]| times.iter().map(|it| it * it).sum::<f64>() < square * times.len() as f64;
    let (mut low, mut high) = (1.0, MOST_RAISED);
    for _ in 0..30 {
        let power = f64::midpoint(low, high);
        if is_less(&raised(power)) {
            low = power;
        } else {
            high = power;
        }
    }
    raised(low)
}

#[expect(clippy::cast_precision_loss)]
fn middle(group: usize) -> f64 {
    let (first, last) = (least(group), least(group + 1).wrapping_sub(1));
    f64::midpoint(first as f64, last as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equally_likely_times_keep_the_mean_and_the_spread() {
        let mut times = Times::default();
        for micros in 1..=10_000 {
            times.add(micros);
        }
        assert!((times.mean() - 5000.5).abs() < 1e-6);
        let few = times.equally_likely(100, 5000.5);
        assert_eq!(few.len(), 100);
        let mean = few.iter().sum::<Duration>() / 100;
        assert!(mean.as_micros().abs_diff(5000) < 5, "{mean:?}");
        assert!(few[0] < Duration::from_micros(60) && few[99] > Duration::from_micros(9_800));
    }

    #[test]
    fn a_few_times_stay_as_they_are() {
        let mut times = Times::default();
        for _ in 0..1_000_000 {
            for micros in [10, 10, 40] {
                times.add(micros);
            }
        }
        let kept = times.equally_likely(3, 20.0);
        assert_eq!(kept, [10, 10, 40].map(Duration::from_micros));
        assert!(Times::default().equally_likely(100, 1.0).is_empty());
    }

    #[test]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )]
    fn few_times_are_spread_as_widely_as_they_may_be() {
        let square = |kept: &[Duration]| {
            let each = kept.iter().map(Duration::as_secs_f64);
            let (sum, squares) = each.fold((0.0, 0.0), |(sum, squares), it| {
                (sum + it, squares + it * it)
            });
            squares * kept.len() as f64 / (sum * sum)
        };
        // Of exponential times the mean square is twice the square of the mean, with a standard error of 2 by the root of their number.
        let kept_of = |number: u32| {
            let mut times = Times::default();
            for nth in 0..number {
                let share = (f64::from(nth) + 0.5) / f64::from(number);
                times.add((-20_000.0 * share.ln()) as u64);
            }
            times.equally_likely(128, 20_000.0)
        };
        let (few, many) = (square(&kept_of(400)), square(&kept_of(40_000)));
        assert!((2.1..2.25).contains(&few), "{few}");
        assert!((2.0..2.05).contains(&many), "{many}");
        let mean = kept_of(400).iter().sum::<Duration>() / 128;
        assert!(mean.as_micros().abs_diff(20_000) < 2, "{mean:?}");
    }
}
