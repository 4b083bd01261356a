//! `becalm plan` tells what a policy does: checked against figures computed by hand.

use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn becalm(arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_becalm"))
        .args(arguments.split_whitespace())
        .output()
        .expect("the binary starts")
}

fn stdout(arguments: &str) -> String {
    let output = becalm(arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "becalm {arguments}: {stderr}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn plan(flags: &str) -> Value {
    serde_json::from_str(&stdout(&format!("plan --json {flags}"))).expect("JSON")
}

/// Ceiling, least, mean and most of each retry, in milliseconds.
fn retries(plan: &Value) -> Vec<[f64; 4]> {
    let keys = ["ceiling_ms", "min_ms", "mean_ms", "max_ms"];
    let retries = plan["retries"].as_array().expect("an array");
    let retry = |retry: &Value| keys.map(|key| retry[key].as_f64().expect("a number"));
    retries.iter().map(retry).collect()
}

#[track_caller]
fn assert_plan(flags: &str, expected: &[[f64; 4]]) {
    let plan = plan(flags);
    let actual = retries(&plan);
    assert_eq!(actual.len(), expected.len(), "{flags}: {actual:?}");
    for (actual, expected) in actual.iter().flatten().zip(expected.iter().flatten()) {
        assert!(
            (actual - expected).abs() < 1e-4,
            "{flags}: {actual}, not {expected}"
        );
    }
    let mut sums = [0.0; 3];
    let as_f64 = |value: &Value| value.as_f64().expect("a number");
    for (index, retry) in plan["retries"].as_array().into_iter().flatten().enumerate() {
        assert_eq!(retry["retry"], index + 1, "{flags}");
        for (sum, (of_one, of_all)) in sums.iter_mut().zip([
            ("min_ms", "cumulative_min_ms"),
            ("mean_ms", "cumulative_mean_ms"),
            ("max_ms", "cumulative_max_ms"),
        ]) {
            *sum += as_f64(&retry[of_one]);
            assert!(
                (*sum - as_f64(&retry[of_all])).abs() < 1e-6,
                "{flags}: {retry}"
            );
        }
    }
    for (sum, key) in sums.iter().zip(["min_ms", "mean_ms", "max_ms"]) {
        assert!(
            (sum - as_f64(&plan["waits"][key])).abs() < 1e-6,
            "{flags}: {key}"
        );
    }
}

#[test]
fn the_default_policy() {
    assert_plan(
        "",
        &[
            [100.0, 0.0, 50.0, 100.0],
            [200.0, 0.0, 100.0, 200.0],
            [400.0, 0.0, 200.0, 400.0],
        ],
    );
}

#[test]
fn equal_jitter_up_to_the_cap() {
    assert_plan(
        "--attempts 6 --base 500ms --cap 4s --jitter equal",
        &[
            [500.0, 250.0, 375.0, 500.0],
            [1000.0, 500.0, 750.0, 1000.0],
            [2000.0, 1000.0, 1500.0, 2000.0],
            [4000.0, 2000.0, 3000.0, 4000.0],
            [4000.0, 2000.0, 3000.0, 4000.0],
        ],
    );
}

#[test]
fn every_growth() {
    let ceilings = |flags: &str| {
        let plan = plan(&format!("--attempts 6 --base 100ms --jitter none {flags}"));
        retries(&plan)
            .iter()
            .map(|retry| retry[0].to_string())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(ceilings("--backoff fixed"), "100 100 100 100 100");
    assert_eq!(ceilings("--backoff linear"), "100 200 300 400 500");
    assert_eq!(ceilings("--backoff fibonacci"), "100 100 200 300 500");
    assert_eq!(ceilings("--backoff exponential"), "100 200 400 800 1600");
    assert_eq!(ceilings("--multiplier 1.5"), "100 150 225 337.5 506.25");
}

#[test]
fn additive_jitter_stays_whole_at_the_cap() {
    assert_plan(
        "--attempts 2 --backoff fixed --base 1s --cap 1.2s --jitter additive:500ms",
        &[[1000.0, 700.0, 950.0, 1200.0]],
    );
}

#[test]
fn proportional_jitter_keeps_below_the_cap() {
    assert_plan(
        "--base 400ms --cap 1s --jitter proportional:0.25",
        &[
            [400.0, 300.0, 400.0, 500.0],
            [800.0, 600.0, 800.0, 1000.0],
            [1000.0, 750.0, 875.0, 1000.0],
        ],
    );
}

#[test]
fn a_floor_raises_the_lower_end() {
    assert_plan(
        "--base 100ms --cap 1s --floor 150ms",
        &[
            [100.0, 150.0, 200.0, 250.0],
            [200.0, 150.0, 175.0, 200.0],
            [400.0, 150.0, 275.0, 400.0],
        ],
    );
}

#[test]
fn decorrelated_jitter_below_the_cap() {
    assert_plan(
        "--attempts 5 --base 100ms --jitter decorrelated",
        &[
            [300.0, 100.0, 200.0, 300.0],
            [900.0, 100.0, 350.0, 900.0],
            [2700.0, 100.0, 575.0, 2700.0],
            [8100.0, 100.0, 912.5, 8100.0],
        ],
    );
}

/// D1 is U(100, 300). The mean of min(600, 3 D1) is (225 + 300), so that of D2 is (100 + 525) / 2.
#[test]
fn decorrelated_jitter_at_the_cap() {
    assert_plan(
        "--attempts 3 --base 100ms --cap 600ms --jitter decorrelated",
        &[[300.0, 100.0, 200.0, 300.0], [600.0, 100.0, 312.5, 600.0]],
    );
}

/// For D1 <= 200 the mean of D2 is (100 + 3 D1) / 2, beyond it is 600 - 125 000 / (3 D1 - 100):
/// over U(100, 300), 137.5 + 300 - 625 / 3 x ln 1.6.
#[test]
fn decorrelated_jitter_clamped_after_the_draw() {
    assert_plan(
        "--attempts 3 --base 100ms --cap 600ms --jitter decorrelated-clamped",
        &[
            [300.0, 100.0, 200.0, 300.0],
            [600.0, 100.0, 437.5 - 625.0 / 3.0 * 1.6_f64.ln(), 600.0],
        ],
    );
}

#[test]
fn one_attempt_has_no_retry() {
    assert_plan("--attempts 1", &[]);
    assert!(stdout("plan --attempts 1").contains("no retry"));
}

#[test]
fn a_throttled_call_has_its_own_base() {
    let base =
        |flags: &str| retries(&plan(&format!("--throttled-base 1s {flags}")))[0][0].to_string();
    assert_eq!([base(""), base("--throttled")], ["100", "1000"]);
    assert!(stdout("plan --throttled-base 1s").contains("--throttled"));
}

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
            "protection",
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

fn samples(flags: &str) -> Vec<Vec<f64>> {
    let text = stdout(&format!("plan {flags}"));
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a JSON array"))
        .collect()
}

#[test]
fn samples_lie_within_the_plan() {
    for flags in [
        "",
        "--jitter decorrelated --cap 1s",
        "--jitter equal --floor 60ms",
    ] {
        let flags = format!("--attempts 8 {flags}");
        let bounds = retries(&plan(&flags));
        let sequences = samples(&format!("--sample 200 {flags}"));
        assert_eq!(sequences.len(), 200);
        for sequence in sequences {
            assert_eq!(sequence.len(), 7, "{flags}");
            for (delay, [_, least, _, most]) in sequence.into_iter().zip(&bounds) {
                assert!(*least <= delay && delay <= *most, "{flags}: {delay}");
            }
        }
    }
}

#[test]
fn samples_are_reproducible_by_seed_and_otherwise_independent() {
    let seeded = stdout("plan --sample 20 --seed 7");
    assert_eq!(seeded, stdout("plan --sample 20 --seed 7"));
    assert_ne!(seeded, stdout("plan --sample 20 --seed 8"));
    let unseeded = stdout("plan --sample 20");
    assert_ne!(unseeded, stdout("plan --sample 20"));
    for text in [seeded, unseeded] {
        let mut lines: Vec<_> = text.lines().collect();
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len(), 20, "two calls draw the same delays");
    }
}

#[test]
fn samples_are_bounded() {
    let unlimited = samples("--sample 5 --attempts unlimited");
    assert!(unlimited.iter().all(|sequence| sequence.len() == 20));
    for sequence in samples("--sample 50 --attempts unlimited --deadline 2s --jitter equal") {
        assert!(sequence.iter().sum::<f64>() < 2000.0, "{sequence:?}");
    }
    for count in ["0", "100001", "-1", "many"] {
        let refused = becalm(&format!("plan --sample {count}"));
        assert_eq!(refused.status.code(), Some(2), "{count}");
        assert!(
            String::from_utf8_lossy(&refused.stderr).contains("--sample"),
            "{count}"
        );
    }
}
