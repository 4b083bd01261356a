//! Does everything end soon that would never end, or take all memory?
//!
//! A test program of its own: the system counts the greatest child of all.

#![cfg(target_os = "linux")] // the unit of the figure is the system's own: KiB here

mod storm_support;

use std::fs;
use std::time::Duration;

use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use storm_support::storm;

/// A small world, which each giant makes large in one place.
const SMALL: &str = r#"
name = "small"
horizon = "20s"

[[service]]
name = "orders"
workers = 12
time = "exponential:20ms"
queue = 600

[[population]]
name = "shop"
clients = 30
target = "orders"
arrivals = "poisson:360"
timeout = "500ms"

[population.policy]
attempts = 4
base = "100ms"
budget = "none"

[[trigger]]
from = "5s"
length = "1s"
effect = "hang"
service = "orders"
"#;

/// What is written in place of what.
type Change = (&'static str, &'static str);

const HANG: &str = "effect = \"hang\"\nservice = \"orders\"";
const LOUD: &str = "effect = \"load\"\npopulation = \"shop\"\nfactor = 1e9";
const RETRIES: &str = "attempts = 4\nbase = \"100ms\"";
const ROWS: &str = "[[service]]\nname = \"rows\"\nworkers = \"unlimited\"";

/// A thousand million of anything, and what the refusal names.
const GIANTS: &[(&[Change], &str)] = &[
    (&[("poisson:360", "poisson:1e9")], "arrivals of shop"),
    (&[("poisson:360", "constant:1e9")], "arrivals of shop"),
    (
        &[("poisson:360", "bursty:1,burst-rate:1e9,burst:1s,pause:10s")],
        "arrivals of shop",
    ),
    (&[("clients = 30", "clients = 1000000000")], "clients"),
    (&[("clients = 30", "clients = 50000000")], "clients of shop"),
    // Calls that are refused at once: what grows is the states of clients.
    (
        &[
            ("clients = 30", "clients = 500000"),
            ("poisson:360", "poisson:100000"),
        ],
        "clients of shop",
    ),
    (
        &[
            ("\"poisson:360\"", "{ closed = \"0s\" }"),
            ("clients = 30", "clients = 40000000\nsharing = \"shared\""),
        ],
        "clients of shop",
    ),
    (&[("workers = 12", "instances = 1000000000")], "instances"),
    (
        &[("workers = 12", "instances = 10000000")],
        "instances of orders",
    ),
    (
        &[("workers = 12", "workers = 1000000000")],
        "capacity of orders",
    ),
    (&[("\"exponential:20ms\"", "\"1ns\"")], "capacity of orders"),
    (
        &[
            ("\"exponential:20ms\"", "\"1ns\""),
            ("\"poisson:360\"", "{ trace = [\"1s\", \"7s\", \"19s\"] }"),
        ],
        "capacity of orders",
    ),
    (
        &[(
            RETRIES,
            "attempts = \"unlimited\"\nbase = \"1ns\"\ncap = \"1ns\"",
        )],
        "retries of shop",
    ),
    (
        &[(
            RETRIES,
            "attempts = 1000000000\nbase = \"1ns\"\ncap = \"1ns\"",
        )],
        "retries of shop",
    ),
    (
        &[(RETRIES, "attempts = 4000000000\nbase = \"0s\"")],
        "retries of shop",
    ),
    (&[("\"20s\"", "\"1000000000s\"")], "horizon"),
    (&[("\"20s\"", "\"87000h\"\nbucket = \"1h\"")], "horizon"),
    (&[("\"20s\"", "\"20s\"\nbucket = \"1ns\"")], "bucket"),
    (
        &[("\"20s\"", "\"20s\"\nbucket = \"1000000000s\"")],
        "bucket",
    ),
    (
        &[("queue = 600", "cache = { keys = 1000000000, hot = 0.9 }")],
        "cache of orders",
    ),
    (
        &[("queue = 600", "cache = { keys = 50000000, hot = 0.9 }")],
        "keys of orders",
    ),
    (
        &[("exponential:20ms", "exponential:1000000000s")],
        "service time",
    ),
    (&[("500ms", "1000000000s")], "timeout"),
    (&[(HANG, LOUD)], "factor of the load of shop"),
    (
        &[
            (HANG, LOUD),
            (
                "\"poisson:360\"",
                "{ trace = [\"1s\", \"5500ms\", \"7s\"] }",
            ),
        ],
        "factor of the load of shop",
    ),
];

/// What asks for too much of a call to another service, and what the refusal names.
const FAN_OUTS: &[(&str, &str)] = &[
    ("fan_out = 1000000000", "fan-out"),
    ("fan_out = 50000000\nat_once = true", "fan-out of orders"),
];

