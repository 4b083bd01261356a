//! How is a distribution of times written, and read back?
//!
//! `"10ms"`, `"exponential:10ms"`, `"uniform:5ms..15ms"`, `"lognormal:10ms,sigma:1"`,
//! `"bimodal:10ms,slow:1s,share:0.05"`, `"empirical:8ms,9ms,30ms"`.

use std::fmt;
use std::str::FromStr;

use becalm::duration::{self, InvalidDuration};
use becalm::support::Human;

use crate::engine::Distribution;

/// Why a text is not a distribution. `Display` says what to write instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidDistribution {
    /// It is of no known kind.
    Kind,
    /// A duration in it cannot be read.
    Duration(InvalidDuration),
    /// The ends of `uniform` are missing or in the wrong order.
    Ends,
    /// `sigma` of `lognormal` is missing or out of range.
    Sigma,
    /// `slow` or `share` of `bimodal` is missing or out of range.
    Bimodal,
    /// There are no times.
    Empty,
}

impl fmt::Display for InvalidDistribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kind => {
                "the distribution is none of constant, exponential, uniform, lognormal, bimodal, \
                 empirical; write \"10ms\" or \"exponential:10ms\""
            }
            Self::Duration(reason) => return reason.fmt(f),
            Self::Ends => "write both ends, the shorter first: \"uniform:5ms..15ms\"",
            Self::Sigma => "write the median, and sigma from 0 to 10: \"lognormal:10ms,sigma:1\"",
            Self::Bimodal => {
                "write the fast time, the slow one, and the share of slow ones from 0 to 1: \
                 \"bimodal:10ms,slow:1s,share:0.05\""
            }
            Self::Empty => "write at least one time: \"empirical:8ms,9ms,30ms\"",
        })
    }
}

impl std::error::Error for InvalidDistribution {}

impl From<InvalidDuration> for InvalidDistribution {
    fn from(reason: InvalidDuration) -> Self {
        Self::Duration(reason)
    }
}

/// As [`FromStr`] reads it: exact.
impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(time) => Human(*time).fmt(f),
            Self::Exponential(mean) => write!(f, "exponential:{}", Human(*mean)),
            Self::Uniform(low, high) => write!(f, "uniform:{}..{}", Human(*low), Human(*high)),
            Self::Lognormal { median, sigma } => {
                write!(f, "lognormal:{},sigma:{sigma}", Human(*median))
            }
            Self::Bimodal {
                fast,
                slow,
                slow_share,
            } => {
                let (fast, slow) = (Human(*fast), Human(*slow));
                write!(f, "bimodal:{fast},slow:{slow},share:{slow_share}")
            }
            Self::Empirical(times) => {
                let times: Vec<_> = times.iter().map(|time| Human(*time).to_string()).collect();
                write!(f, "empirical:{}", times.join(","))
            }
        }
    }
}

impl FromStr for Distribution {
    type Err = InvalidDistribution;

    fn from_str(text: &str) -> Result<Self, InvalidDistribution> {
        let Some((kind, parameters)) = text.split_once(':') else {
            let is_time = text.trim_start().starts_with(|c: char| !c.is_alphabetic());
            return match duration::parse(text) {
                Ok(time) => Ok(Self::Constant(time)),
                Err(reason) if is_time || text.trim().is_empty() => Err(reason.into()),
                Err(_) => Err(InvalidDistribution::Kind),
            };
        };
        match kind.trim() {
            "constant" => Ok(Self::Constant(duration::parse(parameters)?)),
            "exponential" => Ok(Self::Exponential(duration::parse(parameters)?)),
            "uniform" => uniform(parameters),
            "lognormal" => lognormal(parameters),
            "bimodal" => bimodal(parameters),
            "empirical" => empirical(parameters),
            _ => Err(InvalidDistribution::Kind),
        }
    }
}

fn uniform(parameters: &str) -> Result<Distribution, InvalidDistribution> {
    let ends = parameters.split_once("..");
    let (low, high) = ends.ok_or(InvalidDistribution::Ends)?;
    let (low, high) = (duration::parse(low)?, duration::parse(high)?);
    if low > high {
        return Err(InvalidDistribution::Ends);
    }
    Ok(Distribution::Uniform(low, high))
}

