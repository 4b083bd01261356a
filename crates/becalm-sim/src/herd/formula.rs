//! How do others compute a delay? Formulas that becalm does not ship, for comparison only.

use std::time::Duration;

use super::Decides;
use crate::engine::Stream;

/// A foreign formula for the delay of the n-th retry, n from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Formula {
    /// `min(2^n x unit + U(0, jitter), most)`: the cap comes after the jitter, and cuts it away.
    ///
    /// Google Cloud, *Retry strategy* (Cloud Storage), *Implementing exponential backoff*:
    /// `min(((2^n)+random_number_milliseconds), maximum_backoff)`, with a unit of 1 s, at most
    /// 1000 ms at random and a maximum of 32 or 64 s.
    ClippedAdditive {
        /// The first delay, without its jitter.
        unit: Duration,
        /// The most that is added.
        jitter: Duration,
        /// The longest delay.
        most: Duration,
    },
}

impl Formula {
    /// Google's figures with the shorter of its two maxima: 1 s, 1 s, 32 s.
    pub const GOOGLE_CLOUD: Self = Self::ClippedAdditive {
        unit: Duration::from_secs(1),
        jitter: Duration::from_secs(1),
        most: Duration::from_secs(32),
    };

    /// The delay of the n-th retry in nanoseconds, n from 0.
    pub fn delay(&self, n: u32, random: &mut Stream) -> u64 {
        let nanos = |duration: &Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        match self {
            Self::ClippedAdditive { unit, jitter, most } => {
                let grown = nanos(unit).saturating_mul(1_u64.checked_shl(n).unwrap_or(u64::MAX));
                let added = random.below(nanos(jitter).saturating_add(1));
                grown.saturating_add(added).min(nanos(most))
            }
        }
    }
}

/// A client that follows it never gives up.
impl Decides for Formula {
    /// The number of the retry to come, from 0.
    type Position = u32;

    fn wait(&self, retry: &mut u32, _now: u64, _lost: u64, random: &mut Stream) -> Option<u64> {
        let delay = self.delay(*retry, random);
        *retry = retry.saturating_add(1);
        Some(delay)
    }
}
