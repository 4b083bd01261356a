//! Of each system a file with every field that is about retrying: what is found and what it becomes.
//!
//! `tests/golden/NAME.*` are the files, `tests/golden/NAME.expected` what is told of them. With
//! `BECALM_WRITE_GOLDEN=1` the latter are written: read them before you keep them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use becalm_check::shown::policy_file;
use becalm_check::{Checked, File, Settings, System, check};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// Each file with its name and text, in order.
fn files() -> Vec<(String, String)> {
    let names = fs::read_dir(folder())
        .unwrap()
        .map(|it| it.unwrap().file_name());
    let names: BTreeSet<String> = names.map(|it| it.into_string().unwrap()).collect();
    let files = names.into_iter().filter(|it| !it.ends_with(".expected"));
    files
        .map(|name| {
            (
                name.clone(),
                fs::read_to_string(folder().join(name)).unwrap(),
            )
        })
        .collect()
}

fn told(checked: &Checked) -> String {
    let mut told = String::new();
    for it in &checked.findings {
        let span = it.span;
        let _ = writeln!(
            told,
            "{}:{} {} {}: {}",
            span.line,
            span.column,
            it.severity.as_str(),
            it.code,
            it.sentence
        );
        if !it.remedy.is_empty() {
            let _ = writeln!(told, "    {}", it.remedy);
        }
    }
    for mapping in &checked.mappings {
        let names = mapping.names.join(", ");
        let _ = write!(
            told,
            "\n# names: {names}\n{}",
            policy_file(mapping).expect("a policy that can be written")
        );
    }
    told
}

#[test]
fn every_field_is_read_as_expected() {
    for (name, text) in files() {
        let told = told(&check(&[File::new(&name, &text)], &Settings::default()));
        let path = folder().join(&name).with_extension("expected");
        if std::env::var_os("BECALM_WRITE_GOLDEN").is_some() {
            fs::write(&path, &told).unwrap();
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(told, expected, "{name}");
    }
}

#[test]
fn every_system_has_a_file_with_every_field() {
    let found: BTreeSet<_> = files()
        .iter()
        .flat_map(|(name, text)| check(&[File::new(name, text)], &Settings::default()).mappings)
        .map(|it| it.system)
        .collect();
    assert_eq!(found, System::all().map(|it| it.name).collect());
}
