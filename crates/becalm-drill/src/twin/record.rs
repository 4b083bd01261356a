//! How do the simulated calls stand in the JSON document?

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use super::Twin;
use crate::origin::milliseconds;
use crate::record::{CLIENTS, SERVICE, totals};
use crate::statistics::amplification;

impl Serialize for Twin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (recording, judged) = (&self.recording, &self.judged);
        let mut figures = serializer.serialize_map(None)?;
        figures.serialize_entry("verdict", judged.name())?;
        // For how long it was watched.
        figures.serialize_entry("after_ms", &milliseconds(self.after))?;
        totals(&mut figures, recording, CLIENTS)?;
        figures.serialize_entry("gave_up", &recording.stops)?;
        totals(&mut figures, recording, SERVICE)?;
        figures.serialize_entry("recovered_after_ms", &judged.back_after().map(milliseconds))?;
        figures.serialize_entry("pressure_after", &judged.outcome.pressure)?;
        figures.serialize_entry("amplification", &amplification(recording))?;
        figures.end()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::twins;
    use crate::drill::Report as _;
    use crate::outcome::tests::outcome;
    use crate::page::page;
    use serde_json::Value;

    #[test]
    fn the_reports_show_the_simulator_beside_the_drill() {
        let mut outcome = outcome();
        outcome.twins = twins();
        let document: Value = serde_json::from_str(&outcome.document().unwrap()).unwrap();
        let [storm, protected] = [0, 5].map(|index| &document["variants"][index]["simulated"]);
        assert_eq!(storm["verdict"], "metastable");
        assert!(storm["pressure_after"].as_f64().unwrap() > 2.0);
        assert_eq!(storm["recovered_after_ms"], Value::Null);
        assert!(storm["amplification"].as_f64().unwrap() > 3.0);
        assert_eq!(protected["verdict"], "back");
        assert!(protected["recovered_after_ms"].as_f64().unwrap() < 2_000.0);
        assert!(protected["amplification"].as_f64().unwrap() < 1.1);
        assert!(
            page(&outcome)
                .to_html()
                .contains("What the simulator makes of it")
        );
    }

    #[test]
    fn without_the_simulator_nothing_is_said_of_it() {
        let outcome = outcome();
        let document: Value = serde_json::from_str(&outcome.document().unwrap()).unwrap();
        assert_eq!(document["variants"][0]["simulated"], Value::Null);
        let page = page(&outcome).to_html();
        assert!(!page.contains("What the simulator") && page.contains("Nothing is simulated and"));
    }
}
