//! Where does an entity's chance come from? From a stream of its own, so that adding one client
//! shifts nobody else.

use becalm::rng::{Random, SplitMix64};

use super::ziggurat::{EXPONENTIAL, NORMAL, Ziggurat};

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
        Self::after(seed, entity, 0)
    }

    /// The stream of this entity under this seed after `draws` draws. An entity that counts its draws need not keep its stream.
    #[inline]
    pub fn after(seed: u64, entity: u64, draws: u32) -> Self {
        let start = SplitMix64::new(seed).next_u64();
        let of_entity = SplitMix64::new(start.wrapping_add(entity)).next_u64();
        Self(SplitMix64::after(of_entity, draws.into()))
    }

    /// A number in (0, 1], in steps of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        above_zero(self.next_u64())
    }

    /// True with this probability: never for 0 and below, always for 1 and above.
    #[inline]
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() <= probability
    }

    /// An exponentially distributed number with mean 1, above 0: mostly one draw.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        let bits = self.next_u64();
        let layer = Ziggurat::layer(bits);
        let x = above_zero(bits) * EXPONENTIAL.end(layer);
        if x < EXPONENTIAL.safe(layer) {
            return x;
        }
        self.exponential_at_edge(layer, x)
    }

    #[cold]
    fn exponential_at_edge(&mut self, layer: usize, x: f64) -> f64 {
        if layer == 0 {
            // What has lasted so long goes on as if it had just begun.
            return EXPONENTIAL.tail() + self.exponential();
        }
        if EXPONENTIAL.has(layer, x, self.unit()) {
            return x;
        }
        self.exponential()
    }

    /// A normally distributed number with mean 0 and standard deviation 1: mostly one draw.
    #[inline]
    pub fn normal(&mut self) -> f64 {
        let bits = self.next_u64();
        let layer = Ziggurat::layer(bits);
        let x = around_zero(bits) * NORMAL.end(layer);
        if x.abs() < NORMAL.safe(layer) {
            return x;
        }
        self.normal_at_edge(layer, x)
    }

    #[cold]
    fn normal_at_edge(&mut self, layer: usize, x: f64) -> f64 {
        if layer == 0 {
            return self.normal_tail().copysign(x);
        }
        if NORMAL.has(layer, x, self.unit()) {
            return x;
        }
        self.normal()
    }

    /// Beyond where the tail begins (Marsaglia: *Generating a Variable from the Tail of the Normal
    /// Distribution*, Technometrics, 1964).
    fn normal_tail(&mut self) -> f64 {
        loop {
            let beyond = self.exponential() / NORMAL.tail();
            if 2.0 * self.exponential() > beyond * beyond {
                return NORMAL.tail() + beyond;
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

/// A number in (0, 1], in steps of 2^-53: the lowest eleven bits do not count.
#[inline]
#[expect(clippy::cast_precision_loss)] // 53 bits are exact
fn above_zero(bits: u64) -> f64 {
    ((bits >> 11) + 1) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// A number in [-1, 1), in steps of 2^-52: the lowest eleven bits do not count.
#[inline]
#[expect(clippy::cast_precision_loss, clippy::cast_possible_wrap)] // 53 bits are exact
fn around_zero(bits: u64) -> f64 {
    (bits as i64 >> 11) as f64 * (1.0 / (1_u64 << 52) as f64)
}
