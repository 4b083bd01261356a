//! What does `--json` hold? A document for programs, with one number in each array for every `bucket_ms`.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::clock::bucket;
use super::figures::Figures;
use super::judgement::Contender;
use super::outcome::Outcome;
use super::setup::{Setup, SetupRecord};
use super::tally::Count;
use crate::origin::{Origin, milliseconds, text};

const SCHEMA: u32 = 1;

#[derive(Debug, Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    origin: Origin<'a>,
    setup: SetupRecord,
    /// Every variant did what it is in the drill to show.
    as_expected: bool,
    conclusion: &'a str,
    variants: Vec<Record<'a>>,
}

#[derive(Debug, Serialize)]
struct Record<'a> {
    name: &'static str,
    title: &'static str,
    description: &'a str,
    /// `back` or `down`.
    verdict: &'static str,
    /// What it is in the drill to show and did not, in sentences.
    missed: Vec<String>,
    #[serde(flatten)]
    figures: &'a Figures,
    /// From the first bucket of the arrays.
    fault_ms: Option<f64>,
    up_ms: Option<f64>,
    per_bucket: BTreeMap<&'static str, Vec<u32>>,
}

/// The document as text.
pub fn document(outcome: &Outcome) -> Result<String, String> {
    let Outcome {
        setup, judgement, ..
    } = outcome;
    let contenders = outcome.contenders.iter();
    text(&Document {
        origin: Origin::new(SCHEMA, &outcome.command, outcome.seed),
        setup: setup.into(),
        as_expected: judgement.as_expected,
        conclusion: &judgement.conclusion,
        variants: contenders.map(|it| record(it, setup)).collect(),
    })
}

fn record<'a>(contender: &'a Contender, setup: &Setup) -> Record<'a> {
    let (variant, figures) = (&contender.variant, &contender.figures);
    let marks = contender.held.marks;
    let since_start = |at: Duration| milliseconds(at.saturating_sub(marks.start));
    Record {
        name: variant.name,
        title: variant.title,
        description: &variant.description,
        verdict: figures.name(),
        missed: contender.missed(setup),
        figures,
        fault_ms: marks.fault.map(since_start),
        up_ms: marks.up.map(since_start),
        per_bucket: per_bucket(contender),
    }
}

/// The course, and nothing of how the fleet came together.
fn per_bucket(contender: &Contender) -> BTreeMap<&'static str, Vec<u32>> {
    let (recording, marks) = (&contender.held.recording, contender.held.marks);
    let time = marks.start..marks.end.unwrap_or(marks.start);
    let (from, to) = (bucket(time.start), bucket(time.end));
    let level = |series: &[u32]| {
        let all = series.iter().copied().chain(std::iter::repeat(0));
        all.skip(from).take(to.saturating_sub(from)).collect()
    };
    let count = |count| recording.stretch(count, time.clone()).collect();
    BTreeMap::from([
        ("ws_connections_active", level(&recording.active)),
        ("open", level(&recording.open)),
        ("dials", count(Count::Dial)),
        ("unconnected", count(Count::Unconnected)),
        ("refused", count(Count::Refused)),
        ("timed_out", count(Count::TimedOut)),
        ("handshakes", count(Count::Handshake)),
        ("for_nobody", count(Count::Wasted)),
    ])
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
        assert_eq!(
            (&document["schema"], &document["seed"]),
            (&1.into(), &7.into())
        );
        assert_eq!(document["setup"]["floor_ms"], 20_000.0);
        let storm = &document["variants"][0];
        assert_eq!(
            (&storm["name"], &storm["verdict"]),
            (&"fixed".into(), &"down".into())
        );
        assert_eq!(storm["back_after_ms"], Value::Null);
        assert_eq!(
            (&storm["fault_ms"], &storm["up_ms"]),
            (&1_000.0.into(), &4_000.0.into())
        );
        let buckets = &storm["per_bucket"];
        for name in ["ws_connections_active", "open"] {
            assert_eq!(buckets[name].as_array().unwrap().len(), 100, "{name}");
        }
        assert_eq!(buckets["open"][0], 2_000);
    }
}
