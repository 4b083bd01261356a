//! Does `becalm drill ws` keep its promises as a program? Counts and laws only: no figure of time.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::{PATIENCE, awaited, drill, number, sum, text, wait};

const CLIENTS: u64 = 40;

/// Forty clients that a server takes a second for, and that wait for less.
const SHORT: [(&str, &str); 8] = [
    ("--clients", "40"),
    ("--capacity", "40"),
    ("--patience", "300ms"),
    ("--base", "100ms"),
    ("--cap", "400ms"),
    ("--every", "50ms"),
    ("--outage", "300ms"),
    ("--watch", "1s"),
];

/// The short drill, with other values for some flags.
fn short(folder: &Path, others: &[(&str, &str)]) -> Command {
    let mut command = drill(folder);
    command.arg("ws");
    for (flag, value) in SHORT {
        let other = others.iter().find(|(name, _)| *name == flag);
        command.args([flag, other.map_or(value, |(_, value)| value)]);
    }
    command
}

fn held(others: &[(&str, &str)], more: &[&str]) -> (Output, Value) {
    let folder = tempfile::tempdir().unwrap();
    let output = short(folder.path(), others)
        .args(["--quiet", "--seed", "7", "--json"])
        .args(more)
        .output()
        .expect("the drill starts");
    let told = text(&output.stderr);
    assert_eq!(told.matches("error").count(), 0, "{told}");
    let document = serde_json::from_slice(&output.stdout).expect("JSON and nothing else");
    let html = fs::read_to_string(folder.path().join("becalm-drill.html")).unwrap();
    assert!(html.contains("A server of 40 WebSockets dies"));
    (output, document)
}

#[test]
fn no_message_is_lost_or_comes_twice_and_no_client_has_two_connections_or_gives_up() {
    let (output, document) = held(&[], &[]);
    assert!(output.status.success());
    let variants = document["variants"].as_array().unwrap();
    let names: Vec<_> = variants
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "fixed",
            "exponential",
            "full-jitter",
            "admission",
            "appointments",
            "drain",
            "hand-over",
            "sessions"
        ]
    );
    for variant in variants {
        let count = |name: &str| number(&variant[name]);
        for name in ["lost", "doubled", "two_live", "gave_up"] {
            assert_eq!(count(name), 0, "{name}: {variant}");
        }
        assert!(count("messages") > 0, "{variant}");
        assert_eq!(count("most_active"), CLIENTS, "{variant}");
        assert!(count("open") <= CLIENTS);
        match variant["name"].as_str().unwrap() {
            "drain" | "hand-over" => {
                assert_eq!(count("unconnected"), 0, "the socket is there: {variant}");
            }
            "sessions" => {
                assert!((1..=CLIENTS).contains(&count("resumed")), "{variant}");
                assert_eq!(count("cold"), 0, "the server is there: {variant}");
            }
            _ => assert_eq!(count("least_open"), 0, "all see the kill: {variant}"),
        }
        assert!(count("for_nobody") <= count("handshakes"));
        assert!(count("most_dials") <= count("dials"));
        let buckets = &variant["per_bucket"];
        assert!(
            sum(&buckets["dials"]) >= CLIENTS,
            "all dial again: {variant}"
        );
        assert!(sum(&buckets["unconnected"]) <= sum(&buckets["dials"]));
        assert_eq!(
            variant["verdict"] == "back",
            variant["back_after_ms"].is_number()
        );
        assert_eq!(
            variant["verdict"] == "back",
            count("open") == CLIENTS,
            "{variant}"
        );
    }
}

