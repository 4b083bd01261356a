//! How is a budget configured?

use core::fmt;
use core::str::FromStr;

/// The configuration of a budget: plain data.
///
/// Read and written as `ratio:0.1`, `ratio:0.1,burst:10`, `ratio:0.1,burst:10,floor:1` or `none`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Budget {
    /// No bound across calls. A call's attempts are its only limit; linted.
    None,
    /// Retries are a share of first tries.
    Ratio(Ratio),
}

/// A 10 % budget with a burst of 10: the share of the Google SRE book (ch. 21, *Handling
/// Overload*), and room for a client too small to have earned a token yet.
impl Default for Budget {
    fn default() -> Self {
        Self::Ratio(Ratio::default())
    }
}

/// Over any interval: retries <= `ratio` x first tries + `floor_per_second` x length + `burst`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Ratio {
    /// Tokens that a first try deposits. From 0.000001 to 1000, in steps of a millionth. Default
    /// 0.1.
    pub ratio: f64,
    /// Tokens that a full budget holds. From 1 to 1 000 000. Default 10.
    pub burst: f64,
    /// Tokens that each second adds, whatever the traffic. From 0 to 10 000. Default 0.
    pub floor_per_second: f64,
}

impl Default for Ratio {
    fn default() -> Self {
        Self {
            ratio: 0.1,
            burst: 10.0,
            floor_per_second: 0.0,
        }
    }
}

impl Budget {
    /// Retries are at most this share of first tries, with a burst of 10.
    pub fn ratio(ratio: f64) -> Self {
        Self::Ratio(Ratio {
            ratio,
            ..Ratio::default()
        })
    }

    /// The same with another burst. Changes nothing on a budget that has none.
    #[must_use]
    pub fn burst(mut self, tokens: f64) -> Self {
        if let Self::Ratio(ratio) = &mut self {
            ratio.burst = tokens;
        }
        self
    }

    /// The same with tokens that each second adds. Changes nothing on a budget that has none.
    #[must_use]
    pub fn floor_per_second(mut self, tokens: f64) -> Self {
        if let Self::Ratio(ratio) = &mut self {
            ratio.floor_per_second = tokens;
        }
        self
    }

    /// Refuses what the budget cannot keep.
    pub fn validate(self) -> Result<(), InvalidBudget> {
        let Self::Ratio(Ratio {
            ratio,
            burst,
            floor_per_second,
        }) = self
        else {
            return Ok(());
        };
        // Written so that NaN fails each of them.
        if !(1e-6..=1e3).contains(&ratio) {
            Err(InvalidBudget::Ratio)
        } else if !(1.0..=1e6).contains(&burst) {
            Err(InvalidBudget::Burst)
        } else if !(0.0..=1e4).contains(&floor_per_second) {
            Err(InvalidBudget::Floor)
        } else {
            Ok(())
        }
    }
}

/// Why a budget is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidBudget {
    /// The kind is not known.
    Kind,
    /// A parameter is not known, or has no number behind its colon.
    Parameter,
    /// The ratio is out of range.
    Ratio,
    /// The burst is out of range.
    Burst,
    /// The floor is out of range.
    Floor,
}

impl fmt::Display for InvalidBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kind => "the budget is not one of none, ratio:SHARE",
            Self::Parameter => {
                "the budget has an unknown parameter; write ratio:0.1,burst:10,floor:1"
            }
            Self::Ratio => {
                "the budget's ratio must be from 0.000001 to 1000; use none for no bound"
            }
            Self::Burst => "the budget's burst must be from 1 to 1000000 tokens",
            Self::Floor => "the budget's floor must be from 0 to 10000 tokens per second",
        })
    }
}

impl core::error::Error for InvalidBudget {}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Ratio(Ratio {
                ratio,
                burst,
                floor_per_second,
            }) => {
                write!(f, "ratio:{ratio},burst:{burst}")?;
                if *floor_per_second > 0.0 {
                    write!(f, ",floor:{floor_per_second}")?;
                }
                Ok(())
            }
        }
    }
}

impl FromStr for Budget {
    type Err = InvalidBudget;

    fn from_str(text: &str) -> Result<Self, InvalidBudget> {
        if text == "none" {
            return Ok(Self::None);
        }
        let mut parts = text.split(',').map(str::trim);
        let share = parts.next().and_then(|part| part.strip_prefix("ratio:"));
        let number = |text: &str| text.parse::<f64>().map_err(|_| InvalidBudget::Parameter);
        let mut budget = Ratio {
            ratio: number(share.ok_or(InvalidBudget::Kind)?)?,
            ..Ratio::default()
        };
        for part in parts {
            match part.split_once(':').ok_or(InvalidBudget::Parameter)? {
                ("burst", tokens) => budget.burst = number(tokens)?,
                ("floor", tokens) => budget.floor_per_second = number(tokens)?,
                _ => return Err(InvalidBudget::Parameter),
            }
        }
        let budget = Self::Ratio(budget);
        budget.validate().map(|()| budget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_budget_reads_back_what_it_displays() {
        for text in [
            "none",
            "ratio:0.1,burst:10",
            "ratio:0.25,burst:3.5,floor:1.5",
        ] {
            assert_eq!(text.parse::<Budget>().unwrap().to_string(), text);
        }
        assert_eq!("ratio:0.1".parse(), Ok(Budget::default()));
    }

    #[test]
    fn out_of_range_is_refused_by_name() {
        for (text, reason) in [
            ("10%", InvalidBudget::Kind),
            ("ratio:", InvalidBudget::Parameter),
            ("ratio:0.1,brust:3", InvalidBudget::Parameter),
            ("ratio:0.0000001", InvalidBudget::Ratio),
            ("ratio:nan", InvalidBudget::Ratio),
            ("ratio:inf", InvalidBudget::Ratio),
            ("ratio:-1", InvalidBudget::Ratio),
            ("ratio:0.1,burst:0.5", InvalidBudget::Burst),
            ("ratio:0.1,floor:-1", InvalidBudget::Floor),
        ] {
            assert_eq!(text.parse::<Budget>(), Err(reason), "{text}");
        }
    }
}
