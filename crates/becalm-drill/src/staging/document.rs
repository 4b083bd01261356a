//! What does `--json` hold? A document for programs.
//!
//! Names and units are those of the drill: times in milliseconds, rates per second, one number for every
//! `bucket_ms` in arrays `per_bucket`. A figure that does not exist is `null`.

use std::collections::BTreeMap;
use std::iter;

use serde::Serialize;

use super::canary::Calm;
use super::outcome::Outcome;
use super::round::Round;
use crate::fault::Counts;
use crate::judgement::Contender;
use crate::ledger::Count;
use crate::origin::{Origin, milliseconds, text};
use crate::record::{ATTEMPTS, PerBucket, PhaseRecord, PolicyRecord, Totals, phases};
use crate::setup::CourseRecord;
use crate::statistics::Overall;
use crate::twin::{Twin, TwinRecord};

const SCHEMA: u32 = 1;

#[derive(Debug, Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    origin: Origin<'a>,
    drill: &'a str,
    setup: SetupRecord<'a>,
    lateness_ms: f64,
    finding: &'static str,
    conclusion: &'a str,
    variants: Vec<VariantRecord<'a>>,
    proxy: Option<Counts>,
}

#[derive(Debug, Serialize)]
struct SetupRecord<'a> {
    host: &'a str,
    request: &'a str,
    fault: String,
    rate_per_s: f64,
    capacity_per_s: Option<f64>,
    client_timeout_ms: f64,
    #[serde(flatten)]
    course: CourseRecord,
}

#[derive(Debug, Serialize)]
struct VariantRecord<'a> {
    name: &'a str,
    title: &'a str,
    policy: PolicyRecord,
    verdict: &'static str,
    good_before: f64,
    lateness_ms: f64,
    after_ms: f64,
    #[serde(flatten)]
    clients: Totals<'a>,
    gave_up: &'a BTreeMap<&'static str, u64>,
    refused: u64,
    unconnected: u64,
    most_in_flight: u32,
    peak_attempts_per_bucket: u32,
    recovered_after_ms: Option<f64>,
    well_without_load_after_ms: Option<f64>,
    #[serde(flatten)]
    overall: Overall,
    simulated: Option<TwinRecord<'a>>,
    phases: Vec<PhaseRecord<'a>>,
    per_bucket: PerBucket<'a>,
}

/// What clients did: hedges, too, are attempts.
const CLIENTS: &[(&str, &[Count])] = &[
    ("calls", &[Count::Call]),
    ("first_tries", &[Count::FirstTry]),
    ("attempts", &[Count::Arrived]),
    ("succeeded", &[Count::Succeeded]),
];

/// The document as text.
pub fn document(outcome: &Outcome) -> Result<String, String> {
    let setup = &outcome.setup;
    let twins = outcome.twins.iter().map(Some).chain(iter::repeat(None));
    let held = outcome.contenders.iter().zip(&outcome.rounds);
    let variants = held.zip(outcome.calms.iter().map(Some).chain(iter::repeat(None)));
    let document = Document {
        origin: Origin::new(SCHEMA, &outcome.command, outcome.seed),
        drill: &outcome.name,
        setup: SetupRecord {
            host: &outcome.host,
            request: &outcome.request,
            fault: outcome.trouble.to_string(),
            rate_per_s: setup.load,
            capacity_per_s: setup.known_capacity(),
            client_timeout_ms: milliseconds(setup.client_timeout),
            course: setup.into(),
        },
        lateness_ms: milliseconds(outcome.lateness()),
        finding: outcome.finding().name(),
        conclusion: &outcome.conclusion(),
        variants: variants
            .zip(twins)
            .map(|(((contender, round), calm), twin)| record(contender, round, calm, twin))
            .collect(),
        proxy: outcome.seen,
    };
    text(&document)
}

fn record<'a>(
    contender: &'a Contender,
    round: &Round,
    calm: Option<&Calm>,
    twin: Option<&'a Twin>,
) -> VariantRecord<'a> {
    let Contender {
        variant,
        recording,
        measured,
        judged,
        ..
    } = contender;
    VariantRecord {
        name: &variant.name,
        title: &variant.title,
        policy: (&variant.policy).into(),
        verdict: judged.name(),
        good_before: round.good,
        lateness_ms: milliseconds(round.lateness),
        after_ms: milliseconds(round.setup.after),
        clients: Totals(recording, CLIENTS),
        gave_up: &recording.stops,
        refused: recording.total(Count::Refused),
        unconnected: recording.total(Count::Unconnected),
        most_in_flight: measured.most_in_flight,
        peak_attempts_per_bucket: measured.peak_arrivals,
        recovered_after_ms: judged.back_after().map(milliseconds),
        well_without_load_after_ms: calm.and_then(Calm::well_after).map(milliseconds),
        overall: Overall::of(recording),
        simulated: twin.map(TwinRecord::new),
        phases: phases(contender),
        per_bucket: PerBucket(recording, ATTEMPTS),
    }
}
