//! Does a Prometheus say of a service what the log of the same service says?
//!
//! A simulated service writes a log, and samples of its histogram; promtool makes a database of them, and a real Prometheus on
//! the loopback answers. Nothing waits for time to pass.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// 2026-11-23T00:00:00Z, at which the simulated day begins.
const BEGIN: f64 = 1_795_392_000.0;
const STEP: f64 = 15.0;
const BOUNDS: [f64; 11] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];
const WORKERS: usize = 4;
const TIME: f64 = 0.08;
const CAPACITY: f64 = 50.0;
const PATIENCE: Duration = Duration::from_secs(60);

/// Ends and durations of a service of four workers, 50 a second, at these loads in turn.
fn service(loads: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut state = 3_u64;
    let mut exponential = move |mean: f64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        #[expect(clippy::cast_precision_loss)] // 53 bits
        let uniform = (state >> 11) as f64 / (1_u64 << 53) as f64;
        -mean * (1.0 - uniform).ln()
    };
    let mut free = [0.0_f64; WORKERS];
    let mut ended = Vec::new();
    let (mut now, mut until) = (0.0, 0.0);
    for (load, length) in loads {
        until += length;
        while now < until {
            now += exponential(1.0 / CAPACITY / load);
            free.sort_by(f64::total_cmp);
            let end = now.max(free[0]) + exponential(TIME);
            free[0] = end;
            ended.push((end, end - now));
        }
    }
    ended.sort_by(|one, other| one.0.total_cmp(&other.0));
    ended
}

fn log(ended: &[(f64, f64)]) -> String {
    let mut text = String::new();
    for (end, took) in ended {
        let _ = writeln!(
            text,
            "{:.3},{took:.3},200,10.0.0.1,-,10.0.0.2:80,{took:.3}",
            BEGIN + end
        );
    }
    text
}

/// What Prometheus would have scraped.
fn samples(ended: &[(f64, f64)]) -> String {
    let last = ended.last().expect("requests").0;
    let mut text = String::from("# TYPE http_request_duration_seconds histogram\n");
    let mut gauge = String::from("# TYPE in_flight gauge\n");
    let labels = r#"job="orders",instance="a:1",code="200""#;
    let (mut at, mut next) = (0.0, 0);
    let (mut buckets, mut sum, mut count) = ([0_u64; BOUNDS.len()], 0.0, 0_u64);
    while at <= last {
        while let Some((_, took)) = ended.get(next).filter(|it| it.0 <= at) {
            for (bucket, bound) in buckets.iter_mut().zip(BOUNDS) {
                *bucket += u64::from(*took <= bound);
            }
            (sum, count, next) = (sum + took, count + 1, next + 1);
        }
        let moment = BEGIN + at;
        for (bucket, bound) in buckets.iter().zip(BOUNDS) {
            let _ = writeln!(
                text,
                "http_request_duration_seconds_bucket{{{labels},le=\"{bound:?}\"}} {bucket} {moment}"
            );
        }
        let _ = writeln!(
            text,
            "http_request_duration_seconds_bucket{{{labels},le=\"+Inf\"}} {count} {moment}"
        );
        let _ = writeln!(
            text,
            "http_request_duration_seconds_sum{{{labels}}} {sum} {moment}"
        );
        let _ = writeln!(
            text,
            "http_request_duration_seconds_count{{{labels}}} {count} {moment}"
        );
        let inside = ended[next..]
            .iter()
            .filter(|(end, took)| end - took <= at)
            .count();
        let _ = writeln!(
            gauge,
            "in_flight{{job=\"orders\",instance=\"a:1\"}} {inside} {moment}"
        );
        at += STEP;
    }
    text + &gauge + "# EOF\n"
}

/// A Prometheus with these samples, that ends with it.
struct Prometheus {
    process: Child,
    port: u16,
}

