//! How long do two messages take on their way?

use std::time::Duration;

use crate::engine::Stream;

/// |Normal(mean, deviation)|, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hop {
    mean: f64,
    deviation: f64,
}

impl Hop {
    pub fn new(mean: Duration, deviation: Duration) -> Self {
        let nanos = |duration: Duration| duration.as_secs_f64() * 1e9;
        Self {
            mean: nanos(mean),
            deviation: nanos(deviation),
        }
    }

    /// Of one message, and of the next.
    #[inline]
    pub fn pair(self, random: &mut Stream) -> (u64, u64) {
        let mut next = || self.time(random.normal());
        (next(), next())
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // hours at most
    fn time(self, normal: f64) -> u64 {
        (self.mean + self.deviation * normal).abs() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 200 000 hops: the tolerances are five standard deviations of each figure, and the correlation
    /// of a pair is that of numbers that have nothing to do with each other.
    #[test]
    fn hops_have_the_moments_of_their_distribution_and_pairs_no_correlation() {
        let hop = Hop::new(Duration::from_millis(10), Duration::from_millis(2));
        let mut random = Stream::of(1, 0);
        let pairs = 100_000;
        let (mut sum, mut squares, mut products, mut beyond) = (0.0, 0.0, 0.0, 0.0);
        for _ in 0..pairs {
            let (first, second) = hop.pair(&mut random);
            #[expect(clippy::cast_precision_loss)]
            let [first, second] = [first, second].map(|nanos| nanos as f64 / 1e6 - 10.0);
            sum += first + second;
            squares += first * first + second * second;
            products += first * second;
            for off in [first, second] {
                beyond += f64::from(u8::from(off.abs() > 4.0)); // two deviations
            }
        }
        let all = 2.0 * f64::from(pairs);
        assert!((sum / all).abs() < 5.0 * 2.0 / all.sqrt());
        assert!((squares / all - 4.0).abs() < 5.0 * 4.0 * (2.0 / all).sqrt());
        assert!((products / f64::from(pairs)).abs() < 5.0 * 4.0 / f64::from(pairs).sqrt());
        let share = 0.045_500;
        assert!((beyond / all - share).abs() < 5.0 * (share * (1.0 - share) / all).sqrt());
    }

    #[test]
    fn a_hop_below_zero_loses_its_sign() {
        let hop = Hop::new(Duration::from_nanos(1), Duration::from_millis(1));
        let mut random = Stream::of(1, 0);
        let pairs = || hop.pair(&mut random);
        let total: u64 = std::iter::repeat_with(pairs)
            .take(1000)
            .map(|it| it.0)
            .sum();
        // The mean of |Normal(0, 1 ms)| is 0.798 ms; cut at zero instead it would be half of that.
        assert!((700_000_000..900_000_000).contains(&total), "{total}");
    }
}
