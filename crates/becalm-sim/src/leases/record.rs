//! What did the processes do in a run?

use std::time::Duration;

use becalm_fleet::budget::FleetGauge;

/// What happened in one run. Equal seeds leave equal records.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Retries {
    /// By tenths of a second: first tries.
    pub first_tries: Vec<u32>,
    /// Calls that succeeded.
    pub succeeded: Vec<u32>,
    /// Retries that were asked for.
    pub wanted: Vec<u32>,
    /// Retries that were granted.
    pub granted: Vec<u32>,
    /// Exchanges that were sent.
    pub exchanges: Vec<u32>,
    /// Events that were handled.
    pub events: u64,
    /// Processes that did without the store at some time.
    pub alone: u32,
    /// How each process stood at the end, where it leased.
    pub gauges: Vec<FleetGauge>,
}

/// The step in which things are counted.
pub(super) const STEP: Duration = Duration::from_millis(100);
const STEPS_PER_SECOND: usize = 10;

impl Retries {
    pub(super) fn for_horizon(horizon: Duration) -> Self {
        let steps = usize::try_from(horizon.as_nanos() / STEP.as_nanos()).unwrap_or(0) + 1;
        let none = || vec![0; steps];
        Self {
            first_tries: none(),
            succeeded: none(),
            wanted: none(),
            granted: none(),
            exchanges: none(),
            ..Self::default()
        }
    }

    /// The greatest number of retries over `ratio` x the calls that succeeded, over any window of whole steps.
    pub fn excess(&self, ratio: f64) -> f64 {
        let (mut most, mut here) = (0.0_f64, 0.0_f64);
        for (granted, succeeded) in self.granted.iter().zip(&self.succeeded) {
            here = (here + f64::from(*granted) - ratio * f64::from(*succeeded)).max(0.0);
            most = most.max(here);
        }
        most
    }

    /// Attempts for each first try in the ten seconds in which they are most.
    pub fn worst_ten_seconds(&self) -> f64 {
        let window = 10 * STEPS_PER_SECOND;
        let tries = self.first_tries.windows(window).map(sum);
        let granted = self.granted.windows(window).map(sum);
        let loads = tries.zip(granted).filter(|(tries, _)| *tries > 0.0);
        loads.fold(1.0, |most, (tries, granted)| {
            most.max(1.0 + granted / tries)
        })
    }

    /// Retries granted from the one moment to the other.
    pub fn granted_between(&self, from: Duration, to: Duration) -> f64 {
        between(&self.granted, from, to)
    }

    /// Exchanges a second, from the one moment to the other.
    pub fn exchanges_per_second(&self, from: Duration, to: Duration) -> f64 {
        between(&self.exchanges, from, to) / to.saturating_sub(from).as_secs_f64()
    }

    /// `ratio` x what is earned in as much time as this, where that is most.
    pub fn share_of(&self, ratio: f64, time: Duration) -> f64 {
        let steps = usize::try_from(time.as_nanos().div_ceil(STEP.as_nanos())).unwrap_or(1);
        let most = self.succeeded.windows(steps.max(1)).map(sum);
        ratio * most.fold(0.0, f64::max)
    }
}

fn between(counts: &[u32], from: Duration, to: Duration) -> f64 {
    let step = |at: Duration| {
        let step = usize::try_from(at.as_nanos() / STEP.as_nanos()).unwrap_or(usize::MAX);
        step.min(counts.len())
    };
    sum(&counts[step(from)..step(to).max(step(from))])
}

fn sum(counts: &[u32]) -> f64 {
    counts.iter().copied().map(f64::from).sum()
}
