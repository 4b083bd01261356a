//! What do the values of a setting, or of a parameter, go through?

use std::time::Duration;

use becalm::duration;
use becalm::support::Human;

/// What a range of values goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Whole numbers from 1 up.
    Whole,
    /// Numbers.
    Number,
    /// Times.
    Time,
    /// Nothing: words have no range.
    Word,
}

impl Scale {
    pub(crate) fn number(self, text: &str) -> Option<f64> {
        match self {
            Self::Time => duration::parse(text).ok().map(|it| it.as_secs_f64()),
            Self::Whole => text.parse::<u32>().ok().filter(|it| *it > 0).map(f64::from),
            Self::Number => text
                .parse::<f64>()
                .ok()
                .filter(|it| it.is_finite() && *it >= 0.0),
            Self::Word => None,
        }
    }

    /// To three digits, which is how people would write it.
    pub(crate) fn rounded(self, value: f64) -> f64 {
        if self == Self::Whole {
            return value.round();
        }
        format!("{value:.2e}").parse().unwrap_or(value)
    }

    pub(crate) fn text(self, value: f64) -> String {
        match self {
            Self::Time => {
                let time = Duration::try_from_secs_f64(value).unwrap_or(Duration::MAX);
                Human(time).to_string()
            }
            _ => format!("{value}"),
        }
    }
}
