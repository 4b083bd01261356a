//! Is it heeded that a layer below could not retry?
//!
//! Where many calls hear that a budget below is spent, or a breaker open, the dependency is
//! overloaded, and more attempts harm. Where few do, one instance of several is broken, and the next
//! attempt goes to another. So a retrier heeds the word while more than a fifth of its attempts hear it.
//!
//! The share is a moving average: s += (told - s) / 64 at each failed attempt and each call that
//! succeeds. From nothing, 15 words in a row are heeded; while nobody tells, a success reads one
//! word and writes none. `docs/layers.md` has the figures: to heed always costs nine calls of a
//! hundred where one instance of ten is broken; to heed never amplifies an overload by 1.20, not 1.12.

use crate::sync::{AtomicU32, Ordering, change};

/// The share of a retrier's recent attempts that a layer below told so.
#[derive(Debug)]
pub(crate) struct Heard {
    share: AtomicU32,
}

/// The share of attempts that are all told.
const ALL: u32 = 1 << 16;
/// Attempts over which the average goes.
const MEMORY: u32 = 64;
/// Above this share it is heeded.
const HEEDED: u32 = ALL / 5;

impl Heard {
    /// Nobody has told anything.
    pub fn nothing() -> Self {
        Self {
            share: AtomicU32::new(0),
        }
    }

    /// An attempt was told; whether that is heeded.
    #[cold]
    pub fn told(&self) -> bool {
        let told = change(&self.share, |share| {
            Some(share + (ALL - share).div_ceil(MEMORY))
        });
        told.is_some_and(|(_, share)| share > HEEDED)
    }

    /// An attempt has ended, and was not told.
    #[inline]
    pub fn untold(&self) {
        if self.share.load(Ordering::Relaxed) != 0 {
            self.forget_a_little();
        }
    }

    #[cold]
    fn forget_a_little(&self) {
        change(&self.share, |share| Some(share - share.div_ceil(MEMORY)));
    }
}

#[cfg(all(test, not(becalm_loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fifteen_words_in_a_row_are_heeded_and_one_of_ten_never_is() {
        let heard = Heard::nothing();
        let first = (1..100).find(|_| heard.told());
        assert_eq!(first, Some(15));

        let heard = Heard::nothing();
        for _ in 0..10_000 {
            assert!(!heard.told());
            (0..9).for_each(|_| heard.untold());
        }
    }

    #[test]
    fn it_is_forgotten_to_the_last() {
        let heard = Heard::nothing();
        while !heard.told() {}
        (0..1000).for_each(|_| heard.untold());
        assert_eq!(
            heard.share.load(Ordering::Relaxed),
            0,
            "nothing more is written"
        );
    }

    proptest! {
        /// The average in floating point, up to what rounding adds.
        #[test]
        fn it_is_the_moving_average(told in proptest::collection::vec(any::<bool>(), 0..600)) {
            let heard = Heard::nothing();
            let mut average = 0.0_f64;
            for told in told {
                if told {
                    heard.told();
                } else {
                    heard.untold();
                }
                average += (f64::from(u8::from(told)) - average) / f64::from(MEMORY);
                let share = f64::from(heard.share.load(Ordering::Relaxed)) / f64::from(ALL);
                prop_assert!((share - average).abs() < 64.0 / f64::from(ALL), "{share} {average}");
            }
        }
    }
}
