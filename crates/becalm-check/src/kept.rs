//! How many findings of a kind, and how many mappings, are kept?
//!
//! A file of one line may have a finding and a mapping in each of a million entries. The first of each kind are kept; of each other
//! finding its place, so that what is found twice counts once, as among those that are kept.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, Hash};

use serde::Serialize;

use foldhash::quality::FixedState;
use foldhash::{HashMap, HashSet};

use crate::document::Span;
use crate::finding::Finding;
use crate::mapping::Mapping;
use crate::severity::Severity;

/// How many findings of a code and severity are kept, and how many mappings.
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
    /// How many they are, each cause of a file once.
    pub findings: usize,
    /// At how many further places of a file they are so, or findings that are told.
    pub places: usize,
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
        [findings, places]: [usize; 2],
        (file, span): (&str, Span),
    ) {
        match all
            .iter_mut()
            .find(|it| (it.code, it.severity) == (code, severity))
        {
            Some(same) => {
                same.findings += findings;
                same.places += places;
            }
            None => all.push(Self {
                code,
                severity,
                findings,
                places,
                file: file.to_owned(),
                span,
            }),
        }
    }
}

/// How many findings of each kind there were, and what of those that are not kept is still asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Tally {
    /// There are few kinds.
    of: Vec<(Kind, usize)>,
    mappings: usize,
    /// Whether all findings are kept, and all mappings.
    pub every: bool,
    pub every_mapping: bool,
    pub beyond: All,
    /// What mappings that are not kept could not say, by their files.
    pub lost: BTreeMap<String, Vec<Span>>,
    /// Notes about systems that were told: the remedies of each system and code.
    told: BTreeMap<(&'static str, &'static str), BTreeSet<String>>,
}

impl Tally {
    /// Whether one more of this kind is kept.
    pub fn keeps(&mut self, kind: Kind) -> bool {
        let many = self.count(kind);
        self.every || many <= MOST
    }

    /// Counts one of this kind, and says how many there are.
    pub fn count(&mut self, kind: Kind) -> usize {
        let at = self.of.iter().position(|(it, _)| *it == kind);
        let at = at.unwrap_or_else(|| {
            self.of.push((kind, 0));
            self.of.len() - 1
        });
        self.of[at].1 += 1;
        self.of[at].1
    }

    /// Whether no more of this kind are kept.
    pub fn is_full(&self, kind: Kind) -> bool {
        let mut all = self.of.iter();
        !self.every && all.any(|(it, many)| *it == kind && *many >= MOST)
    }

    /// The finding, if one more of its kind is kept.
    pub fn kept(&mut self, finding: Finding) -> Option<Finding> {
        if self.keeps((finding.code, finding.severity)) {
            return Some(finding);
        }
        self.beyond.add(&finding.file, Beyond::of(&finding));
        None
    }

    /// The mapping, if one more is kept.
    pub fn kept_mapping(&mut self, mapping: Mapping) -> Option<Mapping> {
        self.mappings += 1;
        if self.every_mapping || self.mappings <= MOST {
            return Some(mapping);
        }
        let spans = mapping.lost.iter().filter_map(|it| it.span);
        add(&mut self.lost, &mapping.file, spans);
        None
    }

    /// How many mappings there were.
    pub const fn mappings(&self) -> usize {
        self.mappings
    }

    /// Counts mappings that were found, and not kept, elsewhere.
    pub const fn add_mappings(&mut self, more: usize) {
        self.mappings += more;
    }

    /// Whether a note about a system is the first of its code and remedy.
    pub fn is_first(&mut self, system: &'static str, note: &Finding) -> bool {
        let is_first = !self.is_told(system, note.code, &note.remedy);
        if is_first {
            let remedies = self.told.entry((system, note.code)).or_default();
            remedies.insert(note.remedy.clone());
        }
        is_first
    }

    /// Whether a note about a system was told.
    pub fn is_told(&self, system: &'static str, code: &'static str, remedy: &str) -> bool {
        let remedies = self.told.get(&(system, code));
        remedies.is_some_and(|it| it.contains(remedy))
    }
}

/// A finding that is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Beyond {
    pub span: Span,
    sentence: u64,
    /// What stays the same at another place of the file.
    cause: u64,
    pub kind: Kind,
}

impl Beyond {
    pub fn new(kind: Kind, span: Span, sentence: &str, (cause, remedy): (&str, &str)) -> Self {
        Self {
            kind,
            span,
            sentence: hashed(sentence),
            cause: hashed(&(cause, remedy)),
        }
    }

    fn of(finding: &Finding) -> Self {
        let kind = (finding.code, finding.severity);
        let cause = (finding.cause(), &*finding.remedy);
        Self::new(kind, finding.span, &finding.sentence, cause)
    }
}

/// Findings that are not kept, by their files.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct All {
    of: BTreeMap<String, Vec<Beyond>>,
    many: usize,
}

impl All {
    pub fn add(&mut self, file: &str, beyond: Beyond) {
        add(&mut self.of, file, std::iter::once(beyond));
        self.many += 1;
    }

    pub const fn len(&self) -> usize {
        self.many
    }

    /// Those of a file.
    pub fn of(&self, file: &str) -> &[Beyond] {
        self.of.get(file).map_or(&[], |it| it)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &[Beyond])> {
        self.of.iter().map(|(file, all)| (&**file, &**all))
    }

    /// Counts each of them that is not among those that are kept.
    pub fn count(self, kept: &[Finding], more: &mut Vec<More>) {
        let mut same: HashMap<&str, HashSet<Beyond>> = HashMap::default();
        for it in kept.iter().filter(|it| self.of.contains_key(&it.file)) {
            same.entry(&it.file).or_default().insert(Beyond::of(it));
        }
        for (file, mut all) in self.of {
            // Most stand in their order.
            all.sort();
            all.dedup();
            let same = same.get(&*file);
            let is_more = |it: &&Beyond| same.is_none_or(|same| !same.contains(it));
            let known = same.into_iter().flatten().map(|it| (it.kind, it.cause));
            let mut known: HashSet<_> = known.collect();
            for it in all.iter().filter(is_more) {
                let is_new = known.insert((it.kind, it.cause));
                let many = if is_new { [1, 0] } else { [0, 1] };
                More::add(more, it.kind, many, (&file, it.span));
            }
        }
    }
}

/// A number that stands for a value which is only compared.
pub(crate) fn hashed(value: &(impl Hash + ?Sized)) -> u64 {
    FixedState::default().hash_one(value)
}

fn add<T>(all: &mut BTreeMap<String, Vec<T>>, file: &str, more: impl Iterator<Item = T>) {
    match all.get_mut(file) {
        Some(same) => same.extend(more),
        None => drop(all.insert(file.to_owned(), more.collect())),
    }
}
