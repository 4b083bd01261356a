//! How do policies, counts and phases stand in the JSON document of every drill?

use becalm::Policy;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::judgement::Contender;
use super::ledger::{Count, Recording};
use super::origin::milliseconds;
use super::statistics::PhaseFigures;

/// A policy as it stands in the JSON document.
#[derive(Debug)]
pub struct PolicyRecord<'a>(pub &'a Policy);

impl Serialize for PolicyRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(policy) = self;
        let mut keys = serializer.serialize_map(None)?;
        keys.serialize_entry("backoff", &policy.backoff.to_string())?;
        keys.serialize_entry("base_ms", &milliseconds(policy.base))?;
        keys.serialize_entry("multiplier", &policy.multiplier)?;
        keys.serialize_entry("cap_ms", &milliseconds(policy.cap))?;
        keys.serialize_entry("floor_ms", &milliseconds(policy.floor))?;
        keys.serialize_entry("jitter", &policy.jitter.to_string())?;
        keys.serialize_entry("attempts", &policy.attempts)?;
        keys.serialize_entry(
            "attempt_timeout_ms",
            &policy.attempt_timeout.map(milliseconds),
        )?;
        keys.serialize_entry("deadline_ms", &policy.deadline.map(milliseconds))?;
        keys.serialize_entry("budget", &policy.budget.to_string())?;
        keys.serialize_entry("breaker", &policy.breaker.map(|it| it.to_string()))?;
        keys.serialize_entry("hedge", &policy.hedge.map(|it| it.to_string()))?;
        keys.serialize_entry("bulkhead", &policy.bulkhead.map(|it| it.to_string()))?;
        keys.serialize_entry("throttle", &policy.throttle.map(|it| it.to_string()))?;
        keys.serialize_entry("rate", &policy.rate.map(|it| it.to_string()))?;
        keys.end()
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

/// Adds counts of a recording by name, each the sum of some.
///
/// # Errors
///
/// As the serializer says.
pub fn totals<M: SerializeMap>(
    figures: &mut M,
    recording: &Recording,
    names: &[(&str, &[Count])],
) -> Result<(), M::Error> {
    names.iter().try_for_each(|(name, counts)| {
        let total: u64 = counts.iter().map(|it| recording.total(*it)).sum();
        figures.serialize_entry(name, &total)
    })
}

/// What clients did.
pub const CLIENTS: &[(&str, &[Count])] = &[
    ("calls", &[Count::Call]),
    ("first_tries", &[Count::FirstTry]),
    ("attempts", &[Count::FirstTry, Count::Retry, Count::Hedge]),
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
