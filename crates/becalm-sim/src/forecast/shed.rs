//! What do the guards before a first try leave of the load?

use std::time::Duration;

use becalm::{Throttle, rate::AdaptiveRate};
use serde::Serialize;

use super::millis::{maybe, millis};

/// What an adaptive throttle sheds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shed {
    /// As a flag.
    pub text: String,
    /// Requests that are sent for each that is accepted.
    pub sent_per_accepted: f64,
    /// The largest share that is shed.
    pub most_shed: f64,
    /// The time over which it counts.
    #[serde(rename = "window_ms", serialize_with = "millis")]
    pub window: Duration,
}

impl Shed {
    /// The figures of a throttle.
    pub fn of(throttle: &Throttle) -> Self {
        Self {
            text: throttle.to_string(),
            sent_per_accepted: throttle.k,
            most_shed: throttle.max,
            window: throttle.window,
        }
    }
}

/// What an adaptive rate holds back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rate {
    /// As a flag.
    pub text: String,
    /// The longest that an attempt waits for it.
    #[serde(rename = "max_wait_ms", serialize_with = "maybe")]
    pub max_wait: Option<Duration>,
}

impl Rate {
    /// The figures of an adaptive rate.
    pub fn of(rate: &AdaptiveRate) -> Self {
        Self {
            text: rate.to_string(),
            max_wait: rate.max_wait,
        }
    }
}
