//! How is a hedge written, and read back?

use alloc::format;
use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use super::config::{Hedge, HedgeDelay, InvalidHedge, QuantileDelay};
use crate::duration::{self, Human};

impl fmt::Display for Hedge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.delay {
            HedgeDelay::After(delay) => write!(f, "after:{}", Human(*delay))?,
            HedgeDelay::Quantile(delay) => write!(f, "{delay}")?,
        }
        write!(f, ",copies:{}", self.copies)
    }
}

/// What differs from the default, and the shortest delay always.
impl fmt::Display for QuantileDelay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_percentile(f, self.quantile)?;
        write!(f, ",min:{}", Human(self.min))?;
        if let Some(max) = self.max {
            write!(f, ",max:{}", Human(max))?;
        }
        let default = Self::default();
        if self.min_samples != default.min_samples {
            write!(f, ",samples:{}", self.min_samples)?;
        }
        if self.window != default.window {
            write!(f, ",window:{}", Human(self.window))?;
        }
        Ok(())
    }
}

/// Moves the point in the decimal digits: a multiplication by 100 would not read back.
fn write_percentile(f: &mut fmt::Formatter<'_>, quantile: f64) -> fmt::Result {
    let text = format!("{quantile}");
    match text.strip_prefix("0.") {
        Some(digits) if digits.len() <= 2 => write!(f, "p{digits:0<2}"),
        Some(digits) => write!(f, "p{}.{}", &digits[..2], &digits[2..]),
        None => write!(f, "p({text})"), // never valid
    }
}

/// The quantile of a percentile such as `99.9`.
fn quantile(percentile: &str) -> Result<f64, InvalidHedge> {
    let (whole, fraction) = percentile.split_once('.').unwrap_or((percentile, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return Err(InvalidHedge::Kind);
    }
    // Of more than two digits, or one, it is out of range.
    let quantile = format!("0.{whole}{fraction}");
    match quantile.parse() {
        Ok(quantile) if whole.len() == 2 => Ok(quantile),
        _ => Err(InvalidHedge::Quantile),
    }
}

impl FromStr for Hedge {
    type Err = InvalidHedge;

    fn from_str(text: &str) -> Result<Self, InvalidHedge> {
        let duration = |text: &str| -> Result<Duration, InvalidHedge> {
            duration::parse(text).map_err(|_| InvalidHedge::Parameter)
        };
        let number = |text: &str| text.parse().map_err(|_| InvalidHedge::Parameter);
        let mut parts = text.split(',').map(str::trim);
        let kind = parts.next().unwrap_or_default();
        let mut hedge = if let Some(delay) = kind.strip_prefix("after:") {
            Self::after(duration(delay)?)
        } else if let Some(percentile) = kind.strip_prefix('p') {
            Self::at_quantile(quantile(percentile)?)
        } else {
            return Err(InvalidHedge::Kind);
        };
        let follows = matches!(hedge.delay, HedgeDelay::Quantile(_));
        for part in parts {
            hedge = match part.split_once(':').ok_or(InvalidHedge::Parameter)? {
                ("copies", copies) => hedge.copies(number(copies)?),
                ("min", delay) if follows => hedge.min(duration(delay)?),
                ("max", delay) if follows => hedge.max(duration(delay)?),
                ("samples", samples) if follows => hedge.min_samples(number(samples)?),
                ("window", window) if follows => hedge.window(duration(window)?),
                _ => return Err(InvalidHedge::Parameter),
            };
        }
        hedge.validate().map(|()| hedge)
    }
}

impl fmt::Display for InvalidHedge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kind => "the hedge is not one of after:DELAY, p95; write after:50ms or p95",
            Self::Parameter => {
                "the hedge has an unknown parameter; write after:50ms,copies:1 or \
                 p95,min:1ms,max:2s,samples:100,window:30s,copies:1"
            }
            Self::After => "the hedge's delay must be at most 1h",
            Self::Quantile => "the hedge's quantile must be from 0.5 to 0.999 (p50 to p99.9)",
            Self::Min => "the hedge's shortest delay, min, must be at most 1h",
            Self::Max => "the hedge's longest delay, max, must be from its min to 1h",
            Self::Samples => "the hedge's samples must be from 1 to 1000000",
            Self::Window => "the hedge's window must be from 1s to 10m",
            Self::Copies => "the hedge's copies must be from 1 to 4 beside the first attempt",
        })
    }
}

impl core::error::Error for InvalidHedge {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;

