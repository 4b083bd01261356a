//! Does `becalm fit` make a scenario of an access log, and say how it knows?

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Files, and the command among them.
struct Place(TempDir);

impl Place {
    fn with(files: &[(&str, &str)]) -> Self {
        let place = Self(tempfile::tempdir().expect("a directory"));
        for (name, text) in files {
            fs::write(place.0.path().join(name), text).expect("a file");
        }
        place
    }

    fn becalm(&self, arguments: &[&str]) -> Output {
        self.becalm_reading("", arguments)
    }

    fn becalm_reading(&self, input: &str, arguments: &[&str]) -> Output {
        let mut process = Command::new(env!("CARGO_BIN_EXE_becalm"))
            .args(arguments)
            .current_dir(self.0.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        // A command that reads nothing may be gone.
        let _ = process
            .stdin
            .take()
            .expect("it is ours")
            .write_all(input.as_bytes());
        process.wait_with_output().expect("it ends")
    }

    fn told(&self, arguments: &[&str]) -> String {
        let output = self.becalm(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && stderr.is_empty(),
            "{arguments:?}: {stderr}"
        );
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    fn refused(&self, arguments: &[&str]) -> String {
        let output = self.becalm(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        String::from_utf8(output.stderr).expect("UTF-8")
    }

    fn document(&self, arguments: &[&str]) -> Value {
        let text = self.told(&[arguments, &["--json"]].concat());
        serde_json::from_str(&text).expect("JSON")
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.0.path().join(file)).expect("it was written")
    }
}

/// What no scenario and no report may hold.
const NAMES: [&str; 4] = ["192.168", "secret-id", "10.9.8", "orders.log"];

/// Lines of nginx before so many workers that take 20 ms on average, exponentially, called at random.
fn nginx(workers: usize, per_second: f64, requests: usize, upstream: &str) -> String {
    let mut state = 1_u64;
    // Numerical Recipes' generator: a test needs no better one.
    let mut exponential = move |mean: f64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        #[expect(clippy::cast_precision_loss)] // 53 bits
        let uniform = (state >> 11) as f64 / (1_u64 << 53) as f64;
        -mean * (1.0 - uniform).ln()
    };
    let mut free = vec![0.0_f64; workers];
    let mut now = 0.0;
    let mut lines = Vec::new();
    for number in 0..requests {
        now += exponential(1.0 / per_second);
        free.sort_by(f64::total_cmp);
        let end = now.max(free[0]) + exponential(0.02);
        free[0] = end;
        lines.push((end, end - now, number));
    }
    lines.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut text = String::new();
    for (end, duration, number) in lines {
        let end = end + 1_795_431_751.0;
        let client = number % 200;
        let _ = writeln!(
            text,
            "{end:.3},{duration:.3},200,192.168.7.{client},secret-id-{number},{upstream},{duration:.3}"
        );
    }
    text
}

fn value<'a>(document: &'a Value, id: &str) -> &'a Value {
    let values = document["fits"][0]["values"].as_array().expect("values");
    let found = values.iter().find(|it| it["id"] == id);
    found.unwrap_or_else(|| panic!("{id}: {document}"))
}

#[test]
fn a_log_becomes_a_scenario_that_a_storm_reads_and_no_name_is_in_what_is_written() {
    let place = Place::with(&[("orders.log", &nginx(4, 140.0, 8_000, "10.9.8.7:80"))]);
    let arguments = [
        "fit",
        "orders.log",
        "--out",
        "mine.toml",
        "--report",
        "fit.html",
        "--name",
        "orders <b>",
    ];
    let text = place.told(&arguments);
    assert!(
        text.contains("8 000 requests in 8 000 lines (nginx, as becalm asks for)"),
        "{text}"
    );
    assert!(text.contains("next: becalm storm mine.toml"), "{text}");

    let document = place.document(&["fit", "orders.log"]);
    let workers = value(&document, "workers");
    assert_eq!(
        (&workers["value"], &workers["how"]),
        (&4.0.into(), &"measured".into())
    );
    let capacity = value(&document, "capacity")["value"]
        .as_f64()
        .expect("a number");
    assert!((185.0..215.0).contains(&capacity), "{capacity}");
    assert_eq!(document["fits"][0]["knee"], "seen");

    let (scenario, report) = (place.read("mine.toml"), place.read("fit.html"));
    for part in [
        "Time by the number found",
        "Arrivals",
        "95 % interval",
        "orders &lt;b&gt;",
    ] {
        assert!(report.contains(part), "{part}");
    }
    assert!(!report.contains("<b>"), "no name becomes markup");
    for name in NAMES {
        for text in [&scenario, &report, &document.to_string()] {
            assert!(!text.contains(name), "{name}");
        }
    }
    let storm = place.told(&["storm", "mine.toml", "--quick", "--runs", "1", "--json"]);
    assert!(storm.contains("\"verdict\":\""), "{storm}");
}

