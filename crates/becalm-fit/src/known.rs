//! How well is a value known?

use std::fmt;

/// 95 % of a normal distribution lie within this number of standard deviations.
pub(crate) const WITHIN: f64 = 1.96;

/// A value, with how it is known and from what.
#[derive(Debug, Clone, PartialEq)]
pub struct Known<T> {
    /// The value that a scenario gets.
    pub value: T,
    /// Whether it was measured.
    pub how: How<T>,
    /// From what it was measured, or why it was assumed, or what to ask: part of a sentence, in plain English, without
    /// anything that the log says of somebody.
    pub because: String,
}

/// How a value is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum How<T> {
    /// The log shows it.
    Measured {
        /// The lower end of its 95 % interval.
        low: T,
        /// The upper end of its 95 % interval. `None`: open; the log shows no upper end.
        high: Option<T>,
    },
    /// The log cannot show it, and somebody knows it: the value stands in until they are asked.
    Ask,
    /// Somebody said so.
    Given,
}

impl<T> Known<T> {
    /// A value that the log shows, with its 95 % interval; without an upper end it is open.
    pub(crate) fn measured(
        value: T,
        low: T,
        high: impl Into<Option<T>>,
        because: impl Into<String>,
    ) -> Self {
        let high = high.into();
        Self {
            value,
            how: How::Measured { low, high },
            because: because.into(),
        }
    }

    /// A value that somebody said, in place of what the log says or cannot say.
    pub fn given(value: T) -> Self {
        Self {
            value,
            how: How::Given,
            because: "you said so".into(),
        }
    }

    /// A value that somebody else knows.
    pub(crate) fn ask(value: T, because: impl Into<String>) -> Self {
        Self {
            value,
            how: How::Ask,
            because: because.into(),
        }
    }

    /// The value and its ends as something else.
    pub(crate) fn map<U>(self, to: impl Fn(T) -> U) -> Known<U> {
        Known {
            value: to(self.value),
            how: match self.how {
                How::Measured { low, high } => How::Measured {
                    low: to(low),
                    high: high.map(&to),
                },
                How::Ask => How::Ask,
                How::Given => How::Given,
            },
            because: self.because,
        }
    }

    /// Whether the log shows it.
    pub fn is_measured(&self) -> bool {
        matches!(self.how, How::Measured { .. })
    }

    /// Whether the log shows it, but no upper end of it.
    pub fn is_open(&self) -> bool {
        matches!(self.how, How::Measured { high: None, .. })
    }

    /// The ends of its interval, if it was measured and has both.
    pub fn interval(&self) -> Option<(&T, &T)> {
        match &self.how {
            How::Measured {
                low,
                high: Some(high),
            } => Some((low, high)),
            _ => None,
        }
    }
}

impl<T> How<T> {
    /// The word for it: `measured`, `ask` or `given`.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Measured { .. } => "measured",
            Self::Ask => "ask",
            Self::Given => "given",
        }
    }
}

impl<T> fmt::Display for How<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
