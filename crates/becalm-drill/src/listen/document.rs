//! What does `--json` hold? A document for programs: names and units are those of every drill.

use serde::Serialize;

use super::Outcome;
use super::finding::{self, Finding};
use super::retried::Retried;
use crate::fault::Counts;
use crate::ledger::Count;
use crate::origin::{milliseconds, text};
use crate::record::{ATTEMPTS, PerBucket, PhaseRecord, Totals, phases};
use crate::setup::CourseRecord;

const SCHEMA: u32 = 1;

#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: u32,
    becalm: &'static str,
    command: &'a str,
    setup: SetupRecord<'a>,
    finding: &'static str,
    conclusion: &'a str,
    lateness_ms: f64,
    good_before: f64,
    verdict: &'static str,
    recovered_after_ms: Option<f64>,
    #[serde(flatten)]
    clients: Totals<'a>,
    amplification: Option<f64>,
    quiet: Option<f64>,
    retried: Retried,
    calls_by_attempts: &'a [u64],
    identified: Identified,
    phases: Vec<PhaseRecord<'a>>,
    per_bucket: PerBucket<'a>,
    proxy: Counts,
}

#[derive(Debug, Serialize)]
struct SetupRecord<'a> {
    upstream: &'a str,
    fault: String,
    #[serde(flatten)]
    course: CourseRecord,
}

#[derive(Debug, Serialize)]
struct Identified {
    request_id: u64,
    traceparent: u64,
    nothing: u64,
}

/// What the client did.
const CLIENTS: &[(&str, &[Count])] = &[
    ("calls", &[Count::Call]),
    ("attempts", &[Count::Arrived]),
    ("succeeded", &[Count::Succeeded]),
];

/// The document as text.
pub fn document(outcome: &Outcome) -> Result<String, String> {
    let Outcome {
        setup,
        contender,
        seen,
        ..
    } = outcome;
    let recording = &contender.recording;
    let [request_id, traceparent, nothing] = seen.identified;
    let finding = Finding::of(outcome);
    text(&Document {
        schema: SCHEMA,
        becalm: env!("CARGO_PKG_VERSION"),
        command: &outcome.command,
        setup: SetupRecord {
            upstream: &outcome.upstream,
            fault: outcome.fault.to_string(),
            course: setup.into(),
        },
        finding: finding.name(),
        conclusion: &finding::conclusion(outcome),
        lateness_ms: milliseconds(outcome.lateness),
        good_before: outcome.before.share(),
        verdict: contender.judged.name(),
        recovered_after_ms: contender.judged.back_after().map(milliseconds),
        clients: Totals(recording, CLIENTS),
        amplification: finding::amplification(outcome),
        quiet: contender.measured.quiet,
        retried: outcome.retried,
        calls_by_attempts: &seen.calls_by_attempts,
        identified: Identified {
            request_id,
            traceparent,
            nothing,
        },
        phases: phases(contender),
        per_bucket: PerBucket(recording, ATTEMPTS),
        proxy: seen.counts,
    })
}
