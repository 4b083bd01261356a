//! How is a number drawn whose density falls, without a logarithm? From layers of equal area.
//!
//! The ziggurat (Marsaglia, Tsang: *The Ziggurat Method for Generating Random Variables*, Journal of
//! Statistical Software, 2000). Layers of one height after the other cover the area under the density; one of
//! them is chosen, and a point in it. Nearly all of a layer lies under the density; what is drawn in the rest
//! of it is compared with the density itself, and the lowest layer has the tail besides. Nothing
//! is approximated.
//!
//! The compiler makes the tables, and nothing but the four operations of arithmetic is used, which IEEE 754
//! rounds in one way: bits are the same on every platform.

/// As many as a byte has values.
const LAYERS: usize = 256;

/// How a density falls from its highest value, 1 at 0.
#[derive(Clone, Copy)]
enum Falls {
    /// As e^-x.
    Exponentially,
    /// As e^(-x²/2).
    Normally,
}

/// The layers under a density.
pub(super) struct Ziggurat {
    /// Where each layer ends, from the lowest, which is taken as wide as its area, with the tail, over its height. The last
    /// is the tip of the density: no layer.
    ends: [f64; LAYERS + 1],
    /// Where each layer begins.
    heights: [f64; LAYERS + 1],
    falls: Falls,
}

/// Layers under e^-x.
pub(super) static EXPONENTIAL: Ziggurat = Ziggurat::new(
    Falls::Exponentially,
    7.697_117_470_131_05,
    0.003_949_659_822_581_556,
);

/// Layers under e^(-x²/2).
pub(super) static NORMAL: Ziggurat = Ziggurat::new(
    Falls::Normally,
    3.654_152_885_361_009,
    0.004_928_673_233_974_658,
);

impl Ziggurat {
    /// Under this density, with its tail from here on, in layers of this area. One of the two follows from the other: all layers
    /// together end at the tip.
    const fn new(falls: Falls, tail: f64, area: f64) -> Self {
        let (mut ends, mut heights) = ([0.0; LAYERS + 1], [1.0; LAYERS + 1]);
        heights[0] = 0.0;
        ends[0] = area / falls.height(tail);
        let (mut layer, mut end) = (1, tail);
        while layer < LAYERS {
            ends[layer] = end;
            heights[layer] = falls.height(end);
            end = falls.end(heights[layer] + area / end);
            layer += 1;
        }
        Self {
            ends,
            heights,
            falls,
        }
    }

    /// A layer by these random bits, the lowest eight of them.
    #[inline]
    #[expect(clippy::cast_possible_truncation)] // a byte
    pub fn layer(bits: u64) -> usize {
        bits as usize % LAYERS
    }

    #[inline]
    pub fn end(&self, layer: usize) -> f64 {
        self.ends[layer]
    }

    /// Up to where all of this layer is under the density.
    #[inline]
    pub fn safe(&self, layer: usize) -> f64 {
        self.ends[layer + 1]
    }

    /// Where the tail begins.
    pub fn tail(&self) -> f64 {
        self.ends[1]
    }

    /// Whether a point is under the density: at x, and at this share of the layer's height.
    pub fn has(&self, layer: usize, x: f64, share: f64) -> bool {
        let (low, high) = (self.heights[layer], self.heights[layer + 1]);
        low + share * (high - low) < self.falls.height(x)
    }
}

impl Falls {
    const fn height(self, x: f64) -> f64 {
        match self {
            Self::Exponentially => decayed(x),
            Self::Normally => decayed(x * x / 2.0),
        }
    }

    /// Where it has fallen to this height; 0 for more than it ever has.
    const fn end(self, height: f64) -> f64 {
        let decay = decay(height);
        match self {
            Self::Exponentially => decay,
            Self::Normally => root(2.0 * decay),
        }
    }
}

/// e^-x from 0 to 16, to 15 digits: the series, for a 32nd part.
const fn decayed(x: f64) -> f64 {
    let (part, mut term, mut sum) = (x / 32.0, 16.0, 1.0);
    while term > 0.0 {
        sum = 1.0 - part / term * sum;
        term -= 1.0;
    }
    let (mut power, mut doubling) = (sum, 0);
    while doubling < 5 {
        power *= power;
        doubling += 1;
    }
    power
}

/// What [`decayed`] makes this of: Newton's method, which comes from below.
const fn decay(height: f64) -> f64 {
    let (mut x, mut step) = (0.0, 0);
    while step < 24 {
        x += 1.0 - height / decayed(x);
        step += 1;
    }
    x
}

/// The square root of what is below 16: Newton's method, which comes from above.
const fn root(square: f64) -> f64 {
    let (mut x, mut step) = (4.0, 0);
    while step < 16 {
        x = 0.5 * (x + square / x);
        step += 1;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the whole area under the density.
    fn area_of_tail(of: &Ziggurat) -> f64 {
        let tail = of.tail();
        match of.falls {
            Falls::Exponentially => libm::exp(-tail),
            Falls::Normally => {
                libm::sqrt(core::f64::consts::FRAC_PI_2)
                    * libm::erfc(tail * core::f64::consts::FRAC_1_SQRT_2)
            }
        }
    }

    fn height(of: &Ziggurat, x: f64) -> f64 {
        match of.falls {
            Falls::Exponentially => libm::exp(-x),
            Falls::Normally => libm::exp(-x * x / 2.0),
        }
    }

    /// Every entry: each layer has the area of the lowest, which has the tail; its corners lie on the density. What
    /// rounding leaves adds up to the tip.
    #[test]
    fn all_layers_have_one_area_and_end_at_the_density() {
        for of in [&EXPONENTIAL, &NORMAL] {
            let area = of.tail() * height(of, of.tail()) + area_of_tail(of);
            let near = |found: f64, expected: f64, layer: usize| {
                let off = (found / expected - 1.0).abs();
                assert!(off < 1e-11, "{layer}: {found} instead of {expected}");
            };
            near(of.ends[0] * of.heights[1], area, 0);
            for layer in 1..LAYERS {
                let tall = of.heights[layer + 1] - of.heights[layer];
                near(of.ends[layer] * tall, area, layer);
                near(of.heights[layer], height(of, of.ends[layer]), layer);
            }
            assert_eq!((of.ends[LAYERS], of.heights[LAYERS]), (0.0, 1.0));
        }
    }

    #[test]
    fn powers_are_those_of_libm() {
        for step in 0..=1600 {
            let x = f64::from(step) / 100.0;
            let (found, expected) = (decayed(x), libm::exp(-x));
            assert!((found / expected - 1.0).abs() < 1e-14, "{x}: {found}");
        }
    }
}
