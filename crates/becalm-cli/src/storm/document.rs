//! What does `--json` hold? A document for programs.
//!
//! Names and units are stable; new ones may be added. A figure that does not exist is `null`.

use becalm_sim::study::{Chart, Contender};
use serde::Serialize;

use super::told::{Recommended, Told};

/// The version of the document: it changes when a name or a meaning does.
const SCHEMA: u32 = 1;

#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: u32,
    becalm: &'static str,
    command: &'a str,
    scenario: &'a str,
    question: &'a str,
    answer: &'a str,
    seed: u64,
    runs: u32,
    events: u64,
    asked: Vec<Asked<'a>>,
    contenders: &'a [Contender],
    /// The result of a search for a policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    recommended: Option<&'a Recommended>,
    /// The smallest change that keeps a service up.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<&'a super::remedy::Told>,
    charts: &'a [Chart],
    /// Of several services: pictures of each, the one that retries load most first.
    services: &'a [Chart],
}

#[derive(Debug, Serialize)]
struct Asked<'a> {
    name: &'a str,
    value: &'a str,
}

/// The document as text, ended by a line break.
pub fn document(told: &Told) -> Result<String, String> {
    let study = &told.study;
    let asked = study.asked.iter();
    let document = Document {
        schema: SCHEMA,
        becalm: env!("CARGO_PKG_VERSION"),
        command: &told.command,
        scenario: &study.scenario,
        question: &study.question,
        answer: &study.answer,
        seed: study.seed,
        runs: study.runs,
        events: study.events,
        asked: asked.map(|(name, value)| Asked { name, value }).collect(),
        contenders: &study.contenders,
        recommended: told.recommended.as_ref(),
        remedy: told.remedy.as_ref(),
        charts: &study.charts,
        services: &study.services,
    };
    serde_json::to_string(&document)
        .map(|text| text + "\n")
        .map_err(|error| format!("the study cannot be written as JSON: {error}"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::told::tests::told;
    use super::*;

    #[test]
    fn names_and_units_are_stable() {
        let document: Value = serde_json::from_str(&document(&told()).unwrap()).unwrap();
        for (name, expected) in [
            ("schema", json!(1)),
            ("scenario", json!("orders")),
            ("question", json!("What happens to orders?")),
            ("answer", json!("Only one comes back.")),
            ("command", json!("becalm storm orders --seed 7")),
            ("seed", json!(7)),
            ("runs", json!(10)),
            ("events", json!(12_345)),
            ("asked", json!([{ "name": "load", "value": "260" }])),
        ] {
            assert_eq!(document[name], expected, "{name}");
        }
        let [none, full] = [0, 1].map(|index| &document["contenders"][index]);
        assert_eq!(
            (&none["name"], &none["verdict"]),
            (&json!("none"), &json!("metastable"))
        );
        assert_eq!(full["evidence"], "<full> was measured.");
        let amplification = json!({ "id": "amplification", "title": "amplification", "unit": "",
            "value": 1.5, "low": 1.25, "high": 1.75 });
        assert_eq!(none["figures"][0], amplification);
        assert_eq!(
            none["figures"][1]["value"],
            Value::Null,
            "it did not recover"
        );
        let end = json!({ "name": "end", "arrivals": 90.0, "amplification": 9.0, "queue": 0.0,
            "attempts": [{ "place": "orders->database", "per_call": 3.0 }] });
        let database = &none["services"][0];
        assert_eq!(database["name"], "database");
        assert_eq!(database["figures"][0]["value"], 9.0);
        assert_eq!(database["phases"], json!([end]));
        assert_eq!(
            document["services"][0]["title"],
            "What arrives at the database"
        );
        let bars = json!([{ "name": "longest", "value": 5.0 }]);
        assert_eq!(
            (&none["charts"][0]["kind"], &none["charts"][0]["bars"]),
            (&json!("bars"), &bars)
        );
        let [arrivals, map] = [0, 1].map(|index| &document["charts"][index]);
        assert_eq!(arrivals["kind"], "lines");
        assert_eq!(arrivals["lines"][0]["points"][3], json!([3.0, 27.0]));
        assert_eq!(
            arrivals["bands"],
            json!([{ "name": "trigger", "from": 10.0, "to": 12.0 }])
        );
        assert_eq!(
            arrivals["levels"],
            json!([{ "name": "capacity", "at": 40.0 }])
        );
        assert_eq!(map["map"]["cells"], json!([0.0, 0.25, 0.5, null]));
    }
}
