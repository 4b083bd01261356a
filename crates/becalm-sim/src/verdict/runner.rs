//! What runs a scenario once?

use crate::record::Recording;
use crate::scenario::Scenario;
use crate::world::{self, Ceiling, Looks};

/// Runs a scenario once under a seed: a [`Ceiling`] as [`world::run_within`] does, or what a test puts in its place.
pub trait Runner: Sync {
    /// To its end.
    fn run(&self, scenario: &Scenario, seed: u64) -> Recording;

    /// Until a look is certain. `None` where nobody can look.
    fn run_until(&self, _: &Scenario, _: u64, _: &Looks<'_>) -> Option<Recording> {
        None
    }
}

impl<F: Fn(&Scenario, u64) -> Recording + Sync> Runner for F {
    fn run(&self, scenario: &Scenario, seed: u64) -> Recording {
        self(scenario, seed)
    }
}

impl Runner for &Ceiling {
    fn run(&self, scenario: &Scenario, seed: u64) -> Recording {
        world::run_within(scenario, seed, self)
    }

    fn run_until(&self, scenario: &Scenario, seed: u64, looks: &Looks<'_>) -> Option<Recording> {
        Some(world::run_until(scenario, seed, self, looks))
    }
}
