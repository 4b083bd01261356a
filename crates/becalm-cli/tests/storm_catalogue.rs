//! Does the command know the whole catalogue: its list, help, manual and completions?

mod storm_support;

use becalm_sim::catalogue::ENTRIES;
use serde_json::Value;
use storm_support::{refused, told};

#[test]
fn the_list_names_every_scenario_and_tells_all_about_each() {
    let all = told(&["--list"]);
    for entry in ENTRIES {
        assert!(
            all.lines().any(|line| line == entry.name),
            "{}: {all}",
            entry.name
        );
        let one = told(&["--list", entry.name]);
        let one = one.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [entry.title, entry.question, entry.answer] {
            let part = part.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(one.contains(&part), "{}: {part}: {one}", entry.name);
        }
        for source in entry.sources {
            assert!(one.contains(source.url), "{}: {}", entry.name, source.title);
        }
        for parameter in entry.parameters {
            let told = format!("--{}: ", parameter.name);
            assert!(one.contains(&told), "{}: {told}", entry.name);
        }
    }
}

#[test]
fn the_list_is_read_by_programs() {
    let document: Value = serde_json::from_str(&told(&["--list", "--json"])).expect("JSON");
    assert_eq!(document["schema"], 1);
    let scenarios = document["scenarios"].as_array().expect("an array");
    assert_eq!(scenarios.len(), ENTRIES.len());
    for (scenario, entry) in scenarios.iter().zip(ENTRIES) {
        assert_eq!(scenario["name"], entry.name);
        assert_eq!(
            scenario["sources"].as_array().map(Vec::len),
            Some(entry.sources.len())
        );
        for (record, parameter) in scenario["parameters"]
            .as_array()
            .expect("an array")
            .iter()
            .zip(entry.parameters)
        {
            assert_eq!(record["name"], parameter.name);
            assert_eq!(record["default"], parameter.default);
        }
    }
}

#[test]
fn every_default_is_one_that_its_flag_takes() {
    for entry in ENTRIES {
        for parameter in entry.parameters {
            let checked = parameter.check(parameter.default);
            assert!(checked.is_ok(), "{}: {checked:?}", entry.name);
        }
    }
}

#[test]
fn help_manual_and_completions_know_every_scenario_and_its_flags() {
    let overview = told(&["--help"]);
    let becalm = |arguments: &[&str]| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_becalm"))
            .args(arguments)
            .output()
            .expect("the binary starts");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let manual = becalm(&["man"]);
    let completions = ["bash", "zsh", "fish"].map(|shell| becalm(&["completions", shell]));
    assert!(manual.contains(".TH becalm-storm 1"));
    for entry in ENTRIES {
        assert!(overview.contains(entry.name), "{}", entry.name);
        let page = format!(".TH becalm-storm-{} 1", entry.name);
        assert!(manual.contains(&page), "{page}");
        let help = told(&[entry.name, "--help"]);
        for flag in [
            "--compare",
            "--seed",
            "--attempts",
            "--budget",
            "--report",
            "--strict",
        ] {
            assert!(help.contains(flag), "{}: {flag}", entry.name);
        }
        for parameter in entry.parameters {
            let flag = format!("--{}", parameter.name);
            assert!(help.contains(&flag), "{}: {flag}", entry.name);
            assert!(
                manual.contains(&flag.replace('-', "\\-")),
                "{}: {flag}",
                entry.name
            );
            for script in &completions {
                assert!(script.contains(parameter.name), "{}: {flag}", entry.name);
            }
        }
    }
}

#[test]
fn s5_a_service_without_a_queue_is_studied_as_in_a_file() {
    let arguments = [
        "--queue",
        "0",
        "--compare",
        "attempts=1",
        "--runs",
        "1",
        "--quick",
    ];
    for entry in ["metastable", "cache", "queue"] {
        let printed = told(&[&[entry], &arguments[..]].concat());
        assert!(printed.contains("queue 0"), "{entry}: {printed}");
    }
}

#[test]
fn nothing_asked_is_answered_with_the_help() {
    assert!(refused(&[]).contains("--list"));
}
