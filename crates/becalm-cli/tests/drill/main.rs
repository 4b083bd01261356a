//! Does `becalm drill` keep its promises as a program? Only what holds on any machine, however
//! slow: laws, files, exit codes.

#[cfg(target_os = "linux")]
mod fault;
#[cfg(target_os = "linux")]
mod listen;
mod target;
#[cfg(feature = "ws")]
mod ws;

use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// A drill of two seconds and the end of its last calls, without its other parts.
const SHORT: [&str; 10] = [
    "--before",
    "300ms",
    "--trigger",
    "500ms",
    "--after",
    "1200ms",
    "--blip",
    "0s",
    "--tail",
    "0s",
];

fn drill(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_becalm"));
    command
        .arg("drill")
        .current_dir(folder)
        .env_remove("NO_COLOR")
        .stdin(Stdio::null());
    command
}

fn short(folder: &Path, more: &[&str]) -> Output {
    drill(folder)
        .args(SHORT)
        .args(more)
        .output()
        .expect("the drill starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("a count: {value}"))
}

fn sum(value: &Value) -> u64 {
    value.as_array().expect("an array").iter().map(number).sum()
}

/// The words, however the lines are broken.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_laws_hold_and_the_document_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let output = short(
        folder.path(),
        &["--seed", "7", "--json", "-", "--svg", "drill.svg"],
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON and nothing else");
    assert_eq!(document["setup"]["clients"], "own");
    assert_laws(&document, 16);
    assert_eq!(document["tail"], Value::Null);
    assert_eq!(document["blip"], Value::Null);

    let told = text(&output.stderr);
    let conclusion = document["conclusion"].as_str().unwrap();
    assert!(
        flat(&told).contains(&flat(conclusion)) && told.contains("2s "),
        "{told}"
    );
    let html = fs::read_to_string(folder.path().join("becalm-drill.html")).unwrap();
    assert!(html.starts_with("<!doctype html>") && html.contains("--seed 7"));
    let svg = fs::read_to_string(folder.path().join("drill.svg")).unwrap();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>"));
}

#[cfg(feature = "http")]
#[test]
fn the_laws_hold_for_the_clients_of_becalm_reqwest() {
    let folder = tempfile::tempdir().unwrap();
    let output = drill(folder.path())
        .arg("http")
        .args(&SHORT[..8])
        .args(["--tail", "2s", "--quiet", "--seed", "7", "--json"])
        .output()
        .expect("the drill starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON and nothing else");
    assert_eq!(document["setup"]["clients"], "becalm-reqwest");
    let command = document["command"].as_str().unwrap();
    assert!(command.starts_with("becalm drill http "), "{command}");
    // The end of an attempt is counted a moment late: see `SEEN_TWICE`.
    assert_laws(&document, 17);
    let hedged = &document["tail"]["variants"][1];
    let [calls, copies, attempts] =
        ["calls", "hedges", "attempts"].map(|name| number(&hedged[name]));
    assert!(copies > 0, "one call in 40 waits for 400 ms");
    assert!(10 * (attempts - calls) <= calls + 100);
    let html = fs::read_to_string(folder.path().join("becalm-drill.html")).unwrap();
    assert!(html.contains("clients of becalm-reqwest"));
}

/// What holds of every drill of [`SHORT`], with at most this many attempts seen in a bulkhead of 16.
fn assert_laws(document: &Value, in_bulkhead: u64) {
    let variants = document["variants"].as_array().unwrap();
    let names: Vec<_> = variants
        .iter()
        .map(|variant| variant["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "no-backoff",
            "exponential",
            "full-jitter",
            "breaker",
            "bulkhead",
            "protected"
        ]
    );
    let calls = number(&variants[0]["calls"]);
    assert!(calls > 0);
    for variant in variants {
        let count = |name: &str| number(&variant[name]);
        assert_eq!(count("calls"), calls, "all get the same calls");
        assert!(count("first_tries") <= calls && count("attempts") <= 4 * calls);
        let gave_up: u64 = variant["gave_up"]
            .as_object()
            .unwrap()
            .values()
            .map(number)
            .sum();
        assert!(count("succeeded") + gave_up <= calls);
        assert!(count("served_nobody") <= count("served"));
        assert!(count("served") + count("refused") <= count("arrived"));
        let buckets = &variant["per_bucket"];
        assert_eq!(sum(&buckets["arrived"]), count("arrived"));
        assert_eq!(
            sum(&buckets["first_tries"]) + sum(&buckets["retries"]),
            count("attempts")
        );
        let phases = variant["phases"].as_array().unwrap();
        let in_phases: u64 = phases.iter().map(|phase| number(&phase["calls"])).sum();
        assert!(in_phases <= calls);
    }
    for unguarded in [0, 1, 2, 5] {
        assert_eq!(number(&variants[unguarded]["first_tries"]), calls);
    }
    let bulkhead = &variants[4];
    assert_eq!(bulkhead["policy"]["bulkhead"], "calls:16,waiting:16");
    let most = number(&bulkhead["most_in_flight"]);
    assert!((1..=in_bulkhead).contains(&most), "{most} at once");
    assert_eq!(variants[3]["policy"]["budget"], "none");
    let retries = number(&variants[5]["attempts"]) - calls;
    assert!(
        10 * retries <= calls + 100,
        "10 % of {calls} and a burst of 10: {retries}"
    );
}

