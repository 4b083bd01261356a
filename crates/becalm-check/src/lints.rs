//! Which dangers does the mapped policy have, and at which lines?

use std::borrow::Cow;

use becalm::lint::Lint;

use crate::code;
use crate::document::Span;
use crate::finding::Finding;
use crate::mapping::{Mapping, Origin};
use crate::severity::Severity;
use crate::system::{Remedies, System};
use crate::template::is_placeholder;
use crate::weight;

/// A danger of a mapping before its text is made: of very many mappings most are counted alone.
pub struct Danger<'l> {
    pub code: &'static str,
    pub severity: Severity,
    pub span: Span,
    /// What the lint says, without what helps.
    said: &'l str,
    pub remedy: Cow<'l, str>,
}

impl<'l> Danger<'l> {
    /// The sentence of the finding.
    pub fn sentence(&self, mapping: &Mapping) -> String {
        format!("{}: {}", mapping.name, self.cause(mapping))
    }

    /// What it says of each mapping that it is so of.
    pub fn cause(&self, mapping: &Mapping) -> Cow<'l, str> {
        as_far_as_read(mapping, self.said)
    }

    pub fn finding(self, mapping: &Mapping) -> Finding {
        let about = mapping.name.len() + ": ".len();
        Finding {
            file: mapping.file.clone(),
            span: self.span,
            code: self.code,
            severity: self.severity,
            sentence: self.sentence(mapping),
            remedy: self.remedy.into_owned(),
            about,
        }
    }
}

/// The lints of the policy, each at the key that it is about where the file has that, otherwise where
/// the retries are configured. `lints` are those of the policy, and `own` remedies in place of the system's. A policy may leave its
/// total time to its caller. A system has no caller that could bound it.
pub fn of<'l>(
    mapping: &Mapping,
    is_written: bool,
    system: &System,
    own: Remedies,
    lints: &'l [Lint],
) -> Vec<Danger<'l>> {
    let mut lints: Vec<_> = lints.iter().collect();
    let mut is_unbounded = mapping.policy.attempts > 1 && mapping.policy.deadline.is_none();
    let is_filled_in = |it: &(&str, Origin)| match it {
        ("deadline", Origin::Unknown(_, text)) => is_placeholder(text),
        _ => false,
    };
    if mapping.origins.iter().any(is_filled_in) {
        // Something bounds it, and nobody knows here what.
        lints.retain(|it| it.code != "no-deadline");
        is_unbounded = false;
    }
    let mut codes = lints.iter().map(|it| it.code);
    let is_told = codes.any(|it| ["no-deadline", "no-bound"].contains(&it));
    let told = lints
        .iter()
        .filter(|it| weight::is_told(mapping, it, &lints));
    let dangers = told.map(|lint| danger(mapping, is_written, system, lint));
    let unbounded = (is_unbounded && !is_told).then(|| no_total_time(mapping, is_written, system));
    let mut all: Vec<_> = dangers.chain(unbounded).collect();
    for danger in &mut all {
        if let Some(known) = remedy(own, danger.code) {
            danger.remedy = known.into();
        }
    }
    let grows = all.iter().find(|it| it.code == "no-growth");
    if let Some((severity, key)) =
        grows.and_then(|it| Some((it.severity, set(&it.remedy)?.to_owned())))
    {
        let is_again = |it: &Danger<'_>| it.code == "no-jitter" && it.severity <= severity;
        all.retain(|it| !(is_again(it) && set(&it.remedy) == Some(&key)));
    }
    all
}

/// The setting that a remedy begins with: what two dangers of a policy both ask for is asked for once.
fn set(remedy: &str) -> Option<&str> {
    let (set, _) = remedy.strip_prefix("set `")?.split_once('`')?;
    Some(set)
}

fn no_total_time(mapping: &Mapping, is_written: bool, system: &System) -> Danger<'static> {
    let code = code::NO_TOTAL_TIME.name;
    let known = remedy(system.remedies, "no-deadline");
    Danger {
        code,
        severity: weight::severity(mapping, is_written, system, code, known.is_some()),
        span: mapping.span,
        said: if weight::has_ends(mapping) {
            "the time-out of each attempt alone bounds how long all attempts of a call take together"
        } else {
            "nothing bounds how long all attempts of a call take together"
        },
        remedy: known.map_or_else(|| weight::remedy(system, code).into(), Cow::from),
    }
}

/// What another object may set is not said to be missing.
fn as_far_as_read<'l>(mapping: &Mapping, sentence: &'l str) -> Cow<'l, str> {
    let is_elsewhere = |it: &(&str, Origin)| matches!(it, ("deadline", Origin::NotExpressible(_)));
    if mapping.origins.iter().any(is_elsewhere) {
        let read = "nothing that is read here bounds";
        sentence.replacen("nothing bounds", read, 1).into()
    } else {
        sentence.into()
    }
}

fn danger<'l>(mapping: &Mapping, is_written: bool, system: &System, lint: &'l Lint) -> Danger<'l> {
    // A letter is found much sooner than a text.
    let mut ends = lint.message.rmatch_indices(';');
    let (sentence, own) = ends
        .find_map(|(at, _)| {
            Some((
                &lint.message[..at],
                lint.message[at + 1..].strip_prefix(' ')?,
            ))
        })
        .unwrap_or((&lint.message, ""));
    let known = remedy(system.remedies, lint.code).map(|it| left_to_do(mapping, it));
    let is_own = system.fewer.is_none();
    let has_remedy = known.is_some() || is_own;
    let none = || {
        if is_own {
            own.into()
        } else {
            weight::remedy(system, lint.code).into()
        }
    };
    Danger {
        code: lint.code,
        severity: weight::severity(mapping, is_written, system, lint.code, has_remedy),
        span: place(mapping, lint.code),
        // What a policy declares is no word of other systems.
        said: sentence
            .strip_suffix(", since it is declared safe to repeat")
            .filter(|_| !is_own)
            .unwrap_or(sentence),
        remedy: known.unwrap_or_else(none),
    }
}

