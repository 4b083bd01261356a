//! What is known of a log beside its lines?

use std::time::Duration;

/// What is known of a log beside its lines.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// The share of the requests that is in the log, above 0 and at most 1. Default 1: all.
    ///
    /// Nothing in a log shows that it was sampled, and what requests found cannot be counted in one that was.
    pub sampled: f64,
    /// Whether one pool of workers is known to have written the log. Default no.
    pub is_one_pool: bool,
    /// Leaves requests out that the service had for longer, such as long polls and streams, which take no worker. Default `None`:
    /// they are left out where the log says something without them alone.
    pub longest: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sampled: 1.0,
            is_one_pool: false,
            longest: None,
        }
    }
}
