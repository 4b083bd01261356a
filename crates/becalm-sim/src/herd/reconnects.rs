//! How did the fleet come back? Attempts and connections in buckets of time.

use std::time::Duration;

use crate::record::Histogram;

/// What happened in one run of a herd. Equal seeds leave equal records.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Reconnects {
    /// The length of a bucket.
    pub bucket: Duration,
    /// Attempts to connect in each bucket, from the loss on. The loss itself is none.
    pub attempts: Vec<u32>,
    /// Attempts that were accepted in each bucket.
    pub connected: Vec<u32>,
    /// From the end of the outage to the connection, for each client that has one.
    pub after_outage: Histogram,
    /// From the loss to the connection, for each client that has one.
    pub downtime: Histogram,
    /// When the last connection was made, in nanoseconds; 0 for none.
    pub last: u64,
    /// Clients that gave up.
    pub gave_up: u64,
    /// Clients that were still waiting at the horizon, or had yet to lose their connection.
    pub waiting: u64,
    /// The run was ended by [`most_attempts`](super::Herd::most_attempts).
    pub is_cut_short: bool,
    /// Events that were handled: one for each attempt.
    pub events: u64,
}

impl Reconnects {
    /// The bucket with the most attempts from this moment on, and how many those are; the first of
    /// equals.
    pub fn peak_from(&self, from: Duration) -> (Duration, u32) {
        let first = self.index(from);
        let counts = self.attempts.iter().enumerate().skip(first);
        let peak = counts.fold((first, 0), |peak, (at, count)| {
            if *count > peak.1 { (at, *count) } else { peak }
        });
        let at = u32::try_from(peak.0).unwrap_or(u32::MAX);
        (self.bucket.saturating_mul(at), peak.1)
    }

    /// The attempts from one moment to another, both whole buckets.
    pub fn attempts_between(&self, from: Duration, to: Duration) -> u64 {
        let (from, to) = (self.index(from), self.index(to));
        let counts = self.attempts.iter().skip(from);
        let counts = counts.take(to.saturating_sub(from));
        counts.map(|count| u64::from(*count)).sum()
    }

    /// All attempts.
    pub fn attempts(&self) -> u64 {
        crate::record::total(&self.attempts)
    }

    fn index(&self, at: Duration) -> usize {
        let buckets = at.as_nanos() / self.bucket.as_nanos().max(1);
        usize::try_from(buckets).unwrap_or(usize::MAX)
    }
}
