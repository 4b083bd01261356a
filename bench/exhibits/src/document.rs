//! What does `--json` hold? A document for programs, with one number in each array for every `bucket_ms`.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::Outcome;
use crate::judgement::Contender;
use crate::picture::per_bucket;
use crate::setup::{Setup, SetupRecord};
use crate::units::milliseconds;

/// The version of the document: it changes when a name or a meaning does.
const SCHEMA: u32 = 1;

#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: u32,
    becalm: &'static str,
    command: &'a str,
    setup: SetupRecord,
    /// Every variant did what it is in the drill to show.
    as_expected: bool,
    conclusion: &'a str,
    variants: Vec<Record>,
}

#[derive(Debug, Serialize)]
struct Record {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    /// What it is in the drill to show and did not, in sentences.
    missed: Vec<String>,
    increments: u64,
    failed: u64,
    failed_applied: u64,
    twice: u64,
    lost: u64,
    again: u64,
    thrown_out_again: u64,
    thrown_out_failed: u64,
    longest_ms: f64,
    most_dials_per_s: usize,
    back_ms: Vec<f64>,
    apart_ms: Vec<f64>,
    second_dials_apart_ms: Vec<f64>,
    /// From the first bucket of the arrays.
    killed_ms: Vec<f64>,
    up_ms: Vec<f64>,
    per_bucket: BTreeMap<&'static str, Vec<u32>>,
}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let contenders = self.contenders.iter();
        let document = Document {
            schema: SCHEMA,
            becalm: env!("CARGO_PKG_VERSION"),
            command: &self.command,
            setup: (&self.setup).into(),
            as_expected: self.judgement.as_expected,
            conclusion: &self.judgement.conclusion,
            variants: contenders.map(|it| record(it, &self.setup)).collect(),
        };
        document.serialize(serializer)
    }
}

fn record(contender: &Contender, setup: &Setup) -> Record {
    let (variant, figures, held) = (&contender.variant, &contender.figures, &contender.held);
    let report = figures.report;
    let since_start = |at: Duration| milliseconds(at.saturating_sub(held.start));
    let all = |times: &[Duration]| times.iter().copied().map(milliseconds).collect();
    Record {
        name: variant.name,
        title: variant.title,
        description: variant.description,
        missed: contender.missed(setup),
        increments: report.all,
        failed: report.failed,
        failed_applied: report.failed_applied,
        twice: report.twice,
        lost: report.lost,
        again: figures.again,
        thrown_out_again: figures.thrown_out_again,
        thrown_out_failed: figures.thrown_out_failed,
        longest_ms: milliseconds(report.longest),
        most_dials_per_s: figures.most_dials,
        back_ms: all(&figures.back),
        apart_ms: all(&figures.apart),
        second_dials_apart_ms: all(&figures.dials_apart),
        killed_ms: held
            .outages
            .iter()
            .map(|it| since_start(it.killed))
            .collect(),
        up_ms: held.outages.iter().map(|it| since_start(it.up)).collect(),
        per_bucket: BTreeMap::from([
            ("dials", per_bucket::dials(held)),
            ("answered", per_bucket::of(held, |line| line.answered)),
            ("failed", per_bucket::of(held, |line| line.failed)),
            ("again", per_bucket::of(held, |line| line.again)),
        ]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judgement::tests::{judged, usual};
    use serde_json::Value;

    #[test]
    fn names_and_units_are_stable() {
        let (contenders, judgement) = judged();
        let outcome = Outcome {
            setup: usual(),
            contenders,
            judgement,
            command: "redis-cuts".into(),
        };
        let document: Value = serde_json::to_value(&outcome).unwrap();
        assert_eq!(document["schema"], 1);
        let variant = &document["variants"][2];
        assert_eq!(
            (&variant["name"], &variant["twice"]),
            (&"gate-on".into(), &0.into())
        );
        assert_eq!(variant["back_ms"], serde_json::json!([190.0, 500.0]));
        assert_eq!(variant["killed_ms"], serde_json::json!([5_900.0, 11_900.0]));
        let buckets = &variant["per_bucket"];
        for name in ["dials", "answered", "failed", "again"] {
            assert_eq!(buckets[name].as_array().unwrap().len(), 169, "{name}");
        }
        assert_eq!(
            (&buckets["dials"][59], &buckets["again"][40]),
            (&1.into(), &3.into())
        );
    }
}
