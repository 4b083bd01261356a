//! How is a length of time written in JSON?

use std::time::Duration;

use serde::Serialize;

/// Milliseconds: a whole number where the duration is one, otherwise with a fraction.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Millis {
    Whole(u64),
    Fraction(f64),
}

impl From<Duration> for Millis {
    #[expect(clippy::cast_precision_loss)] // beyond 104 days the last nanoseconds are lost
    fn from(duration: Duration) -> Self {
        let nanos = duration.as_nanos();
        match u64::try_from(nanos / 1_000_000) {
            Ok(millis) if nanos % 1_000_000 == 0 => Self::Whole(millis),
            _ => Self::Fraction(nanos as f64 / 1e6),
        }
    }
}
