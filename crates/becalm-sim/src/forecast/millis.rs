//! How is a length of time written for programs?

use std::time::Duration;

use serde::{Serialize, Serializer};

/// Milliseconds: a whole number where the duration is one, otherwise with a fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Millis(pub Duration);

impl Serialize for Millis {
    #[expect(
        clippy::cast_precision_loss,
        reason = "beyond 104 days the last nanoseconds are lost"
    )]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let nanos = self.0.as_nanos();
        match u64::try_from(nanos / 1_000_000) {
            Ok(millis) if nanos % 1_000_000 == 0 => serializer.serialize_u64(millis),
            _ => serializer.serialize_f64(nanos as f64 / 1e6),
        }
    }
}

/// A duration as [`Millis`].
pub(super) fn millis<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    Millis(*time).serialize(serializer)
}

/// A duration that there may be, as [`Millis`].
#[expect(clippy::ref_option, reason = "as serde calls it")]
pub(super) fn maybe<S: Serializer>(
    time: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    time.map(Millis).serialize(serializer)
}
