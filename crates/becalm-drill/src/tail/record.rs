//! How does a program read the second part?

use std::time::Duration;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use super::outcome::{Racer, TailOutcome};
use super::{EVERY, RATE, SLOW, WARM_UP};
use crate::ledger::Count;
use crate::origin::milliseconds;
use crate::record::PolicyRecord;
use crate::setup::Setup;

/// The second part as it stands in the JSON document.
#[derive(Debug)]
pub struct TailRecord<'a>(pub &'a Setup, pub &'a TailOutcome);

impl Serialize for TailRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(setup, outcome) = self;
        let mut tail = serializer.serialize_map(None)?;
        tail.serialize_entry("length_ms", &milliseconds(setup.tail))?;
        tail.serialize_entry("warm_up_ms", &milliseconds(WARM_UP))?;
        tail.serialize_entry("rate_per_s", &RATE)?;
        tail.serialize_entry("slow_one_in", &EVERY)?;
        tail.serialize_entry("slow_ms", &milliseconds(SLOW))?;
        tail.serialize_entry("lateness_ms", &milliseconds(outcome.lateness))?;
        tail.serialize_entry("as_expected", &outcome.as_expected)?;
        tail.serialize_entry("conclusion", &outcome.conclusion)?;
        tail.serialize_entry("variants", &outcome.racers)?;
        tail.end()
    }
}

impl Serialize for Racer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let total = |count| self.recording.total(count);
        let attempts = self
            .recording
            .attempts_within(Duration::ZERO..Duration::MAX);
        let at = |share| self.latencies.quantile(share).map(milliseconds);
        let mut figures = serializer.serialize_map(None)?;
        figures.serialize_entry("name", self.variant.name)?;
        figures.serialize_entry("title", &self.variant.title)?;
        figures.serialize_entry("policy", &PolicyRecord(&self.variant.policy))?;
        figures.serialize_entry("calls", &total(Count::Call))?;
        figures.serialize_entry("first_tries", &total(Count::FirstTry))?;
        figures.serialize_entry("retries", &total(Count::Retry))?;
        figures.serialize_entry("hedges", &total(Count::Hedge))?;
        figures.serialize_entry("attempts", &attempts)?;
        figures.serialize_entry("succeeded", &total(Count::Succeeded))?;
        figures.serialize_entry("amplification", &self.amplification())?;
        figures.serialize_entry("p50_ms", &at(0.5))?;
        figures.serialize_entry("p95_ms", &at(0.95))?;
        figures.serialize_entry("p99_ms", &at(0.99))?;
        figures.serialize_entry("worst_ms", &at(1.0))?;
        figures.end()
    }
}