fn place(mapping: &Mapping, code: &str) -> Span {
    let keys = KEYS.iter().find(|(it, _)| *it == code);
    let keys = keys.map_or(&[][..], |(_, keys)| keys);
    let told = |key: &&str| {
        let (_, origin) = mapping.origins.iter().find(|(it, _)| it == key)?;
        match origin {
            Origin::Line(span) | Origin::Derived(span, _) => Some(*span),
            _ => None,
        }
    };
    keys.iter().find_map(told).unwrap_or(mapping.span)
}

/// Which keys a lint is about, the most telling first.
const KEYS: &[(&str, &[&str])] = &[
    ("no-bound", &["attempts"]),
    ("unlimited-without-budget", &["attempts"]),
    ("no-budget", &["budget"]),
    ("retries-at-once", &["base", "floor"]),
    ("no-jitter", &["jitter", "base"]),
    ("jitter-after-cap", &["jitter", "cap"]),
    ("narrow-jitter", &["jitter", "base"]),
    ("no-growth", &["multiplier", "backoff", "base"]),
    ("large-budget", &["budget"]),
    ("concurrency-alone", &["budget"]),
    ("nested-retries", &["nested"]),
    ("hedge-without-budget", &["hedge"]),
    ("breaker-opened-by-one-call", &["breaker"]),
    ("breaker-hair-trigger", &["breaker"]),
    ("repeats-non-idempotent", &["retry_on"]),
    ("repeats-what-may-be-done", &["retry_on"]),
    ("budget-never-grants", &["budget"]),
    ("budget-runs-out", &["budget"]),
    ("wait-without-budget", &["when_spent", "budget"]),
    ("wait-without-bound", &["when_spent", "deadline"]),
    (
        "attempt-timeout-fills-deadline",
        &["attempt_timeout", "deadline"],
    ),
    ("waits-exceed-deadline", &["deadline", "attempts"]),
    ("no-deadline", &["attempt_timeout"]),
    ("long-waits", &["cap", "base"]),
    ("breaker-open-long", &["breaker"]),
    ("breaker-probes-often", &["breaker"]),
    ("bulkhead-long-queue", &["bulkhead"]),
    ("hedge-eager", &["hedge"]),
    ("hedge-never-starts", &["hedge"]),
];

/// What helps in the words of the system, where those of a policy are not its own.
fn remedy(remedies: Remedies, lint: &str) -> Option<&'static str> {
    let found = remedies.iter().find(|(code, _)| *code == lint);
    found.map(|(_, remedy)| *remedy)
}

/// The remedy without what the file does already: a single retry.
fn left_to_do(mapping: &Mapping, remedy: &'static str) -> Cow<'static, str> {
    if mapping.policy.attempts > 2 {
        return remedy.into();
    }
    match remedy.split_once(": 1`, and ") {
        Some((_, rest)) => format!("set {rest}").into(),
        None => remedy.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A lint without a word of what is lacking is of a key that no system sets, or has a remedy where one sets it.
    #[test]
    fn who_has_the_setting_is_not_told_that_there_is_none() {
        let of_wait = |keys: &[&str]| keys.first() == Some(&"when_spent");
        let lints = KEYS
            .iter()
            .filter(|(lint, keys)| !weight::is_lacking(lint) && !of_wait(keys));
        let lints: Vec<_> = lints.collect();
        let mut told = std::collections::BTreeSet::new();
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            let file = crate::File::new(name, &text);
            for mapping in crate::check(&[file], &crate::Settings::default()).mappings {
                let system = System::all().find(|it| it.name == mapping.system).unwrap();
                let is_set = |key: &&str| {
                    let is_own = |it: &Origin| matches!(it, Origin::Line(_));
                    let mut origins = mapping.origins.iter();
                    origins.any(|(it, origin)| it == key && is_own(origin))
                };
                // Fewer attempts are what is told in place of a remedy.
                let is_known =
                    |lint| system.fewer.is_none() || remedy(system.remedies, lint).is_some();
                // What waits for nothing, or has no end, cannot be too long for it.
                let is_possible = |lint: &str| {
                    let policy = &mapping.policy;
                    let is_in_time = policy.deadline.is_some() || !lint.ends_with("-deadline");
                    let is_ended =
                        policy.attempt_timeout.is_some() || !lint.starts_with("attempt-");
                    is_in_time
                        && is_ended
                        && (!policy.base.is_zero() || lint != "waits-exceed-deadline")
                };
                for (lint, keys) in lints.iter().filter(|(lint, _)| is_possible(lint)) {
                    let mut keys = keys.iter().filter(|it| **it != "attempts");
                    if keys.any(&is_set) && !is_known(lint) {
                        told.insert((system.name, *lint));
                    }
                }
            }
        }
        assert!(told.is_empty(), "{told:#?}");
    }

    #[test]
    fn rows_are_about_lints_that_there_are() {
        let lints = Lint::CODES;
        assert!(KEYS.iter().all(|(lint, _)| lints.contains(lint)));
    }
}