impl Prometheus {
    /// `None` where it is not installed, but for where everything is checked.
    fn of(place: &Path, samples: &str) -> Option<Self> {
        let is_there = |it: &str| Command::new(it).arg("--version").output().is_ok();
        if !is_there("prometheus") || !is_there("promtool") {
            let sentence = "`prometheus` does not run; install Debian's package prometheus";
            assert!(std::env::var_os("CI").is_none(), "{sentence}");
            eprintln!("left out: {sentence}");
            return None;
        }
        fs::write(place.join("samples.om"), samples).expect("a file");
        fs::write(place.join("prometheus.yml"), "global: {}\n").expect("a file");
        let made = Command::new("promtool")
            .args([
                "tsdb",
                "create-blocks-from",
                "openmetrics",
                "samples.om",
                "data",
            ])
            .current_dir(place)
            .output()
            .expect("promtool runs");
        assert!(
            made.status.success(),
            "{}",
            String::from_utf8_lossy(&made.stderr)
        );
        let free = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = free.local_addr().expect("it has one").port();
        drop(free);
        let process = Command::new("prometheus")
            .args(["--config.file=prometheus.yml", "--storage.tsdb.path=data"])
            .args(["--storage.tsdb.retention.time=100y", "--log.level=warn"])
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .current_dir(place)
            .stdout(Stdio::null())
            .stderr(File::create(place.join("stderr.log")).expect("a file"))
            .spawn()
            .expect("it starts");
        let mut prometheus = Self { process, port };
        let begun = Instant::now();
        while !prometheus.is_ready() {
            let ended = prometheus.process.try_wait().expect("it is ours");
            let said = fs::read_to_string(place.join("stderr.log")).unwrap_or_default();
            assert!(
                ended.is_none() && begun.elapsed() < PATIENCE,
                "it does not start: {said}"
            );
            thread::sleep(Duration::from_millis(50));
        }
        Some(prometheus)
    }

