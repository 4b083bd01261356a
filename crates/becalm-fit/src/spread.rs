//! Are two spreads of times the same, as far as a clock can tell?
//!
//! Most service times of a service may be nearly equal, and a clock tells them by a step or two more or less: so spreads are not compared
//! part by part, but by how far one lies beside the other.

/// How many parts the times up to the longest that is told apart have, on each side of zero.
const PARTS: usize = 32;

/// How many times were how long.
#[derive(Debug, Clone, Copy)]
pub struct Spread([u32; 2 * PARTS]);

impl Default for Spread {
    fn default() -> Self {
        Self([0; 2 * PARTS])
    }
}

impl Spread {
    /// Adds a time as a share of the longest that is told apart, from -1 to 1.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )]
    pub fn add(&mut self, share: f64) {
        let part = ((share + 1.0) * PARTS as f64) as usize;
        let count = &mut self.0[part.min(2 * PARTS - 1)];
        *count = count.saturating_add(1);
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.0.iter_mut().zip(&other.0) {
            *count = count.saturating_add(*more);
        }
    }

    /// How many times there are.
    #[expect(clippy::cast_precision_loss)]
    pub fn total(&self) -> f64 {
        self.0.iter().map(|it| u64::from(*it)).sum::<u64>() as f64
    }

    /// The share of one that lies further to one side than any of the other, where times that differ by such a share of the longest
    /// are the same.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )]
    pub fn apart(&self, other: &Self, same: f64) -> f64 {
        let (one, other) = (self.sums(), other.sums());
        let parts = (same * PARTS as f64).ceil() as usize;
        let left = |a: &[f64], b: &[f64]| {
            let pairs = a.iter().zip(b.iter().skip(parts));
            pairs.map(|(a, b)| a - b).fold(0.0, f64::max)
        };
        left(&one, &other).max(left(&other, &one))
    }

    /// Up to each part, the share of all.
    fn sums(&self) -> Vec<f64> {
        let total = self.total().max(1.0);
        let add = |sum: &mut f64, count: &u32| {
            *sum += f64::from(*count) / total;
            Some(*sum)
        };
        self.0.iter().scan(0.0, add).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(times: &[f64]) -> Spread {
        let mut spread = Spread::default();
        times.iter().for_each(|it| spread.add(*it));
        spread
    }

    #[test]
    fn what_a_clock_tells_apart_may_be_the_same() {
        let one = spread(&[0.5; 10]);
        for by in [-0.1, 0.1] {
            let other = spread(&[0.5 + by; 10]);
            assert!(one.apart(&other, 0.11) < 1e-9, "{by}");
            assert!((one.apart(&other, 0.02) - 1.0).abs() < 1e-9, "{by}");
        }
        assert!(one.apart(&one, 0.0) < 1e-9);
    }

    #[test]
    fn the_share_that_lies_elsewhere_counts() {
        let (one, other) = (spread(&[0.1, 0.1, 0.1, 0.1]), spread(&[0.1, 0.1, 0.1, 0.9]));
        assert!((one.apart(&other, 0.1) - 0.25).abs() < 1e-9);
        assert!((other.apart(&one, 0.1) - 0.25).abs() < 1e-9);
        assert!(one.apart(&Spread::default(), 1.0) < 1e-9);
    }

    #[test]
    fn extremes_are_in_the_outermost_parts() {
        let mut sum = spread(&[-1.0, 1.0, 0.0]);
        sum.merge(&spread(&[-1.0, 1.0]));
        assert!((sum.total() - 5.0).abs() < 1e-9);
        assert_eq!((sum.0[0], sum.0[PARTS], sum.0[2 * PARTS - 1]), (2, 1, 2));
    }
}
