//! What does `--json` hold? A document for programs.
//!
//! Names and units are those of the drill: times in milliseconds, rates per second, one number for every
//! `bucket_ms` in arrays `per_bucket`. A figure that does not exist is `null`.

use std::iter;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use super::canary::Calm;
use super::outcome::Outcome;
use super::round::Round;
use crate::judgement::Contender;
use crate::ledger::Count;
use crate::origin::{begun, milliseconds};
use crate::record::{ATTEMPTS, PerBucket, PolicyRecord, phases, totals};
use crate::setup::told_course;
use crate::statistics::amplification;
use crate::twin::Twin;

const SCHEMA: u32 = 1;

const CLIENTS: &[(&str, &[Count])] = &[
    ("calls", &[Count::Call]),
    ("first_tries", &[Count::FirstTry]),
    ("attempts", &[Count::Arrived]),
    ("succeeded", &[Count::Succeeded]),
];

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let twins = self.twins.iter().map(Some).chain(iter::repeat(None));
        let calms = self.calms.iter().map(Some).chain(iter::repeat(None));
        let held = self.contenders.iter().zip(&self.rounds);
        let variants = held.zip(calms).zip(twins);
        let variants = variants.map(|(((contender, round), calm), twin)| Variant {
            contender,
            round,
            calm,
            twin,
        });
        let mut document = begun(serializer, SCHEMA, &self.command)?;
        document.serialize_entry("seed", &self.seed)?;
        document.serialize_entry("drill", &self.name)?;
        document.serialize_entry("setup", &SetupRecord(self))?;
        // Of the load generator and of the fault, at worst.
        document.serialize_entry("lateness_ms", &milliseconds(self.lateness()))?;
        document.serialize_entry("finding", &self.finding())?;
        document.serialize_entry("conclusion", &self.conclusion())?;
        document.serialize_entry("variants", &variants.collect::<Vec<_>>())?;
        // What went through the proxy of the fault.
        document.serialize_entry("proxy", &self.seen)?;
        document.end()
    }
}

struct SetupRecord<'a>(&'a Outcome);

impl Serialize for SetupRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Outcome { setup: of, .. } = self.0;
        let mut setup = serializer.serialize_map(None)?;
        setup.serialize_entry("host", &self.0.host)?;
        setup.serialize_entry("request", &self.0.request)?;
        setup.serialize_entry("fault", &self.0.trouble.to_string())?;
        setup.serialize_entry("rate_per_s", &of.load)?;
        setup.serialize_entry("capacity_per_s", &of.known_capacity())?;
        setup.serialize_entry("client_timeout_ms", &milliseconds(of.client_timeout))?;
        told_course(&mut setup, of)?;
        setup.end()
    }
}

struct Variant<'a> {
    contender: &'a Contender,
    round: &'a Round,
    calm: Option<&'a Calm>,
    twin: Option<&'a Twin>,
}

impl Serialize for Variant<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let contender = self.contender;
        let (variant, recording) = (&contender.variant, &contender.recording);
        let (measured, judged) = (&contender.measured, &contender.judged);
        let well_after = self.calm.and_then(Calm::well_after).map(milliseconds);
        let mut figures = serializer.serialize_map(None)?;
        figures.serialize_entry("name", &variant.name)?;
        figures.serialize_entry("title", &variant.title)?;
        figures.serialize_entry("policy", &PolicyRecord(&variant.policy))?;
        figures.serialize_entry("verdict", judged.name())?;
        // The share of calls.
        figures.serialize_entry("good_before", &self.round.good)?;
        figures.serialize_entry("lateness_ms", &milliseconds(self.round.machine.lateness))?;
        // For how long it was watched.
        figures.serialize_entry("after_ms", &milliseconds(self.round.setup.after))?;
        totals(&mut figures, recording, CLIENTS)?;
        figures.serialize_entry("gave_up", &recording.stops)?;
        figures.serialize_entry("refused", &recording.total(Count::Refused))?;
        figures.serialize_entry("unconnected", &recording.total(Count::Unconnected))?;
        figures.serialize_entry("most_in_flight", &measured.most_in_flight)?;
        figures.serialize_entry("peak_attempts_per_bucket", &measured.peak_arrivals)?;
        figures.serialize_entry("recovered_after_ms", &judged.back_after().map(milliseconds))?;
        figures.serialize_entry("well_without_load_after_ms", &well_after)?;
        figures.serialize_entry("amplification", &amplification(recording))?;
        figures.serialize_entry("simulated", &self.twin)?;
        figures.serialize_entry("phases", &phases(contender))?;
        figures.serialize_entry("per_bucket", &PerBucket(recording, ATTEMPTS))?;
        figures.end()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::finding::tests::outcome;
    use super::*;
    use crate::drill::Report as _;
    use crate::origin::tests::keys;
    use crate::statistics::tests::{protected, stormy};
    use crate::twin::tests::twins;

    #[test]
    fn every_key_and_its_type_is_pinned() {
        let behind_a_proxy = Outcome {
            twins: twins(),
            seen: Some(crate::fault::Counts::default()),
            ..outcome(&stormy(), &protected())
        };
        let mut down = outcome(&stormy(), &stormy());
        down.calms[1] = Calm::Unwell(Duration::from_secs(30), "it answers 503".into());
        let documents = [behind_a_proxy, down].map(|it| it.document().unwrap());
        insta::assert_snapshot!(keys(&documents));
    }
}
