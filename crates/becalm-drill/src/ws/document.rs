//! What does `--json` hold? A document for programs, with one number in each array for every `bucket_ms`.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use super::clock::bucket;
use super::figures::Figures;
use super::judgement::Contender;
use super::outcome::Outcome;
use super::setup::Setup;
use super::tally::Count;
use crate::origin::{begun, milliseconds};

const SCHEMA: u32 = 1;

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let variants = self.contenders.iter().map(|it| record(it, &self.setup));
        let mut document = begun(serializer, SCHEMA, &self.command)?;
        document.serialize_entry("seed", &self.seed)?;
        document.serialize_entry("setup", &self.setup)?;
        document.serialize_entry("as_expected", &self.judgement.as_expected)?;
        document.serialize_entry("conclusion", &self.judgement.conclusion)?;
        document.serialize_entry("variants", &variants.collect::<Vec<_>>())?;
        document.end()
    }
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
    use crate::drill::Report as _;
    use crate::origin::tests::keys;
    use serde_json::Value;

    #[test]
    fn names_and_units_are_stable() {
        let text = outcome().document().unwrap();
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

    #[test]
    fn every_key_and_its_type_is_pinned() {
        insta::assert_snapshot!(keys(&[outcome().document().unwrap()]));
    }
}
