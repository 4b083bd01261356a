//! Does `becalm storm FILE.toml` see, compare, tune and mend the policies of every tier?

mod storm_support;

use std::fs;

use serde_json::Value;
use storm_support::told;
use tempfile::TempDir;

/// A scenario file of this text.
fn own(text: &str) -> (TempDir, String) {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("tiers.toml");
    fs::write(&path, text).expect("the file is written");
    let path = path.to_str().expect("UTF-8").to_owned();
    (folder, path)
}

/// The api calls orders, which call a database of 100 requests per second: 40 come per second, and it
/// hangs for 3 s.
const TIERS: &str = r#"
horizon = "40s"

[[service]]
name = "api"
workers = "unlimited"
time = "1ms"
calls = [{ service = "orders", timeout = "2s", policy = { attempts = 3, budget = "none" } }]

[[service]]
name = "orders"
workers = "unlimited"
time = "1ms"
calls = [{ service = "database", timeout = "200ms", policy = { attempts = 3, budget = "none" } }]

[[service]]
name = "database"
time = "exponential:10ms"
queue = 100

[[population]]
name = "users"
target = "api"
arrivals = "poisson:40"
timeout = "8s"
policy = { attempts = 1 }

[[trigger]]
from = "10s"
length = "3s"
effect = "hang"
service = "database"
"#;

#[test]
fn s1_retries_below_the_first_tier_are_in_the_verdict_the_pictures_and_the_tables() {
    let (folder, path) = own(TIERS);
    let path = &*path;
    let pictures = folder.path().join("pictures");
    let pictures = pictures.to_str().expect("UTF-8");
    let asked = [path, "--runs", "2", "--quick", "--svg", pictures];
    let printed = told(&[&asked[..], &["--csv", pictures]].concat());
    let flat = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "users: 1 attempt; api->orders and orders->database: 3 attempts",
        "Retries multiply the requests at database by ",
        "for each first try of api->orders",
    ] {
        assert!(flat.contains(part), "{part}: {printed}");
    }
    assert!(!flat.contains("no retries"), "{printed}");
    let picture = folder.path().join("pictures/arrivals-3.svg");
    let picture = fs::read_to_string(picture).expect("a picture of the database");
    assert!(picture.contains("Requests that arrive at database"));
    let figures = folder.path().join("pictures/figures.csv");
    let figures = fs::read_to_string(figures).expect("the figures");
    assert!(
        figures.contains("own,database: amplification,"),
        "{figures}"
    );
}

/// Three tiers, each with retries and none with a budget; the database hangs for 4 s.
const THREE_TIERS: &str = include_str!("../../becalm-sim/tests/three_tiers.toml");

fn tiers() -> (TempDir, String) {
    own(THREE_TIERS)
}

/// The names and the verdicts of what is studied.
fn verdicts(arguments: &[&str]) -> Vec<(String, Value)> {
    let document: Value = serde_json::from_str(&told(arguments)).expect("JSON");
    let contenders = document["contenders"].as_array().expect("an array").iter();
    let pairs = contenders.map(|it| {
        (
            it["name"].as_str().unwrap().to_owned(),
            it["verdict"].clone(),
        )
    });
    pairs.collect()
}

#[test]
fn s2_every_policy_of_a_file_is_compared_swept_and_set_by_its_place() {
    let (_folder, path) = tiers();
    let quick = ["--runs", "1", "--quick", "--json"];
    let list = "own,users: budget=ratio:0.1; edge->orders: attempts=1; orders->database: attempts=1,\
                all: attempts=1";
    let compared = verdicts(&[&[&*path, "--compare", list], &quick[..]].concat());
    let is_down = |it: &(String, Value)| it.1 == "metastable";
    assert_eq!(
        compared.iter().map(is_down).collect::<Vec<_>>(),
        [true, false, false]
    );

    // At one place a budget is too little, at all it is enough.
    let flags = |at: &str| {
        let arguments = [
            &*path,
            "--at",
            at,
            "--budget",
            "ratio:0.1",
            "--compare",
            "yours",
        ];
        verdicts(&[&arguments[..], &quick].concat())
    };
    assert!(is_down(&flags("orders->database")[0]));
    assert!(!is_down(&flags("all")[0]));

    let axes = "all.budget=none|ratio:0.1,orders->database.attempts=1|3";
    let swept = verdicts(&[&[&*path, "--sweep", axes], &quick[..]].concat());
    let names: Vec<_> = swept.iter().map(|it| it.0.as_str()).collect();
    assert_eq!(names[1], "all.budget=none orders->database.attempts=3");
    assert_eq!(
        swept.iter().map(is_down).collect::<Vec<_>>(),
        [true, true, false, false]
    );
    let at = ["--at", "orders->database", "--sweep", "attempts=1|3"];
    let swept = verdicts(&[&[&*path], &at[..], &quick].concat());
    assert!(swept.iter().all(is_down), "{swept:?}");
}

