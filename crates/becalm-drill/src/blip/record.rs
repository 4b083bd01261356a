//! How does a program read the third part?

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use super::outcome::{BlipOutcome, Caller};
use super::{AFTER, BEFORE, RATE};
use crate::ledger::Count;
use crate::origin::milliseconds;
use crate::record::{CLIENTS, PolicyRecord, totals};
use crate::setup::Setup;

/// The third part as it stands in the JSON document.
#[derive(Debug)]
pub struct BlipRecord<'a>(pub &'a Setup, pub &'a BlipOutcome);

impl Serialize for BlipRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(setup, outcome) = self;
        let mut blip = serializer.serialize_map(None)?;
        blip.serialize_entry("before_ms", &milliseconds(BEFORE))?;
        blip.serialize_entry("blip_ms", &milliseconds(setup.blip))?;
        blip.serialize_entry("after_ms", &milliseconds(AFTER))?;
        blip.serialize_entry("rate_per_s", &RATE)?;
        blip.serialize_entry("lateness_ms", &milliseconds(outcome.lateness))?;
        blip.serialize_entry("as_expected", &outcome.as_expected)?;
        blip.serialize_entry("conclusion", &outcome.conclusion)?;
        blip.serialize_entry("variants", &outcome.callers)?;
        blip.end()
    }
}

impl Serialize for Caller {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut figures = serializer.serialize_map(None)?;
        figures.serialize_entry("name", self.variant.name)?;
        figures.serialize_entry("title", &self.variant.title)?;
        figures.serialize_entry("policy", &PolicyRecord(&self.variant.policy))?;
        totals(&mut figures, &self.recording, CLIENTS)?;
        figures.serialize_entry("refused", &self.recording.total(Count::Refused))?;
        figures.serialize_entry("calls_in_blip", &self.calls)?;
        figures.serialize_entry("failed_in_blip", &self.failed)?;
        figures.serialize_entry("amplification", &self.amplification())?;
        figures.end()
    }
}
