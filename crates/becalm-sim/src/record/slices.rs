//! Into which stretches is a run cut, to say how calls fared at a time? Whole buckets, and few.

use super::histogram::Histogram;

/// A stretch lasts this many nanoseconds at least, as far as buckets do: half a second. A 99th
/// percentile needs some hundred calls.
const SHORTEST: u64 = 500_000_000;

/// Stretches of a run at most, but for those that cuts add: more than a chart shows. A histogram is
/// 15 kB at most.
const MOST: usize = 200;

/// Those of all populations together.
const MOST_OF_ALL: usize = 2000;

/// How the calls of a stretch of a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Endings {
    /// How long those took that succeeded.
    pub latency: Histogram,
    /// How many gave up.
    pub gave_up: u64,
}

impl Endings {
    /// Adds those of another stretch.
    pub fn merge(&mut self, other: &Self) {
        self.latency.merge(&other.latency);
        self.gave_up += other.gave_up;
    }

    /// Takes out those of another stretch, which were all added.
    pub(crate) fn take_out(&mut self, other: &Self) {
        self.latency.take_out(&other.latency);
        self.gave_up = self.gave_up.saturating_sub(other.gave_up);
    }

    /// The share that gave up of those that ended, from 0 to 1; `None` of nothing.
    #[expect(clippy::cast_precision_loss)] // far below 2^52
    pub fn given_up(&self) -> Option<f64> {
        let ended = self.latency.len() + self.gave_up;
        (ended > 0).then(|| self.gave_up as f64 / ended as f64)
    }
}

/// The first bucket of each stretch of a run of so many buckets of this length in nanoseconds, for so
/// many populations. A stretch begins at each of the cuts, so that none lies on both sides of one.
pub(crate) fn slices(buckets: usize, length: u64, populations: usize, cuts: &[usize]) -> Vec<u32> {
    let most = (MOST_OF_ALL / populations.max(1)).clamp(1, MOST);
    let shortest = usize::try_from(SHORTEST.div_ceil(length.max(1))).unwrap_or(usize::MAX);
    let step = buckets.div_ceil(most).max(shortest);
    let mut starts = Vec::new();
    let mut start = 0;
    while start < buckets {
        starts.push(u32::try_from(start).unwrap_or(u32::MAX));
        let cut = cuts.iter().copied().filter(|cut| *cut > start).min();
        let next = start.saturating_add(step);
        start = cut.map_or(next, |cut| cut.min(next));
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_is_half_a_second_and_ends_at_every_cut() {
        let tenth = 100_000_000;
        assert_eq!(
            slices(27, tenth, 1, &[12, 14]),
            [0, 5, 10, 12, 14, 19, 24],
            "of buckets of 100 ms"
        );
        assert_eq!(slices(3, 2_000_000_000, 1, &[1, 9]), [0, 1, 2]);
        assert_eq!(slices(0, tenth, 1, &[]), [0; 0]);
    }

    #[test]
    fn a_long_run_and_many_populations_have_no_more_slices() {
        let of = |buckets, populations| slices(buckets, 1_000_000, populations, &[]).len();
        assert_eq!(of(60_000, 1), 120);
        assert_eq!(of(1_000_000, 1), 200);
        assert_eq!(of(1_000_000, 100), 20);
        assert_eq!(of(1_000_000, 1_000_000), 1);
        assert_eq!(slices(100, 0, 0, &[]).len(), 1, "no bucket is that short");
    }

    #[test]
    fn the_share_that_gave_up_is_of_those_that_ended() {
        let mut one = Endings::default();
        assert_eq!(one.given_up(), None);
        one.gave_up = 3;
        assert_eq!(one.given_up(), Some(1.0));
        let mut two = Endings::default();
        two.latency.add(7);
        one.merge(&two);
        assert_eq!((one.given_up(), one.latency.len()), (Some(0.75), 1));
    }
}
