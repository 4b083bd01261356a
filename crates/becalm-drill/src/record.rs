//! How do policies, counts and phases stand in the JSON document of every drill?

use becalm::Policy;
use serde::{Serialize, Serializer};

use super::judgement::Contender;
use super::ledger::{Count, Recording};
use super::origin::milliseconds;
use super::statistics::PhaseFigures;

/// A policy as it stands in the JSON document.
#[derive(Debug, Serialize)]
pub struct PolicyRecord {
    backoff: String,
    base_ms: f64,
    multiplier: f64,
    cap_ms: f64,
    floor_ms: f64,
    jitter: String,
    attempts: u32,
    attempt_timeout_ms: Option<f64>,
    deadline_ms: Option<f64>,
    budget: String,
    breaker: Option<String>,
    hedge: Option<String>,
    bulkhead: Option<String>,
    throttle: Option<String>,
    rate: Option<String>,
}

impl From<&Policy> for PolicyRecord {
    fn from(policy: &Policy) -> Self {
        Self {
            backoff: policy.backoff.to_string(),
            base_ms: milliseconds(policy.base),
            multiplier: policy.multiplier,
            cap_ms: milliseconds(policy.cap),
            floor_ms: milliseconds(policy.floor),
            jitter: policy.jitter.to_string(),
            attempts: policy.attempts,
            attempt_timeout_ms: policy.attempt_timeout.map(milliseconds),
            deadline_ms: policy.deadline.map(milliseconds),
            budget: policy.budget.to_string(),
            breaker: policy.breaker.as_ref().map(ToString::to_string),
            hedge: policy.hedge.as_ref().map(ToString::to_string),
            bulkhead: policy.bulkhead.as_ref().map(ToString::to_string),
            throttle: policy.throttle.as_ref().map(ToString::to_string),
            rate: policy.rate.as_ref().map(ToString::to_string),
        }
    }
}

/// A phase as it stands in the JSON document.
#[derive(Debug, Serialize)]
pub struct PhaseRecord<'a> {
    #[serde(flatten)]
    figures: &'a PhaseFigures,
    goodput_per_s: f64,
    amplification: Option<f64>,
    /// Of the calls that succeed.
    p99_ms: Option<f64>,
}

/// Counts of a recording by name, each the sum of some.
#[derive(Debug)]
pub struct Totals<'a>(
    pub &'a Recording,
    pub &'static [(&'static str, &'static [Count])],
);

impl Serialize for Totals<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let total = |counts: &[Count]| counts.iter().map(|it| self.0.total(*it)).sum::<u64>();
        serializer.collect_map(self.1.iter().map(|(name, counts)| (name, total(counts))))
    }
}

/// What clients did.
pub const CLIENTS: &[(&str, &[Count])] = &[
    ("calls", &[Count::Call]),
    ("first_tries", &[Count::FirstTry]),
    ("attempts", &[Count::FirstTry, Count::Retry]),
    ("succeeded", &[Count::Succeeded]),
];

/// What the service did.
pub const SERVICE: &[(&str, &[Count])] = &[
    ("arrived", &[Count::Arrived]),
    ("refused", &[Count::Refused]),
    ("served", &[Count::Served]),
    ("served_nobody", &[Count::ServedNobody]),
];

/// Counts of a recording by name, one number for every bucket.
#[derive(Debug)]
pub struct PerBucket<'a>(pub &'a Recording, pub &'static [(&'static str, Count)]);

impl Serialize for PerBucket<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let buckets = |(name, count): &(&'static str, Count)| (*name, self.0.buckets(*count));
        serializer.collect_map(self.1.iter().map(buckets))
    }
}

/// What is counted of a service that tells nothing of itself.
pub const ATTEMPTS: &[(&str, Count)] = &[
    ("calls", Count::Call),
    ("attempts", Count::Arrived),
    ("succeeded", Count::Succeeded),
];

/// The phases of one policy.
pub fn phases(contender: &Contender) -> Vec<PhaseRecord<'_>> {
    let phases = contender.measured.phases.iter().zip(contender.p99);
    phases
        .map(|(figures, p99)| PhaseRecord {
            figures,
            goodput_per_s: figures.goodput(),
            amplification: figures.amplification(),
            p99_ms: p99.map(milliseconds),
        })
        .collect()
}
