//! Do the closed forms of storms agree with a fluid that is followed step by step?

use std::collections::VecDeque;

use becalm_sim::oracle::metastable::{self, Fate};
use becalm_sim::oracle::trigger;

/// Steps in the time that a caller waits.
const STEPS: u32 = 200;

/// A queue of fluid, with mu = 1 and tau = 1: whether it is above mu tau long after the capacity
/// was down to `left` for so many steps.
fn stays_down(first_tries: f64, left: f64, attempts: usize, down: u32) -> bool {
    let step = 1.0 / f64::from(STEPS);
    let mut served_before = 0.0;
    let mut arrived = 0.0;
    // The end of each cohort in the order of arrival, as an amount that must be served first.
    let mut waiting: VecDeque<Vec<(f64, f64)>> = VecDeque::new();
    for now in 0..down + 40 * STEPS {
        let mut arrivals = vec![0.0; attempts];
        arrivals[0] = first_tries * step;
        if waiting.len() == STEPS as usize {
            let oldest = waiting.pop_front().unwrap_or_default();
            for (attempt, (from, to)) in oldest.into_iter().enumerate() {
                if attempt + 1 < attempts {
                    arrivals[attempt + 1] += (to - from.max(served_before)).max(0.0);
                }
            }
        }
        let mut cohorts = Vec::new();
        for amount in arrivals {
            cohorts.push((arrived, arrived + amount));
            arrived += amount;
        }
        waiting.push_back(cohorts);
        let rate = if now < down { left } else { 1.0 };
        served_before = (served_before + rate * step).min(arrived);
    }
    arrived - served_before > 1.0
}

/// The shortest trigger that stays, in units of tau.
fn shortest(first_tries: f64, left: f64, attempts: usize) -> f64 {
    let (mut recovers, mut stays) = (0, 8 * STEPS);
    assert!(stays_down(first_tries, left, attempts, stays));
    while stays - recovers > 1 {
        let middle = u32::midpoint(recovers, stays);
        if stays_down(first_tries, left, attempts, middle) {
            stays = middle;
        } else {
            recovers = middle;
        }
    }
    f64::from(stays) / f64::from(STEPS)
}

#[test]
fn the_longest_trigger_is_that_of_a_fluid_within_five_per_cent() {
    for (first_tries, left, attempts) in [
        (0.6, 0.0, 4),
        (0.6, 0.2, 4),
        (0.6, 0.3, 3),
        (0.5, 0.0, 4),
        (0.55, 0.0, 2),
        (0.4, 0.0, 4),
        (0.4, 0.2, 4),
        (0.35, 0.1, 6),
    ] {
        let right = shortest(first_tries, left, attempts);
        let got = trigger::longest(first_tries, 1.0, left, 1.0);
        assert!(
            (got / right - 1.0).abs() < 0.05,
            "{first_tries} {left} {attempts}: {got} {right}"
        );
    }
}

#[test]
fn above_its_range_the_formula_is_too_long_and_says_so() {
    let (right, got) = (shortest(0.8, 0.0, 4), trigger::longest(0.8, 1.0, 0.0, 1.0));
    assert!(got > 1.05 * right, "{got} {right}");
}

#[test]
fn without_enough_attempts_no_trigger_stays() {
    assert!(!trigger::can_stay(0.2, 1.0, 3));
    assert!(!stays_down(0.2, 0.0, 3, 8 * STEPS));
    assert!(trigger::can_stay(0.2, 1.0, 6));
    assert!(stays_down(0.2, 0.0, 6, 8 * STEPS));
}

#[test]
fn the_trigger_scales_with_the_timeout_and_not_with_the_size() {
    let one = trigger::longest(600.0, 1000.0, 200.0, 1.0);
    assert!((trigger::longest(600.0, 1000.0, 200.0, 3.0) - 3.0 * one).abs() < 1e-12);
    assert!((trigger::longest(6.0, 10.0, 2.0, 1.0) - one).abs() < 1e-12);
    assert!(trigger::longest(600.0, 1000.0, 600.0, 1.0).is_infinite());
}

#[test]
fn the_hidden_capacity_is_where_the_storm_just_feeds_itself() {
    let (capacity, attempts) = (1000.0, 4);
    let hidden = metastable::hidden_capacity(capacity, attempts);
    assert!((metastable::collapsed_rate(hidden, attempts) - capacity).abs() < 1e-9);
    let budgeted = metastable::hidden_capacity_with_budget(capacity, attempts, 0.1);
    assert!((budgeted * 1.1 - capacity).abs() < 1e-9);
    // A budget larger than what the attempts ask for changes nothing.
    let generous = metastable::hidden_capacity_with_budget(capacity, attempts, 10.0);
    assert!((generous - hidden).abs() < 1e-9);
}

#[test]
fn the_fate_of_a_storm_is_said_only_where_it_is_known() {
    let fate = |load| metastable::fate(load, 1000.0, 250.0);
    assert_eq!(fate(224.0), Fate::Recovers);
    assert_eq!(fate(225.0), Fate::Undecided);
    assert_eq!(fate(499.0), Fate::Undecided);
    assert_eq!(fate(500.0), Fate::Stays);
    assert_eq!(fate(1000.0), Fate::Stays);
    assert_eq!(fate(1001.0), Fate::Overloaded);
    assert_eq!(fate(f64::NAN), Fate::Undecided);
}

#[test]
fn what_is_out_of_range_has_no_answer() {
    for wrong in [
        metastable::hidden_capacity(1000.0, 0),
        metastable::hidden_capacity(-1.0, 4),
        metastable::hidden_capacity_with_budget(1000.0, 4, f64::NAN),
        metastable::collapsed_rate(f64::INFINITY, 4),
        trigger::longest(1000.0, 1000.0, 0.0, 1.0),
        trigger::longest(600.0, 1000.0, -1.0, 1.0),
        trigger::longest(600.0, 1000.0, 0.0, f64::NAN),
        trigger::longest(600.0, 1000.0, 700.0, f64::NAN),
        trigger::longest(0.0, 1000.0, 0.0, 1.0),
    ] {
        assert!(wrong.is_nan(), "{wrong}");
    }
}
