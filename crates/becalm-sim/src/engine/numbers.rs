//! Which number is a count, or a time?

use std::time::Duration;

/// A count, exactly.
#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}

/// Nanoseconds, as many as there is room for.
#[inline]
pub(crate) fn nanos(time: Duration) -> u64 {
    let seconds = time.as_secs().saturating_mul(1_000_000_000);
    seconds.saturating_add(u64::from(time.subsec_nanos()))
}