    fn is_ready(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) else {
            return false;
        };
        let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
        let asked = stream.write_all(b"GET /-/ready HTTP/1.0\r\n\r\n");
        let mut answer = String::new();
        asked.is_ok() && stream.read_to_string(&mut answer).is_ok() && answer.contains(" 200 ")
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn becalm(place: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_becalm"))
        .args(arguments)
        .current_dir(place)
        .output()
        .expect("the binary starts")
}

fn document(place: &Path, arguments: &[&str]) -> Value {
    let output = becalm(place, &[arguments, &["--json"]].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {stderr}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn value(document: &Value, id: &str) -> f64 {
    let values = document["fits"][0]["values"].as_array().expect("values");
    let found = values.iter().find(|it| it["id"] == id).expect(id);
    found["value"].as_f64().expect("a number")
}

const METRIC: [&str; 4] = [
    "--metric",
    "http_request_duration_seconds",
    "--match",
    r#"{job="orders"}"#,
];

#[test]
fn a_range_says_what_the_log_says_or_that_it_is_open() {
    let busy = [
        (0.3, 900.0),
        (0.6, 600.0),
        (0.9, 600.0),
        (1.05, 900.0),
        (0.3, 600.0),
    ];
    let quiet = [(0.3, 900.0), (0.6, 900.0)];
    for (loads, knee) in [(&busy[..], "seen"), (&quiet, "open")] {
        let place = TempDir::new().expect("a directory");
        let ended = service(loads);
        let Some(prometheus) = Prometheus::of(place.path(), &samples(&ended)) else {
            return;
        };
        fs::write(place.path().join("a.log"), log(&ended)).expect("a file");
        let of_log = document(place.path(), &["fit", "a.log"]);
        assert_eq!(of_log["fits"][0]["knee"], "seen");
        let url = prometheus.url();
        let until = format!("{}", BEGIN + ended.last().expect("requests").0);
        let asked = [
            "fit",
            "--prometheus",
            &url,
            "--until",
            &until,
            "--range",
            "1h",
        ];
        for more in [&[][..], &["--in-flight", "in_flight"]] {
            let of_range = document(place.path(), &[&asked[..], &METRIC, more].concat());
            assert_eq!(of_range["fits"][0]["knee"], knee, "{more:?}: {of_range}");
            let (log, range) = (value(&of_log, "capacity"), value(&of_range, "capacity"));
            if knee == "seen" {
                assert!(
                    (range / log - 1.0).abs() < 0.15,
                    "{range}/s, and {log}/s by the log"
                );
                assert!((value(&of_range, "workers") - 4.0).abs() < 1.1);
            }
            assert!(range < 51.5, "{range}/s of 50");
        }
        // By a storm, and by the answer as a file.
        let output = becalm(
            place.path(),
            &[&asked[..], &METRIC, &["--out", "mine.toml"]].concat(),
        );
        let told = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(
            told.contains("asked: label_replace(sum(rate(")
                && told.contains("becalm storm mine.toml"),
            "{told}"
        );
        let storm = becalm(
            place.path(),
            &["storm", "mine.toml", "--quick", "--runs", "1", "--json"],
        );
        assert!(
            String::from_utf8_lossy(&storm.stdout).contains("\"verdict\":\""),
            "{storm:?}"
        );
        let by_hand = by_hand(place.path(), &asked);
        fs::write(place.path().join("range.json"), by_hand).expect("a file");
        let of_file = document(place.path(), &["fit", "--prometheus", "range.json"]);
        let of_url = document(place.path(), &[&asked[..], &METRIC].concat());
        assert_eq!(of_file["fits"], of_url["fits"]);
    }
}

/// The answer to the query that --show-query prints, as curl would save it.
fn by_hand(place: &Path, asked: &[&str]) -> Vec<u8> {
    let output = becalm(place, &[asked, &METRIC, &["--show-query"]].concat());
    let told = String::from_utf8(output.stdout).expect("UTF-8");
    let command = told
        .lines()
        .find(|it| it.starts_with("curl "))
        .expect("a command");
    let answer = Command::new("sh")
        .args(["-c", &command.replace("> range.json", "")])
        .output();
    let answer = answer.expect("a shell");
    assert!(answer.status.success(), "{command}: {answer:?}");
    answer.stdout
}

#[test]
fn what_cannot_be_asked_is_refused_with_the_way_by_hand() {
    let place = TempDir::new().expect("a directory");
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let gone = format!("http://{}", free.local_addr().expect("it has one"));
    drop(free);
    fs::write(
        place.path().join("a.json"),
        "{\"status\":\"error\",\"error\":\"parse error\"}",
    )
    .expect("a file");
    for (arguments, parts) in [
        (
            vec!["--prometheus", &gone],
            vec!["--prometheus needs --metric"],
        ),
        (
            vec!["--prometheus", &gone, "--metric", "rq_time"],
            vec!["does not say its unit; write rq_time:s"],
        ),
        (
            [&["--prometheus", &gone], &METRIC[..]].concat(),
            vec!["cannot ask http://127.0.0.1:", "curl -sfG"],
        ),
        (
            [&["--prometheus", "https://a"], &METRIC[..]].concat(),
            vec![
                "plain http:// alone",
                "curl -sfG",
                "https://a/api/v1/query_range > range.json",
            ],
        ),
        (
            [&["--prometheus", &gone, "--range", "30d"], &METRIC[..]].concat(),
            vec!["11 000 points at most", "--step 236s"],
        ),
        (
            vec!["--prometheus", "a.json"],
            vec!["a.json: Prometheus refuses the query: parse error"],
        ),
        (
            [
                &["--prometheus", "http://me:word@[::1]:9090/p/"],
                &METRIC[..],
            ]
            .concat(),
            vec![
                "no password",
                " -u USER ",
                "'http://[::1]:9090/p/api/v1/query_range'",
            ],
        ),
        (
            vec!["--prometheus", "b.json"],
            vec!["cannot read b.json", "such as http://127.0.0.1:9090"],
        ),
        (
            vec!["a.log", "--prometheus", "a.json"],
            vec!["cannot be used with"],
        ),
        (
            vec!["--prometheus", "a.json", "--out", "a.json"],
            vec!["would be written over"],
        ),
    ] {
        let output = becalm(place.path(), &[&["fit"], &arguments[..]].concat());
        let told = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(!told.contains("word@"), "{told}");
        for part in parts {
            assert!(told.contains(part), "{arguments:?}: {told}");
        }
    }
}

#[test]
fn the_page_of_a_range_speaks_of_no_log() {
    let place = TempDir::new().expect("a directory");
    let range = r#"{"data":{"resultType":"matrix","result":[
        {"metric":{"becalm":"rate","secret":"a"},"values":[[15,"50"],[30,"60"],[45,"70"]]},
        {"metric":{"becalm":"time_s","secret":"a"},"values":[[15,"2"],[30,"2.4"],[45,"2.8"]]}]}}"#;
    fs::write(place.path().join("range.json"), range).expect("a file");
    let asked = ["fit", "--prometheus", "range.json", "--report", "a.html"];
    let output = becalm(place.path(), &asked);
    assert!(output.status.success(), "{output:?}");
    let page = fs::read_to_string(place.path().join("a.html")).expect("a page");
    assert!(page.contains("What Prometheus says of the service"));
    for part in ["access log", "<th>file", "secret"] {
        assert!(!page.contains(part), "{part}: {page}");
    }
}
