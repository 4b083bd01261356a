//! Does the simulator say of a drill what the drill says of itself? A real service with real clients
//! on one side; the moments at which their calls began, the same policies and the same service on
//! the other.
//!
//! Away from the edge: the load is 2.6 times the hidden capacity of 100/4 a second, and the queue of
//! 50 is twice what is served within the clients' timeout. It is the default drill at a quarter of
//! its size, so that it is sharp beside other tests, too.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use becalm_sim::record::total;
use becalm_sim::scenario::file;
use becalm_sim::world;
use serde_json::Value;

/// How often a drill may be held again because this machine was too busy for it.
const TRIES: u32 = 5;

/// From which lateness of its load generator on a drill says itself that its figures are blurred.
const LATE_MS: f64 = 100.0;

/// How far the simulated amplification may lie from the measured one.
const AMPLIFICATION: f64 = 0.03;

/// How far what it has above 1, which are the retries, may lie from the measured.
const RETRIES: f64 = 0.25;

/// What makes the drill a quarter of its size, without its other parts.
const FLAGS: [&str; 14] = [
    "--seed",
    "7",
    "--after",
    "4s",
    "--tail",
    "0s",
    "--blip",
    "0s",
    "--workers",
    "2",
    "--service-time",
    "20ms",
    "--load",
    "65",
];

/// What makes the scenario of the documentation as small.
const SMALLER: [[&str; 2]; 4] = [
    ["horizon = \"12s\"", "horizon = \"9s\""],
    ["workers = 4", "workers = 2"],
    ["time = \"10ms\"", "time = \"20ms\""],
    ["queue = 200", "queue = 50"],
];

/// How far apart the recoveries may be. In ten drills it was 10 ms at most.
const RECOVERY_MS: f64 = 300.0;

/// Holds a drill that is sharp, or the last of some that are not.
fn drill(folder: &Path) -> Value {
    let mut document = Value::Null;
    for _ in 0..TRIES {
        let output = Command::new(env!("CARGO_BIN_EXE_becalm"))
            .args([
                "drill",
                "--queue",
                "50",
                "--simulate",
                "--quiet",
                "--no-html",
            ])
            .args(["--json", "drill.json", "--arrivals", "arrivals.csv"])
            .args(FLAGS)
            .current_dir(folder)
            .stdin(Stdio::null())
            .output()
            .expect("the drill starts");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{told}");
        let text = fs::read_to_string(folder.join("drill.json")).expect("the figures");
        document = serde_json::from_str(&text).expect("JSON");
        if number(&document["lateness_ms"]) < LATE_MS {
            break;
        }
    }
    document
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("a number: {value}"))
}

fn variant<'a>(document: &'a Value, name: &str) -> &'a Value {
    let variants = document["variants"].as_array().expect("variants");
    variants
        .iter()
        .find(|it| it["name"] == name)
        .expect("the variant")
}

const PAGE: &str = include_str!("../../../docs/scenario-files.md");

/// The drill of the documentation under a policy of these keys.
fn scenario(policy: &str) -> String {
    const KEYS: &str = "budget = \"ratio:0.1\"";
    let (_, section) = PAGE.split_once("## From a drill").expect("the section");
    let (_, rest) = section.split_once("```toml\n").expect("its scenario");
    let (text, _) = rest.split_once("```").expect("its end");
    let mut text = text.to_owned();
    for [default, small] in SMALLER.into_iter().chain([[KEYS, policy]]) {
        assert!(text.contains(default), "{default}: {text}");
        text = text.replacen(default, small, 1);
    }
    text
}

/// The amplification of a scenario file in the folder.
fn simulated(folder: &Path, policy: &str) -> f64 {
    let path = folder.join("drill.toml");
    fs::write(&path, scenario(policy)).expect("a file");
    let scenario = file::load(&path).unwrap_or_else(|refusal| panic!("{refusal}"));
    let recording = world::run(&scenario, 1);
    let clients = &recording.populations[0];
    #[expect(clippy::cast_precision_loss, reason = "thousands of calls")]
    let [first, attempts] = [&clients.first_tries, &clients.attempts].map(|it| total(it) as f64);
    attempts / first
}

/// `becalm` in the folder: its exit code, and its document.
fn becalm(folder: &Path, words: &[&str]) -> (Option<i32>, Value) {
    let output = Command::new(env!("CARGO_BIN_EXE_becalm"))
        .args(words)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let document = serde_json::from_str(&text);
    let told = String::from_utf8_lossy(&output.stderr);
    (
        output.status.code(),
        document.unwrap_or_else(|_| panic!("{words:?}: {text} {told}")),
    )
}

