//! How long is each wait, at least, on average and at most?

use super::{assert_plan, plan, retries, stdout};

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