#[test]
fn a_service_that_comes_back_is_not_what_a_storm_is_there_to_show() {
    // All handshakes are done before anybody loses its patience.
    let quick = [
        ("--capacity", "100000"),
        ("--patience", "30s"),
        ("--watch", "30s"),
    ];
    let (output, document) = held(&quick, &["--only", "fixed", "--strict"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(document["as_expected"], false);
    let [variant] = &document["variants"].as_array().unwrap()[..] else {
        panic!("one variant: {document}");
    };
    assert_eq!(variant["verdict"], "back");
    assert_eq!(number(&variant["for_nobody"]), 0);
    assert!(
        document["conclusion"]
            .as_str()
            .unwrap()
            .contains("Not as expected with fixed delay")
    );
    assert!(
        text(&output.stderr).contains("none goes stale"),
        "told in advance"
    );
}

#[test]
fn what_cannot_be_held_is_refused_at_once_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    for (flags, words) in [
        (&["--clients", "0"][..], "--clients"),
        (&["--capacity", "0"], "--capacity"),
        (&["--capacity", "1"], "--watch"),
        (&["--only", "hope"], "fixed"),
        (&["--html", "missing/report.html"], "missing/report.html"),
    ] {
        let output = drill(folder.path()).arg("ws").args(flags).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{flags:?}");
        assert!(
            text(&output.stderr).contains(words),
            "{}",
            text(&output.stderr)
        );
        assert_eq!(
            text(&output.stdout),
            "",
            "refused before it runs: {flags:?}"
        );
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// A command where each process may have this many open files.
fn limited(files: u32, folder: &Path, command: &Command) -> Command {
    let mut limited = Command::new("/bin/sh");
    limited
        .args(["-c", &format!(r#"ulimit -n {files} && exec "$0" "$@""#)])
        .arg(command.get_program())
        .args(command.get_args())
        .current_dir(folder)
        .stdin(Stdio::null());
    limited
}

#[test]
fn a_fleet_that_one_process_cannot_serve_gets_several_servers_and_all_laws_hold() {
    let folder = tempfile::tempdir().unwrap();
    let patient = [("--patience", "10s"), ("--watch", "60s")];
    let mut drill = short(folder.path(), &patient);
    drill.args(["--quiet", "--no-html", "--seed", "7", "--json"]);
    drill.args(["--only", "hand-over,sessions"]);
    // Descriptors for 24 clients each.
    let output = limited(165, folder.path(), &drill).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["setup"]["servers"], 2);
    let [handed, cut] = &document["variants"].as_array().unwrap()[..] else {
        panic!("two variants: {document}");
    };
    for variant in [handed, cut] {
        let count = |name: &str| number(&variant[name]);
        assert_eq!(variant["verdict"], "back", "{variant}");
        assert_eq!(count("open"), CLIENTS, "{variant}");
        assert!(count("handshakes") >= CLIENTS, "by both: {variant}");
        for name in ["lost", "doubled", "two_live", "gave_up"] {
            assert_eq!(count(name), 0, "{name}: {variant}");
        }
    }
    assert_eq!(number(&cut["resumed"]), CLIENTS, "{cut}");
}

#[test]
fn a_limit_on_open_files_that_is_too_low_is_refused_at_the_start_with_numbers_and_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let drill = short(folder.path(), &[("--clients", "2000")]);
    let output = limited(200, folder.path(), &drill).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = text(&output.stderr);
    for words in [
        "--clients 2000",
        "16 servers with 316 open files each",
        "allows 200",
        "ulimit -Hn",
        "lower --clients to 768",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// The processes that this one has started.
#[cfg(target_os = "linux")]
pub fn children(process: u32) -> Vec<u32> {
    let all = format!("/proc/{process}/task");
    let threads = fs::read_dir(all)
        .into_iter()
        .flatten()
        .filter_map(Result::ok);
    let lists = threads.filter_map(|it| fs::read_to_string(it.path().join("children")).ok());
    let numbers: Vec<_> = lists
        .flat_map(|it| it.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    numbers.iter().filter_map(|it| it.parse().ok()).collect()
}

#[cfg(target_os = "linux")]
fn is_of_the_drill(process: u32) -> bool {
    let line = fs::read_to_string(format!("/proc/{process}/cmdline"));
    line.is_ok_and(|line| line.starts_with("becalm-drill-ws"))
}

#[cfg(target_os = "linux")]
#[test]
fn no_process_outlives_a_drill_that_is_ended_or_killed() {
    let folder = tempfile::tempdir().unwrap();
    for signal in [Signal::SIGINT, Signal::SIGKILL] {
        let child = short(folder.path(), &[("--outage", "60s")])
            // Who is killed removes no file.
            .env("TMPDIR", folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let started = awaited(2, || {
            let mut started = children(child.id());
            started.retain(|it| is_of_the_drill(*it));
            started
        });
        assert_eq!(started.len(), 2, "a server and a process of clients");
        let id = i32::try_from(child.id()).unwrap();
        kill(Pid::from_raw(id), signal).unwrap();
        let output = wait(child);
        if signal == Signal::SIGINT {
            assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        }
        let began = Instant::now();
        while started.iter().any(|it| is_of_the_drill(*it)) {
            assert!(began.elapsed() < PATIENCE, "{signal}: still there");
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = fs::remove_file(folder.path().join("becalm-drill.html"));
    }
}
