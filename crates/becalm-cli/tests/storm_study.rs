//! Does `becalm storm NAME` keep its promises as a program: the same bytes for the same seed, files,
//! exit codes?

mod storm_support;

use std::fs;
use std::path::Path;

use serde_json::Value;
use storm_support::{refused, told};

/// A small herd: two policies, a thousand clients.
const HERD: [&str; 5] = ["herd", "--clients", "1000", "--compare", "none,full"];

fn herd(more: &[&str]) -> String {
    told(&[&HERD[..], more].concat())
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_any_number_of_threads() {
    let folder = tempfile::tempdir().expect("a directory");
    let run = |threads: &str, more: &[&str]| {
        let page = folder.path().join("page.html");
        let page = page.to_str().expect("UTF-8");
        let arguments = [
            &["--seed", "5", "--threads", threads, "--report", page],
            more,
        ]
        .concat();
        let printed = herd(&arguments);
        (
            printed,
            fs::read_to_string(page).expect("the page is written"),
        )
    };
    assert_eq!(run("1", &[]), run("2", &[]));
    assert_eq!(run("1", &["--json"]), run("2", &["--json"]));
}

#[test]
fn another_seed_gives_another_sample() {
    let events = |seed| {
        let document: Value =
            serde_json::from_str(&herd(&["--json", "--seed", seed])).expect("JSON");
        (document["seed"].to_string(), document["contenders"].clone())
    };
    let (first, other) = (events("1"), events("2"));
    assert_eq!((&*first.0, &*other.0), ("1", "2"));
    assert_ne!(first.1, other.1);
}

#[test]
fn s2_the_order_of_flags_decides_nothing() {
    let decision = |compare: &str| {
        let flags = [
            "metastable",
            "--quick",
            "--runs",
            "2",
            "--json",
            "--compare",
            compare,
        ];
        let document: Value = serde_json::from_str(&told(&flags)).expect("JSON");
        document["decision"].clone()
    };
    let first = decision("attempts=1,full,equal,budget=none");
    assert!(first["take"].is_string(), "{first}");
    for other in [
        "budget=none,equal,full,attempts=1",
        "equal,attempts=1,budget=none,full",
    ] {
        assert_eq!(decision(other), first);
    }
}

#[test]
fn the_document_has_what_the_terminal_tells() {
    let document: Value = serde_json::from_str(&herd(&["--json"])).expect("JSON");
    assert_eq!(document["schema"], 1);
    assert_eq!(document["scenario"], "herd");
    assert_eq!(
        document["asked"][0]["value"], "1000",
        "{}",
        document["asked"]
    );
    let command = document["command"].as_str().expect("a command");
    assert_eq!(
        command,
        "becalm storm herd --clients 1000 --compare none,full --json --seed 1"
    );
    let text = herd(&[]);
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["question", "answer"] {
        let part = flat(document[part].as_str().expect("a sentence"));
        assert!(flat(&text).contains(&part), "{part}: {text}");
    }
    for contender in document["contenders"].as_array().expect("an array") {
        assert!(text.contains(contender["name"].as_str().expect("a name")));
        for figure in contender["figures"].as_array().expect("an array") {
            assert!(
                text.contains(figure["title"].as_str().expect("a title")),
                "{figure}"
            );
        }
    }
}

#[test]
fn the_report_is_small_and_every_chart_has_its_files() {
    let folder = tempfile::tempdir().expect("a directory");
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (page, pictures, tables) = (at("herd.html"), at("pictures"), at("tables"));
    let printed = herd(&[
        "--report", &page, "--svg", &pictures, "--csv", &tables, "--json",
    ]);
    let document: Value = serde_json::from_str(&printed).expect("JSON");

    let html = fs::read_to_string(&page).expect("the page is written");
    assert!(html.len() < 2 << 20, "{} bytes", html.len());
    assert!(html.contains("again") && html.contains("becalm storm herd --clients 1000"));

    let charts = document["charts"].as_array().expect("an array");
    assert!(!charts.is_empty());
    for chart in charts {
        let id = chart["id"].as_str().expect("a name");
        let title = chart["title"].as_str().expect("a title");
        assert!(html.contains(title), "{title}");
        let picture = Path::new(&pictures).join(format!("{id}.svg"));
        let picture = fs::read_to_string(&picture).unwrap_or_else(|error| panic!("{id}: {error}"));
        assert!(
            picture.starts_with("<svg") && picture.contains("<path"),
            "{id}"
        );
        let table = Path::new(&tables).join(format!("{id}.csv"));
        let table = fs::read_to_string(&table).unwrap_or_else(|error| panic!("{id}: {error}"));
        assert!(table.lines().count() > 2, "{id}: {table}");
    }
    let figures = Path::new(&tables).join("figures.csv");
    let figures = fs::read_to_string(figures).expect("the figures");
    let rows = document["contenders"].as_array().expect("an array").iter();
    let rows: usize = rows
        .map(|it| it["figures"].as_array().map_or(0, Vec::len))
        .sum();
    assert_eq!(figures.lines().count(), 1 + rows, "{figures}");
}

#[test]
fn policy_flags_shape_what_is_compared_and_stand_beside_it() {
    let names = |more: &[&str]| {
        let arguments = [&["herd", "--clients", "100", "--json"], more].concat();
        let document: Value = serde_json::from_str(&told(&arguments)).expect("JSON");
        let contenders = document["contenders"].as_array().expect("an array");
        let names = contenders
            .iter()
            .map(|it| it["name"].as_str().expect("a name").to_owned());
        names.collect::<Vec<_>>()
    };
    let own = names(&[]);
    assert!(own.len() >= 2, "{own:?}");
    let with = names(&["--jitter", "proportional:0.25"]);
    assert_eq!(with, [own, vec!["yours".into()]].concat());
    assert_eq!(names(&["--compare", "grpc,own"]), ["grpc", "own"]);
}

#[test]
fn a_study_that_is_refused_leaves_no_file_behind() {
    let folder = tempfile::tempdir().expect("a directory");
    let page = folder.path().join("herd.html");
    let page = page.to_str().expect("UTF-8");
    for arguments in [
        &["--clients", "0"][..],
        &["--clients", "many"],
        &["--compare", "ful"],
        &["--compare", "full;atempts=3"],
        &["--base", "1h"],
        &["--runs", "0"],
        &["--threads", "0"],
        &["--sweep", "base=1ms|1h"],
        &["--sweep", "base=1s", "--compare", "full"],
        &["--svg", "/dev/null/x"],
    ] {
        let arguments = [&["herd", "--report", page], arguments].concat();
        refused(&arguments);
        assert!(!Path::new(page).exists(), "{arguments:?}");
    }
    let refusal = refused(&["herd", "--svg", "/dev/null/x"]);
    assert!(refusal.contains("name another directory"), "{refusal}");
}
