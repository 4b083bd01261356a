//! Who runs a scenario many times, and with which seeds?

use std::sync::atomic::{AtomicU64, Ordering};

use becalm::rng::{Random, SplitMix64};

use crate::engine::parallel::each_in_order_telling;
use crate::record::Recording;
use crate::scenario::Scenario;
use crate::study::Plan;

/// Runs a scenario once under a seed: [`world::run`](crate::world::run), or what a test puts in its
/// place.
pub type Run = fn(&Scenario, u64) -> Recording;

/// Runs scenarios under a plan, and counts.
pub struct Runs<'a, R = Run> {
    run: R,
    plan: &'a Plan<'a>,
    done: AtomicU64,
    planned: AtomicU64,
    expected: AtomicU64,
    events: AtomicU64,
}

impl<'a, R: Fn(&Scenario, u64) -> Recording + Sync> Runs<'a, R> {
    /// Runs by this function under this plan.
    pub const fn new(run: R, plan: &'a Plan<'a>) -> Self {
        Self {
            run,
            plan,
            done: AtomicU64::new(0),
            planned: AtomicU64::new(0),
            expected: AtomicU64::new(0),
            events: AtomicU64::new(0),
        }
    }

    /// Runs a scenario so many times, and returns what is said of each run, in the order of the
    /// seeds.
    ///
    /// A series is a set of seeds: the same for scenarios that are compared, another where runs have
    /// to be independent. The first run of series 0 has the plan's own seed.
    pub fn each<T: Send>(
        &self,
        scenario: &Scenario,
        series: u64,
        runs: u32,
        judge: impl Fn(&Recording) -> T + Sync,
    ) -> Vec<T> {
        let seeds: Vec<u64> = (0..runs)
            .map(|index| seed(self.plan.seed, series, index))
            .collect();
        let run = |seed: &u64| {
            let recording = (self.run)(scenario, *seed);
            self.events.fetch_add(recording.events, Ordering::Relaxed);
            judge(&recording)
        };
        each_in_order_telling(&seeds, self.plan.threads, run, |_| {
            let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
            if let Some(progress) = self.plan.progress {
                let planned = self.planned.load(Ordering::Relaxed);
                let expected = self.expected.load(Ordering::Relaxed);
                progress(done, planned.max(expected).max(done));
            }
        })
    }

    /// Announces that so many runs will come, for the progress.
    pub fn announce(&self, runs: u64) {
        self.planned.fetch_add(runs, Ordering::Relaxed);
    }

    /// Announces how many runs there may be in all, before each part of them is
    /// [announced](Self::announce): without it the progress would fall back as each part begins.
    pub fn expect(&self, runs: u64) {
        self.expected.store(runs, Ordering::Relaxed);
    }

    /// Events that the engine handled in all runs.
    pub fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }

    /// Runs that were made.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }
}

/// The seed of a run. Seeds of different series, and of different runs, have nothing in common.
fn seed(first: u64, series: u64, index: u32) -> u64 {
    if (series, index) == (0, 0) {
        return first;
    }
    let of_plan = SplitMix64::new(first).next_u64();
    let of_series = SplitMix64::new(of_plan.wrapping_add(series)).next_u64();
    SplitMix64::new(of_series.wrapping_add(u64::from(index))).next_u64()
}
