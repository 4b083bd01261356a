//! Does `becalm drill --listen` judge a client that is not becalm's? Counts only: no figure of time.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::fault::service::Service;
use super::{drill, text, wait};

/// A drill that listens, and where.
struct Listening {
    child: Child,
    address: SocketAddr,
}

fn command(folder: &Path, service: SocketAddr, flags: &[&str]) -> Command {
    let upstream = format!("http://{service}");
    let mut command = drill(folder);
    command.args([
        "--listen",
        "127.0.0.1:0",
        "--upstream",
        &upstream,
        "--quiet",
    ]);
    command
        .args(["--before", "1s", "--trigger", "2s", "--after", "3s"])
        .args(flags);
    command
}

impl Listening {
    fn start(folder: &Path, service: SocketAddr, flags: &[&str]) -> Self {
        let mut command = command(folder, service, flags);
        command
            .args(["--json", "drill.json"])
            .stdout(Stdio::piped());
        let mut child = command.spawn().expect("the drill starts");
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        // What it says further must not fill the pipe.
        thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()));
        let address = line
            .split("listens at ")
            .nth(1)
            .and_then(|it| it.split(": ").next());
        let address = address
            .unwrap_or_else(|| panic!("{line:?}"))
            .parse()
            .unwrap();
        Self { child, address }
    }
}

/// One attempt.
fn is_answered(address: SocketAddr, id: &str) -> bool {
    let asked = || {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        let id = if id.is_empty() {
            String::new()
        } else {
            format!("X-Request-Id: {id}\r\n")
        };
        stream.write_all(format!("GET / HTTP/1.1\r\nHost: here\r\n{id}\r\n").as_bytes())?;
        let mut status = [0; 12];
        stream.read_exact(&mut status)?;
        Ok::<_, std::io::Error>(&status == b"HTTP/1.1 200")
    };
    asked().unwrap_or(false)
}

/// What a client says of each attempt.
#[derive(Clone, Copy, PartialEq)]
enum Says {
    Call,
    Attempt,
    Nothing,
}

/// A client that calls 40 times a second, or as often as it is answered if that is less.
struct Client {
    attempts: usize,
    says: Says,
    /// Between a failed attempt and the next.
    backoff: Duration,
    /// One call in so many may be tried again; all if there is none.
    budget: Option<usize>,
}

const NAIVE: Client = Client {
    attempts: 4,
    says: Says::Call,
    backoff: Duration::ZERO,
    budget: None,
};

impl Client {
    fn call(&self, address: SocketAddr, call: usize) {
        let is_retried = self.budget.is_none_or(|it| call % it == 0);
        for attempt in 0..if is_retried { self.attempts } else { 1 } {
            if attempt > 0 {
                thread::sleep(self.backoff);
            }
            let id = match self.says {
                Says::Call => format!("call-{call}"),
                Says::Attempt => format!("call-{call}-{attempt}"),
                Says::Nothing => String::new(),
            };
            if is_answered(address, &id) {
                return;
            }
        }
    }
}

/// The document of a drill of this client. A drill that this machine was too busy for is held again.
fn held(client: &Client, flags: &[&str]) -> (Option<i32>, Value) {
    let mut last = held_once(client, flags, |_, _| ());
    for _ in 0..4 {
        if last.1["finding"] != "void" {
            break;
        }
        last = held_once(client, flags, |_, _| ());
    }
    last
}

/// Each call has a thread of its own; `meanwhile` is told the drill's process, and how many calls have failed.
fn held_once(
    client: &Client,
    flags: &[&str],
    meanwhile: impl FnOnce(u32, &AtomicUsize),
) -> (Option<i32>, Value) {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start();
    let drill = Listening::start(folder.path(), service.address, flags);
    let (address, is_over, called) = (drill.address, AtomicBool::new(false), AtomicUsize::new(0));
    let (is_over, called) = (&is_over, &called);
    let id = drill.child.id();
    let output = thread::scope(|scope| {
        scope.spawn(move || {
            for call in 0.. {
                scope.spawn(move || client.call(address, call));
                called.fetch_add(1, Ordering::Relaxed);
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                thread::sleep(Duration::from_millis(25));
            }
        });
        meanwhile(id, called);
        let output = wait(drill.child);
        is_over.store(true, Ordering::Relaxed);
        output
    });
    let document = std::fs::read_to_string(folder.path().join("drill.json"));
    let document = document.unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    let html = std::fs::read_to_string(folder.path().join("becalm-drill.html")).unwrap();
    assert!(html.contains("How often a call was tried"));
    (
        output.status.code(),
        serde_json::from_str(&document).unwrap(),
    )
}

#[test]
fn a_client_whose_retries_nothing_bounds_is_told_so() {
    let (code, document) = held(&NAIVE, &["--fault", "status:503", "--strict"]);
    let conclusion = &document["conclusion"];
    assert_eq!(document["finding"], "unbounded", "{conclusion}");
    assert_eq!(code, Some(1));
    let rows = document["calls_by_attempts"].as_array().unwrap();
    assert_eq!(rows.len(), 4, "{conclusion}");
    assert!(rows[3].as_u64().unwrap() >= 10);
    let trigger = &document["phases"][1];
    assert!(
        trigger["amplification"].as_f64().unwrap() > 3.0,
        "{trigger}"
    );
    assert_eq!(document["verdict"], "back");
    assert_eq!(document["identified"]["nothing"], 0);
    assert!(document["proxy"]["broken"].as_u64().unwrap() >= 40);
}

