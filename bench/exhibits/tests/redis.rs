//! Does the exhibit of Redis keep its promises as a program? Counts and laws only: no figure of time.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// Two processes, for a few seconds.
const SHORT: [&str; 16] = [
    "--processes",
    "2",
    "--tasks",
    "20",
    "--rate",
    "400",
    "--cuts",
    "4",
    "--swallow",
    "50ms",
    "--outage",
    "500ms",
    "--restarts",
    "1",
    "--down",
    "300ms",
];

/// Long enough for any machine, short enough to end a hanging test.
const PATIENCE: Duration = Duration::from_secs(60);

fn exhibit(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_redis-cuts"));
    command.current_dir(folder).stdin(Stdio::null());
    command
}

fn short(folder: &Path) -> Command {
    let mut command = exhibit(folder);
    command.args(SHORT);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// Whether there is a Redis to hold it with; in CI there is one.
fn has_server() -> bool {
    let asked = Command::new("redis-server")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    let is_there = asked.is_ok_and(|status| status.success());
    let advice = "no redis-server: `apt-get install redis-server`, as scripts/test does";
    assert!(is_there || std::env::var_os("CI").is_none(), "{advice}");
    if !is_there {
        eprintln!("{advice}");
    }
    is_there
}

#[test]
fn with_the_gate_no_increment_runs_twice_and_without_it_some_do() {
    if !has_server() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let output = short(folder.path())
        .args(["--quiet", "--json"])
        .output()
        .expect("the drill starts");
    let told = text(&output.stderr);
    assert!(output.status.success(), "{told}");
    assert_eq!(told.matches("error:").count(), 0, "{told}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON and nothing else");
    let html = fs::read_to_string(folder.path().join("redis-cuts.html")).unwrap();
    assert!(html.contains("A Redis is cut off, and killed"));
    let variants = document["variants"].as_array().unwrap();
    let names: Vec<_> = variants
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["connection-manager", "gate-off", "gate-on"]);
    for variant in variants {
        let count = |name: &str| variant[name].as_u64().expect("a count");
        assert_eq!(count("lost"), 0, "{variant}");
        assert!(count("increments") > 500, "{variant}");
        let came_back = |name: &str| variant[name].as_array().unwrap().len();
        assert_eq!(
            (came_back("back_ms"), came_back("apart_ms")),
            (2, 2),
            "{variant}"
        );
        let is_off = variant["name"] == "gate-off";
        assert_eq!(count("twice") > 0, is_off, "{variant}");
        assert!(count("again") > 0 || !is_off, "{variant}");
        assert!(count("most_dials_per_s") <= 10, "{variant}");
    }
}

#[test]
fn a_setup_that_cannot_be_held_is_refused_by_its_flag() {
    let folder = tempfile::tempdir().unwrap();
    let output = exhibit(folder.path())
        .args(["--processes", "0"])
        .output()
        .expect("it starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--processes must be from 1 to 16"));
}

#[test]
fn no_server_and_no_client_outlives_a_drill_that_is_ended_or_killed() {
    if !has_server() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for signal in [Signal::SIGINT, Signal::SIGKILL] {
        let mut command = short(folder.path());
        // Who is killed removes no file.
        command.env("TMPDIR", folder.path()).arg("--quiet");
        let child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A shell, its server, and two processes of clients.
        let began = Instant::now();
        let mut started = Vec::new();
        while started.len() < 4 && began.elapsed() < PATIENCE {
            started = children(child.id());
            started.extend(started.clone().into_iter().flat_map(children));
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(started.len(), 4);
        kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        if signal == Signal::SIGINT {
            assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
        }
        // What has ended and is not yet buried has no words.
        let runs =
            |id: &u32| fs::read(format!("/proc/{id}/cmdline")).is_ok_and(|it| !it.is_empty());
        let began = Instant::now();
        while started.iter().any(runs) {
            assert!(began.elapsed() < PATIENCE, "{signal}: still there");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// The processes that this one has started.
fn children(process: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{process}/task"));
    let threads = threads.into_iter().flatten().filter_map(Result::ok);
    let lists = threads.filter_map(|it| fs::read_to_string(it.path().join("children")).ok());
    let lists: String = lists.collect();
    lists
        .split_whitespace()
        .filter_map(|it| it.parse().ok())
        .collect()
}
