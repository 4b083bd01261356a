//! How do the simulated calls stand in the JSON document?

use std::collections::BTreeMap;

use serde::Serialize;

use super::Twin;
use crate::origin::milliseconds;
use crate::record::{CLIENTS, SERVICE, Totals};
use crate::statistics::Overall;

/// What the simulator makes of the same calls: names and meanings are those of the variant.
#[derive(Debug, Serialize)]
pub struct TwinRecord<'a> {
    verdict: &'static str,
    after_ms: f64,
    #[serde(flatten)]
    clients: Totals<'a>,
    gave_up: &'a BTreeMap<&'static str, u64>,
    #[serde(flatten)]
    service: Totals<'a>,
    recovered_after_ms: Option<f64>,
    pressure_after: f64,
    #[serde(flatten)]
    overall: Overall,
}

impl<'a> TwinRecord<'a> {
    pub fn new(twin: &'a Twin) -> Self {
        let Twin {
            recording,
            judged,
            after,
        } = twin;
        Self {
            verdict: judged.name(),
            after_ms: milliseconds(*after),
            clients: Totals(recording, CLIENTS),
            gave_up: &recording.stops,
            service: Totals(recording, SERVICE),
            recovered_after_ms: judged.back_after().map(milliseconds),
            pressure_after: judged.outcome.pressure,
            overall: Overall::of(recording),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::twins;
    use crate::document::document;
    use crate::outcome::tests::outcome;
    use crate::page::page;
    use serde_json::Value;

    #[test]
    fn the_reports_show_the_simulator_beside_the_drill() {
        let mut outcome = outcome();
        outcome.twins = twins();
        let document: Value = serde_json::from_str(&document(&outcome).unwrap()).unwrap();
        let [storm, protected] = [0, 5].map(|index| &document["variants"][index]["simulated"]);
        assert_eq!(storm["verdict"], "metastable");
        assert!(storm["pressure_after"].as_f64().unwrap() > 2.0);
        assert_eq!(storm["recovered_after_ms"], Value::Null);
        assert!(storm["amplification"].as_f64().unwrap() > 3.0);
        assert_eq!(protected["verdict"], "back");
        assert!(protected["recovered_after_ms"].as_f64().unwrap() < 2_000.0);
        assert!(protected["retries_per_first_try"].as_f64().unwrap() < 0.1);
        assert!(
            page(&outcome)
                .to_html()
                .contains("What the simulator makes of it")
        );
    }

    #[test]
    fn without_the_simulator_nothing_is_said_of_it() {
        let outcome = outcome();
        let document: Value = serde_json::from_str(&document(&outcome).unwrap()).unwrap();
        assert_eq!(document["variants"][0]["simulated"], Value::Null);
        let page = page(&outcome).to_html();
        assert!(!page.contains("What the simulator") && page.contains("Nothing is simulated and"));
    }
}