#[test]
fn the_second_part_hedges_within_the_budget() {
    let folder = tempfile::tempdir().unwrap();
    let output = drill(folder.path())
        .args(&SHORT[..8])
        .args(["--tail", "2s", "--quiet", "--json", "drill.json"])
        .output()
        .expect("the drill starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let document = fs::read_to_string(folder.path().join("drill.json")).unwrap();
    let document: Value = serde_json::from_str(&document).unwrap();
    let tail = &document["tail"];
    let [alone, hedged] = ["no-hedge", "hedge"].map(|name| {
        let variants = tail["variants"].as_array().unwrap();
        variants.iter().find(|it| it["name"] == name).unwrap()
    });
    assert_eq!(number(&alone["hedges"]), 0);
    assert_eq!(alone["policy"]["hedge"], Value::Null);
    assert_eq!(alone["calls"], hedged["calls"], "both get the same calls");
    assert!(
        number(&hedged["hedges"]) > 0,
        "one call in 40 waits for 400 ms"
    );
    let [calls, attempts] = ["calls", "attempts"].map(|name| number(&hedged[name]));
    assert!(
        10 * (attempts - calls) <= calls + 100,
        "{attempts} attempts for {calls} calls"
    );
    let p99 = alone["p99_ms"].as_f64().unwrap();
    assert!(p99 >= 400.0, "one in 40 takes 400 ms: {p99}");
    let told = text(&output.stdout);
    assert!(
        flat(&told).contains(&flat(tail["conclusion"].as_str().unwrap())),
        "{told}"
    );
}

#[test]
fn the_third_part_repeats_what_is_refused_within_the_budget() {
    let folder = tempfile::tempdir().unwrap();
    let output = drill(folder.path())
        .args(&SHORT[..6])
        .args(["--tail", "0s", "--quiet", "--json", "drill.json"])
        .output()
        .expect("the drill starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let document = fs::read_to_string(folder.path().join("drill.json")).unwrap();
    let document: Value = serde_json::from_str(&document).unwrap();
    let blip = &document["blip"];
    let [alone, unlimited, protected] = ["one-attempt", "no-budget", "protected"].map(|name| {
        let variants = blip["variants"].as_array().unwrap();
        variants.iter().find(|it| it["name"] == name).unwrap()
    });
    let calls = number(&alone["calls"]);
    assert_eq!(number(&alone["attempts"]), calls);
    assert!(
        number(&alone["refused"]) > 0,
        "500 calls a second, for 200 ms"
    );
    assert_eq!(unlimited["policy"]["budget"], "none");
    for variant in [unlimited, protected] {
        let count = |name: &str| number(&variant[name]);
        assert_eq!(count("calls"), calls, "all get the same calls");
        assert!(count("failed_in_blip") <= count("calls_in_blip"));
        assert!(count("refused") > 0 && count("attempts") > calls);
        assert!(count("attempts") <= 4 * calls);
    }
    let retries = number(&protected["attempts"]) - calls;
    assert!(
        10 * retries <= calls + 100,
        "10 % of {calls} and the 10 that it begins with: {retries}"
    );
    let told = text(&output.stdout);
    assert!(
        flat(&told).contains(&flat(blip["conclusion"].as_str().unwrap())),
        "{told}"
    );
}

#[test]
fn without_a_storm_strict_fails_and_the_conclusion_says_why() {
    let folder = tempfile::tempdir().unwrap();
    // Enough calls before the fault to say anything, and even all their retries stay within the capacity.
    let calm = ["--load", "40", "--before", "1s", "--no-html", "--quiet"];
    let mut strict = drill(folder.path());
    strict.args(&SHORT[2..]).args(calm).arg("--strict");
    let strict = strict.output().unwrap();
    assert_eq!(strict.status.code(), Some(1));
    // A machine that is too busy to keep the drill's time says so instead.
    let said = flat(&text(&strict.stdout));
    let told = ["No storm lasted under", "This run is void"];
    assert!(told.iter().any(|it| said.contains(it)), "{said}");
    assert!(
        text(&strict.stderr).contains("no storm can last"),
        "told in advance"
    );
    assert!(!folder.path().join("becalm-drill.html").exists());
}

#[test]
fn what_cannot_be_held_is_refused_at_once_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    for (flags, words) in [
        (&["--load", "0"][..], "--load"),
        (&["http", "--load", "0"], "--load"),
        (&["htp"], "similar subcommand exists: 'http'"),
        (&["redis"], "there are 'becalm drill', 'becalm drill http'"),
        (&["redis"], "'becalm drill --listen'"),
        (&["--after", "10m"], "--after"),
        (&["--tail", "1s"], "--tail"),
        (&["--blip", "1ms"], "--blip"),
        (&["--attempts", "0"], "attempts"),
        (&["--budget", "10%"], "budget"),
        (&["--html", "missing/report.html"], "missing/report.html"),
    ] {
        let output = drill(folder.path()).args(flags).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{flags:?}");
        assert!(
            text(&output.stderr).contains(words),
            "{}",
            text(&output.stderr)
        );
        assert!(!text(&output.stderr).contains("becalm run"), "{flags:?}");
        // A drill that was held prints what it found.
        assert_eq!(
            text(&output.stdout),
            "",
            "refused before it runs: {flags:?}"
        );
    }
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        0,
        "nothing is left behind"
    );
}

