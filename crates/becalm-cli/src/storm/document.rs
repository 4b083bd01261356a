//! What does `--json` hold? A document for programs.
//!
//! Names and units are stable; new ones may be added. A figure that does not exist is `null`.

use becalm_sim::study::{Chart, Contender};
use serde::Serialize;

use super::decision::{self, Decision};
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
    /// Which of the policies to take; none where that was not the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<Decision<'a>>,
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
        decision: decision::of(study),
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
    fn a_cell_without_a_value_is_null() {
        let document: Value = serde_json::from_str(&document(&told()).unwrap()).unwrap();
        let map = &document["charts"][1]["map"];
        assert_eq!(map["cells"], json!([0.0, 0.25, 0.5, null]));
    }
}
