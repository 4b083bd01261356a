//! What does a plan tell, as text, JSON and a picture?

use std::process::{Command, Stdio};

use serde_json::Value;

use super::{becalm, plan, retries, stdout};

#[test]
fn json_has_the_documented_shape_and_no_more() {
    let keys = |value: &Value| -> Vec<String> {
        value
            .as_object()
            .expect("an object")
            .keys()
            .cloned()
            .collect()
    };
    let plan = plan("--attempts 2");
    assert_eq!(
        keys(&plan),
        [
            "lints",
            "longest",
            "policy",
            "preset",
            "protection",
            "reserve",
            "retries",
            "waits"
        ]
    );
    assert_eq!(keys(&plan["waits"]), ["max_ms", "mean_ms", "min_ms"]);
    assert_eq!(keys(&plan["longest"]), ["call_ms", "waits_ms"]);
    assert_eq!(
        keys(&plan["retries"][0]),
        [
            "ceiling_ms",
            "cumulative_max_ms",
            "cumulative_mean_ms",
            "cumulative_min_ms",
            "max_ms",
            "mean_ms",
            "min_ms",
            "retry",
            "starts"
        ]
    );
    assert_eq!(plan["lints"], serde_json::json!([]));
}

#[test]
fn the_reserve_follows_the_rate_of_calls() {
    let retries = |flags| plan(flags)["reserve"]["retries"].clone();
    assert_eq!(retries("--load 1e4"), 5000.0);
    assert_eq!(retries("--load 20"), 10.0);
    assert_eq!(plan("--budget first-tries:0.1")["reserve"], Value::Null);
    assert_eq!(plan("--attempts 1")["reserve"], Value::Null);
}

/// The figures of the text, looked for in the text.
#[test]
fn p1_json_heeds_the_deadline_and_the_attempt_timeout_as_the_text_does() {
    let deadline = "--attempts 6 --backoff fixed --base 1s --jitter none --deadline 3.5s";
    let timeout = "--attempts 5 --jitter none --attempt-timeout 2s";
    for (flags, waits_ms, call_ms, told) in [
        (
            deadline,
            Some(3000.0),
            Some(3500.0),
            ["at most 3s", "within 3.5s"],
        ),
        (
            timeout,
            Some(1500.0),
            Some(11_500.0),
            ["worst 1.5s", "within 11.5s"],
        ),
        (
            "--attempts 3 --jitter none",
            Some(300.0),
            None,
            ["worst 300ms", "no attempt's own"],
        ),
        (
            "--attempts unlimited --attempt-timeout 1s",
            None,
            None,
            ["first 20 retries", "--rows lists more"],
        ),
        (
            "--attempts unlimited --deadline 2h",
            Some(7_200_000.0),
            Some(7_200_000.0),
            ["first 20 retries", "within 2h"],
        ),
    ] {
        let longest = &plan(flags)["longest"];
        assert_eq!(longest["waits_ms"].as_f64(), waits_ms, "{flags}: {longest}");
        assert_eq!(longest["call_ms"].as_f64(), call_ms, "{flags}: {longest}");
        let text = stdout(&format!("plan {flags}"));
        for words in told {
            assert!(text.contains(words), "{flags}: no `{words}` in: {text}");
        }
    }
    let flags = "--attempts 6 --backoff fixed --base 1s --jitter equal --deadline 2.4s \
                 --attempt-timeout 1s";
    let plan = plan(flags);
    let starts = plan["retries"].as_array().expect("an array").iter();
    let starts: Vec<_> = starts.map(|retry| &retry["starts"]).collect();
    assert_eq!(starts, ["yes", "maybe", "maybe", "maybe", "no"]);
}

#[test]
fn what_is_repeated_is_told_with_its_dangers() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("orders.toml");
    let lists = "[retry_on]\nmethods = [\"GET\", \"POST\"]\nstatuses = [503, 502]\nfailures = []\n";
    std::fs::write(&file, lists).expect("a file");
    let flags = format!("--policy {}", file.display());
    let text = stdout(&format!("plan {flags}"));
    let unwrapped = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        ", on methods GET, POST; statuses 502, 503; failures none",
        "repeats-non-idempotent: a POST whose answer is lost is done twice",
        "repeats-what-may-be-done: 502 may come after the work was done",
    ] {
        assert!(unwrapped.contains(words), "no `{words}` in: {text}");
    }
    let policy = plan(&flags)["policy"].to_string();
    assert!(
        policy.contains("on methods GET, POST; statuses 502, 503"),
        "{policy}"
    );
}