#[test]
fn s2_the_places_of_a_policy_are_told_with_the_flags() {
    let (_folder, path) = tiers();
    let help = told(&[&path, "--help"]);
    for part in [
        "--at <PLACE>",
        "orders->db: budget=none",
        "orders->db.attempts=1..6",
    ] {
        assert!(help.contains(part), "{part}: {help}");
    }
}

/// The scenario file with other lines under its sections, as becalm says to write them.
fn rewritten(text: &str, lines: &Value) -> String {
    let mut text = text.to_owned();
    for line in lines.as_array().expect("an array") {
        let section = line["section"].as_str().expect("a section");
        let line = line["line"].as_str().expect("a line");
        let key = match section.split_once(' ').expect("a place").1.split_once("->") {
            Some((_, callee)) => format!("[[service.calls]]\nservice = \"{callee}\""),
            None => "[[population]]".to_owned(),
        };
        let from = text
            .find(&key)
            .unwrap_or_else(|| panic!("{section}: {text}"));
        let (before, rest) = text.split_at(from);
        let at = rest.find("policy = ").expect("a policy");
        let (head, old) = rest.split_at(at);
        let end = old.find('\n').expect("an end");
        text = format!("{before}{head}{line}{}", &old[end..]);
    }
    text
}

#[test]
fn s2_a_bad_verdict_ends_with_the_smallest_change_that_helps_and_the_lines_to_write() {
    let (_folder, path) = tiers();
    let document: Value =
        serde_json::from_str(&told(&[&path, "--runs", "1", "--json"])).expect("JSON");
    assert_eq!(document["contenders"][0]["verdict"], "metastable");
    let remedy = &document["remedy"];
    let sentence = remedy["sentence"].as_str().expect("a sentence");
    for part in [
        "The smallest change found",
        "comes back in 1 of 1 run, typically",
    ] {
        assert!(sentence.contains(part), "{sentence}");
    }
    let compare = remedy["compare"].as_str().expect("a comparison");
    let quick = ["--runs", "1", "--quick", "--json"];
    let compared = verdicts(&[&[&*path, "--compare", compare], &quick[..]].concat());
    assert_eq!(compared[0].1, "metastable");
    assert_ne!(compared[1].1, "metastable", "{compare}");
    fs::write(&path, rewritten(THREE_TIERS, &remedy["lines"])).expect("written");
    let after = verdicts(&[&[&*path], &quick[..]].concat());
    assert_eq!(
        after[0].1, compared[1].1,
        "the lines say what the comparison does"
    );
    // What holds has no remedy, and a comparison that has the answer needs none.
    let after: Value = serde_json::from_str(&told(&[&[&*path], &quick[..]].concat())).unwrap();
    assert_eq!(after.get("remedy"), None);
}

#[test]
fn s2_tuning_says_which_policies_to_change_and_what_to_write() {
    let (folder, path) = tiers();
    let out = folder.path().join("tuned.toml");
    let arguments = ["--policies", "4", "--runs", "2", "--json", "--out"];
    let arguments = [&["tune", &*path], &arguments[..], &[out.to_str().unwrap()]].concat();
    let document: Value = serde_json::from_str(&told(&arguments)).expect("JSON");
    let recommended = &document["recommended"];
    let first = recommended["reasons"][0].as_str().expect("a reason");
    assert!(first.starts_with("Change "), "{first}");
    fs::write(&path, rewritten(THREE_TIERS, &recommended["lines"])).expect("written");
    let after = verdicts(&[&path, "--runs", "1", "--quick", "--json"]);
    assert_ne!(after[0].1, "metastable", "{first}");
    // And what is written is a policy.
    let plan = [
        "--policy",
        out.to_str().unwrap(),
        "--at",
        "orders->database",
    ];
    verdicts(&[&[&*path], &plan[..], &["--runs", "1", "--quick", "--json"]].concat());
    // Whoever tunes one place changes no other.
    let arguments = ["--policies", "1", "--runs", "1", "--json", "--at", "users"];
    let printed = told(&[&["tune", &*path], &arguments[..]].concat());
    let document: Value = serde_json::from_str(&printed).expect("JSON");
    for contender in document["contenders"].as_array().expect("an array") {
        let policy = contender["policy"].as_str().expect("a policy");
        assert!(!policy.contains("->"), "{policy}");
    }
}
