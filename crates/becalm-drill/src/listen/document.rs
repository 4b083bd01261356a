//! What does `--json` hold? A document for programs: names and units are those of every drill.

use serde::Serialize;

use super::Outcome;
use super::finding::{self, Finding};
use super::retried::Retried;
use crate::document::{PhaseRecord, phases};
use crate::fault::Counts;
use crate::ledger::{BUCKET, Count};
use crate::origin::text;
use crate::setup::milliseconds;

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
    calls: u64,
    attempts: u64,
    succeeded: u64,
    amplification: Option<f64>,
    quiet: Option<f64>,
    retried: Retried,
    calls_by_attempts: &'a [u64],
    identified: Identified,
    phases: Vec<PhaseRecord>,
    per_bucket: PerBucket<'a>,
    proxy: Counts,
}

#[derive(Debug, Serialize)]
struct SetupRecord<'a> {
    upstream: &'a str,
    fault: String,
    before_ms: f64,
    trigger_ms: f64,
    after_ms: f64,
    bucket_ms: f64,
}

#[derive(Debug, Serialize)]
struct Identified {
    request_id: u64,
    traceparent: u64,
    nothing: u64,
}

#[derive(Debug, Serialize)]
struct PerBucket<'a> {
    calls: &'a [u32],
    attempts: &'a [u32],
    succeeded: &'a [u32],
}

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
            before_ms: milliseconds(setup.before),
            trigger_ms: milliseconds(setup.trigger),
            after_ms: milliseconds(setup.after),
            bucket_ms: milliseconds(BUCKET),
        },
        finding: finding.name(),
        conclusion: &finding::conclusion(outcome),
        lateness_ms: milliseconds(outcome.lateness),
        good_before: outcome.before.share(),
        verdict: contender.judged.name(),
        recovered_after_ms: contender.judged.back_after().map(milliseconds),
        calls: recording.total(Count::Call),
        attempts: recording.total(Count::Arrived),
        succeeded: recording.total(Count::Succeeded),
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
        per_bucket: PerBucket {
            calls: recording.buckets(Count::Call),
            attempts: recording.buckets(Count::Arrived),
            succeeded: recording.buckets(Count::Succeeded),
        },
        proxy: seen.counts,
    })
}
