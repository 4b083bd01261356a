//! How many findings of a kind are kept?
//!
//! A file of one line may have a finding in each of a million entries. The first of each kind are kept; of each other its place, so that
//! what is found twice counts once, as among those that are kept.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::Serialize;

use crate::document::Span;
use crate::finding::Finding;
use crate::severity::Severity;

/// How many findings of a code and severity are kept.
pub(crate) const MOST: usize = 10_000;

type Kind = (&'static str, Severity);

/// How many findings of a code and severity are left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct More {
    /// Their code.
    pub code: &'static str,
    /// How bad they are.
    pub severity: Severity,
    /// How many they are.
    pub findings: usize,
    /// The file of the first.
    #[serde(skip)]
    pub file: String,
    /// Where the first stands.
    #[serde(skip)]
    pub span: Span,
}

impl More {
    /// Counts some as left out, beside those of their kind.
    pub(crate) fn add(
        all: &mut Vec<Self>,
        (code, severity): Kind,
        findings: usize,
        (file, span): (&str, Span),
    ) {
        match all
            .iter_mut()
            .find(|it| (it.code, it.severity) == (code, severity))
        {
            Some(same) => same.findings += findings,
            None => all.push(Self {
                code,
                severity,
                findings,
                file: file.to_owned(),
                span,
            }),
        }
    }
}

/// How many findings of each kind there were.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Counts {
    /// There are few kinds.
    of: Vec<(Kind, usize)>,
    /// Whether all are kept.
    pub every: bool,
}

impl Counts {
    /// Whether one more of this kind is kept.
    pub fn keep(&mut self, kind: Kind) -> bool {
        let at = self.of.iter().position(|(it, _)| *it == kind);
        let at = at.unwrap_or_else(|| {
            self.of.push((kind, 0));
            self.of.len() - 1
        });
        self.of[at].1 += 1;
        self.every || self.of[at].1 <= MOST
    }
}

/// A finding that is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Beyond {
    pub span: Span,
    sentence: u64,
    pub kind: Kind,
}

impl Beyond {
    pub fn new(kind: Kind, span: Span, sentence: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        sentence.hash(&mut hasher);
        Self {
            kind,
            span,
            sentence: hasher.finish(),
        }
    }

    fn of(finding: &Finding) -> Self {
        let kind = (finding.code, finding.severity);
        Self::new(kind, finding.span, &finding.sentence)
    }
}

/// Findings that are not kept, by their files.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct All(BTreeMap<String, Vec<Beyond>>);

impl All {
    pub fn add(&mut self, file: &str, beyond: impl IntoIterator<Item = Beyond>) {
        match self.0.get_mut(file) {
            Some(all) => all.extend(beyond),
            None => drop(self.0.insert(file.to_owned(), beyond.into_iter().collect())),
        }
    }

    pub fn take(&mut self, finding: &Finding) {
        self.add(&finding.file, [Beyond::of(finding)]);
    }

    pub fn len(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &[Beyond])> {
        self.0.iter().map(|(file, all)| (&**file, &**all))
    }

    /// Counts each of them that is not among those that are kept.
    pub fn count(self, kept: &[Finding], more: &mut Vec<More>) {
        for (file, mut all) in self.0 {
            all.sort_unstable();
            all.dedup();
            let mut same: Vec<_> = kept
                .iter()
                .filter(|it| it.file == file)
                .map(Beyond::of)
                .collect();
            same.sort_unstable();
            for it in all.iter().filter(|it| same.binary_search(it).is_err()) {
                More::add(more, it.kind, 1, (&file, it.span));
            }
        }
    }
}
