//! What does `--json` hold? A document for programs.
//!
//! Names and units are stable; new ones may be added. Times are in milliseconds, rates per second,
//! arrays `per_bucket` hold one number for every `bucket_ms` from the start of the drill, the two
//! seconds included in which the last calls may end. A figure that does not exist is `null`.

use std::iter;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use super::blip::BlipRecord;
use super::drill::Report as _;
use super::judgement::Contender;
use super::ledger::Count;
use super::origin::{begun, milliseconds};
use super::outcome::Outcome;
use super::record::{CLIENTS, PerBucket, PolicyRecord, SERVICE, phases, totals};
use super::statistics::amplification;
use super::tail::TailRecord;
use super::twin::Twin;

const SCHEMA: u32 = 1;

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

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let twins = self.twins.iter().map(Some).chain(iter::repeat(None));
        let variants = self.contenders.iter().zip(twins);
        let variants: Vec<_> = variants.map(|(it, twin)| Variant(it, twin)).collect();
        let (tail, blip) = (self.tail.as_ref(), self.blip.as_ref());
        let mut document = begun(serializer, SCHEMA, &self.command)?;
        document.serialize_entry("seed", &self.seed)?;
        document.serialize_entry("setup", &self.setup)?;
        // By how much the load generator was late at worst.
        document.serialize_entry("lateness_ms", &milliseconds(self.lateness))?;
        document.serialize_entry("as_expected", &self.is_as_expected())?;
        document.serialize_entry("conclusion", &self.judgement.conclusion)?;
        document.serialize_entry("variants", &variants)?;
        document.serialize_entry("tail", &tail.map(|it| TailRecord(&self.setup, it)))?;
        document.serialize_entry("blip", &blip.map(|it| BlipRecord(&self.setup, it)))?;
        document.end()
    }
}

/// A policy, and what the simulator makes of its calls.
struct Variant<'a>(&'a Contender, Option<&'a Twin>);

impl Serialize for Variant<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(contender, twin) = self;
        let (variant, recording) = (&contender.variant, &contender.recording);
        let (measured, judged) = (&contender.measured, &contender.judged);
        let mut figures = serializer.serialize_map(None)?;
        figures.serialize_entry("name", &variant.name)?;
        figures.serialize_entry("title", &variant.title)?;
        figures.serialize_entry("policy", &PolicyRecord(&variant.policy))?;
        figures.serialize_entry("verdict", judged.name())?;
        totals(&mut figures, recording, CLIENTS)?;
        figures.serialize_entry("gave_up", &recording.stops)?;
        totals(&mut figures, recording, SERVICE)?;
        figures.serialize_entry("unconnected", &recording.total(Count::Unconnected))?;
        figures.serialize_entry("most_in_flight", &measured.most_in_flight)?;
        figures.serialize_entry("peak_arrivals_per_bucket", &measured.peak_arrivals)?;
        figures.serialize_entry("recovered_after_ms", &judged.back_after().map(milliseconds))?;
        figures.serialize_entry("pressure_after", &judged.outcome.pressure)?;
        figures.serialize_entry("quiet", &measured.quiet)?;
        figures.serialize_entry("amplification", &amplification(recording))?;
        figures.serialize_entry("simulated", twin)?;
        figures.serialize_entry("phases", &phases(contender))?;
        figures.serialize_entry("per_bucket", &PerBucket(recording, BUCKETS))?;
        figures.end()
    }
}

#[cfg(test)]
mod tests {
    use super::super::origin::tests::keys;
    use super::super::outcome::tests::outcome;
    use super::super::statistics::Measured;
    use super::super::twin;
    use super::*;
    use becalm::rate::AdaptiveRate;
    use becalm::{Hedge, Policy, Throttle};
    use serde_json::Value;
    use std::time::Duration;

    #[test]
    fn names_and_units_are_stable() {
        let text = outcome().document().unwrap();
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
            "ratio:0.1,burst:5s,min:10,floor:10/h"
        );
        assert_eq!(protected["phases"][1]["phase"], "trigger");
        assert_eq!(protected["phases"][1]["first_tries"], 520);
        assert_eq!(
            protected["per_bucket"]["arrived"].as_array().unwrap().len(),
            1_200
        );
        assert_eq!(protected["attempts"], 2_600 + 31 + 31 + 26);
    }

    /// Attempts over first tries of each object that says both; hedges are attempts.
    fn amplifications(document: &Value, found: &mut Vec<f64>) {
        let of = |name: &str| document.get(name).and_then(Value::as_f64);
        if let (Some(attempts), Some(first_tries)) = (of("attempts"), of("first_tries")) {
            let told = of("amplification").expect("of clients that called");
            assert!((told - attempts / first_tries).abs() < 1e-9, "{document}");
            found.push(told);
        }
        match document {
            Value::Object(these) => these.values().for_each(|it| amplifications(it, found)),
            Value::Array(these) => these.iter().for_each(|it| amplifications(it, found)),
            _ => {}
        }
    }

    #[test]
    fn amplification_is_attempts_over_first_tries_in_every_part() {
        let mut hedged = outcome();
        hedged.twins = twin::tests::twins();
        for it in &mut hedged.contenders {
            it.recording.set(Count::Hedge, 250, 50);
            it.measured = Measured::of(&it.recording, &hedged.setup);
        }
        let document = serde_json::from_str(&hedged.document().unwrap()).unwrap();
        let mut found = Vec::new();
        amplifications(&document, &mut found);
        let (variants, phases, twins, tail, blip) = (6, 6 * 3, 6, 2, 3);
        assert_eq!(found.len(), variants + phases + twins + tail + blip);
        assert!(found.iter().all(|it| *it >= 1.0), "{found:?}");
    }

    #[test]
    fn every_key_and_its_type_is_pinned() {
        let mut one_part = outcome();
        (one_part.tail, one_part.blip) = (None, None);
        let mut simulated = outcome();
        simulated.twins = twin::tests::twins();
        simulated.contenders[5].variant.policy = Policy::default()
            .deadline(Duration::from_secs(9))
            .hedge(Hedge::at_quantile(0.95))
            .throttle(Throttle::accepts(2.0))
            .rate(AdaptiveRate::cubic());
        let documents = [one_part, simulated].map(|it| it.document().unwrap());
        insta::assert_snapshot!(keys(&documents));
    }
}
