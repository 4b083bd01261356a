//! What do people and programs read of `becalm storm`, from the first line to the last?
//!
//! The reports are files of `snapshots/`. `INSTA_UPDATE=always cargo nextest run -p becalm-cli --test storm_reports` writes them anew: read
//! the difference before you keep it.

use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Output};

use insta::assert_snapshot;
use serde_json::Value;
use tempfile::TempDir;

/// A folder with scenario files: three tiers that retry, and a service with too few calls to judge.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a directory");
    let put = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).expect("the file is written");
    };
    put("tiers.toml", TIERS);
    put("slip.toml", &TIERS.replace("queue", "qeue"));
    let mixed =
        "variants = [{ share = 0.5, policy = { attempts = 3 } }, { share = 0.5, policy = {} }]";
    put(
        "mixed.toml",
        &SMALL.replace("policy = { attempts = 2 }", mixed),
    );
    put("small.toml", SMALL);
    folder
}

/// Three tiers, each with retries and none with a budget; the database hangs for 4 s.
const TIERS: &str = include_str!("../../becalm-sim/tests/three_tiers.toml");

/// One call a second of one service, which hangs for a second.
const SMALL: &str = r#"
horizon = "20s"

[[service]]
name = "orders"
time = "10ms"

[[population]]
name = "users"
target = "orders"
arrivals = "poisson:1"
policy = { attempts = 2 }

[[trigger]]
from = "5s"
length = "1s"
effect = "hang"
service = "orders"
"#;

fn storm(folder: &TempDir, arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_becalm"))
        .arg("storm")
        .args(arguments.split_terminator(' '))
        .current_dir(folder.path())
        .env_remove("NO_COLOR")
        .output()
        .expect("the binary starts")
}

/// What it prints, when it succeeds.
fn told(arguments: &str) -> String {
    let output = storm(&folder(), arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && stderr.is_empty(),
        "becalm storm {arguments}: {stderr}"
    );
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Its document: a line for each record, and of long lists their first and their length.
fn document(arguments: &str) -> String {
    let mut document: Value = serde_json::from_str(&told(arguments)).expect("JSON");
    document["becalm"] = "VERSION".into();
    let mut lines = String::new();
    write(&document, 0, &mut lines);
    lines
}

fn write(value: &Value, depth: usize, lines: &mut String) {
    let is_plain = |it: &Value| !it.is_object() && !it.is_array();
    let start = format!("\n{}", "  ".repeat(depth));
    match value {
        Value::Array(all) if !all.iter().all(is_plain) => {
            let most = if all[0].is_array() { 2 } else { all.len() };
            for one in all.iter().take(most) {
                let _ = write!(lines, "{start}- ");
                write(one, depth + 1, lines);
            }
            if most < all.len() {
                let _ = write!(lines, "{start}- {} in all", all.len());
            }
        }
        Value::Object(all) if !all.values().all(is_plain) => {
            for (name, one) in all {
                let _ = write!(lines, "{start}{name}: ");
                write(one, depth + 1, lines);
            }
        }
        plain => lines.push_str(&plain.to_string()),
    }
}

#[test]
fn a_study_reads_as_it_did() {
    let herd = "herd --clients 300 --outage 10s --horizon 2m --compare none,full";
    assert_snapshot!("herd", told(herd));
    assert_snapshot!("herd_json", document(&format!("{herd} --json")));
    assert_snapshot!("tiers", told("tiers.toml --runs 2 --quick"));
    assert_snapshot!("tiers_json", document("tiers.toml --runs 2 --quick --json"));
    assert_snapshot!("few_calls", told("small.toml --runs 3 --quick"));
}

#[test]
fn a_sweep_and_a_search_read_as_they_did() {
    let herd = "herd --clients 300 --outage 10s --horizon 2m";
    assert_snapshot!("sweep", told(&format!("{herd} --sweep base=100ms|2s")));
    let map = format!("{herd} --sweep base=100ms|2s,cap=5s|20s --json");
    assert_snapshot!("sweep_json", document(&map));
    let bars = format!("{herd} --sweep jitter=none|full --json");
    assert_snapshot!("sweep_of_words_json", document(&bars));
    assert_snapshot!("tune", told("tune tiers.toml --policies 2 --runs 1"));
}

#[test]
fn the_catalogue_reads_as_it_did() {
    assert_snapshot!("list", told("--list metastable"));
    assert_snapshot!("list_json", document("--list queue loops --json"));
    let check = "--check moments --quick --seeds 2";
    assert_snapshot!("check", told(check));
    assert_snapshot!("check_json", document(&format!("{check} --json")));
}

/// In the words of the flag or the file, with a remedy.
#[test]
fn a_refusal_reads_as_it_did() {
    let folder = folder();
    let mut refusals = String::new();
    for arguments in REFUSED.lines() {
        let output = storm(&folder, arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {stderr}");
        assert!(output.stdout.is_empty(), "{arguments}");
        let _ = writeln!(refusals, "$ becalm storm {arguments}\n{stderr}");
    }
    // No parser beneath has a word.
    for raw in [
        "invalid digit",
        "number too large",
        "cannot parse",
        "empty string",
        "float literal",
    ] {
        assert!(!refusals.contains(raw), "{raw}: {refusals}");
    }
    assert_snapshot!("refusals", refusals);
}

const REFUSED: &str = "\
--list herdd
--check herdd
herdd
--quick
--check --quick herd
--json herd
--seeds 0 --check
--seeds x --check
--check --seed x
--check --threads 0
metastable --threads 0
metastable --threads many
metastable --runs 0
metastable --runs 99999999999999999999
metastable --runs=
metastable --budget tokens:100,clean:0.1
metastable --compare budget=tokens:100,clean:0.1
metastable --seed 99999999999999999999
metastable --seed x
metastable --memory much
metastable --attempts 1.5
metastable --load x
metastable --load 1e9
metastable --queue -1
metastable --outage 59s
herd --clients 0
herd --clients many
herd --bucket 1ns
herd --compare ful
herd --compare full;atempts=3
herd --base 1h
herd --at a->b
herd --sweep base=1ms|1h
herd --sweep base=1s --compare full
herd --sweep bucket=1ns|1s
metastable --sweep load=700|1e9
metastable --sweep outage=1s|59s
metastable --sweep horizon=60s|9s
metastable --sweep bas=1s
tiers.toml --sweep load=0|1
tiers.toml --sweep load=1|5000
tiers.toml --sweep outage=0s|1s
tiers.toml --sweep workers=1|2
tiers.toml --at orders->databse
tiers.toml --compare orders->databse:default
tiers.toml --compare own,orders->databse.attempts=2
tiers.toml --sweep orders->databse.attempts=1..6
tiers.toml --clients 3
mixed.toml --compare yours
slip.toml
nowhere.toml
tune metastable --policies 0
tune metastable --policies 5000
tune metastable --workers 5000000000
tune herd
tune occ --clients 20";