#[test]
fn too_few_open_files_are_said_plainly() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new("sh")
        .args([
            "-c",
            "ulimit -n 200 && exec \"$0\" drill",
            env!("CARGO_BIN_EXE_becalm"),
        ])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = text(&output.stderr);
    assert!(
        told.contains("allows 200 open files") && told.contains("1024"),
        "{told}"
    );
}

/// The ports on which a process listens.
#[cfg(target_os = "linux")]
fn listening(process: u32) -> Vec<u16> {
    let Ok(descriptors) = fs::read_dir(format!("/proc/{process}/fd")) else {
        return Vec::new();
    };
    let sockets: Vec<String> = descriptors
        .filter_map(|entry| fs::read_link(entry.ok()?.path()).ok())
        .filter_map(|link| {
            Some(
                link.to_str()?
                    .strip_prefix("socket:[")?
                    .strip_suffix(']')?
                    .into(),
            )
        })
        .collect();
    let table = fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    let ports = table.lines().skip(1).filter_map(|line| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let (local, state, inode) = (fields.get(1)?, fields.get(3)?, fields.get(9)?);
        let listens = *state == "0A" && sockets.iter().any(|socket| socket == inode);
        let port = u16::from_str_radix(local.split(':').nth(1)?, 16).ok()?;
        listens.then_some(port)
    });
    ports.collect()
}

/// Long enough for any machine, short enough to end a hanging test.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is found as soon as it is this many, or when it takes too long.
fn awaited<T>(count: usize, find: impl Fn() -> Vec<T>) -> Vec<T> {
    let began = Instant::now();
    loop {
        let found = find();
        if found.len() >= count || began.elapsed() > PATIENCE {
            return found;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits for the child; kills it when it takes too long.
fn wait(mut child: Child) -> Output {
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > PATIENCE {
            let _ = child.kill();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_drill_leaves_no_listener_and_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let child = drill(folder.path())
        .args(["--after", "90s"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let ports = awaited(6, || listening(child.id()));
    assert_eq!(ports.len(), 6, "a service for each policy");
    let id = i32::try_from(child.id()).unwrap();
    kill(Pid::from_raw(id), Signal::SIGINT).unwrap();
    let output = wait(child);
    assert_eq!(output.status.code(), Some(130));
    assert!(text(&output.stderr).contains("no report is written"));
    for port in ports {
        assert!(
            TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err(),
            "port {port}"
        );
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
