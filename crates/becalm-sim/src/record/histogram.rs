//! How are latencies kept in little room? In buckets of 1/64 of their size.

/// Times in nanoseconds, each to within 1.6 %. Adding is an increment; two can be merged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Histogram {
    counts: Vec<u32>,
    total: u64,
}

/// Sub-buckets of a power of two, as a power of two.
const BITS: u32 = 6;

impl Histogram {
    /// Adds a time.
    #[inline]
    pub fn add(&mut self, nanos: u64) {
        let at = index(nanos);
        if at >= self.counts.len() {
            self.counts.resize(at + 1, 0);
        }
        if let Some(count) = self.counts.get_mut(at) {
            *count = count.saturating_add(1);
        }
        self.total += 1;
    }

    /// How many times were added.
    pub fn len(&self) -> u64 {
        self.total
    }

    /// Whether none was.
    pub fn is_empty(&self) -> bool {
        self.total == 0
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
    }

    /// Takes out the times of another, which were all added.
    pub(crate) fn take_out(&mut self, other: &Self) {
        for (count, less) in self.counts.iter_mut().zip(&other.counts) {
            *count = count.saturating_sub(*less);
        }
        self.total = self.total.saturating_sub(other.total);
    }

    /// The time that this share of all does not exceed, in nanoseconds; `None` of nothing.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )]
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let rank = ((self.total as f64 * share).ceil() as u64).clamp(1, self.total.max(1));
        let mut seen = 0;
        let at = self.counts.iter().position(|count| {
            seen += u64::from(*count);
            seen >= rank
        })?;
        Some(middle(at))
    }
}

fn index(nanos: u64) -> usize {
    let magnitude = 63_u32
        .saturating_sub(nanos.leading_zeros())
        .saturating_sub(BITS);
    let within = nanos >> magnitude;
    // At most 58 x 64 + 127.
    usize::try_from((u64::from(magnitude) << BITS) + within).unwrap_or(usize::MAX)
}

fn middle(index: usize) -> u64 {
    let index = index as u64;
    let magnitude = (index >> BITS).saturating_sub(1);
    let within = index - (magnitude << BITS);
    (within << magnitude) + ((1 << magnitude) >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_is_kept_to_within_a_sixtieth() {
        for shift in 0..63 {
            for nanos in [1_u64 << shift, (1 << shift) + 1, (2 << shift) - 1] {
                let mut histogram = Histogram::default();
                histogram.add(nanos);
                let kept = histogram.quantile(0.5).unwrap();
                assert!(kept.abs_diff(nanos) <= nanos / 64, "{nanos} {kept}");
            }
        }
    }

    #[test]
    fn s3_what_is_taken_out_leaves_what_the_others_alone_are() {
        let of = |times: std::ops::Range<u64>| {
            let mut histogram = Histogram::default();
            times.for_each(|it| histogram.add(it * it));
            histogram
        };
        let (few, many) = (of(3..9), of(0..1_000));
        let mut all = few.clone();
        all.merge(&many);
        all.take_out(&many);
        assert_eq!(all.len(), few.len());
        for share in [0.0, 0.2, 0.5, 0.99, 1.0] {
            assert_eq!(all.quantile(share), few.quantile(share));
        }
        all.take_out(&few);
        assert_eq!(all.quantile(0.5), None);
    }

    #[test]
    fn quantiles_are_by_rank() {
        let mut histogram = Histogram::default();
        for nanos in 1..=100 {
            histogram.add(nanos);
        }
        assert_eq!(histogram.quantile(0.5), Some(50));
        assert_eq!(histogram.quantile(0.99), Some(99));
        assert_eq!(histogram.quantile(0.0), Some(1));
        assert_eq!(Histogram::default().quantile(0.5), None);
    }
}