/// Whether the service is down under a policy of these keys by `storm`, by `check` and by `tune`, in the world of the drill.
fn others(folder: &Path, policy: &str) -> [(&'static str, bool); 4] {
    let is_down = |verdict: &Value| match verdict.as_str().expect("a verdict") {
        "metastable" | "overloaded" => true,
        "stable" | "vulnerable" => false,
        other => panic!("{other}"),
    };
    fs::write(folder.join("service.toml"), scenario(policy)).expect("a file");
    fs::write(folder.join("policy.toml"), policy).expect("a file");
    let storm = ["storm", "service.toml", "--quick", "--strict", "--json"];
    let (code, storm) = becalm(folder, &storm);
    let storm = is_down(&storm["contenders"][0]["verdict"]);
    assert_eq!(code == Some(1), storm, "the gate of storm");
    let words = [
        "--service",
        "service.toml",
        "--strict",
        "--json",
        "--as",
        "becalm",
    ];
    let (code, check) = becalm(folder, &[&["check", "policy.toml"], &words[..]].concat());
    let findings = check["findings"].as_array().expect("findings");
    let check = findings
        .iter()
        .any(|it| it["code"] == "metastable" || it["code"] == "overloaded");
    assert!(!check || code == Some(1), "the gate of check");
    let words = ["--policies", "4", "--runs", "5", "--json"];
    let (_, tune) = becalm(
        folder,
        &[&["storm", "tune", "service.toml"], &words[..]].concat(),
    );
    let given = is_down(&tune["recommended"]["given_verdict"]);
    let swept = ["--sweep", "load=1", "--runs", "5", "--json"];
    let (_, sweep) = becalm(folder, &[&["storm", "service.toml"], &swept[..]].concat());
    let swept = is_down(&sweep["contenders"][0]["verdict"]);
    [
        ("storm", storm),
        ("check", check),
        ("tune", given),
        ("a sweep", swept),
    ]
}

fn agree(what: &str, measured: f64, simulated: f64, share: f64) {
    let off = (simulated / measured - 1.0).abs();
    assert!(
        off <= share,
        "{what}: measured {measured:.4}, simulated {simulated:.4}"
    );
}

#[test]
fn the_simulator_and_the_drill_agree_and_so_do_all_that_judge() {
    let folder = tempfile::tempdir().expect("a folder");
    let document = drill(folder.path());
    let late = format!("late by {} ms", document["lateness_ms"]);
    for (name, verdict, policy) in [
        (
            "no-backoff",
            "metastable",
            "backoff = \"fixed\"\nbase = \"0s\"\njitter = \"none\"\nbudget = \"none\"",
        ),
        ("full-jitter", "metastable", "budget = \"none\""),
        ("protected", "back", ""),
    ] {
        let measured = variant(&document, name);
        let twin = &measured["simulated"];
        assert_eq!(measured["verdict"], verdict, "{name}, {late}");
        assert_eq!(twin["verdict"], verdict, "{name} in the simulator");
        assert_eq!(twin["calls"], measured["calls"], "the same calls");
        if verdict == "back" {
            let [here, there] = [measured, twin].map(|it| number(&it["recovered_after_ms"]));
            let told = format!("back after {here} ms, simulated {there} ms");
            assert!((here - there).abs() <= RECOVERY_MS, "{told}");
        }
        let down = verdict == "metastable";
        for (judge, is_down) in others(folder.path(), policy) {
            assert_eq!(is_down, down, "{name} by {judge}");
        }
        let told = [measured, twin].map(|it| number(&it["amplification"]));
        for other in [told[1], simulated(folder.path(), policy)] {
            agree(name, told[0], other, AMPLIFICATION);
            agree(name, told[0] - 1.0, other - 1.0, RETRIES);
        }
    }
}

#[test]
fn a_drill_without_the_flag_has_no_figures_of_the_simulator() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_becalm"))
        .args([
            "drill",
            "--before",
            "100ms",
            "--trigger",
            "100ms",
            "--after",
            "1s",
            "--tail",
            "0s",
            "--blip",
            "0s",
        ])
        .args(["--load", "20", "--quiet", "--no-html", "--json"])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .expect("the drill starts");
    assert!(output.status.success());
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    for variant in document["variants"].as_array().expect("variants") {
        assert_eq!(variant["simulated"], Value::Null);
        assert!(number(&variant["amplification"]) >= 1.0);
    }
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
}