#[test]
fn files_of_a_rotation_and_standard_input_are_one_log() {
    let whole = nginx(4, 140.0, 4_000, "10.9.8.7:80");
    let middle = whole.match_indices('\n').nth(2_000).expect("a line").0 + 1;
    let (earlier, later) = whole.split_at(middle);
    let place = Place::with(&[("a", &whole), ("b", later), ("c", earlier)]);
    let of_one = place.document(&["fit", "a"]);
    let of_two = place.document(&["fit", "b", "c"]);
    assert_eq!(of_one["fits"], of_two["fits"]);
    let output = place.becalm_reading(earlier, &["fit", "b", "-", "--json"]);
    let of_input: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(of_one["fits"], of_input["fits"]);
}

#[test]
fn pools_are_fitted_apart_or_one_of_them_alone() {
    let log = nginx(4, 140.0, 4_000, "10.9.8.7:80") + &nginx(8, 140.0, 4_000, "10.9.8.8:80");
    let place = Place::with(&[("orders.log", &log)]);
    let apart = place.document(&["fit", "orders.log", "--split"]);
    let of = |pool: usize| {
        let fit = &apart["fits"][pool];
        (fit["pool"].clone(), fit["requests"].clone())
    };
    assert_eq!(
        [of(0), of(1)],
        [(1.into(), 4_000.into()), (2.into(), 4_000.into())]
    );
    for pool in ["10.9.8.8:80", "2"] {
        let alone = place.document(&["fit", "orders.log", "--pool", pool]);
        assert_eq!(
            alone["fits"][0]["values"], apart["fits"][1]["values"],
            "{pool}"
        );
    }
    let text = place.told(&["fit", "orders.log", "--split", "--report", "fit.html"]);
    assert!(text.contains("pool 2: 4 000 requests"), "{text}");
    assert!(place.read("fit.html").contains("Pool 2"));
    assert!(!place.read("fit.html").contains("10.9.8"));
    let missing = place.refused(&["fit", "orders.log", "--pool", "elsewhere:80"]);
    assert!(
        missing.contains("no request of the upstream elsewhere:80"),
        "{missing}"
    );
    place.refused(&["fit", "orders.log", "--split", "--out", "a.toml"]);
}

#[test]
fn of_more_pools_than_are_fitted_it_is_said() {
    let log: String = (0..40)
        .map(|pool| nginx(1, 30.0, 10, &format!("10.9.8.{pool}:80")))
        .collect();
    let place = Place::with(&[("orders.log", &log)]);
    let text = place.told(&["fit", "orders.log", "--split"]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("pool 32:") && !text.contains("pool 33:"),
        "{text}"
    );
    assert!(
        text.contains("80 requests are of other upstreams than these 32"),
        "{text}"
    );
}

