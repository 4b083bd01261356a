//! When does a breaker open in a plain outage, and for how long?

use std::time::Duration;

use becalm::Breaker;
use becalm::breaker::{Span, Trip};
use serde::Serialize;

use super::millis::{maybe, millis};

/// How a breaker behaves in a plain outage: from one moment on every attempt fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Opening {
    /// As a flag.
    pub text: String,
    /// Attempts that must have failed, at the least.
    pub after_failures: u32,
    /// How long the outage lasts by then at a steady rate, after a healthy time; none where only
    /// attempts count.
    #[serde(rename = "after_ms", serialize_with = "maybe")]
    pub after: Option<Duration>,
    /// The shortest that it is open, the first time.
    #[serde(rename = "open_least_ms", serialize_with = "millis")]
    pub open_least: Duration,
    /// The longest that it is open, the first time.
    #[serde(rename = "open_most_ms", serialize_with = "millis")]
    pub open_most: Duration,
    /// The longest that it is open when it opens again and again.
    #[serde(rename = "open_again_most_ms", serialize_with = "millis")]
    pub open_again_most: Duration,
    /// Probes at a time.
    pub probes: u32,
    /// Probes that must succeed.
    pub successes: u32,
}

impl Opening {
    /// The figures of a breaker.
    pub fn of(breaker: &Breaker) -> Self {
        let (after_failures, after) = opens(breaker);
        let least = 1.0 - breaker.jitter;
        Self {
            text: breaker.to_string(),
            after_failures,
            after,
            open_least: breaker.open.mul_f64(least.clamp(0.0, 1.0)),
            open_most: breaker.open,
            open_again_most: breaker.open_max,
            probes: breaker.probes,
            successes: breaker.successes,
        }
    }
}

/// Failed attempts at the least, and the time at a steady rate where a window of time is full of
/// successes.
fn opens(breaker: &Breaker) -> (u32, Option<Duration>) {
    match breaker.trip {
        Trip::Consecutive(failures) => (failures, None),
        Trip::Share { share, window } => match window {
            Span::Calls(calls) => (share_of(calls, share), None),
            Span::Time(time) => (
                share_of(breaker.min_calls, share),
                Some(time.mul_f64(share)),
            ),
            _ => (1, None),
        },
        _ => (1, None),
    }
}

/// So many of a whole, rounded up.
fn share_of(whole: u32, share: f64) -> u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // at most the whole
    let part = (f64::from(whole) * share).ceil() as u32;
    part.clamp(1, whole.max(1))
}
