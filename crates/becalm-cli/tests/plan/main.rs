//! `becalm plan` tells what a policy does: checked against figures computed by hand.

mod delays;
mod pages;
mod samples;
mod told;

use std::process::{Command, Output};

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
