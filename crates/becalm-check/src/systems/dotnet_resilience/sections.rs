//! Which sections of a file are those of a resilience handler?

use super::options::get;
use super::retrying::KNOWN as RETRY;
use crate::document::{Node, Span};
use crate::meant::slip_of;

/// Whose options a section holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Standard,
    Hedging,
}

/// A section with its place.
#[derive(Debug)]
pub struct Section<'n> {
    pub kind: Kind,
    /// The keys that lead to it.
    pub path: Vec<&'n str>,
    pub span: Span,
    pub given: &'n Node,
}

/// All of a tree, the outer ones first. A section within one is none of its own.
pub fn sections(tree: &Node) -> impl Iterator<Item = Section<'_>> {
    let mut left = vec![Section {
        kind: Kind::Standard,
        path: Vec::new(),
        span: tree.span,
        given: tree,
    }];
    std::iter::from_fn(move || {
        while let Some(section) = left.pop() {
            if let Some(kind) = kind(section.given) {
                return Some(Section { kind, ..section });
            }
            // What makes no handler of it was looked at, and is not read.
            for (key, _) in section.given.entries() {
                key.asked.set(false);
            }
            for (key, given) in section
                .given
                .entries()
                .iter()
                .rev()
                .filter(|(_, it)| it.is_table())
            {
                let mut path = section.path.clone();
                path.push(&*key.name);
                left.push(Section {
                    kind: Kind::Standard,
                    path,
                    span: key.span,
                    given,
                });
            }
        }
        None
    })
}

fn kind(given: &Node) -> Option<Kind> {
    let table = |name: &str| get(given, name).filter(|it| it.is_table());
    let has = |name: &str, any: &[&str]| {
        table(name).is_some_and(|it| any.iter().any(|key| get(it, key).is_some()))
    };
    let has_total = has("TotalRequestTimeout", &["Timeout"]);
    if has("Hedging", &["MaxHedgedAttempts", "Delay"]) || has_total && table("Endpoint").is_some() {
        return Some(Kind::Hedging);
    }
    let marks = ["BackoffType", "UseJitter", "ShouldRetryAfterHeader"];
    // An application's own section may have a `MaxRetryAttempts` alone or beside keys of its own.
    let is_retry = table("Retry").is_some_and(|it| {
        let is_known = |name: &str| {
            RETRY.contains(&name)
                || name.eq_ignore_ascii_case("Name")
                || slip_of(name, RETRY).is_some()
        };
        let has = |name: &&str| get(it, name).is_some();
        let is_marked = marks.iter().any(has) || it.entries().len() > 1 && has(&RETRY[0]);
        is_marked && it.entries().iter().all(|(key, _)| is_known(&key.name))
    });
    let is_standard = has_total || has("AttemptTimeout", &["Timeout"]) || is_retry;
    is_standard.then_some(Kind::Standard)
}
