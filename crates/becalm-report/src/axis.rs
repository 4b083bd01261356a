//! Where along an axis does a value lie, and which values are marked on it?

/// How values are laid along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Scale {
    /// Equal steps are equally long. Starts at 0. The default.
    #[default]
    Linear,
    /// Equal factors are equally long. Zero and less lie at the low end.
    Log,
}

/// A scale with its ends: finite, in order and apart, whatever the data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
}

impl Axis {
    /// An axis that reaches exactly from `low` to `high`; ends that make no sense are mended.
    pub fn exact(low: f64, high: f64) -> Self {
        let low = if low.is_finite() { low } else { 0.0 };
        let high = if high.is_finite() && high > low {
            high
        } else {
            low + 1.0
        };
        // An infinite width, or one lost to rounding, has no positions.
        if high - low > 0.0 && (high - low).is_finite() {
            Self {
                scale: Scale::Linear,
                low,
                high,
            }
        } else {
            Self {
                scale: Scale::Linear,
                low: 0.0,
                high: 1.0,
            }
        }
    }

    /// An axis for these values, its ends rounded outward to a mark.
    ///
    /// A linear one starts at 0 (or at the least value, if negative); a logarithmic one spans the
    /// powers of ten around the positive values. Without any usable value it spans 0 to 1.
    pub fn around(scale: Scale, values: impl IntoIterator<Item = f64>) -> Self {
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values {
            let usable = value.is_finite()
                && value.abs() < 1e15
                && (scale == Scale::Linear || value > 1e-15);
            if usable {
                least = least.min(value);
                most = most.max(value);
            }
        }
        match scale {
            _ if least > most => Self {
                scale: Scale::Linear,
                ..Self::exact(0.0, 1.0)
            },
            Scale::Linear => {
                let low = least.min(0.0);
                let step = nice_step((most - low).max(f64::MIN_POSITIVE), 6);
                Self::exact((low / step).floor() * step, (most / step).ceil() * step)
            }
            Scale::Log => {
                let low = 10f64.powf(least.log10().floor());
                let high = 10f64.powf(most.log10().ceil());
                Self {
                    scale,
                    low,
                    high: if high > low { high } else { low * 10.0 },
                }
            }
        }
    }

    /// The low end.
    pub const fn low(&self) -> f64 {
        self.low
    }

    /// The high end.
    pub const fn high(&self) -> f64 {
        self.high
    }

    /// Where the value lies, from 0 at the low end to 1 at the high end. Values beyond an end lie
    /// at that end; what is not a number lies nowhere.
    pub fn position(&self, value: f64) -> Option<f64> {
        if value.is_nan() {
            return None;
        }
        let value = value.clamp(self.low, self.high);
        Some(match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value / self.low).ln() / (self.high / self.low).ln(),
        })
    }

    /// The values to mark, in rising order, about `wanted` of them.
    pub fn ticks(&self, wanted: u32) -> Vec<f64> {
        match self.scale {
            Scale::Linear => self.linear_ticks(wanted.max(1)),
            Scale::Log => self.decades(wanted.max(1)),
        }
    }

    fn linear_ticks(&self, wanted: u32) -> Vec<f64> {
        let step = nice_step(self.high - self.low, wanted);
        let slack = step * 1e-6;
        let first = ((self.low - slack) / step).ceil();
        (0..=4 * wanted)
            // Adding 0 turns a negative zero into zero.
            .map(|index| (first + f64::from(index)) * step + 0.0)
            .take_while(|&value| value <= self.high + slack)
            .collect()
    }

    fn decades(&self, wanted: u32) -> Vec<f64> {
        let first = self.low.log10().round();
        let count = self.high.log10().round() - first;
        let stride = (count / f64::from(wanted)).ceil().max(1.0);
        let within: &[f64] = if count <= 2.0 {
            &[1.0, 2.0, 5.0]
        } else {
            &[1.0]
        };
        let mut ticks = Vec::new();
        let mut exponent = first;
        while exponent <= first + count {
            for factor in within {
                let value = factor * 10f64.powf(exponent);
                if value <= self.high * 1.000_001 {
                    ticks.push(value);
                }
            }
            exponent += stride;
        }
        ticks
    }
}

