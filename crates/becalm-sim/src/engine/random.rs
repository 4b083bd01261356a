//! Where does an entity's chance come from? From a stream of its own, so that adding one client
//! shifts nobody else.

use becalm::rng::{Random, SplitMix64};

/// One entity's random stream: eight bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream(SplitMix64);

impl Stream {
    /// The stream of this entity under this seed. Streams of different entities, and of different
    /// seeds, have nothing in common.
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

    /// True with this probability.
    #[inline]
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() <= probability
    }

    /// An exponentially distributed number with mean 1.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        -libm::log(self.unit())
    }

    /// A whole number below the bound; 0 for a bound of 0.
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
