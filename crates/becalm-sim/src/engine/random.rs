//! Where does an entity's chance come from? From a stream of its own, so that adding one client
//! shifts nobody else.

use becalm::rng::{Random, SplitMix64};

/// One entity's random stream: eight bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream(SplitMix64);

impl Stream {
    /// The stream of this entity under this seed.
    ///
    /// All streams are stretches of one sequence of 2^64 numbers, each begun where two rounds of
    /// mixing put it. Two of n entities overlap within k draws with a probability of n² k / 2^64: for
    /// ten million clients of a hundred draws each, one in 1800 for any pair of them to share a
    /// part.
    pub fn of(seed: u64, entity: u64) -> Self {
        let start = SplitMix64::new(seed).next_u64();
        Self(SplitMix64::new(
            SplitMix64::new(start.wrapping_add(entity)).next_u64(),
        ))
    }

    /// A number in (0, 1], in steps of 2^-53.
    #[inline]
    #[expect(clippy::cast_precision_loss)] // 53 bits are exact
    pub fn unit(&mut self) -> f64 {
        ((self.next_u64() >> 11) + 1) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// True with this probability: never for 0 and below, always for 1 and above.
    #[inline]
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() <= probability
    }

    /// An exponentially distributed number with mean 1, at most 36.8: the inverse of its
    /// distribution, one draw.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        -libm::log(self.unit())
    }

    /// A normally distributed number with mean 0 and standard deviation 1.
    ///
    /// The polar method (Marsaglia, Bray: *A Convenient Method for Generating Normal Variables*, 1964).
    /// It makes two at a time; the other one is dropped, since the stream keeps nothing but its
    /// eight bytes.
    #[inline]
    pub fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return x * (-2.0 * libm::log(square) / square).sqrt();
            }
        }
    }

    /// A whole number below the bound, each as likely to one part in 2^64 / bound; 0 for a bound of
    /// 0 (Lemire: *Fast Random Integer Generation in an Interval*, 2019, without its rejection).
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }
}

impl Random for Stream {
    #[inline]
    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
}
