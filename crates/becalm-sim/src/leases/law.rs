//! Does a fleet keep its law whatever its load is like, and whatever happens to its store?

use std::time::Duration;

use becalm::Policy;
use becalm::rng::{Random, SplitMix64};
use becalm::support::Lone;

use super::{Budgeting, Processes, Trouble, run};

/// From 0 to 1.
fn unit(random: &mut SplitMix64) -> f64 {
    let high = u32::try_from(random.next_u64() >> 32).unwrap_or(u32::MAX);
    f64::from(high) / f64::from(u32::MAX)
}

fn one_of<T: Copy>(random: &mut SplitMix64, of: &[T]) -> T {
    let index = usize::try_from(random.next_u64() >> 40).unwrap_or(0);
    of[index % of.len()]
}

/// Nothing fails, everything, a part of it; many retries are wanted while much succeeds, or while nothing does.
const SHAPES: [(f64, f64); 7] = [
    (0.0, 0.0),
    (0.0, 0.0),
    (1.0, 1.0),
    (1.0, 1.0),
    (1.0, 0.5),
    (0.3, 0.9),
    (0.1, 0.6),
];

fn any_fleet(seed: u64) -> Processes {
    let mut random = SplitMix64::new(seed);
    let random = &mut random;
    let count = one_of(random, &[5, 20, 60]);
    let mut fleet = Processes::of(count, f64::from(count) * one_of(random, &[5.0, 20.0]));
    fleet.skew = one_of(random, &[0.0, 0.9, 2.0]);
    // Seconds' share.
    let burst = fleet.load * fleet.ratio() * one_of(random, &[0.5, 1.0, 3.0, 10.0]);
    fleet.fleet.budget = fleet.fleet.budget.burst(burst);
    fleet.round_trip = Duration::from_millis(one_of(random, &[1, 1, 200, 800]));
    fleet.trouble = one_of(random, &Trouble::ALL).1;
    fleet.horizon = Duration::from_secs(45);
    let mut now = one_of(random, &[2.0, 11.0]);
    while now < 45.0 {
        let (failing, failures) = one_of(random, &SHAPES);
        fleet
            .later
            .push((Duration::from_secs_f64(now), failing, failures));
        now += 0.1 + unit(random) * one_of(random, &[0.5, 2.0, 8.0]);
    }
    fleet
}

#[test]
fn over_any_window_and_under_any_load_a_fleet_retries_no_more_than_its_law() {
    let policy = Policy::exponential(Duration::from_millis(100));
    let lone = Lone::new(policy, Duration::ZERO).expect("a valid policy");
    let mut granted = 0.0;
    for seed in 0..150 {
        let fleet = any_fleet(seed);
        let record = run(&fleet, Budgeting::Fleet, &lone, seed).expect("a valid fleet");
        let between = fleet.fleet.period.mul_f64(1.1) + fleet.round_trip;
        let burst = fleet.fleet.ratio().held();
        let anew = match fleet.trouble {
            Trouble::Crashes => f64::from(fleet.processes),
            Trouble::Flushed => 0.1 * burst,
            _ => 0.0,
        };
        let share = record.share_of(fleet.ratio(), between);
        let most = burst + f64::from(fleet.processes) + 2.0 * share + anew;
        let excess = record.excess(fleet.ratio());
        assert!(excess <= most, "seed {seed}: {excess} > {most}; {fleet:?}");
        granted += record.granted_between(Duration::ZERO, fleet.horizon) / burst;
    }
    assert!(granted > 1000.0, "{granted} bursts");
}
