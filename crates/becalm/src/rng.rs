//! Where does randomness come from, and can two calls share it?
//!
//! No: each failing call seeds a stream of its own from the operating system's entropy, once, at
//! its first failure. A forked child and a restored snapshot therefore never repeat each other
//! (beyond the draws of a call that was in flight), and later draws cost a nanosecond.

/// A source of random bits, as the decision wants it.
///
/// ```
/// // Any closure will do: here, "always the middle of the interval".
/// let mut middle = || u64::MAX / 2;
/// assert_eq!(becalm::rng::Random::next_u64(&mut middle), u64::MAX / 2);
/// ```
pub trait Random {
    /// The next 64 uniformly distributed bits.
    fn next_u64(&mut self) -> u64;
}

impl<F: FnMut() -> u64> Random for F {
    fn next_u64(&mut self) -> u64 {
        self()
    }
}

/// `SplitMix64` (Steele, Lea, Flood: *Fast Splittable Pseudorandom Number Generators*, OOPSLA 2014).
///
/// Eight bytes of state, so a fleet of ten million simulated clients can have one each, and the
/// same bytes on every platform for ever, which a third-party generator does not promise. Not for
/// secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The stream of this seed. Any seed is good, 0 included.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }
}

/// What each draw adds to the state: the golden ratio.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl SplitMix64 {
    /// The generator of this seed after `draws` draws, without making them.
    #[must_use]
    pub const fn after(seed: u64, draws: u64) -> Self {
        Self(seed.wrapping_add(STEP.wrapping_mul(draws)))
    }
}

impl Random for SplitMix64 {
    #[inline]
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// A whole number from `low` to `high`, both included, uniform to one part in 2^64 / (high - low).
///
/// Multiply and shift (Lemire: *Fast Random Integer Generation in an Interval*, 2019) without the
/// rejection step: for an hour in nanoseconds the bias is 2 in 10^7, far below any timer.
#[doc(hidden)]
#[inline]
pub fn uniform<R: Random + ?Sized>(random: &mut R, low: u64, high: u64) -> u64 {
    if high <= low {
        return low;
    }
    let bits = u128::from(random.next_u64());
    // Times the width, which may be 2^64.
    let product = bits * u128::from(high - low) + bits;
    low + (product >> 64) as u64
}

#[cfg(feature = "std")]
pub use seed::Seed;

#[cfg(feature = "std")]
mod seed {
    use core::fmt;

    use super::{Random, SplitMix64};
    use crate::sync::{AtomicU64, Ordering};

    /// Where a retrier takes the seed of each failing call's stream from.
    #[derive(Debug, Default)]
    pub struct Seed(Source);

    type Bits = dyn Fn() -> u64 + Send + Sync;

    #[derive(Default)]
    enum Source {
        #[default]
        Entropy,
        Counted {
            seed: u64,
            calls: AtomicU64,
        },
        Given(Box<Bits>),
    }

    impl fmt::Debug for Source {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            match self {
                Self::Entropy => f.write_str("Entropy"),
                Self::Counted { seed, calls } => f
                    .debug_struct("Counted")
                    .field("seed", seed)
                    .field("calls", calls)
                    .finish(),
                Self::Given(_) => f.write_str("Given"),
            }
        }
    }

    impl Seed {
        /// The operating system's entropy (the default).
        pub const fn entropy() -> Self {
            Self(Source::Entropy)
        }

        /// A reproducible stream for each failing call, in the order in which calls fail first.
        ///
        /// For tests and simulations only: two processes with one seed retry in step.
        pub fn fixed(seed: u64) -> Self {
            Self(Source::Counted {
                seed,
                calls: AtomicU64::new(0),
            })
        }

        /// Every single draw of every call is asked of this function, in the order of the draws.
        ///
        /// For tests that replay a recorded run: no call has a stream of its own, so what a call
        /// gets depends on the others. A driver that takes a whole [`stream`](Self::stream) gets
        /// one that is seeded with a draw.
        ///
        /// ```
        /// use becalm::{Budget, Policy, rng::Seed, time::FakeSleeper};
        /// use std::time::Duration;
        ///
        /// let clock = FakeSleeper::auto();
        /// let retrier = Policy::fixed(Duration::from_secs(8))
        ///     .budget(Budget::None)
        ///     .builder()
        ///     .sleeper(clock.clone())
        ///     .seed(Seed::given(|| u64::MAX)) // always the end of the interval
        ///     .build()?;
        /// let busy = || std::io::Error::from(std::io::ErrorKind::TimedOut);
        /// assert!(retrier.retry_blocking(|_| Err::<(), _>(busy())).is_err());
        /// assert_eq!(clock.slept(), [Duration::from_secs(8); 3]);
        /// # Ok::<(), becalm::policy::InvalidPolicy>(())
        /// ```
        pub fn given(bits: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
            Self(Source::Given(Box::new(bits)))
        }

        /// The draws of a failing call, whose stream is made at the first.
        pub(crate) fn draws<'a>(&'a self, stream: &'a mut Option<SplitMix64>) -> Draws<'a> {
            match &self.0 {
                Source::Given(bits) => Draws::Given(bits),
                _ => Draws::Stream(stream.get_or_insert_with(|| self.stream())),
            }
        }

        /// One draw of a call that has not failed.
        pub(crate) fn draw(&self) -> u64 {
            self.draws(&mut None).next_u64()
        }

        /// The stream of the next failing call.
        pub fn stream(&self) -> SplitMix64 {
            SplitMix64::new(match &self.0 {
                Source::Given(bits) => bits(),
                Source::Entropy => entropy(),
                Source::Counted { seed, calls } => {
                    let call = calls.fetch_add(1, Ordering::Relaxed);
                    // Mixed before the call is added, so that no seed's calls are another's
                    // later ones, and after it, so that neighbours have nothing in common.
                    let start = SplitMix64::new(*seed).next_u64();
                    SplitMix64::new(start.wrapping_add(call)).next_u64()
                }
            })
        }
    }

    /// What a failing call draws from.
    pub(crate) enum Draws<'a> {
        Stream(&'a mut SplitMix64),
        Given(&'a Bits),
    }

    impl Random for Draws<'_> {
        #[inline]
        fn next_u64(&mut self) -> u64 {
            match self {
                Self::Stream(stream) => stream.next_u64(),
                Self::Given(bits) => bits(),
            }
        }
    }

    /// 64 bits from the operating system; where it refuses, from the standard library's hasher
    /// keys, the time and the thread, so that a call never fails for want of entropy.
    pub(crate) fn entropy() -> u64 {
        getrandom::u64().unwrap_or_else(|_| {
            use std::hash::{BuildHasher, RandomState};
            let now = std::time::SystemTime::now();
            RandomState::new().hash_one((now, std::process::id(), std::thread::current().id()))
        })
    }
}

#[cfg(feature = "std")]
pub(crate) use seed::entropy;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix64_gives_the_published_sequence() {
        // Vigna's reference implementation, seed 1234567.
        let mut stream = SplitMix64::new(1_234_567);
        let first: [u64; 3] = core::array::from_fn(|_| stream.next_u64());
        assert_eq!(
            first,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
        assert_eq!(SplitMix64::after(1_234_567, 3), stream);
    }

    #[test]
    fn uniform_reaches_both_ends_and_no_further() {
        assert_eq!(uniform(&mut || 0, 5, 9), 5);
        assert_eq!(uniform(&mut || u64::MAX, 5, 9), 9);
        assert_eq!(uniform(&mut || u64::MAX, 0, u64::MAX), u64::MAX);
        assert_eq!(uniform(&mut || u64::MAX, 9, 5), 9);
    }
}
