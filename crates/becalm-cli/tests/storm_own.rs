//! Does `becalm storm FILE.toml` study a scenario of one's own?

#[cfg(target_os = "linux")]
mod run_support;
mod storm_support;

use std::fs;
use std::path::PathBuf;

#[cfg(target_os = "linux")]
use run_support::terminal::Session;
use serde_json::Value;
use storm_support::{storm, told};
use tempfile::TempDir;

/// A service of 100 requests per second with 60 per second, which hangs for 3 s.
const SERVICE: &str = r#"
name = "orders"
horizon = "40s"

[[service]]
name = "orders"
time = "exponential:10ms"
queue = 100

[[population]]
name = "users"
target = "orders"
arrivals = "poisson:60"
timeout = "200ms"
CLIENTS

[[trigger]]
from = "10s"
length = "3s"
effect = "hang"
service = "orders"
"#;

fn own(policy: &str) -> (TempDir, String) {
    let folder = tempfile::tempdir().expect("a directory");
    let path: PathBuf = folder.path().join("orders.toml");
    fs::write(&path, SERVICE.replace("CLIENTS", policy)).expect("the file is written");
    let path = path.to_str().expect("UTF-8").to_owned();
    (folder, path)
}

const UNPROTECTED: &str = "policy = { jitter = \"none\", base = \"10ms\", budget = \"none\" }";

fn verdict<'a>(document: &'a Value, name: &str) -> &'a Value {
    let contenders = document["contenders"].as_array().expect("an array");
    let found = contenders.iter().find(|it| it["name"] == name);
    &found.unwrap_or_else(|| panic!("{name}: {document}"))["verdict"]
}

#[test]
fn a_file_without_a_budget_stays_down_and_with_one_it_does_not() {
    let (_folder, path) = own(UNPROTECTED);
    let arguments = [
        &*path,
        "--compare",
        "own,own;budget=ratio:0.1,burst:10",
        "--runs",
        "3",
        "--quick",
        "--json",
    ];
    let document: Value = serde_json::from_str(&told(&arguments)).expect("JSON");
    assert_eq!(verdict(&document, "own"), "metastable");
    // Quickly: nothing is searched for, and no map is drawn.
    for contender in document["contenders"].as_array().expect("an array") {
        let figures = contender["figures"].as_array().expect("an array");
        let longest = figures.iter().find(|it| it["id"] == "longest_outage_s");
        assert_eq!(longest.expect("the figure")["value"], Value::Null);
        let charts = contender["charts"].as_array().expect("an array");
        let ids: Vec<_> = charts.iter().map(|chart| &chart["id"]).collect();
        assert_eq!(ids, ["latency"]);
    }
    assert_ne!(
        verdict(&document, "own;budget=ratio:0.1,burst:10"),
        "metastable"
    );
}

#[test]
fn s2_every_bad_policy_is_shown_beside_its_remedy() {
    let (_folder, path) = own(UNPROTECTED);
    let text = fs::read_to_string(&path).expect("the file");
    let shorter = text.replacen("horizon = \"40s\"", "horizon = \"24s\"", 1);
    fs::write(&path, shorter).expect("written");
    for flags in [&["--base", "20ms"][..], &["--compare", "users: attempts=5"]] {
        let asked = [&[&*path, "--runs", "1", "--json"], flags].concat();
        let document: Value = serde_json::from_str(&told(&asked)).expect("JSON");
        let contenders = document["contenders"].as_array().expect("policies");
        let bad = contenders.last().expect("a policy")["name"].as_str();
        let bad = bad.expect("a name");
        assert_eq!(verdict(&document, bad), "metastable", "{flags:?}");
        let compare = document["remedy"]["compare"].as_str();
        let compare = compare.unwrap_or_else(|| panic!("{flags:?}: {}", document["remedy"]));
        // Beside the flags it was found under, but for a comparison, which it stands for.
        let given = if flags[0] == "--compare" { &[] } else { flags };
        let quick = ["--runs", "1", "--quick", "--json", "--compare", compare];
        let printed = told(&[&[&*path], given, &quick].concat());
        let compared: Value = serde_json::from_str(&printed).expect("JSON");
        assert_eq!(verdict(&compared, bad), "metastable", "{compare}");
        assert_eq!(compared["contenders"][1]["verdict"], "stable", "{compare}");
    }
    let quick = told(&[&*path, "--runs", "1", "--quick", "--json"]);
    let quick: Value = serde_json::from_str(&quick).expect("JSON");
    assert_eq!(verdict(&quick, "own"), "metastable");
    assert_eq!(quick.get("remedy"), None, "nothing is searched for");
}