fn lognormal(parameters: &str) -> Result<Distribution, InvalidDistribution> {
    let mut parts = parameters.split(',');
    let median = duration::parse(parts.next().unwrap_or_default())?;
    let sigma = match (parts.next().and_then(named), parts.next()) {
        (Some(("sigma", sigma)), None) => number(sigma, 10.0),
        _ => None,
    };
    let sigma = sigma.ok_or(InvalidDistribution::Sigma)?;
    Ok(Distribution::Lognormal { median, sigma })
}

fn bimodal(parameters: &str) -> Result<Distribution, InvalidDistribution> {
    let mut parts = parameters.split(',');
    let fast = duration::parse(parts.next().unwrap_or_default())?;
    let (mut slow, mut share) = (None, None);
    for part in parts {
        match named(part) {
            Some(("slow", time)) if slow.is_none() => slow = Some(duration::parse(time)?),
            Some(("share", of)) if share.is_none() => share = number(of, 1.0),
            _ => return Err(InvalidDistribution::Bimodal),
        }
    }
    let (Some(slow), Some(slow_share)) = (slow, share) else {
        return Err(InvalidDistribution::Bimodal);
    };
    Ok(Distribution::Bimodal {
        fast,
        slow,
        slow_share,
    })
}

fn empirical(parameters: &str) -> Result<Distribution, InvalidDistribution> {
    if parameters.trim().is_empty() {
        return Err(InvalidDistribution::Empty);
    }
    let times: Result<_, _> = parameters.split(',').map(duration::parse).collect();
    Ok(Distribution::Empirical(times?))
}

/// A parameter with its name.
fn named(part: &str) -> Option<(&str, &str)> {
    let (name, value) = part.split_once(':')?;
    Some((name.trim(), value.trim()))
}

/// A number from 0 up to a bound.
fn number(text: &str, most: f64) -> Option<f64> {
    let number = text.parse::<f64>().ok()?;
    (0.0..=most).contains(&number).then_some(number)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use proptest::prelude::*;

    const fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn reads_what_is_documented() {
        for (text, expected) in [
            ("10ms", Distribution::Constant(ms(10))),
            ("constant: 10ms", Distribution::Constant(ms(10))),
            ("exponential:10ms", Distribution::Exponential(ms(10))),
            ("uniform:5ms..15ms", Distribution::Uniform(ms(5), ms(15))),
            (
                "lognormal:10ms, sigma:1",
                Distribution::Lognormal {
                    median: ms(10),
                    sigma: 1.0,
                },
            ),
            (
                "bimodal:10ms,share:0.05,slow:1s",
                Distribution::Bimodal {
                    fast: ms(10),
                    slow: ms(1000),
                    slow_share: 0.05,
                },
            ),
            (
                "empirical:8ms,30ms",
                Distribution::Empirical(vec![ms(8), ms(30)]),
            ),
        ] {
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn refuses_with_a_remedy() {
        for (text, words) in [
            ("", "empty"),
            ("10", "no unit"),
            ("soon", "exponential:10ms"),
            ("pareto:10ms", "exponential:10ms"),
            ("exponential:", "empty"),
            ("uniform:5ms", "uniform:5ms..15ms"),
            ("uniform:15ms..5ms", "the shorter first"),
            ("lognormal:10ms", "sigma"),
            ("lognormal:10ms,sigma:-1", "sigma"),
            ("lognormal:10ms,sigma:nan", "sigma"),
            ("lognormal:10ms,sigma:1,sigma:2", "sigma"),
            ("bimodal:10ms,slow:1s", "share"),
            ("bimodal:10ms,slow:1s,share:2", "from 0 to 1"),
            ("bimodal:10ms,slow:1s,slow:2s,share:0.1", "the fast time"),
            ("empirical:", "at least one"),
        ] {
            let refusal = text.parse::<Distribution>().unwrap_err().to_string();
            assert!(refusal.contains(words), "{text}: {refusal}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[a-z0-9:,. ]*") {
            let _ = text.parse::<Distribution>();
        }
    }
}
