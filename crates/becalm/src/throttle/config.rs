//! How is the adaptive throttle configured?

use crate::reasons::{reasons, require};
use crate::setters::setters;
use core::time::Duration;

/// The configuration of the adaptive throttle: plain data.
///
/// A call is shed with probability min(`max`, (requests - `k` x accepts) / (requests + 1)), over
/// the last `window`, if that is above 0. Where calls have several priorities, the least critical
/// are shed first: [`AdaptiveThrottle`](super::AdaptiveThrottle) tells by how much. Read and written as `accepts:2,within:2m` or
/// `accepts:2,within:2m,max:0.75`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Throttle {
    /// How many requests are sent for each that the server accepts. From 1 to 1000. Default 2
    /// (Google SRE book, ch. 21): the server's accepts are seen soon after it recovers, for as many
    /// requests rejected. Nearer to 1, the server rejects less and recovery is seen later. Of
    /// `k` - 1 a priority has half as much as the one above it; `k` itself is that of
    /// [`Priority::Critical`](super::Priority::Critical), the default.
    pub k: f64,
    /// The time over which is counted, in ten slices. From a second to an hour. Default 2 minutes
    /// (SRE book).
    pub window: Duration,
    /// The largest probability: what is left probes a server that accepts nothing. From 0.01 to 1.
    /// Default 0.9, as in failsafe-go 0.6. The SRE book has no such bound, which is 1: then a busy
    /// client probes a dead server once a window, and needs several windows to see it recover.
    pub max: f64,
}

impl Default for Throttle {
    fn default() -> Self {
        Self {
            k: 2.0,
            window: Duration::from_secs(120),
            max: 0.9,
        }
    }
}

impl Throttle {
    /// As many requests for each that is accepted; else the default.
    #[must_use]
    pub fn accepts(k: f64) -> Self {
        Self {
            k,
            ..Self::default()
        }
    }

    /// Sets the time over which calls are counted.
    #[must_use]
    pub const fn within(mut self, window: Duration) -> Self {
        self.window = window;
        self
    }

    /// Refuses a value that is out of range, naming the parameter and the remedy.
    pub fn validate(self) -> Result<(), InvalidThrottle> {
        let windows = Duration::from_secs(1)..=Duration::from_secs(3600);
        require(&[
            ((1.0..=1e3).contains(&self.k), InvalidThrottle::Accepts),
            (windows.contains(&self.window), InvalidThrottle::Window),
            ((0.01..=1.0).contains(&self.max), InvalidThrottle::Max),
        ])
    }
}

setters! {
    /// Setters: each returns the throttle with one field changed.
    impl Throttle;
    /// Sets the largest probability of shedding a call.
    max: f64;
}

reasons! {
    /// Why an adaptive throttle is refused.
    InvalidThrottle;
    /// The requests per accept are out of range.
    Accepts:
        "the throttle's accepts must be from 1 to 1000 requests per accept; below 1 it would \
         shed calls of a healthy server";
    /// The window is out of range.
    Window: "the throttle's window must be from 1s to 1h";
    /// The largest probability is out of range.
    Max: "the throttle's max must be from 0.01 to 1";
}
