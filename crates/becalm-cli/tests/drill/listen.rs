//! Does `becalm drill --listen` judge a client that is not becalm's? Counts only: no figure of time.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
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
        .args(["--before", "1s", "--trigger", "1s", "--after", "3s"])
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

/// The document of a drill of a client that makes so many attempts of each call, and names them or not.
fn held(attempts: usize, names: bool, flags: &[&str]) -> (Option<i32>, Value) {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start();
    let drill = Listening::start(folder.path(), service.address, flags);
    let (address, is_over) = (drill.address, AtomicBool::new(false));
    let output = thread::scope(|scope| {
        scope.spawn(|| {
            for call in 0.. {
                let id = if names {
                    format!("call-{call}")
                } else {
                    String::new()
                };
                let _ = (0..attempts).find(|_| is_answered(address, &id));
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                thread::sleep(Duration::from_millis(10));
            }
        });
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
    let (code, document) = held(4, true, &["--fault", "status:503", "--strict"]);
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
fn a_client_that_does_not_retry_or_says_no_ids_is_told_so() {
    let (code, document) = held(1, true, &["--fault", "reset", "--strict"]);
    assert_eq!(document["finding"], "single", "{}", document["conclusion"]);
    assert_eq!(code, Some(0));
    assert_eq!(document["attempts"], document["calls"]);

    let (code, document) = held(3, false, &["--fault", "status:503", "--strict"]);
    let conclusion = document["conclusion"].as_str().unwrap();
    assert_eq!(document["finding"], "unidentified", "{conclusion}");
    assert_eq!(code, Some(1), "no verdict");
    assert_eq!(document["identified"]["request_id"], 0);
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
