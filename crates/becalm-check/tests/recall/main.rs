//! Of settings of retries that somebody got wrong, how many are told; and is anything told of those that are right?
//!
//! Each key of an example of each system is misspelled in every letter, moved to each other place, switched off, and given as another type.
//! What then says the same as a file without the key was missed.

mod examples;
mod line_examples;
mod lines;
mod placeholders;
mod precision;
mod trees;

use std::collections::BTreeMap;

use becalm::lint::Lint;
use becalm_check::{Checked, File, Finding, Origin, Settings, Severity, check};

/// A file that was changed, and how.
pub struct Mutant {
    /// Which kind of slip.
    pub how: &'static str,
    /// The key, and what it became.
    pub what: String,
    /// What it is now.
    pub text: String,
    /// What it must not be taken for: the file without the key, or as it was.
    pub silent: String,
}

/// What is found in a file.
pub fn of(name: &str, text: &str) -> Checked {
    let beside = examples::BESIDE.iter().filter(|(it, _)| *it == name);
    let beside = beside.filter_map(|(_, other)| {
        let other = examples::TREES.iter().find(|it| it.name == *other)?;
        Some(File::new(other.name, other.text))
    });
    let files: Vec<_> = [File::new(name, text)].into_iter().chain(beside).collect();
    check(&files, &Settings::default())
}

/// The findings of a file but notes, those of a policy apart, and what it configures; without their places.
fn told(name: &str, text: &str) -> (Vec<String>, Vec<String>, Vec<String>) {
    let checked = of(name, text);
    let findings = checked
        .findings
        .iter()
        .filter(|it| it.severity > Severity::Note);
    let mappings = checked.mappings.iter();
    let mut policies: Vec<_> = mappings
        .map(|it| {
            let lost: Vec<_> = it.lost.iter().map(|it| &*it.what).collect();
            let said = it
                .origins
                .iter()
                .filter(|(_, it)| !matches!(it, Origin::Default));
            let said: Vec<_> = said.map(|(key, _)| *key).collect();
            format!("{} {} {said:?} {lost:?}", it.policy, it.name)
        })
        .collect();
    policies.sort();
    let (dangers, findings): (Vec<_>, Vec<_>) =
        findings.partition(|it| Lint::CODES.contains(&it.code) || it.code == "no-total-time");
    let all = |it: Vec<&Finding>| {
        it.iter()
            .map(|it| format!("{} {}", it.code, it.sentence))
            .collect()
    };
    (all(findings), all(dangers), policies)
}

/// What the first says more often than the second.
fn more(first: &[String], second: &[String]) -> bool {
    let count = |all: &[String], it: &String| all.iter().filter(|other| *other == it).count();
    first.iter().any(|it| count(first, it) > count(second, it))
}

/// Whether a fault is found that the right file does not have, or another policy than where the key is missing.
fn is_told(name: &str, right: &str, mutant: &Mutant) -> bool {
    let (faults, dangers, policies) = told(name, &mutant.text);
    let (_, as_dangerous, as_if) = told(name, &mutant.silent);
    more(&faults, &told(name, right).0) || more(&dangers, &as_dangerous) || policies != as_if
}

/// Every way to get a word wrong in one letter, and other cases of letters.
pub fn slips(word: &str) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    let mut slips = Vec::new();
    for at in 0..letters.len() {
        let (before, after) = (&letters[..at], &letters[at + 1..]);
        let (before, after) = (
            before.iter().collect::<String>(),
            after.iter().collect::<String>(),
        );
        let letter = letters[at];
        if letter.is_alphabetic() {
            slips.push(format!("{before}{after}"));
            slips.push(format!("{before}{letter}{letter}{after}"));
        }
        if at == 0 || letter.is_uppercase() {
            let other = if letter.is_uppercase() {
                letter.to_ascii_lowercase()
            } else {
                letter.to_ascii_uppercase()
            };
            slips.push(format!("{before}{other}{after}"));
        }
    }
    slips.push(word.to_uppercase());
    slips.sort();
    slips.dedup();
    slips.retain(|it| it != word);
    slips
}

/// Of each system, in hundredths.
const LEAST: usize = 95;

#[test]
fn what_is_wrong_is_told() {
    let mut counts: BTreeMap<(String, &str), (usize, usize)> = BTreeMap::new();
    let mut missed = Vec::new();
    let trees = examples::TREES
        .iter()
        .map(|it| (it.name, it.text, trees::mutants(it)));
    let lines = line_examples::LINES
        .iter()
        .map(|it| (it.name, it.text, lines::mutants(it)));
    for (name, right, mutants) in trees.chain(lines) {
        for mutant in mutants {
            let count = counts.entry((name.to_owned(), mutant.how)).or_default();
            count.1 += 1;
            if is_told(name, right, &mutant) {
                count.0 += 1;
            } else {
                missed.push(format!("{name}: {}: {}", mutant.how, mutant.what));
            }
        }
    }
    let mut systems: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for ((name, how), (told, all)) in &counts {
        println!("{name} {how}: {told} of {all}");
        let of = systems.entry(name).or_default();
        *of = (of.0 + told, of.1 + all);
    }
    let sum = |it: fn(&(usize, usize)) -> usize| systems.values().map(it).sum::<usize>();
    let (told, all) = (sum(|it| it.0), sum(|it| it.1));
    println!("all: {told} of {all}");
    for it in &missed {
        println!("missed: {it}");
    }
    let short = systems
        .iter()
        .filter(|(_, (told, all))| told * 100 < all * LEAST);
    assert_eq!(
        short.collect::<Vec<_>>(),
        [],
        "told of all, at least {LEAST} %"
    );
}

/// Systems that repeat a POST without being asked to, where no key of a file can say otherwise.
const BY_THEMSELVES: [(&str, &str); 6] = [
    ("dapr-defaults.yaml", "repeats-non-idempotent"),
    ("dapr.yaml", "repeats-non-idempotent"),
    ("appsettings.json", "repeats-non-idempotent"),
    ("hedging.json", "repeats-non-idempotent"),
    ("config.ini", "repeats-non-idempotent"),
    ("roles.ini", "repeats-non-idempotent"),
];

#[test]
fn what_is_right_has_notes_alone() {
    let trees = examples::TREES.iter().map(|it| (it.name, it.text));
    let mut wrong = Vec::new();
    for (name, text) in trees.chain(line_examples::LINES.iter().map(|it| (it.name, it.text))) {
        let checked = of(name, text);
        assert!(!checked.mappings.is_empty(), "{name}");
        let told = checked.findings.into_iter();
        let told = told.filter(|it| it.severity > Severity::Note);
        let told = told.filter(|it| !BY_THEMSELVES.contains(&(name, it.code)));
        wrong.extend(told.map(|it| format!("{name}: {}: {}; {}", it.code, it.sentence, it.remedy)));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