#[test]
fn a_build_can_ask_for_a_knee_and_whole_seconds_or_sampling_never_give_one() {
    let log = nginx(4, 140.0, 8_000, "10.9.8.7:80");
    let mut seconds = String::new();
    for line in log.lines() {
        let (end, rest) = line.split_once(',').expect("a field");
        let _ = writeln!(seconds, "{},{rest}", &end[..10]);
    }
    let place = Place::with(&[("orders.log", &log), ("seconds.log", &seconds)]);
    for (arguments, code) in [
        (&["fit", "orders.log", "--strict"][..], 0),
        (&["fit", "orders.log", "--strict", "--sampled", "0.5"], 1),
        (&["fit", "seconds.log", "--strict"], 1),
        (&["fit", "seconds.log"], 0),
    ] {
        assert_eq!(
            place.becalm(arguments).status.code(),
            Some(code),
            "{arguments:?}"
        );
    }
    let document = place.document(&["fit", "seconds.log"]);
    assert!(
        document["fits"][0]["warnings"]
            .to_string()
            .contains("coarse-stamps"),
        "{document}"
    );
    for share in ["0", "1.5", "-1", "half"] {
        let refusal = place.refused(&["fit", "orders.log", "--sampled", share]);
        assert!(refusal.contains("--sampled"), "{refusal}");
    }
}

#[test]
fn lines_that_cannot_be_read_are_told_and_what_cannot_be_fitted_is_refused_with_a_remedy() {
    let log = nginx(4, 140.0, 1_000, "10.9.8.7:80");
    let damaged = log.replacen('\n', "\nsecret-id rubbish\n", 1);
    let combined =
        "10.9.8.7 - - [23/Nov/2026:11:02:31 +0000] \"GET /a HTTP/1.1\" 200 5 \"-\" \"curl\"\n";
    let compressed = "\u{1f}\u{8b}";
    let place = Place::with(&[
        ("damaged.log", &damaged),
        ("access.log", combined),
        ("empty.log", ""),
        ("text.log", compressed),
    ]);
    fs::write(place.0.path().join("a.gz"), [0x1f, 0x8b, 8, 0]).expect("a file");

    let text = place.told(&["fit", "damaged.log", "--report", "fit.html"]);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("1 line could not be read: line 2:"),
        "{text}"
    );
    assert!(!text.contains("secret-id") && !place.read("fit.html").contains("secret-id"));
    for (arguments, parts) in [
        (
            &["fit", "access.log"][..],
            &["access.log does not say how long", "$msec,$request_time"][..],
        ),
        (&["fit", "a.gz"], &["zcat a.gz | becalm fit -"]),
        (&["fit", "empty.log"], &["empty.log has no requests"]),
        (
            &["fit", "text.log"],
            &["text.log is of no format", "--log-format"],
        ),
        (&["fit", "missing.log"], &["cannot read missing.log"]),
        (&["fit", "."], &[". is a directory"]),
        (
            &["fit", "damaged.log", "--format", "envoy"],
            &["damaged.log is of no format"],
        ),
        (
            &["fit", "damaged.log", "--format", "iis"],
            &["no format is called iis"],
        ),
        (
            &["fit", "damaged.log", "--log-format", "$status"],
            &["--log-format: it says no duration"],
        ),
        (
            &["fit", "damaged.log", "--out", "no/where.toml"],
            &["cannot write no/where.toml"],
        ),
        (
            &["fit", "missing.log", "--out", "left.toml"],
            &["cannot read missing.log"],
        ),
    ] {
        let refusal = place.refused(arguments);
        for part in parts {
            assert!(refusal.contains(part), "{arguments:?}: {refusal}");
        }
    }
    assert!(
        !place.0.path().join("left.toml").exists(),
        "nothing is left of what was refused"
    );
}

#[test]
fn help_documents_every_name_of_the_json() {
    let place = Place::with(&[("orders.log", &nginx(4, 140.0, 4_000, "10.9.8.7:80"))]);
    let help = place.told(&["fit", "--help"]);
    let (_, documented) = help.split_once("The JSON document:").expect("the shape");
    let mut all = Vec::new();
    names(&place.document(&["fit", "orders.log"]), &mut all);
    for name in all {
        let is_word = |part: &str| {
            part.split(|it: char| !it.is_alphanumeric() && it != '_')
                .any(|it| it == name)
        };
        assert!(is_word(documented), "{name}");
    }
}

/// Of all members, at any depth.
fn names(value: &Value, all: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                all.push(name.clone());
                names(value, all);
            }
        }
        Value::Array(values) => values.iter().for_each(|it| names(it, all)),
        _ => {}
    }
}
