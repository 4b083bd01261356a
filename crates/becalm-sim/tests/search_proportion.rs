//! Are the intervals of a proportion the published ones?

use becalm_sim::search::Proportion;

fn near(got: (f64, f64), low: f64, high: f64) {
    assert!((got.0 - low).abs() < 5e-5, "{got:?} is not {low}, {high}");
    assert!((got.1 - high).abs() < 5e-5, "{got:?} is not {low}, {high}");
}

fn interval(successes: u32, runs: u32) -> (f64, f64) {
    Proportion { successes, runs }.interval()
}

#[test]
fn the_intervals_are_those_of_published_tables() {
    // R. G. Newcombe, Two-sided confidence intervals for the single proportion, Statistics in
    // Medicine 17 (1998), table I, method 5.
    near(interval(81, 263), 0.2527, 0.3676);
    near(interval(15, 148), 0.0578, 0.1617);
    near(interval(0, 20), 0.0, 0.1684);
    near(interval(1, 29), 0.0009, 0.1776);
}

#[test]
fn where_nothing_or_all_succeeded_the_ends_have_a_closed_form() {
    for runs in [1, 3, 10, 500] {
        // (1 - high)^n = 0.025.
        let high = 1.0 - 0.025_f64.powf(1.0 / f64::from(runs));
        near(interval(0, runs), 0.0, high);
        near(interval(runs, runs), 1.0 - high, 1.0);
    }
    assert_eq!(interval(0, 0), (0.0, 1.0));
}

#[test]
fn the_interval_covers_every_share_in_95_of_100_samples() {
    // By summation of the binomial distribution, not by sampling.
    let runs = 12_u32;
    for share in [0.02_f64, 0.11, 0.3, 0.5, 0.77, 0.95] {
        let mut covered = 0.0;
        for successes in 0..=runs {
            let (low, high) = interval(successes, runs);
            if (low..=high).contains(&share) {
                covered += probability(successes, runs, share);
            }
        }
        assert!(covered >= 0.95, "{share}: {covered}");
    }
}

#[test]
fn a_test_against_one_half_keeps_its_error() {
    for runs in [1_u32, 7, 20, 33] {
        for error in [0.025, 0.002] {
            let wrong: f64 = (0..=runs)
                .filter(|it| above(*it, runs, error))
                .map(|it| probability(it, runs, 0.5))
                .sum();
            assert!(wrong <= error * (1.0 + 1e-12), "{runs} {error}: {wrong}");
            let least = (0..=runs).find(|it| above(*it, runs, error));
            // One success fewer would break it.
            if let Some(least) = least {
                let more: f64 = (least - 1..=runs)
                    .map(|it| probability(it, runs, 0.5))
                    .sum();
                assert!(more > error);
            }
        }
    }
}

fn above(successes: u32, runs: u32, error: f64) -> bool {
    let it = Proportion { successes, runs };
    let mirrored = Proportion {
        successes: runs - successes,
        runs,
    };
    assert_eq!(it.is_above_half(error), mirrored.is_below_half(error));
    it.is_above_half(error)
}

/// By products, apart from the code under test.
fn probability(successes: u32, runs: u32, share: f64) -> f64 {
    let choices: f64 = (0..successes)
        .map(|i| f64::from(runs - i) / f64::from(i + 1))
        .product();
    choices
        * share.powi(i32::try_from(successes).unwrap())
        * (1.0 - share).powi(i32::try_from(runs - successes).unwrap())
}

#[test]
fn half_of_the_runs_are_most_of_them() {
    let of = |successes, runs| Proportion { successes, runs }.is_mostly();
    assert!(of(1, 2) && of(5, 10) && of(2, 3) && of(0, 0));
    assert!(!of(1, 3) && !of(4, 10) && !of(0, 1));
}
