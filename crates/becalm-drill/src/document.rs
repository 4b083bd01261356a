//! What does `--json` hold? A document for programs.
//!
//! Names and units are stable; new ones may be added. Times are in milliseconds, rates per second,
//! arrays `per_bucket` hold one number for every `bucket_ms` from the start of the drill, the two
//! seconds included in which the last calls may end. A figure that does not exist is `null`.

use std::collections::BTreeMap;
use std::iter;
use std::time::Duration;

use becalm::Policy;
use serde::Serialize;

use super::drill::Report;
use super::judgement::Contender;
use super::ledger::{Count, Recording};
use super::origin::{Origin, text};
use super::outcome::Outcome;
use super::setup::{SetupRecord, milliseconds};
use super::statistics::{Overall, PhaseFigures};
use super::tail::TailRecord;
use super::twin::{Twin, TwinRecord};

const SCHEMA: u32 = 1;

#[derive(Debug, Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    origin: Origin<'a>,
    setup: SetupRecord,
    /// By how much the load generator was late at worst.
    lateness_ms: f64,
    /// Every policy did what it is in the drill to show.
    as_expected: bool,
    conclusion: &'a str,
    variants: Vec<VariantRecord<'a>>,
    tail: Option<TailRecord<'a>>,
}

#[derive(Debug, Serialize)]
struct VariantRecord<'a> {
    name: &'a str,
    title: &'a str,
    policy: PolicyRecord,
    /// `metastable`, `overloaded` or `back`.
    verdict: &'static str,
    calls: u64,
    first_tries: u64,
    attempts: u64,
    succeeded: u64,
    /// Calls that gave up, by stop reason.
    gave_up: &'a BTreeMap<&'static str, u64>,
    arrived: u64,
    refused: u64,
    served: u64,
    /// Served when the client had left.
    served_nobody: u64,
    /// Attempts that got no connection from this system.
    unconnected: u64,
    /// The most attempts in flight at once.
    most_in_flight: u32,
    peak_arrivals_per_bucket: u32,
    /// From the end of the fault until calls that begin are answered as before it.
    recovered_after_ms: Option<f64>,
    /// Requests at the end, over what the service can serve.
    pressure_after: f64,
    /// Attempts per call in the last second of the fault.
    quiet: Option<f64>,
    /// Attempts per call in the whole drill.
    amplification: Option<f64>,
    /// In the whole drill.
    retries_per_first_try: Option<f64>,
    /// What the simulator makes of these calls.
    simulated: Option<TwinRecord<'a>>,
    phases: Vec<PhaseRecord>,
    per_bucket: PerBucket<'a>,
}

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
pub struct PhaseRecord {
    phase: &'static str,
    length_ms: f64,
    calls: u64,
    first_tries: u64,
    attempts: u64,
    arrived: u64,
    succeeded: u64,
    goodput_per_s: f64,
    amplification: Option<f64>,
    /// Of the calls that succeed.
    p99_ms: Option<f64>,
}

#[derive(Debug, Serialize)]
struct PerBucket<'a> {
    calls: &'a [u32],
    first_tries: &'a [u32],
    retries: &'a [u32],
    succeeded: &'a [u32],
    arrived: &'a [u32],
    refused: &'a [u32],
    served: &'a [u32],
    served_nobody: &'a [u32],
}

/// The document as text.
pub fn document(outcome: &Outcome) -> Result<String, String> {
    let contenders = outcome.contenders.iter();
    let twins = outcome.twins.iter().map(Some).chain(iter::repeat(None));
    let document = Document {
        origin: Origin::new(SCHEMA, &outcome.command, outcome.seed),
        setup: (&outcome.setup).into(),
        lateness_ms: milliseconds(outcome.lateness),
        as_expected: outcome.is_as_expected(),
        conclusion: &outcome.judgement.conclusion,
        variants: contenders
            .zip(twins)
            .map(|(contender, twin)| record(contender, twin))
            .collect(),
        tail: outcome.setup.tail().and_then(|tail| {
            let held = outcome.tail.as_ref()?;
            Some(TailRecord::new(&tail, held))
        }),
    };
    text(&document)
}

