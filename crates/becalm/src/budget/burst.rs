//! How many tokens does a full budget hold? A number, or what the traffic earns in a while.

use core::time::Duration;

use super::invalid::InvalidBudget;
use crate::reasons::require;

/// The tokens of a full [`Ratio`](super::Ratio): the retries that it pays for at once.
///
/// A number suits one rate of calls alone: ten tokens are a second of a client that makes 100 calls a second, and
/// nothing to one that makes 10 000. So the burst can be given as a time. Written `burst:10`, or `burst:5s,min:10`.
///
/// ```
/// use std::time::Duration;
///
/// use becalm::Budget;
///
/// let fixed = Budget::ratio(0.1).burst(20.0);
/// assert_eq!(fixed.to_string(), "ratio:0.1,burst:20,floor:10/h");
/// let follows = Budget::ratio(0.1).burst(Duration::from_secs(5));
/// assert_eq!(follows.to_string(), "ratio:0.1,burst:5s,min:10,floor:10/h");
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Burst {
    /// This number of tokens, whatever the traffic. From 1 to 1 000 000.
    Tokens(f64),
    /// What the traffic earns in `span` at its mean rate, and at least `min`.
    ///
    /// A retry that asks for its token measures the rate: over the time since the last measurement that is at least
    /// `span` old. A success reads no clock for it.
    Earned {
        /// From 100 ms to 60 s.
        span: Duration,
        /// Tokens of a client that is too small to earn them. From 1 to 1 000 000. Default 10.
        min: f64,
    },
}

/// Tokens of a client that is too small to earn them.
const MIN: f64 = 10.0;

impl Burst {
    /// Five seconds of successes at the mean rate: by then the schedule of a call has ended, and what is left of a hiccup
    /// is an outage. 2 s do not last through 0.2 s without a service; 10 s delay the recovery of one at 95 % of its capacity.
    pub(super) const DEFAULT: Self = Self::Earned {
        span: Duration::from_secs(5),
        min: MIN,
    };

    /// The fewest tokens that a full budget holds, at any rate.
    pub const fn least(self) -> f64 {
        match self {
            Self::Tokens(tokens) => tokens,
            Self::Earned { min, .. } => min,
        }
    }

    /// The time that earns them; zero for a number.
    pub const fn span(self) -> Duration {
        match self {
            Self::Tokens(_) => Duration::ZERO,
            Self::Earned { span, .. } => span,
        }
    }

    /// The tokens of a full budget where each second earns this number of tokens.
    pub fn at(self, earned_per_second: f64) -> f64 {
        self.least()
            .max(earned_per_second * self.span().as_secs_f64())
    }

    pub(super) fn validate(self) -> Result<(), InvalidBudget> {
        let spans = Duration::from_millis(100)..=Duration::from_secs(60);
        let is_span = matches!(self, Self::Tokens(_)) || spans.contains(&self.span());
        require(&[
            (is_span, InvalidBudget::BurstSpan),
            ((1.0..=1e6).contains(&self.least()), InvalidBudget::Burst),
        ])
    }
}

/// This number of tokens.
impl From<f64> for Burst {
    fn from(tokens: f64) -> Self {
        Self::Tokens(tokens)
    }
}

/// What this time earns, and at least 10.
impl From<Duration> for Burst {
    fn from(span: Duration) -> Self {
        Self::Earned { span, min: MIN }
    }
}