    #[test]
    fn a_hedge_reads_back_what_it_displays() {
        for text in [
            "after:50ms,copies:1",
            "after:0s,copies:4",
            "p95,min:10ms,copies:2",
            "p50,min:0s,copies:1",
            "p99.9,min:1ms,max:2s,samples:5000,window:1m,copies:3",
        ] {
            assert_eq!(text.parse::<Hedge>().unwrap().to_string(), text);
        }
        assert_eq!("p95".parse(), Ok(Hedge::at_quantile(0.95)));
        assert_eq!("p99.9".parse(), Ok(Hedge::at_quantile(0.999)));
        let after = Hedge::after(Duration::from_millis(50));
        assert_eq!("after:50ms".parse(), Ok(after));
    }

    #[test]
    fn out_of_range_is_refused_by_name() {
        for (text, reason) in [
            ("", InvalidHedge::Kind),
            ("95", InvalidHedge::Kind),
            ("p", InvalidHedge::Kind),
            ("p95%", InvalidHedge::Kind),
            ("p-95", InvalidHedge::Kind),
            ("p5", InvalidHedge::Quantile),
            ("p49.9", InvalidHedge::Quantile),
            ("p99.91", InvalidHedge::Quantile),
            ("p100", InvalidHedge::Quantile),
            ("p950", InvalidHedge::Quantile),
            ("after:", InvalidHedge::Parameter),
            ("after:50", InvalidHedge::Parameter),
            ("after:61m", InvalidHedge::After),
            ("after:1s,min:1ms", InvalidHedge::Parameter),
            ("p95,mni:1ms", InvalidHedge::Parameter),
            ("p95,min", InvalidHedge::Parameter),
            ("p95,min:2h", InvalidHedge::Min),
            ("p95,min:10ms,max:9ms", InvalidHedge::Max),
            ("p95,max:2h", InvalidHedge::Max),
            ("p95,samples:0", InvalidHedge::Samples),
            ("p95,samples:1000001", InvalidHedge::Samples),
            ("p95,window:999ms", InvalidHedge::Window),
            ("p95,window:11m", InvalidHedge::Window),
            ("p95,copies:0", InvalidHedge::Copies),
            ("after:1s,copies:5", InvalidHedge::Copies),
        ] {
            assert_eq!(text.parse::<Hedge>(), Err(reason), "{text}");
        }
        let nan = Hedge::at_quantile(f64::NAN);
        assert_eq!(nan.validate(), Err(InvalidHedge::Quantile));
        let forever = Hedge::after(Duration::MAX);
        assert_eq!(forever.validate(), Err(InvalidHedge::After));
        // What is refused can still be shown.
        for quantile in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1.0, 1e-300] {
            let _ = Hedge::at_quantile(quantile).to_string();
        }
    }

    #[test]
    fn five_samples_lie_above_the_quantile() {
        for (quantile, needed) in [(0.5, 100), (0.95, 100), (0.96, 125), (0.99, 500)] {
            let delay = QuantileDelay {
                quantile,
                ..QuantileDelay::default()
            };
            assert_eq!(delay.samples_needed(), needed, "{quantile}");
        }
        let p999 = QuantileDelay {
            quantile: 0.999,
            ..QuantileDelay::default()
        };
        assert_eq!(p999.samples_needed(), 5000);
        let many = QuantileDelay {
            min_samples: 7000,
            ..p999
        };
        assert_eq!(many.samples_needed(), 7000);
    }

    proptest! {
        #[test]
        fn every_valid_hedge_reads_back(
            quantile in 0.5..=0.999,
            min in 0_u64..=1_000_000_000,
            above in proptest::option::of(0_u64..=3_000_000_000),
            samples in 1_u32..=1_000_000,
            window in 1_000_000_000_u64..=600_000_000_000,
            copies in 1_u32..=4,
        ) {
            let mut hedge = Hedge::at_quantile(quantile)
                .min(Duration::from_nanos(min))
                .min_samples(samples)
                .window(Duration::from_nanos(window))
                .copies(copies);
            if let Some(above) = above {
                hedge = hedge.max(Duration::from_nanos(min + above));
            }
            prop_assert_eq!(hedge.to_string().parse(), Ok(hedge));
            let after = Hedge::after(Duration::from_nanos(window)).copies(copies);
            prop_assert_eq!(after.to_string().parse(), Ok(after));
        }

        #[test]
        fn no_text_panics(text in "(p|after:)?.*") {
            let _ = text.parse::<Hedge>();
        }
    }
}