/// The step of 1, 2 or 5 times a power of ten that divides `span` into at most `wanted` parts.
fn nice_step(span: f64, wanted: u32) -> f64 {
    let raw = span / f64::from(wanted);
    let power = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= raw * (1.0 - 1e-9));
    step.filter(|step| step.is_finite() && *step > 0.0)
        .unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: [&[f64]; 7] = [
        &[],
        &[f64::NAN],
        &[f64::INFINITY, f64::NEG_INFINITY],
        &[0.0, 0.0],
        &[-5.0, 5.0],
        &[1e-300, 1e300],
        &[7.0],
    ];

    #[test]
    fn positions_rise_with_values_and_stay_on_the_axis() {
        for scale in [Scale::Linear, Scale::Log] {
            for values in HOSTILE {
                let axis = Axis::around(scale, values.iter().copied());
                let mut last = 0.0;
                for value in [
                    f64::NEG_INFINITY,
                    -3.0,
                    0.0,
                    1e-9,
                    0.5,
                    3.0,
                    7.0,
                    1e9,
                    f64::INFINITY,
                ] {
                    let position = axis.position(value).unwrap();
                    assert!(
                        (0.0..=1.0).contains(&position),
                        "{scale:?} {values:?} {value}"
                    );
                    assert!(position >= last, "{scale:?} {values:?} {value}");
                    last = position;
                }
                assert_eq!(axis.position(f64::NAN), None);
            }
        }
    }

    #[test]
    fn equal_factors_are_equally_long_on_a_log_axis() {
        let axis = Axis::around(Scale::Log, [1.0, 1000.0]);
        let at = |value| axis.position(value).unwrap();
        assert!((at(10.0) - 1.0 / 3.0).abs() < 1e-9);
        assert!((at(100.0) - at(10.0) - (at(20.0) - at(2.0))).abs() < 1e-9);
    }

    #[test]
    fn ticks_are_few_ordered_and_on_the_axis() {
        for scale in [Scale::Linear, Scale::Log] {
            for values in HOSTILE {
                let axis = Axis::around(scale, values.iter().copied());
                let ticks = axis.ticks(5);
                assert!(
                    (2..=20).contains(&ticks.len()),
                    "{scale:?} {values:?} {ticks:?}"
                );
                assert!(ticks.is_sorted_by(|a, b| a < b), "{ticks:?}");
                let slack = (axis.high() - axis.low()) * 1e-5;
                for tick in ticks {
                    assert!(tick >= axis.low() - slack && tick <= axis.high() + slack);
                }
            }
        }
    }

    #[test]
    fn ends_are_rounded_outward_to_a_mark() {
        let axis = Axis::around(Scale::Linear, [3.0, 1_043.0]);
        assert_eq!(
            axis.ticks(6),
            [0.0, 200.0, 400.0, 600.0, 800.0, 1000.0, 1200.0]
        );
        let axis = Axis::around(Scale::Log, [30.0, 400.0]);
        assert_eq!(
            axis.ticks(5),
            [10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0]
        );
    }

    #[test]
    fn exact_ends_are_kept_and_senseless_ones_mended() {
        assert_eq!(Axis::exact(0.0, 10.0).high().to_bits(), 10f64.to_bits());
        for (low, high) in [
            (5.0, 5.0),
            (f64::NAN, f64::NAN),
            (9.0, 1.0),
            (f64::MIN, f64::MAX),
        ] {
            let axis = Axis::exact(low, high);
            assert!(axis.low().is_finite() && axis.high() > axis.low());
        }
    }
}