#[test]
fn a_client_that_does_not_retry_is_told_so() {
    let once = Client {
        attempts: 1,
        ..NAIVE
    };
    let (code, document) = held(&once, &["--fault", "reset", "--strict"]);
    assert_eq!(document["finding"], "single", "{}", document["conclusion"]);
    assert_eq!(code, Some(0));
    assert_eq!(document["attempts"], document["calls"]);
}

#[test]
fn a_client_with_a_budget_is_bounded_though_some_calls_are_tried_four_times() {
    let budget = Client {
        budget: Some(20),
        ..NAIVE
    };
    let (code, document) = held(&budget, &["--fault", "status:503", "--strict"]);
    assert_eq!(document["finding"], "bounded", "{}", document["conclusion"]);
    assert_eq!(code, Some(0));
    assert_eq!(document["calls_by_attempts"].as_array().unwrap().len(), 4);
}

#[test]
fn retries_that_come_when_the_fault_is_over_bound_nothing() {
    let patient = Client {
        attempts: 2,
        backoff: Duration::from_millis(2_100),
        ..NAIVE
    };
    let (code, document) = held(&patient, &["--fault", "status:503", "--strict"]);
    let conclusion = &document["conclusion"];
    assert_eq!(document["finding"], "unbounded", "{conclusion}");
    assert_eq!(code, Some(1));
}

#[test]
fn a_client_that_waits_longer_than_the_fault_has_shown_nothing() {
    let (code, document) = held(&NAIVE, &["--strict"]);
    let conclusion = document["conclusion"].as_str().unwrap();
    assert_eq!(document["finding"], "unseen", "{conclusion}");
    assert!(conclusion.contains("Lengthen --trigger"), "{conclusion}");
    assert_eq!(code, Some(1), "no verdict");
    assert_eq!(document["retried"]["fault"]["failed"], 0);
}

#[test]
fn a_client_of_whose_attempts_nobody_can_say_which_call_they_are_of_is_told_so() {
    for (says, words) in [
        (Says::Nothing, "said neither by X-Request-Id"),
        (Says::Attempt, "an id of its own"),
    ] {
        let client = Client { says, ..NAIVE };
        let (code, document) = held(&client, &["--fault", "status:503", "--strict"]);
        let conclusion = document["conclusion"].as_str().unwrap();
        assert_eq!(document["finding"], "unidentified", "{conclusion}");
        assert!(conclusion.contains(words), "{conclusion}");
        assert_eq!(code, Some(1), "no verdict");
    }
}

/// The proxy lifts the fault itself then, two seconds late.
#[test]
fn a_drill_that_stood_still_while_it_should_have_lifted_the_fault_gives_no_verdict() {
    let signal = |name: &str, id: u32| {
        let status = Command::new("kill").args([name, &id.to_string()]).status();
        assert!(status.unwrap().success());
    };
    let (code, document) = held_once(
        &NAIVE,
        &["--fault", "status:503", "--strict"],
        |id, called| {
            // 1.25 s, and more on a busy machine: any time before the lift, at 3 s, will do.
            while called.load(Ordering::Relaxed) < 50 {
                thread::sleep(Duration::from_millis(5));
            }
            signal("-STOP", id);
            thread::sleep(Duration::from_secs(4));
            signal("-CONT", id);
        },
    );
    let conclusion = &document["conclusion"];
    assert_eq!(document["finding"], "void", "{conclusion}");
    assert_eq!(code, Some(1), "no verdict");
    assert!(document["lateness_ms"].as_f64().unwrap() > 200.0);
}

#[test]
fn what_may_not_be_broken_or_is_never_called_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start();
    for (flags, words) in [
        (&["--fault", "stop"][..], "--pid"),
        (&["--fault", "fire"], "write hold"),
        (&["--before", "10ms"], "--before"),
        (&["--wait", "100ms"], "no request came within 100ms"),
    ] {
        let flags: Vec<_> = flags.to_vec();
        let mut command = drill(folder.path());
        let upstream = format!("http://{}", service.address);
        command.args([
            "--listen",
            "127.0.0.1:0",
            "--upstream",
            &upstream,
            "--quiet",
        ]);
        let output = command.args(&flags).output().unwrap();
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {told}");
        assert!(told.contains(words), "{flags:?}: {told}");
    }
    for (listen, upstream, words) in [
        ("0.0.0.0:0", "http://127.0.0.1:1", "--i-own 0.0.0.0"),
        ("127.0.0.1:0", "http://192.0.2.7", "--i-own 192.0.2.7"),
        ("127.0.0.1:0", "https://127.0.0.1", "TLS"),
        ("127.0.0.1:9", "http://127.0.0.1:9/", "to itself"),
    ] {
        let mut command = drill(folder.path());
        let output = command
            .args(["--listen", listen, "--upstream", upstream])
            .output()
            .unwrap();
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(words), "{told}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