/// The small world with flags that ask for too much, and what the refusal names.
const FLAGS: &[([&str; 2], &str)] = &[
    (["--runs", "1000000000"], "--runs"),
    (["--threads", "99999999999999999999"], "--threads"),
    (["--memory", "99999999999GB"], "--memory"),
    (["--sweep", "base=1ms..1s:1000000000"], "base"),
    (["--sweep", "load=1..1000000000"], "load"),
    (["--attempts", "99999999999"], "--attempts"),
];

/// The search for a policy, in worlds and with flags that ask for too much.
const SEARCHES: &[(&[Change], &[&str], &str)] = &[
    (&[("poisson:360", "poisson:1e9")], &[], "arrivals of shop"),
    (
        &[("clients = 30", "clients = 50000000")],
        &[],
        "clients of shop",
    ),
    (
        &[("\"20s\"", "\"86000h\"\nbucket = \"1h\"")],
        &[],
        "horizon",
    ),
    (&[], &["--policies", "1024", "--runs", "100000"], "--runs"),
    (&[], &["--policies", "1000000000"], "--policies"),
];

/// What `becalm storm` is asked, with a giant in it.
struct Giant {
    command: &'static [&'static str],
    text: String,
    flags: &'static [&'static str],
    /// What the refusal names.
    words: &'static str,
}

fn giants() -> Vec<Giant> {
    let changed = |changes: &[Change]| {
        let mut text = SMALL.to_owned();
        for (from, to) in changes {
            assert!(text.contains(from), "{from}");
            text = text.replacen(from, to, 1);
        }
        text
    };
    let giant = |text, flags, words| Giant {
        command: &[],
        text,
        flags,
        words,
    };
    let worlds = GIANTS
        .iter()
        .map(|(changes, words)| giant(changed(changes), &[], words));
    let fan_outs = FAN_OUTS.iter().map(|(calls, words)| {
        let calls = format!("queue = 600\n[[service.calls]]\nservice = \"rows\"\n{calls}\n{ROWS}");
        giant(SMALL.replacen("queue = 600", &calls, 1), &[], words)
    });
    let flags = FLAGS
        .iter()
        .map(|(flags, words)| giant(SMALL.to_owned(), flags, words));
    let searches = SEARCHES.iter().map(|(changes, flags, words)| Giant {
        command: &["tune"],
        ..giant(changed(changes), flags, words)
    });
    worlds
        .chain(fan_outs)
        .chain(flags)
        .chain(searches)
        .collect()
}

impl Giant {
    /// Asks, and sees that it is refused in one line which names what is too much.
    fn is_refused(&self) {
        let words = self.words;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("giant.toml");
        fs::write(&path, &self.text).expect("it is written");
        let path = path.to_str().expect("a path");
        let output = storm(&[self.command, &[path], self.flags].concat());
        let said = String::from_utf8(output.stderr).expect("UTF-8");
        let code = output.status.code();
        assert_eq!(code, Some(2), "{words}: {said}");
        let lines = said.lines().filter(|line| line.starts_with("error:"));
        assert_eq!(lines.count(), 1, "one line of refusal: {said}");
        assert!(said.contains(words), "{words} is named: {said}");
    }
}

#[test]
fn s3_a_thousand_million_of_anything_is_refused_with_its_field_and_little_memory() {
    let giants = giants();
    assert!(giants.len() >= 30, "{}", giants.len());
    giants.iter().for_each(Giant::is_refused);
    assert!(most_memory() < 500_000, "{} KiB", most_memory());
}

#[test]
#[ignore = "measures this machine, by hand: scripts/prove giants"]
fn s3_each_giant_takes_less_than_two_seconds() {
    for giant in giants() {
        let before = seconds();
        giant.is_refused();
        let took = seconds() - before;
        println!("{took:.2} s  {} {}", giant.command.concat(), giant.words);
        assert!(took < 2.0, "{}", giant.words);
    }
    println!("at most {} KiB", most_memory());
    assert!(most_memory() < 500_000);
}

/// Of all children so far.
fn used() -> Usage {
    getrusage(UsageWho::RUSAGE_CHILDREN).expect("counted")
}

/// KiB that the greatest child held.
fn most_memory() -> i64 {
    used().max_rss()
}

/// Of the processors.
fn seconds() -> f64 {
    let used = used().user_time() + used().system_time();
    let micros = u64::try_from(used.num_microseconds()).expect("a time");
    Duration::from_micros(micros).as_secs_f64()
}

/// What may be huge and costs nothing, is not refused: a queue, a limit, threads.
#[test]
fn s3_what_only_sounds_large_is_studied() {
    let huge = SMALL.replacen("queue = 600", "queue = 1000000000", 1);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("huge.toml");
    fs::write(&path, huge).expect("it is written");
    let path = path.to_str().expect("a path");
    let flags = ["--quick", "--runs", "1", "--threads", "1000000000"];
    let output = storm(&[&[path][..], &flags].concat());
    assert!(output.status.success(), "{output:?}");
}
