//! What does `--json` hold? A document for programs.
//!
//! Names and units are stable; new ones may be added. Times are in milliseconds, rates per second,
//! arrays `per_bucket` hold one number for every `bucket_ms` from the start of the drill, the two
//! seconds included in which the last calls may end. A figure that does not exist is `null`.

use std::collections::BTreeMap;
use std::iter;

use serde::Serialize;

use super::drill::Report;
use super::judgement::Contender;
use super::ledger::Count;
use super::origin::{Origin, milliseconds, text};
use super::outcome::Outcome;
use super::record::{CLIENTS, PerBucket, PhaseRecord, PolicyRecord, SERVICE, Totals, phases};
use super::setup::SetupRecord;
use super::statistics::Overall;
use super::tail::{Tail, TailRecord};
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
    #[serde(flatten)]
    clients: Totals<'a>,
    /// Calls that gave up, by stop reason.
    gave_up: &'a BTreeMap<&'static str, u64>,
    #[serde(flatten)]
    service: Totals<'a>,
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
    #[serde(flatten)]
    overall: Overall,
    /// What the simulator makes of these calls.
    simulated: Option<TwinRecord<'a>>,
    phases: Vec<PhaseRecord<'a>>,
    per_bucket: PerBucket<'a>,
}

/// What is counted of the services of the drill.
const BUCKETS: &[(&str, Count)] = &[
    ("calls", Count::Call),
    ("first_tries", Count::FirstTry),
    ("retries", Count::Retry),
    ("succeeded", Count::Succeeded),
    ("arrived", Count::Arrived),
    ("refused", Count::Refused),
    ("served", Count::Served),
    ("served_nobody", Count::ServedNobody),
];

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
        tail: Tail::of(&outcome.setup).and_then(|tail| {
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
    VariantRecord {
        name: &variant.name,
        title: &variant.title,
        policy: (&variant.policy).into(),
        verdict: judged.name(),
        clients: Totals(recording, CLIENTS),
        gave_up: &recording.stops,
        service: Totals(recording, SERVICE),
        unconnected: recording.total(Count::Unconnected),
        most_in_flight: measured.most_in_flight,
        peak_arrivals_per_bucket: measured.peak_arrivals,
        recovered_after_ms: judged.back_after().map(milliseconds),
        pressure_after: judged.outcome.pressure,
        quiet: measured.quiet,
        overall: Overall::of(recording),
        simulated: twin.map(TwinRecord::new),
        phases: phases(contender),
        per_bucket: PerBucket(recording, BUCKETS),
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
