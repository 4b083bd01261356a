//! What is in a range? At each step how many requests were answered, and how long they took.

use std::time::Duration;

/// What a query said over a range of time.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Range {
    /// The time between two points.
    pub step: Duration,
    /// In the order of time.
    pub points: Vec<Point>,
    /// Whether the series tell how requests were answered.
    pub tells_status: bool,
}

/// A step of a range.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Point {
    /// Seconds since the epoch.
    pub at: f64,
    /// Answers per second.
    pub rate: f64,
    /// Seconds that these took, per second: by Little's law the requests that were in the service, on average.
    pub time: f64,
    /// Of the answers, those that refuse or fail, per second.
    pub failed: f64,
    /// What a gauge says of the requests in the service.
    pub in_flight: Option<f64>,
    /// Processes that answered.
    pub instances: f64,
    /// By how long they took, in the order of their bounds.
    pub buckets: Vec<Bucket>,
}

/// Answers that took no longer than a bound.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Bucket {
    /// Seconds; the last one is infinite.
    pub bound: f64,
    /// Answers per second.
    pub rate: f64,
}

impl Point {
    /// The share of answers that took no longer than this bound, of the buckets.
    pub(super) fn share_within(&self, bound: f64) -> Option<f64> {
        let all = self.buckets.last()?.rate;
        let of = self.buckets.iter().find(|it| it.bound >= bound)?;
        (all > 0.0).then(|| of.rate / all)
    }
}