#[test]
fn strict_fails_a_build_that_would_storm() {
    let (_folder, path) = own(UNPROTECTED);
    let code = |compare: &str| {
        let output = storm(&[
            &path,
            "--compare",
            compare,
            "--runs",
            "3",
            "--quick",
            "--strict",
        ]);
        output.status.code()
    };
    assert_eq!(code("own"), Some(1));
    assert_eq!(code("own;budget=ratio:0.1,burst:10"), Some(0));
}

#[test]
fn the_flags_start_from_the_policy_of_the_file() {
    let (_folder, path) = own(UNPROTECTED);
    let printed = told(&[&path, "--attempts", "2", "--runs", "1", "--quick", "--json"]);
    let document: Value = serde_json::from_str(&printed).expect("JSON");
    let names: Vec<_> = document["contenders"]
        .as_array()
        .expect("an array")
        .iter()
        .map(|it| it["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(names, ["own", "yours"]);
    let policy = document["contenders"][1]["policy"]
        .as_str()
        .expect("a policy");
    assert!(
        policy.contains("2 attempts") && policy.contains("10ms"),
        "{policy}"
    );
}

#[test]
fn a_sweep_judges_every_point() {
    let (_folder, path) = own(UNPROTECTED);
    let sweep = "budget=none|ratio:0.1,burst:10,attempts=1|4";
    let printed = told(&[&path, "--sweep", sweep, "--runs", "2", "--json"]);
    let document: Value = serde_json::from_str(&printed).expect("JSON");
    let contenders = document["contenders"].as_array().expect("an array");
    assert_eq!(contenders.len(), 4, "{printed}");
    assert_eq!(verdict(&document, "budget=none attempts=4"), "metastable");
    assert_ne!(
        verdict(&document, "budget=ratio:0.1,burst:10 attempts=4"),
        "metastable"
    );
}

#[test]
fn tuning_recommends_a_policy_that_can_be_used() {
    let (folder, path) = own(UNPROTECTED);
    let out = folder.path().join("tuned.toml");
    let out = out.to_str().expect("UTF-8");
    let arguments = [
        "tune",
        &*path,
        "--policies",
        "4",
        "--runs",
        "1",
        "--json",
        "--out",
        out,
    ];
    let document: Value = serde_json::from_str(&told(&arguments)).expect("JSON");
    let file = fs::read_to_string(out).expect("the policy is written");
    assert_eq!(document["recommended"]["policy"], Value::from(&*file));
    assert!(
        !document["recommended"]["reasons"]
            .as_array()
            .expect("an array")
            .is_empty()
    );
    let printed = told(&[
        &path,
        "--policy",
        out,
        "--compare",
        "yours",
        "--runs",
        "1",
        "--quick",
        "--json",
    ]);
    let document: Value = serde_json::from_str(&printed).expect("JSON");
    assert_ne!(verdict(&document, "yours"), "metastable");
}

#[test]
fn one_policy_of_all_its_clients_is_that_of_the_file_whichever_name_it_is_called_by() {
    let (_folder, path) = own("");
    told(&[&path, "--compare", "yours", "--runs", "1", "--quick"]);
}

#[test]
fn its_flags_are_told() {
    let help = told(&["orders.toml", "--help"]);
    for flag in ["--compare", "--seed", "--attempts", "--strict"] {
        assert!(help.contains(flag), "{flag}");
    }
}

#[test]
fn a_file_without_a_name_is_called_as_it_is() {
    let (folder, path) = own("");
    let named = fs::read_to_string(&path).expect("the file");
    let path = folder.path().join("the shop.toml");
    let nameless = named.replacen("name = \"orders\"\n", "", 1);
    fs::write(&path, nameless).expect("the file is written");
    let path = path.to_str().expect("UTF-8");
    let printed = told(&[path, "--runs", "1", "--quick", "--json"]);
    let document: Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!(document["scenario"], "the shop");
    assert_eq!(document["question"], "What happens to the shop?");
}

#[test]
fn a_build_fails_on_a_load_that_nobody_can_serve_too() {
    let (_folder, path) = own("");
    let busy = fs::read_to_string(&path).expect("the file");
    fs::write(&path, busy.replace("poisson:60", "poisson:160")).expect("written");
    let arguments = [&*path, "--runs", "2", "--quick", "--json"];
    let document: Value = serde_json::from_str(&told(&arguments)).expect("JSON");
    assert_eq!(verdict(&document, "own"), "overloaded");
    let strict = [&arguments[..], &["--strict"]].concat();
    assert_eq!(storm(&strict).status.code(), Some(1));
}

/// What takes long says so before it begins. Nobody waits for its end here.
#[test]
fn s3_what_takes_long_is_told_at_once_with_the_remedy() {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};

    let (_folder, path) = own("");
    let large = fs::read_to_string(&path).expect("the file");
    let large = large
        .replace("poisson:60", "poisson:60000")
        .replace("time = \"exponential:10ms\"", "time = \"10us\"")
        .replace("horizon = \"40s\"", "horizon = \"10m\"");
    fs::write(&path, large).expect("written");
    for (words, fewer) in [
        (&["storm"][..], "--quick"),
        (&["storm", "tune"], "--policies"),
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_becalm"))
            .args([words, &[&path, "--json"]].concat())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut line = String::new();
        let stderr = child.stderr.take().expect("a pipe");
        let read = BufReader::new(stderr).read_line(&mut line);
        child.kill().expect("it is still at it");
        child.wait().expect("it ends");
        read.expect("a line");
        for part in ["this may take some", fewer, "fewer --runs"] {
            assert!(line.contains(part), "{words:?}: {line}");
        }
    }
}

/// Whoever watches has the verdict before the searches; without a terminal nothing is said
/// (`storm_support` sees to that).
#[cfg(target_os = "linux")] // setsid(1)
#[test]
fn on_a_terminal_the_verdict_is_there_before_the_searches() {
    let (_folder, path) = own(UNPROTECTED);
    let words = [env!("CARGO_BIN_EXE_becalm"), "storm", &path, "--runs", "3"];
    let mut session = Session::start_words(&words);
    session.expect("own: metastable; searches follow");
    session.expect("What happens to orders?");
    let again = "again: becalm storm ";
    assert!(session.ended().contains(again), "{}", session.seen);
    let quick = [&words[..], &["--quick"]].concat();
    let mut session = Session::start_words(&quick);
    assert!(session.ended().contains(again), "{}", session.seen);
    assert!(!session.seen.contains("searches"), "{}", session.seen);
}

/// Colours and the cursor are the terminal's user's, whatever a scenario and its file are called.
#[test]
fn no_name_is_obeyed_by_a_terminal() {
    let (folder, path) = own(UNPROTECTED);
    let named = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let hostile = SERVICE
        .replace("CLIENTS", UNPROTECTED)
        .replace("\"orders\"", "\"or\\u001b[31mders\"")
        .replace("\"users\"", "\"u\\u009b2Jsers\"");
    let file = named("s\u{1b}[31m.toml");
    fs::write(&file, hostile).expect("the file is written");
    fs::rename(&path, named("p\u{1b}[2J.toml")).expect("it is there");
    fs::write(named("p\u{1b}[2J.toml"), "attempts = 3\n").expect("it is written");
    let policy = named("p\u{1b}[2J.toml");
    let (report, out) = (named("r\u{1b}[1m.html"), named("o\u{7}.toml"));
    for words in [
        &["--quick", "--runs", "1", "--report", &report][..],
        &["--runs", "1", "--compare", &policy, "--report", &report],
        &["--runs", "1", "--sweep", "base=10ms|20ms"],
        &["tune", "--runs", "1", "--policies", "2", "--out", &out],
    ] {
        let (command, words) = match words {
            ["tune", rest @ ..] => (&["tune"][..], rest),
            rest => (&[][..], rest),
        };
        let output = storm(&[command, &[&*file], words].concat());
        assert!(output.status.success(), "{output:?}");
        for bytes in [&output.stdout, &output.stderr] {
            let text = String::from_utf8_lossy(bytes);
            let obeyed = text.chars().find(|it| it.is_control() && *it != '\n');
            assert_eq!(obeyed, None, "{words:?}: {text}");
        }
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(told.contains("s\\u{1b}[31m.toml"), "{told}");
        // A search has the name nowhere but in the sections of what it recommends.
        let is_named = told.contains("or\\u{1b}[31mders");
        assert!(is_named || !command.is_empty(), "{told}");
    }
}
