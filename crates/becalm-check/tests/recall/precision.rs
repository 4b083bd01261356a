//! Is what is told worth reading, and is nothing bad told as a note?

use std::fs;
use std::path::Path;

use becalm_check::{Checked, Mapping, Origin, Severity};

use super::examples::TREES;
use super::line_examples::LINES;
use super::of;

/// The files of the folders, by their names.
fn files(folders: &[&str]) -> Vec<(String, String)> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut files = Vec::new();
    for entry in folders
        .iter()
        .flat_map(|it| fs::read_dir(tests.join(it)).unwrap())
    {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if !name.ends_with(".expected") {
            files.push((name, fs::read_to_string(path).unwrap()));
        }
    }
    files
}

fn examples() -> Vec<(String, String)> {
    let trees = TREES.iter().map(|it| (it.name, it.text));
    let all = trees.chain(LINES.iter().map(|it| (it.name, it.text)));
    all.map(|(name, text)| (name.to_owned(), text.to_owned()))
        .collect()
}

#[test]
fn a_file_has_few_warnings() {
    let mut files = files(&["files"]);
    files.extend(examples());
    let mut warnings = 0;
    for (name, text) in &files {
        let checked = of(name, text);
        let own = checked
            .findings
            .iter()
            .filter(|it| it.severity == Severity::Warning)
            .count();
        println!("{name}: {own} warnings");
        warnings += own;
    }
    println!("{warnings} warnings in {} files", files.len());
    assert!(warnings * 2 <= files.len() * 3, "at most 1.5 a file");
}

fn says(mapping: &Mapping, key: &str) -> bool {
    let mut origins = mapping.origins.iter();
    origins
        .any(|(it, origin)| *it == key && matches!(origin, Origin::Line(_) | Origin::Derived(..)))
}

fn is_told(checked: &Checked, file: &str, code: &str, least: Severity) -> bool {
    let mut findings = checked.findings.iter();
    findings.any(|it| it.code == code && it.file == file && it.severity >= least)
}

/// What the file itself asks for: to repeat what is not idempotent, without a bound, or nothing.
#[test]
fn nothing_bad_is_a_note() {
    let mut all = files(&["files", "golden"]);
    all.extend(examples());
    let mut seen = [0; 3];
    for (name, text) in &all {
        let checked = of(name, text);
        for mapping in &checked.mappings {
            let lints = mapping.policy.lints();
            let has = |code: &str| lints.iter().any(|it| it.code == code);
            if has("repeats-non-idempotent") && says(mapping, "retry_on") {
                seen[0] += 1;
                // A mode of the AWS SDKs is no list of methods, and what Resilience4j repeats is said in code.
                let least = if ["aws-config", "resilience4j"].contains(&mapping.system) {
                    Severity::Warning
                } else {
                    Severity::Error
                };
                assert!(
                    is_told(&checked, name, "repeats-non-idempotent", least),
                    "{name}: {}",
                    mapping.name
                );
            }
            if says(mapping, "attempts") {
                for code in ["no-bound", "unlimited-without-budget"]
                    .iter()
                    .filter(|it| has(it))
                {
                    seen[1] += 1;
                    let told = |code| is_told(&checked, name, code, Severity::Error);
                    assert!(told(code) || told("no-bound"), "{name}: {}", mapping.name);
                }
            }
        }
        for finding in checked
            .findings
            .iter()
            .filter(|it| it.code == "never-retries")
        {
            seen[2] += 1;
            assert!(finding.severity > Severity::Note, "{name}: {finding:?}");
        }
    }
    println!("{seen:?} settings repeat what is not idempotent, have no bound, never act");
    assert!(seen.iter().all(|it| *it > 0), "{seen:?}");
}

/// A part that the system repeats by itself says nothing of the part before it.
#[test]
fn what_never_acts_is_a_warning_before_a_part_that_says_nothing() {
    let text = "defaults\n    mode http\n    timeout server 5s\nbackend never\n    retries 0\n    retry-on 503\n    server a 10.0.0.1:80\n\
                backend plain\n    server a 10.0.0.1:80\n";
    let checked = of("haproxy.cfg", text);
    assert_eq!(checked.mappings.len(), 1, "{checked:?}");
    assert!(
        is_told(&checked, "haproxy.cfg", "never-retries", Severity::Warning),
        "{checked:#?}"
    );
}
