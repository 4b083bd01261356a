//! What was found in files, and how were they read?

use crate::finding::Finding;
use crate::kept::{More, Tally};
use crate::mapping::Mapping;
use crate::reading::Reading;
use crate::severity::Severity;
use crate::shown::folded;
use crate::versions::As;

/// How files are read.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Settings {
    /// Which versions hold; the newest of a system that is not named.
    pub versions: Vec<As>,
    /// Whether every finding is kept, and not the first 10,000 of a code alone. Files with comments that let findings pass keep every one.
    pub every: bool,
    /// Whether every mapping is kept, and not the first 10,000 alone.
    pub every_mapping: bool,
    /// How many files there are around these, each within the other.
    pub(crate) within: u8,
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
    /// How many more mappings there are, beyond those that are kept.
    pub more_mappings: usize,
    pub(crate) tally: Tally,
}

impl Checked {
    /// How many findings are as bad as this, those among them that are not kept. What is so at several places of a file
    /// counts once, as it is shown.
    pub fn count(&self, severity: Severity) -> usize {
        let kept = folded(&self.findings);
        let kept = kept.iter().filter(|it| it.finding.severity == severity);
        let more = self.more.iter().filter(|it| it.severity == severity);
        kept.count() + more.map(|it| it.findings).sum::<usize>()
    }

    /// Keeps a finding, or counts it.
    pub(crate) fn push(&mut self, finding: Finding) {
        self.findings.extend(self.tally.kept(finding));
    }

    /// Takes what a system found.
    pub(crate) fn take(&mut self, reading: Reading<'_>) {
        self.tally = reading.tally;
        self.findings.extend(reading.settled);
        self.mappings.extend(reading.mappings);
    }

    /// Takes what was found in a file within a file.
    pub(crate) fn take_inner(&mut self, inner: &mut Self) {
        inner.findings.drain(..).for_each(|it| self.push(it));
        for mapping in inner.mappings.drain(..) {
            self.mappings.extend(self.tally.kept_mapping(mapping));
        }
        self.tally.add_mappings(inner.more_mappings);
    }

    /// Takes what was found apart from it, kept or counted.
    pub(crate) fn take_more(&mut self, mut more: Self) {
        more.findings.drain(..).for_each(|it| self.push(it));
        for (file, beyond) in more.tally.beyond.iter() {
            for it in beyond {
                self.tally.count(it.kind);
                self.tally.beyond.add(file, *it);
            }
        }
    }

    /// How much there is, which grows with all that is found.
    pub(crate) fn size(&self) -> [usize; 4] {
        [
            self.findings.len(),
            self.tally.mappings(),
            self.tally.beyond.len(),
            self.more.len(),
        ]
    }

    /// Counts those that are not kept.
    pub(crate) fn settle(&mut self) {
        std::mem::take(&mut self.tally.beyond).count(&self.findings, &mut self.more);
        self.more_mappings = self.tally.mappings() - self.mappings.len();
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
                let (span, sentence) = (Span::new(line, 1, 1), format!("x{line}"));
                checked.push(Finding::new("a", span, code::REFUSED, sentence, ""));
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
                    places: 0,
                    file: "a".into(),
                    span: Span::new(MOST + 1, 1, 1),
                }][..]
            )
        );
    }

    #[test]
    fn what_is_so_at_very_many_places_counts_once() {
        let mut checked = Checked::default();
        for line in 1..=MOST + 7 {
            let (span, line) = (Span::new(line, 1, 1), line.min(MOST + 5));
            let sentence = if line > MOST + 3 { "y" } else { "x" };
            checked.push(Finding::new("a", span, code::REFUSED, sentence, ""));
        }
        checked.settle();
        assert_eq!(checked.count(Severity::Error), 2);
        let more = (checked.more[0].findings, checked.more[0].places);
        assert_eq!(more, (1, 6));
    }
}
