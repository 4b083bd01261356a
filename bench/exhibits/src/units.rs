//! In what units are times told?

use std::time::Duration;

/// In milliseconds, as the JSON document has it.
pub fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// In seconds, for people.
pub fn tenths(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
