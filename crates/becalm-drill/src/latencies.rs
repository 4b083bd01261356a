//! How long did the calls take that succeeded?
//!
//! Each one is kept, and not counted in buckets: which stretch of the drill is asked for is known only at its end.

use std::ops::Range;
use std::time::Duration;

/// One entry for every call that succeeded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Latencies(Vec<Entry>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    began: Duration,
    took: Duration,
}

impl Latencies {
    /// A call that began at `began`, from the start of the drill, and took so long.
    pub fn add(&mut self, began: Duration, took: Duration) {
        self.0.push(Entry { began, took });
    }

    /// Adds all that were counted elsewhere.
    pub fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }

    /// Those of the calls that began in this stretch of time.
    pub fn of(&self, time: Range<Duration>) -> Sorted {
        let within = |entry: &&Entry| time.contains(&entry.began);
        let mut sorted: Vec<_> = self.0.iter().filter(within).map(|it| it.took).collect();
        sorted.sort_unstable();
        Sorted(sorted)
    }
}

/// Latencies of one stretch of time, the shortest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sorted(Vec<Duration>);

impl Sorted {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The latency that this share of the calls, from 0 to 1, does not exceed: the nearest rank.
    /// None without a call.
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss
        )] // at most a million calls, and a share of them
        let rank = (share.clamp(0.0, 1.0) * self.0.len() as f64).ceil() as usize;
        self.0.get(rank.saturating_sub(1)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn a_quantile_is_the_nearest_rank_of_the_stretch() {
        let mut latencies = Latencies::default();
        for number in (1..=100).rev() {
            latencies.add(ms(1_000 + number), ms(number));
        }
        latencies.add(ms(999), ms(5_000));
        latencies.add(ms(2_000), ms(5_000));
        let sorted = latencies.of(ms(1_000)..ms(2_000));
        assert_eq!(sorted.len(), 100);
        for (share, expected) in [(0.0, 1), (0.5, 50), (0.95, 95), (0.99, 99), (1.0, 100)] {
            assert_eq!(sorted.quantile(share), Some(ms(expected)), "{share}");
        }
        let three = latencies.of(ms(1_001)..ms(1_004));
        assert_eq!(three.quantile(0.5), Some(ms(2)), "the middle one of three");
        assert_eq!(latencies.of(ms(0)..ms(1)).quantile(0.5), None);
    }
}
