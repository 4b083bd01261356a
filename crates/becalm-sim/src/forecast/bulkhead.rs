//! What does a bulkhead let through?

use std::time::Duration;

use becalm::Bulkhead;
use becalm::bulkhead::Limit;
use serde::Serialize;

/// The places of a bulkhead.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Places {
    /// As a flag.
    pub text: String,
    /// Attempts at once, at most.
    pub calls: u32,
    /// Calls that wait for a place, at most.
    pub waiting: u32,
    /// Attempts a second where every one takes its whole timeout; none without a timeout.
    pub worst_per_second: Option<f64>,
}

impl Places {
    /// The figures of a bulkhead in a policy with this attempt timeout.
    pub fn of(bulkhead: &Bulkhead, timeout: Option<Duration>) -> Self {
        let calls = match bulkhead.limit {
            Limit::Aimd(it) => it.max,
            Limit::Gradient(it) => it.max,
            Limit::Fixed(calls) => calls,
            _ => u32::MAX,
        };
        Self {
            text: bulkhead.to_string(),
            calls,
            waiting: bulkhead.waiting,
            worst_per_second: timeout.map(|it| f64::from(calls) / it.as_secs_f64()),
        }
    }
}
