//! What was found in files, and how were they read?

use std::collections::HashSet;

use crate::finding::Finding;
use crate::kept::{All, Counts, More};
use crate::mapping::Mapping;
use crate::reading::Reading;
use crate::severity::Severity;
use crate::versions::As;
use crate::weight;

/// How files are read.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Settings {
    /// Which versions hold; the newest of a system that is not named.
    pub versions: Vec<As>,
    /// Whether every finding is kept, and not the first 10,000 of a code alone. Files with comments that let findings pass keep every one.
    pub every: bool,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Checked {
    /// In the order of the files, and of the lines in a file.
    pub findings: Vec<Finding>,
    /// In the order of the files, and of the documents in a file.
    pub mappings: Vec<Mapping>,
    /// Those that comments in the files let pass, with a reason.
    pub allowed: Vec<Finding>,
    /// How many more were found, beyond those that are kept.
    pub more: Vec<More>,
    /// Notes about systems that were told.
    pub(crate) told_once: HashSet<(&'static str, &'static str)>,
    pub(crate) counts: Counts,
    pub(crate) beyond: All,
}

impl Checked {
    /// How many findings are as bad as this, those among them that are not kept.
    pub fn count(&self, severity: Severity) -> usize {
        let kept = self.findings.iter().filter(|it| it.severity == severity);
        let more = self.more.iter().filter(|it| it.severity == severity);
        kept.count() + more.map(|it| it.findings).sum::<usize>()
    }

    /// Keeps a finding, or counts it.
    pub(crate) fn push(&mut self, finding: Finding) {
        if self.counts.keep((finding.code, finding.severity)) {
            self.findings.push(finding);
        } else {
            self.beyond.take(&finding);
        }
    }

    /// Takes what a system found. What may have changed its severity since it was found is counted here.
    pub(crate) fn take(&mut self, reading: Reading<'_>) {
        self.counts = reading.counts;
        for of_file in reading.beyond.chunk_by(|one, next| one.0 == next.0) {
            let beyond = of_file.iter().map(|(_, it)| *it);
            self.beyond.add(of_file[0].0, beyond);
        }
        for finding in reading.findings {
            if reading.below.is_some() || weight::may_change(finding.code) {
                self.push(finding);
            } else {
                self.findings.push(finding);
            }
        }
        self.mappings.extend(reading.mappings);
    }

    /// How much there is, which grows with all that is found.
    pub(crate) fn size(&self) -> [usize; 4] {
        [
            self.findings.len(),
            self.mappings.len(),
            self.beyond.len(),
            self.more.len(),
        ]
    }

    /// Counts those that are not kept.
    pub(crate) fn settle(&mut self) {
        std::mem::take(&mut self.beyond).count(&self.findings, &mut self.more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code;
    use crate::document::Span;
    use crate::kept::MOST;

    #[test]
    fn what_is_found_twice_counts_once() {
        let mut checked = Checked::default();
        for _ in 0..2 {
            for line in 1..=MOST + 7 {
                let span = Span::new(line, 1, 1);
                checked.push(Finding::new("a", span, code::REFUSED, "x", ""));
            }
        }
        checked.settle();
        assert_eq!(
            (checked.findings.len(), &checked.more[..]),
            (
                MOST,
                &[More {
                    code: "refused",
                    severity: Severity::Error,
                    findings: 7,
                    file: "a".into(),
                    span: Span::new(MOST + 1, 1, 1),
                }][..]
            )
        );
    }
}
