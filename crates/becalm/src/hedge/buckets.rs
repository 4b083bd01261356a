//! Which bucket does a latency fall into?
//!
//! Buckets grow with what they hold, as in `HdrHistogram` (Tene): sixteen to each power of two, so
//! a latency and any other in its bucket differ by at most a sixteenth (6.25 %). Below 1.024 us the
//! step is 64 ns, finer than any timer; from 2^38 ns (4 min 35 s) on all latencies are one. The records of
//! `becalm-sim` and `becalm-fit` are four times as fine and have no end: they grow, and these are a fixed
//! array of atomics without a heap.

/// Bits of a nanosecond that are not told apart.
const UNIT: u32 = 6;
/// Bits of a latency that are told apart.
const SUB: u32 = 4;
/// Bits of the longest latency that is told apart. The model checker follows each bucket through
/// each interleaving: it gets the first sixteen.
const LONGEST: u32 = if cfg!(becalm_loom) { UNIT + SUB } else { 38 };

/// Every latency falls into one of these.
pub(super) const COUNT: usize = ((LONGEST - UNIT - SUB + 1) << SUB) as usize;

/// The bucket of this many nanoseconds.
#[inline]
pub(super) fn of(nanos: u64) -> usize {
    let units = nanos >> UNIT;
    let power = (units | 1 << SUB).ilog2() - SUB; // 0 also below the first power of two
    let bucket = (u64::from(power) << SUB) + (units >> power);
    usize::try_from(bucket).map_or(COUNT - 1, |bucket| bucket.min(COUNT - 1))
}

/// The first nanosecond of a bucket; of the one behind the last, where the last one ends.
pub(super) fn start(bucket: usize) -> u64 {
    let power = (bucket >> SUB).saturating_sub(1);
    ((bucket - (power << SUB)) as u64) << power << UNIT
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_follow_each_other_without_a_gap() {
        assert_eq!((COUNT, start(0), start(COUNT)), (464, 0, 1 << LONGEST));
        for bucket in 0..COUNT {
            assert_eq!(of(start(bucket)), bucket);
            assert_eq!(of(start(bucket + 1) - 1), bucket);
        }
        assert_eq!(of(u64::MAX), COUNT - 1);
    }

    proptest! {
        #[test]
        fn a_bucket_is_a_sixteenth_wide(nanos in 1024_u64..1 << LONGEST) {
            let bucket = of(nanos);
            let width = start(bucket + 1) - start(bucket);
            prop_assert!(width * 16 <= start(bucket));
        }
    }
}
