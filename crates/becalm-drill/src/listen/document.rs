//! What does `--json` hold? A document for programs: names and units are those of every drill.

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use super::Outcome;
use super::finding::{self, Finding};
use crate::ledger::Count;
use crate::origin::{begun, milliseconds};
use crate::record::{ATTEMPTS, PerBucket, phases, totals};
use crate::setup::told_course;
use crate::statistics::amplification;

const SCHEMA: u32 = 1;

const CLIENTS: &[(&str, &[Count])] = &[
    ("calls", &[Count::Call]),
    ("attempts", &[Count::Arrived]),
    ("succeeded", &[Count::Succeeded]),
];

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (contender, judged) = (&self.contender, &self.contender.judged);
        let recording = &contender.recording;
        let mut document = begun(serializer, SCHEMA, &self.command)?;
        document.serialize_entry("setup", &SetupRecord(self))?;
        document.serialize_entry("finding", &Finding::of(self))?;
        document.serialize_entry("conclusion", &finding::conclusion(self))?;
        // Of the fault, at worst.
        document.serialize_entry("lateness_ms", &milliseconds(self.lateness))?;
        // The share of calls.
        document.serialize_entry("good_before", &self.before.share())?;
        document.serialize_entry("verdict", judged.name())?;
        document.serialize_entry("recovered_after_ms", &judged.back_after().map(milliseconds))?;
        totals(&mut document, recording, CLIENTS)?;
        document.serialize_entry("amplification", &amplification(recording))?;
        document.serialize_entry("quiet", &contender.measured.quiet)?;
        document.serialize_entry("retried", &self.retried)?;
        document.serialize_entry("calls_by_attempts", &self.seen.calls_by_attempts)?;
        document.serialize_entry("identified", &Identified(self.seen.identified))?;
        document.serialize_entry("phases", &phases(contender))?;
        document.serialize_entry("per_bucket", &PerBucket(recording, ATTEMPTS))?;
        document.serialize_entry("proxy", &self.seen.counts)?;
        document.end()
    }
}

struct SetupRecord<'a>(&'a Outcome);

impl Serialize for SetupRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut setup = serializer.serialize_map(None)?;
        setup.serialize_entry("upstream", &self.0.upstream)?;
        setup.serialize_entry("fault", &self.0.fault)?;
        told_course(&mut setup, &self.0.setup)?;
        setup.end()
    }
}

/// By what requests said which call they are of.
struct Identified([u64; 3]);

impl Serialize for Identified {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names = ["request_id", "traceparent", "nothing"];
        serializer.collect_map(names.into_iter().zip(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::tests::outcome;
    use crate::drill::Report as _;
    use crate::origin::tests::keys;

    #[test]
    fn every_key_and_its_type_is_pinned() {
        let storm = outcome(4, 4, 0);
        let bounded = outcome(1, 1, 1);
        let documents = [storm, bounded].map(|it| it.document().unwrap());
        insta::assert_snapshot!(keys(&documents));
    }
}
