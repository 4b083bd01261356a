//! How does a program read the second part?

use becalm::Policy;
use serde::Serialize;

use super::outcome::{Racer, TailOutcome};
use super::{EVERY, RATE, SLOW, Tail, WARM_UP};
use crate::origin::milliseconds;
use crate::record::PolicyRecord;

/// The second part as it stands in the JSON document.
#[derive(Debug, Serialize)]
pub struct TailRecord<'a> {
    length_ms: f64,
    warm_up_ms: f64,
    rate_per_s: f64,
    slow_one_in: u32,
    slow_ms: f64,
    lateness_ms: f64,
    as_expected: bool,
    conclusion: &'a str,
    variants: Vec<RacerRecord<'a>>,
}

#[derive(Debug, Serialize)]
struct RacerRecord<'a> {
    name: &'static str,
    title: &'a str,
    policy: PolicyRecord,
    calls: u64,
    first_tries: u64,
    retries: u64,
    hedges: u64,
    attempts: u64,
    succeeded: u64,
    /// Attempts / calls.
    amplification: f64,
    p50_ms: Option<f64>,
    p95_ms: Option<f64>,
    p99_ms: Option<f64>,
    worst_ms: Option<f64>,
}

impl<'a> TailRecord<'a> {
    /// The record of an outcome.
    pub fn new(tail: &Tail, outcome: &'a TailOutcome) -> Self {
        Self {
            length_ms: milliseconds(tail.length),
            warm_up_ms: milliseconds(WARM_UP),
            rate_per_s: RATE,
            slow_one_in: EVERY,
            slow_ms: milliseconds(SLOW),
            lateness_ms: milliseconds(outcome.lateness),
            as_expected: outcome.as_expected,
            conclusion: &outcome.conclusion,
            variants: outcome.racers.iter().map(RacerRecord::from).collect(),
        }
    }
}

impl<'a> From<&'a Racer> for RacerRecord<'a> {
    fn from(racer: &'a Racer) -> Self {
        let at = |share| racer.latencies.quantile(share).map(milliseconds);
        let policy: &Policy = &racer.variant.policy;
        Self {
            name: racer.variant.name,
            title: &racer.variant.title,
            policy: policy.into(),
            calls: racer.calls,
            first_tries: racer.first_tries,
            retries: racer.retries,
            hedges: racer.hedges,
            attempts: racer.attempts(),
            succeeded: racer.succeeded,
            amplification: racer.load(),
            p50_ms: at(0.5),
            p95_ms: at(0.95),
            p99_ms: at(0.99),
            worst_ms: at(1.0),
        }
    }
}
