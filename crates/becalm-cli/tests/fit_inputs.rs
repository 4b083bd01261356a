//! Does `becalm fit` end, whatever it is given to read, and say what to do?

#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than any of these takes, on any machine.
const LONG: Duration = Duration::from_secs(120);
/// Kilobytes of memory: more than becalm takes, and less than what never ends.
const MEMORY: u32 = 2_000_000;

/// What the shell does in this place, with little memory.
fn shell(place: &Path, line: &str) -> Output {
    let becalm = env!("CARGO_BIN_EXE_becalm");
    let line = format!("ulimit -v {MEMORY}; becalm() {{ '{becalm}' \"$@\"; }}; {line}");
    let begun = Instant::now();
    let mut bash = Command::new("timeout");
    bash.args([&LONG.as_secs().to_string(), "bash", "-c", &line]);
    let output = bash.current_dir(place).stdin(Stdio::null()).output();
    assert!(begun.elapsed() < LONG, "{line} does not end");
    output.expect("bash starts")
}

fn log(requests: u32) -> String {
    let line = |at: u32| {
        let end = f64::from(1_795_431_751) + f64::from(at * 50) / 1e3;
        format!(
            "{end:.3},0.02{},200,10.0.0.1,-,10.0.0.2:80,0.02{0}\n",
            at % 10
        )
    };
    (0..requests).map(line).collect()
}

#[test]
fn what_never_ends_or_never_comes_is_refused_with_what_to_do() {
    let place = tempfile::tempdir().expect("a directory");
    let place = place.path();
    for (line, part) in [
        ("becalm fit /dev/zero", "name the file of a log"),
        (
            "becalm fit --format csv /dev/zero",
            "name the file of a log",
        ),
        (
            "tr '\\0' x < /dev/zero | becalm fit -",
            "name the file of a log",
        ),
        ("yes '' | becalm fit -", "no requests in it; name the file"),
        (
            "yes '' | becalm fit --format nginx -",
            "name the file of a log",
        ),
        (
            "yes '# a' | becalm fit --format nginx -",
            "name the file of a log",
        ),
        ("mkfifo a && becalm fit a", "start the writer first"),
        ("becalm fit .", "name the logs in it"),
        ("becalm fit - < .", "cannot read standard input"),
        ("becalm fit - < /dev/null", "no requests in it"),
        ("becalm fit --prometheus /dev/zero", "a shorter range"),
        (
            "mkfifo b && becalm fit --prometheus b",
            "start the writer first",
        ),
        (
            "becalm fit --prometheus .",
            "a Prometheus is named by its URL",
        ),
    ] {
        let output = shell(place, line);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {told}");
        assert!(told.contains(part), "{line}: {told}");
    }
}

#[test]
fn nobody_waits_at_a_terminal() {
    let place = tempfile::tempdir().expect("a directory");
    for argument in ["-", "/dev/tty"] {
        let inner = format!("{} fit {argument}", env!("CARGO_BIN_EXE_becalm"));
        let output = shell(place.path(), &format!("script -qec '{inner}' /dev/null"));
        let told = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(2), "{argument}: {told}");
        assert!(told.contains("is a terminal; name the"), "{told}");
    }
}

#[test]
fn a_fifo_that_is_written_is_read_to_its_end() {
    let place = tempfile::tempdir().expect("a directory");
    let place = place.path();
    let (log, fifo) = (log(500), place.join("fifo"));
    fs::write(place.join("log"), &log).expect("a file");
    let expected = shell(place, "becalm fit --json log").stdout;
    assert!(shell(place, "mkfifo fifo").status.success());
    // Its writer comes late, and thinks between two parts.
    let writer = thread::spawn(move || {
        thread::sleep(Duration::from_millis(500));
        let mut file = File::create(fifo).expect("somebody reads");
        for part in log.as_bytes().chunks(log.len() / 2) {
            thread::sleep(Duration::from_millis(500));
            file.write_all(part).expect("somebody reads");
        }
    });
    let output = shell(place, "becalm fit --json fifo");
    writer.join().expect("it wrote all");
    assert_eq!(output.stdout, expected, "{output:?}");
    let piped = shell(place, "becalm fit --json <(sleep 1; cat log)");
    assert_eq!(piped.stdout, expected, "{piped:?}");
}
