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

    /// An axis of this scale that reaches exactly from `low` to `high`; ends that make no sense are
    /// mended. A logarithmic one that would begin at zero or less begins at a thousandth of its end.
    pub fn between(scale: Scale, low: f64, high: f64) -> Self {
        let low = if scale == Scale::Log && low <= 0.0 {
            high / 1000.0
        } else {
            low
        };
        let axis = Self::exact(low, high);
        let has_decades = (1e-15..1e15).contains(&axis.low) && axis.high < 1e16;
        if scale == Scale::Log && has_decades {
            Self { scale, ..axis }
        } else {
            axis
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
                let low = power_of_ten(libm::log10(least).floor());
                let high = power_of_ten(libm::log10(most).ceil());
                Self {
                    scale,
                    low,
                    high: if high > low { high } else { low * 10.0 },
                }
            }
        }
    }

    /// How values are laid along it.
    pub const fn scale(&self) -> Scale {
        self.scale
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
            Scale::Log => libm::log(value / self.low) / libm::log(self.high / self.low),
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
        let first = libm::log10(self.low).floor();
        let count = libm::log10(self.high).ceil() - first;
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
                let value = factor * power_of_ten(exponent);
                if value >= self.low * 0.999_999 && value <= self.high * 1.000_001 {
                    ticks.push(value);
                }
            }
            exponent += stride;
        }
        // Ends within a decade may have no such mark between them.
        if ticks.len() < 2 {
            return self.linear_ticks(wanted);
        }
        ticks
    }
}

/// Ten to a whole power, the same on every platform.
fn power_of_ten(exponent: f64) -> f64 {
    libm::pow(10.0, exponent)
}

/// The step of 1, 2 or 5 times a power of ten that divides `span` into at most `wanted` parts.
fn nice_step(span: f64, wanted: u32) -> f64 {
    let raw = span / f64::from(wanted);
    let power = power_of_ten(libm::log10(raw).floor());
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
    fn a_log_axis_between_exact_ends_has_marks_within_them() {
        for (low, high) in [
            (0.03, 40.0),
            (3.0, 4.0),
            (0.0, 1.0),
            (-1.0, 1e9),
            (5.0, 5.0),
        ] {
            let axis = Axis::between(Scale::Log, low, high);
            let ticks = axis.ticks(5);
            assert!(ticks.len() >= 2, "{low} {high} {ticks:?}");
            let beyond = |tick: &f64| *tick < axis.low() * 0.99 || *tick > axis.high() * 1.01;
            assert!(!ticks.iter().any(beyond), "{low} {high} {ticks:?}");
            let positions = ticks.iter().map(|tick| axis.position(*tick).unwrap());
            assert!(
                positions.is_sorted_by(|a, b| a < b),
                "{low} {high} {ticks:?}"
            );
        }
        let axis = Axis::between(Scale::Log, 0.03, 40.0);
        assert_eq!(axis.ticks(5), [0.1, 1.0, 10.0]);
        let longer = Axis::between(Scale::Log, 0.03, 70.0);
        assert_eq!(longer.ticks(5), [0.1, 1.0, 10.0], "100 is beyond its end");
        assert!(axis.position(0.03) == Some(0.0) && axis.position(40.0) == Some(1.0));
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