/// Everything at once, as text and as figures.
#[test]
fn protection_is_told_in_the_words_of_its_flags_and_in_figures() {
    let flags = "--budget ratio:0.2,burst:5+per-minute:60 --throttle accepts:2,within:2m \
                 --rate cubic --hedge p95,copies:1 --bulkhead calls:50,waiting:10 \
                 --breaker consecutive:5,open:30s --attempt-timeout 2s";
    let text = stdout(&format!("plan {flags}"));
    let unwrapped = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "budget ratio:0.2,burst:5,floor:10/h + per-minute:60",
        "no wait for the rate or for a place",
        "a place comes on top",
        "in order: throttle (accepts:2,within:2m), then rate (cubic), then retry",
        "bulkhead (calls:50,waiting:10), then breaker (consecutive:5,open:30s), then attempt",
        "All calls together:",
        "5 retries at once, then 20% of successes and 10 an hour",
        "at most 60 retries in any minute",
        "is sent about 2 C",
        "no bound until the first throttled answer",
        "at most 5% more load",
        "25 a second if every one takes its 2s",
        "it opens with 5 failures in a row",
    ] {
        assert!(unwrapped.contains(words), "no `{words}` in: {text}");
    }
    let protection = &plan(flags)["protection"];
    assert_eq!(protection["budget"].as_array().map(Vec::len), Some(2));
    for (pointer, figure) in [
        ("/budget/0/burst", 5.0),
        ("/budget/0/share", 0.2),
        ("/budget/1/per_minute", 60.0),
        ("/throttle/sent_per_accepted", 2.0),
        ("/hedge/load_on_top", 0.05),
        ("/bulkhead/worst_per_second", 25.0),
        ("/breaker/after_failures", 5.0),
        ("/breaker/open_least_ms", 15_000.0),
        ("/breaker/open_again_most_ms", 60_000.0),
    ] {
        let told = protection.pointer(pointer).and_then(Value::as_f64);
        let told = told.unwrap_or_else(|| panic!("no {pointer} in {protection}"));
        assert!((told - figure).abs() < 1e-9, "{pointer}: {told}");
    }
    assert_eq!(protection["rate"]["text"], "cubic");

    for (flags, queues) in [
        ("--rate cubic", true),
        ("--bulkhead calls:5,waiting:5", true),
        ("--bulkhead calls:5", false),
    ] {
        let text = stdout(&format!("plan {flags}"));
        assert_eq!(text.contains("for the rate or"), queues, "{flags}: {text}");
    }

    for flags in ["--budget none", "--attempts 1"] {
        let none = plan(flags);
        for (name, value) in none["protection"].as_object().expect("an object") {
            let is_empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
            assert!(is_empty, "{flags}: {name}: {value}");
        }
        assert!(!stdout(&format!("plan {flags}")).contains("All calls together"));
    }
}

#[test]
fn presets_show_what_guards_them() {
    let text = stdout("presets polly-hedging aws-adaptive-2026-11");
    assert!(text.contains("\n    hedge after:2s,copies:1\n"), "{text}");
    assert!(text.contains("\n    rate cubic\n"), "{text}");
}

#[test]
fn lints_are_told_in_text_and_json() {
    let flags = "--jitter none --budget none";
    let lints = plan(flags)["lints"].as_array().cloned().expect("an array");
    for code in ["no-jitter", "no-budget"] {
        let lint = lints.iter().find(|lint| lint["code"] == code).expect(code);
        assert_eq!(lint.as_object().expect("an object").len(), 2, "{lint}");
        assert!(
            lint["message"]
                .as_str()
                .is_some_and(|it| it.contains("set ")),
            "{lint}"
        );
        assert!(stdout(&format!("plan {flags}")).contains(&format!("{code}: ")));
    }
}

#[test]
fn unlimited_attempts_are_listed_up_to_a_bound_or_the_deadline() {
    let count = |flags: &str| retries(&plan(&format!("--attempts unlimited {flags}"))).len();
    assert_eq!(count(""), 20);
    assert_eq!(count("--rows 35"), 35);
    assert_eq!(
        count("--backoff fixed --base 1s --jitter none --deadline 3.5s"),
        3
    );
    assert_eq!(retries(&plan("--attempts 4000000000")).len(), 1000);
    assert!(stdout("plan --attempts unlimited").contains("first 20 retries"));
}

#[test]
fn text_tells_the_totals_and_what_the_deadline_stops() {
    let text = stdout(
        "plan --attempts 6 --backoff fixed --base 1s --jitter equal --attempt-timeout 1s --deadline 2.4s",
    );
    let mark = |retry: &str| {
        let row = text
            .lines()
            .find(|line| line.starts_with(retry))
            .expect("a row");
        row.split_whitespace().nth(8).unwrap_or("").to_owned()
    };
    // Retry 2 starts after 2 attempts and 2 waits: 4 s at worst; retry 5 after 2.5 s at least.
    assert_eq!(["1 ", "2 ", "4 ", "5 "].map(mark), ["", "?", "?", "x"]);
    assert!(text.contains("least 2.5s, mean 3.75s, worst 5s"), "{text}");
    assert!(text.contains("waits are at most 2.4s"), "{text}");
    assert!(text.contains("the whole call ends within 2.4s"), "{text}");
    let text = stdout("plan --jitter none --attempt-timeout 2s");
    assert!(text.contains("the whole call ends within 8.7s"), "{text}"); // 4 x 2 s + 0.7 s
}

#[test]
fn text_fits_80_columns_without_colours_when_piped() {
    for flags in [
        "",
        "--attempts unlimited --jitter decorrelated --deadline 1m",
        "--attempts 30 --cap 700000h --base 1.234567891s --jitter proportional:0.123",
        "--attempts 12 --attempt-timeout 1ms --deadline 1s --floor 1us --throttled-base 2s",
        "--backoff linear --base 123456ns --jitter additive:77us --budget none --deadline 61s",
        "--budget window:0.2+tokens:500+concurrency:0.2 --breaker share:0.5,within:10s --hedge p99 \
         --bulkhead gradient:20,min:1,max:200,waiting:7,max-wait:1s --throttle accepts:2 --rate cubic",
    ] {
        let text = stdout(&format!("plan {flags}"));
        assert!(!text.contains('\u{1b}'), "{flags}: colours");
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{flags}: {line}");
        }
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_becalm"))
        .args(["plan", "--sample", "100000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the child ends");
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn the_picture_is_an_svg_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("plan.svg");
    let file = file.to_str().expect("UTF-8");
    assert!(stdout(&format!("plan --svg {file}")).contains("worst 700ms"));
    let svg = std::fs::read_to_string(file).expect("the file is there");
    assert!(
        svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"),
        "{svg}"
    );
    assert!(svg.contains("retry 3") && svg.contains("400ms"), "{svg}");

    let refused = becalm("plan --svg /nonexistent-directory/plan.svg");
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("/nonexistent-directory/plan.svg"));
}
