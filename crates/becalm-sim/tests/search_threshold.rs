//! Does a search find a threshold that is known, with an interval that covers it?

use becalm::rng::Random;
use becalm_sim::engine::Stream;
use becalm_sim::search::{Proportion, Range, Threshold, find};

/// Runs whose survival falls as a logistic curve of the logarithm: one half at `half`, steeper with
/// `slope`.
fn logistic(half: f64, slope: f64, runs: u32, seed: u64) -> impl FnMut(f64, u32) -> Proportion {
    move |value, point| {
        let share = 1.0 / (1.0 + libm::pow(value / half, slope));
        let mut chance = Stream::of(seed, u64::from(point));
        Proportion::of((0..runs).map(|_| chance.chance(share)))
    }
}

fn searched(slope: f64, runs: u32, seed: u64) -> Threshold {
    find(&Range::new(0.25, 16.0), logistic(3.0, slope, runs, seed))
}

#[test]
fn the_interval_covers_the_threshold_in_at_least_95_of_100_searches() {
    for (slope, runs) in [(2.0, 20), (6.0, 12), (40.0, 8)] {
        let searches = 400;
        let misses = (0..searches).filter(|seed| {
            let found = searched(slope, runs, *seed);
            found.low.is_some_and(|low| low > 3.0) || found.high.is_some_and(|high| high < 3.0)
        });
        // 5 % of 400 are 20; nothing is allowed on top, for Bonferroni's bound errs on the wide
        // side.
        let misses = misses.count();
        assert!(misses <= 20, "{misses} at slope {slope}");
    }
}

#[test]
fn the_estimate_is_near_and_the_interval_narrow_where_the_edge_is_steep() {
    let mut off = Vec::new();
    for seed in 0..200 {
        let found = searched(40.0, 10, seed);
        off.push((found.estimate.unwrap() / 3.0 - 1.0).abs());
        let (low, high) = (found.low.unwrap(), found.high.unwrap());
        assert!(high / low < 1.35, "{low} {high}");
        assert!(found.points.len() <= 12);
    }
    off.sort_by(f64::total_cmp);
    assert!(off[100] < 0.03, "the median estimate is {} off", off[100]);
    assert!(off[199] < 0.12, "the worst estimate is {} off", off[199]);
}

#[test]
fn a_threshold_outside_of_the_range_is_said_to_be_there() {
    let never_falls = find(&Range::new(1.0, 8.0), |_, _| Proportion {
        successes: 20,
        runs: 20,
    });
    assert!(never_falls.is_above);
    assert_eq!(never_falls.estimate, None);
    assert_eq!((never_falls.low, never_falls.high), (Some(8.0), None));
    let never_survives = find(&Range::new(1.0, 8.0), |_, _| Proportion {
        successes: 0,
        runs: 20,
    });
    assert!(!never_survives.is_above);
    assert_eq!(never_survives.estimate, None);
    assert_eq!((never_survives.low, never_survives.high), (None, Some(1.0)));
}

#[test]
fn too_few_runs_claim_no_interval() {
    // Five of five is one of 32: far from 2.5 % over twelve values.
    let found = find(&Range::new(1.0, 8.0), |value, _| Proportion {
        successes: if value < 3.0 { 5 } else { 0 },
        runs: 5,
    });
    assert_eq!((found.low, found.high), (None, None));
    let estimate = found.estimate.unwrap();
    assert!((2.8..3.2).contains(&estimate), "{estimate}");
}

#[test]
fn hostile_ranges_and_counts_end() {
    let mut bits = Stream::of(9, 9);
    for (low, high) in [(0.0, 0.0), (-1.0, 5.0), (5.0, 1.0), (1.0, f64::INFINITY)] {
        let mut range = Range::new(low, high);
        range.resolution = -1.0;
        range.points = 0;
        let found = find(&range, |_, _| Proportion {
            successes: u32::from(bits.next_u64() % 2 == 0),
            runs: 1,
        });
        assert!(found.points.len() <= 3);
        let none = find(&range, |_, _| Proportion::default());
        assert_eq!(none.low, None);
    }
}