fn record<'a>(contender: &'a Contender, twin: Option<&'a Twin>) -> VariantRecord<'a> {
    let Contender {
        variant,
        recording,
        measured,
        judged,
        ..
    } = contender;
    let overall = Overall::of(recording);
    VariantRecord {
        name: &variant.name,
        title: &variant.title,
        policy: (&variant.policy).into(),
        verdict: judged.name(),
        calls: recording.total(Count::Call),
        first_tries: recording.total(Count::FirstTry),
        attempts: recording.total(Count::FirstTry) + recording.total(Count::Retry),
        succeeded: recording.total(Count::Succeeded),
        gave_up: &recording.stops,
        arrived: recording.total(Count::Arrived),
        refused: recording.total(Count::Refused),
        served: recording.total(Count::Served),
        served_nobody: recording.total(Count::ServedNobody),
        unconnected: recording.total(Count::Unconnected),
        most_in_flight: measured.most_in_flight,
        peak_arrivals_per_bucket: measured.peak_arrivals,
        recovered_after_ms: judged.back_after().map(milliseconds),
        pressure_after: judged.outcome.pressure,
        quiet: measured.quiet,
        amplification: overall.amplification,
        retries_per_first_try: overall.retries_per_first_try,
        simulated: twin.map(TwinRecord::new),
        phases: phases(contender),
        per_bucket: recording.into(),
    }
}

/// The phases of one policy.
pub fn phases(contender: &Contender) -> Vec<PhaseRecord> {
    let phases = contender.measured.phases.iter().zip(contender.p99);
    phases
        .map(|(figures, p99)| PhaseRecord::new(figures, p99))
        .collect()
}

impl PhaseRecord {
    fn new(figures: &PhaseFigures, p99: Option<Duration>) -> Self {
        Self {
            phase: figures.phase.name(),
            length_ms: milliseconds(figures.length),
            calls: figures.calls,
            first_tries: figures.first_tries,
            attempts: figures.attempts,
            arrived: figures.arrived,
            succeeded: figures.succeeded,
            goodput_per_s: figures.goodput(),
            amplification: figures.amplification(),
            p99_ms: p99.map(milliseconds),
        }
    }
}

impl<'a> From<&'a Recording> for PerBucket<'a> {
    fn from(recording: &'a Recording) -> Self {
        Self {
            calls: recording.buckets(Count::Call),
            first_tries: recording.buckets(Count::FirstTry),
            retries: recording.buckets(Count::Retry),
            succeeded: recording.buckets(Count::Succeeded),
            arrived: recording.buckets(Count::Arrived),
            refused: recording.buckets(Count::Refused),
            served: recording.buckets(Count::Served),
            served_nobody: recording.buckets(Count::ServedNobody),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::outcome::tests::outcome;
    use super::*;
    use serde_json::Value;

    #[test]
    fn names_and_units_are_stable() {
        let text = document(&outcome()).unwrap();
        let document: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["schema"], 1);
        assert_eq!(document["seed"], 7);
        assert_eq!(document["as_expected"], true);
        assert_eq!(document["setup"]["capacity_per_s"], 400.0);
        let [storm, protected] = [0, 5].map(|index| &document["variants"][index]);
        assert_eq!(
            (&storm["name"], &storm["verdict"]),
            (&"no-backoff".into(), &"metastable".into())
        );
        assert_eq!(storm["recovered_after_ms"], Value::Null);
        assert!((storm["pressure_after"].as_f64().unwrap() - 2.6).abs() < 0.01);
        assert_eq!(
            protected["policy"]["budget"],
            "ratio:0.1,burst:10,floor:10/h"
        );
        assert_eq!(protected["phases"][1]["phase"], "trigger");
        assert_eq!(protected["phases"][1]["first_tries"], 520);
        assert_eq!(
            protected["per_bucket"]["arrived"].as_array().unwrap().len(),
            1_200
        );
        assert_eq!(protected["attempts"], 2_600 + 31 + 31 + 26);
    }
}
