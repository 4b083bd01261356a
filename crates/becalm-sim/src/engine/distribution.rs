//! How long does something take? A time drawn from one of these.

use std::time::Duration;

use super::numbers::nanos;
use super::random::Stream;

/// A distribution of times.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Distribution {
    /// Always this long.
    Constant(Duration),
    /// Memoryless, with this mean.
    Exponential(Duration),
    /// Anything between, both ends included, equally likely; the first one if the second is shorter.
    Uniform(Duration, Duration),
    /// The logarithm is normal: the median, and the standard deviation of the logarithm.
    Lognormal {
        /// Half of all are shorter.
        median: Duration,
        /// Of the natural logarithm: 1 makes the mean 1.65 and the 99th percentile 10.2 medians.
        sigma: f64,
    },
    /// Mostly fast, sometimes slow.
    Bimodal {
        /// What most take.
        fast: Duration,
        /// What the others take.
        slow: Duration,
        /// The share of the slow ones.
        slow_share: f64,
    },
    /// Measured times, each equally likely; not empty.
    Empirical(Vec<Duration>),
}

impl Distribution {
    /// Draws a time, in nanoseconds.
    ///
    /// Times past 584 years, the end of the clock, are that long.
    #[inline]
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )] // a float to an integer saturates
    pub fn draw(&self, random: &mut Stream) -> u64 {
        match self {
            Self::Exponential(mean) => (nanos(*mean) as f64 * random.exponential()) as u64,
            _ => self.draw_another(random),
        }
    }

    /// Draws a time of any kind but the usual one.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )] // as above
    fn draw_another(&self, random: &mut Stream) -> u64 {
        match self {
            Self::Constant(time) => nanos(*time),
            Self::Exponential(_) => self.draw(random),
            Self::Uniform(low, high) => {
                let (low, high) = (nanos(*low), nanos(*high));
                low + random.below(high.saturating_sub(low).saturating_add(1))
            }
            Self::Lognormal { median, sigma } => {
                (nanos(*median) as f64 * libm::exp(sigma * random.normal())) as u64
            }
            Self::Bimodal {
                fast,
                slow,
                slow_share,
            } => nanos(if random.chance(*slow_share) {
                *slow
            } else {
                *fast
            }),
            Self::Empirical(times) => {
                let at = random.below(times.len() as u64) as usize;
                times.get(at).copied().map_or(0, nanos)
            }
        }
    }

    /// The mean, in seconds.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Constant(time) | Self::Exponential(time) => time.as_secs_f64(),
            Self::Uniform(low, high) => f64::midpoint(low.as_secs_f64(), high.as_secs_f64()),
            Self::Lognormal { median, sigma } => {
                median.as_secs_f64() * libm::exp(sigma * sigma / 2.0)
            }
            Self::Bimodal {
                fast,
                slow,
                slow_share,
            } => fast.as_secs_f64() * (1.0 - slow_share) + slow.as_secs_f64() * slow_share,
            #[expect(clippy::cast_precision_loss)]
            Self::Empirical(times) => {
                times.iter().map(Duration::as_secs_f64).sum::<f64>() / times.len().max(1) as f64
            }
        }
    }
}
