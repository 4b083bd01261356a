//! Which latency does this share of attempts stay below, where some were cut off before their end?
//!
//! The product-limit estimate of Kaplan and Meier (*Nonparametric Estimation from Incomplete
//! Observations*, JASA 1958). Of those that reach a bucket, the share that ends in it is counted;
//! the share that survives all buckets up to here is the product. An attempt that was cut off
//! counts among those that reach each bucket up to its own, and says nothing about those behind:
//! there the others stand for it. So below the first cut the estimate is the plain share, and a
//! cut, wherever it comes, moves nothing below itself.

use super::buckets;

/// What a bucket holds.
#[derive(Clone, Copy, Default)]
pub(super) struct Count {
    /// Attempts that ended here.
    pub ended: u64,
    /// Attempts that were cut off here.
    pub cut_off: u64,
}

/// The quantile of these counts, in nanoseconds, linear within its bucket; `None` if fewer than
/// `min_ended` attempts ended.
///
/// Where the longest were all cut off and the quantile lies among them, it is the end of the last
/// bucket that holds any: the least that it can be (Efron: *The Two Sample Problem with Censored
/// Data*, 1967, counts the last one as ended).
pub(super) fn quantile(
    count: impl Fn(usize) -> Count,
    quantile: f64,
    min_ended: u64,
) -> Option<u64> {
    let (mut ended, mut reached, mut last) = (0, 0, 0);
    for bucket in 0..buckets::COUNT {
        let here = count(bucket);
        ended += here.ended;
        reached += here.ended + here.cut_off;
        if here.ended + here.cut_off > 0 {
            last = bucket;
        }
    }
    if ended == 0 || ended < min_ended || !(0.0..=1.0).contains(&quantile) {
        return None;
    }
    // A product of hundreds of factors may miss an exact share by its rounding.
    let target = 1.0 - quantile + 1e-9;
    let mut survive = 1.0;
    for bucket in 0..=last {
        let here = count(bucket);
        // Others may have been counted in the meantime.
        reached = reached.max(here.ended + here.cut_off);
        if here.ended > 0 {
            let before = survive;
            survive *= share(reached - here.ended, reached);
            if survive <= target {
                return Some(within(bucket, (before - target) / (before - survive)));
            }
        }
        reached -= here.ended + here.cut_off;
    }
    Some(buckets::start(last + 1))
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

/// The point at this share of a bucket.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a bucket is far narrower than 2^52 and the share is not negative"
)]
fn within(bucket: usize, share: f64) -> u64 {
    let start = buckets::start(bucket);
    let width = buckets::start(bucket + 1) - start;
    start + (width as f64 * share.clamp(0.0, 1.0)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Random, SplitMix64};
    use alloc::vec;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn counts(ended: &[u64], cut_off: &[u64]) -> Vec<Count> {
        let mut counts = vec![Count::default(); buckets::COUNT];
        for &nanos in ended {
            counts[buckets::of(nanos)].ended += 1;
        }
        for &nanos in cut_off {
            counts[buckets::of(nanos)].cut_off += 1;
        }
        counts
    }

    fn estimate(counts: &[Count], q: f64) -> u64 {
        quantile(|bucket| counts[bucket], q, 1).expect("enough samples")
    }

    /// The slow one, obviously right: everybody sorted; whoever was cut off hands its weight in
    /// equal parts to all who came further (Efron's redistribution to the right).
    #[expect(clippy::cast_precision_loss, reason = "at most a hundred samples")]
    fn redistributed(counts: &[Count], q: f64) -> usize {
        let total: u64 = counts.iter().map(|c| c.ended + c.cut_off).sum();
        let mut weights = Vec::new(); // (bucket, weight, whether it ended)
        for (bucket, count) in counts.iter().enumerate() {
            weights.extend((0..count.ended).map(|_| (bucket, 1.0 / total as f64, true)));
            weights.extend((0..count.cut_off).map(|_| (bucket, 1.0 / total as f64, false)));
        }
        let mut below = 0.0;
        for at in 0..weights.len() {
            let (bucket, weight, ended) = weights[at];
            let behind = weights.len() - at - 1;
            if ended {
                below += weight;
                if below >= q - 1e-9 {
                    return bucket;
                }
            } else {
                for other in &mut weights[at + 1..] {
                    other.1 += weight / behind as f64;
                }
            }
        }
        weights.last().expect("not empty").0
    }

    #[test]
    fn nothing_and_nonsense_have_no_quantile() {
        let none = counts(&[], &[]);
        assert_eq!(quantile(|bucket| none[bucket], 0.5, 0), None);
        let cut = counts(&[], &[5, 5]);
        assert_eq!(quantile(|bucket| cut[bucket], 0.5, 0), None);
        let one = counts(&[5], &[]);
        assert_eq!(quantile(|bucket| one[bucket], 0.5, 2), None);
        let mostly_cut = counts(&[5], &[5; 9]);
        assert_eq!(quantile(|bucket| mostly_cut[bucket], 0.5, 2), None);
        for q in [f64::NAN, -0.1, 1.1, f64::INFINITY] {
            assert_eq!(quantile(|bucket| one[bucket], q, 1), None);
        }
        assert!(quantile(|bucket| one[bucket], 0.5, 1).is_some());
    }

    #[test]
    #[expect(clippy::cast_precision_loss, reason = "at most a hundred samples")]
    fn an_exact_share_is_not_rounded_into_the_next_bucket() {
        for all in 2..100_usize {
            let mut counts = counts(&[], &[]);
            (0..all).for_each(|sample| counts[4 * sample].ended = 1);
            for rank in 1..=all {
                let found = estimate(&counts, rank as f64 / all as f64);
                let bucket = 4 * (rank - 1);
                let bounds = buckets::start(bucket)..=buckets::start(bucket + 1);
                assert!(bounds.contains(&found), "{rank} of {all}: {found}");
            }
        }
    }

    #[test]
    fn where_the_longest_were_cut_off_it_is_at_least_as_long_as_they_were() {
        let p95 = estimate(&counts(&[1_000_000; 90], &[50_000_000; 10]), 0.95);
        assert!((50_000_000..=53_125_000).contains(&p95), "{p95}");
    }

    proptest! {
        #[test]
        fn it_is_the_bucket_that_redistribution_finds(seed: u64, ended in 1..60, cut_off in 0..60) {
            let mut random = SplitMix64::new(seed);
            let mut some = |n| (0..n).map(|_| 1 + random.next_u64() % 2_000_000).collect::<Vec<_>>();
            let counts = counts(&some(ended), &some(cut_off));
            for q in [0.5, 0.9, 0.95, 0.99] {
                let expected = redistributed(&counts, q);
                let found = estimate(&counts, q);
                let bounds = buckets::start(expected)..=buckets::start(expected + 1);
                prop_assert!(bounds.contains(&found), "p{q}: {found}, not in {bounds:?}");
            }
        }

        #[test]
        fn a_cut_moves_nothing_below_itself(seed: u64) {
            let mut random = SplitMix64::new(seed);
            let latencies: Vec<u64> = (0..500).map(|_| random.next_u64() % 1_000_000).collect();
            let cut = 500_000;
            let all = counts(&latencies, &[]);
            let (below, above): (Vec<u64>, Vec<u64>) =
                latencies.iter().partition(|&&nanos| buckets::of(nanos) < buckets::of(cut));
            let cut = counts(&below, &vec![cut; above.len()]);
            for q in [0.1, 0.3, 0.4] {
                prop_assert!(estimate(&all, q).abs_diff(estimate(&cut, q)) <= 1);
            }
        }
    }
}
