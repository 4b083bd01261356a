//! How are many times kept in little room? In groups of 1/64 of their size.

use std::time::Duration;

use crate::number::{group_of_any, least};

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

    /// So many times in order, each the mean of an equal share of all, scaled to this mean in microseconds; none of none.
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
        let total: f64 = means.iter().sum();
        let scale = mean * means.len() as f64 / total.max(1e-9);
        let scaled = means.iter().map(|it| (it * scale).round() as u64);
        scaled.map(|it| Duration::from_micros(it.max(1))).collect()
    }
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
        for micros in [10, 10, 40] {
            times.add(micros);
        }
        let kept = times.equally_likely(100, 20.0);
        assert_eq!(kept, [10, 10, 40].map(Duration::from_micros));
        assert!(Times::default().equally_likely(100, 1.0).is_empty());
    }
}
