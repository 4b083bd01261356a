//! Which number is a count, or a time?

use std::time::Duration;

/// A count, exactly.
#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}

/// Nanoseconds, as many as there is room for.
pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
