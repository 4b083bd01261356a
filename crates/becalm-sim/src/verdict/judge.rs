//! What happened to one run?

use std::ops::Range;
use std::time::Duration;

use crate::record::{Histogram, PopulationRecord, Recording};
use crate::scenario::{Phases, Scenario};

use super::by_phase::ByPhase;
use super::load::accepts;
use super::recovery::{Recovery, Usual, recovery};
use super::services::{Seen, seen};

/// What happened to the service in one run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// Before the first trigger.
    pub before: Phase,
    /// From then until the last trigger is over.
    pub during: Phase,
    /// From then to the end.
    pub after: Phase,
    /// The whole run.
    pub whole: Phase,
    /// The last quarter of what is after the triggers, without the calls that may still be running.
    pub tail: Phase,
    /// The share of calls that usually succeed: before the trigger. Without one, at the start, and
    /// then no more than the share of attempts that do: what the burst of a full budget repairs in
    /// the first seconds is not usual.
    pub usual: f64,
    /// Whether goodput came back, and when.
    pub recovery: Recovery,
    /// Requests that arrive at a service in the tail, over what it can serve: of the service with
    /// the most. 0 where nothing bounds a service.
    pub pressure: f64,
    /// What that service is asked per second.
    pub offered: f64,
    /// Its place among the services of the scenario; `None` where nothing bounds a service.
    pub pressed: Option<usize>,
    /// What each service got, in the order of the scenario; empty of a scenario with one service,
    /// where the attempts of clients are all that it gets.
    pub services: Vec<Seen>,
    /// Calls that gave up, over those that ended.
    pub given_up: f64,
    /// How long the calls took that succeeded.
    pub latency: Histogram,
    /// How the calls ended before, during and after the triggers.
    pub by_phase: ByPhase,
    /// Events that the engine handled.
    pub events: u64,
}

/// Counts of a stretch of a run, of all populations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Phase {
    /// How long it is.
    pub length: Duration,
    /// Calls that began in it.
    pub calls: u64,
    /// Of these, the ones that succeeded, whenever that was.
    pub succeeded: u64,
    /// First tries that were sent.
    pub first_tries: u64,
    /// Attempts that were sent.
    pub attempts: u64,
    /// Attempts in the bucket that had most.
    pub peak: u64,
}

impl Phase {
    /// The share of its calls that succeeded; 1 without calls.
    pub fn success(&self) -> f64 {
        ratio(self.succeeded, self.calls)
    }

    /// Attempts over first tries; 1 without first tries.
    ///
    /// Where first tries stop and retries go on, as with a fleet that all failed at once, this is
    /// without bound: look at the whole run.
    pub fn amplification(&self) -> f64 {
        ratio(self.attempts, self.first_tries)
    }

    /// Calls that began and succeeded, per second.
    pub fn goodput(&self) -> f64 {
        per_second(self.succeeded, self.length)
    }

    /// Attempts per second.
    pub fn attempts_per_second(&self) -> f64 {
        per_second(self.attempts, self.length)
    }
}

impl Outcome {
    /// Whether the service stayed down, and more was offered to it than it can serve: by retries,
    /// where first tries alone are within its capacity.
    pub fn is_storm(&self) -> bool {
        !self.recovery.is_back() && self.pressure > 1.0
    }

    /// Whether goodput held to the end: it is as usual, or as good as all calls succeed. Where no
    /// call ever succeeds there is none to hold, however usual that is.
    pub fn holds(&self) -> bool {
        let is_pressed = self.pressure > 1.0 && self.tail.success() < 0.95;
        let is_dead = self.whole.calls > 0 && self.whole.succeeded == 0;
        self.recovery.is_back() && !is_pressed && !is_dead
    }

    /// The amplification from the first trigger on.
    pub fn amplification_since(&self) -> f64 {
        ratio(
            self.during.attempts + self.after.attempts,
            self.during.first_tries + self.after.first_tries,
        )
    }
}

/// Says what happened to a run of this scenario. Pure; counts that the recording lacks are zero.
pub fn judge(scenario: &Scenario, recording: &Recording) -> Outcome {
    judge_sparing(scenario, recording, Duration::ZERO)
}

/// As [`judge`], where calls that begin so long before the first trigger may still wait for their answer when it comes: what
/// is usual is taken from those before them.
pub fn judge_sparing(scenario: &Scenario, recording: &Recording, lead: Duration) -> Outcome {
    let phases = Phases::of(scenario).sparing(lead, scenario.bucket);
    let length = phases.after.end;
    let sum = |of: fn(&PopulationRecord) -> &[u32]| sum(recording, length, of);
    let calls = sum(|it| &it.calls);
    let succeeded = sum(|it| &it.succeeded_of);
    let first_tries = sum(|it| &it.first_tries);
    let attempts = sum(|it| &it.attempts);
    let phase = |buckets: Range<usize>| Phase {
        length: times(scenario.bucket, buckets.len()),
        calls: total(&calls, &buckets),
        succeeded: total(&succeeded, &buckets),
        first_tries: total(&first_tries, &buckets),
        attempts: total(&attempts, &buckets),
        peak: peak(&attempts, &buckets),
    };
    let usual = phase(phases.usual());
    let mut usual = Usual {
        share: usual.success(),
        calls: usual.calls,
    };
    if scenario.triggers.is_empty() {
        let (failed, timed_out) = (sum(|it| &it.failed), sum(|it| &it.timed_out));
        let lost = total(&failed, &phases.usual()) + total(&timed_out, &phases.usual());
        let sent = total(&attempts, &phases.usual());
        usual.share = usual.share.min(ratio(sent.saturating_sub(lost), sent));
    }
    let (pressed, pressure, offered) = pressure(scenario, recording, &phases.tail());
    let ended = |of: fn(&PopulationRecord) -> &[u32]| -> u64 {
        recording
            .populations
            .iter()
            .map(|it| crate::record::total(of(it)))
            .sum()
    };
    let gave_up = ended(|it| &it.gave_up);
    let mut latency = Histogram::default();
    for population in &recording.populations {
        latency.merge(&population.latency);
    }
    let recovery = recovery(&phases, scenario.bucket, usual, &calls, &succeeded);
    Outcome {
        usual: usual.share,
        by_phase: ByPhase::of(&phases, scenario.bucket, recovery, recording),
        recovery,
        pressure,
        offered,
        pressed,
        services: seen(scenario, recording, &phases),
        given_up: match gave_up + ended(|it| &it.succeeded) {
            0 => 0.0,
            all => ratio(gave_up, all),
        },
        latency,
        events: recording.events,
        tail: phase(phases.tail()),
        whole: phase(0..length),
        before: phase(phases.before),
        during: phase(phases.during),
        after: phase(phases.after),
    }
}

/// The sum over populations, in as many buckets as the run has.
pub(super) fn sum(
    recording: &Recording,
    length: usize,
    of: fn(&PopulationRecord) -> &[u32],
) -> Vec<u64> {
    let mut sums = vec![0; length];
    for population in &recording.populations {
        for (sum, count) in sums.iter_mut().zip(of(population)) {
            *sum += u64::from(*count);
        }
    }
    sums
}

/// Of the service with the most requests for its capacity: its place, their ratio, and requests per
/// second.
fn pressure(
    scenario: &Scenario,
    recording: &Recording,
    buckets: &Range<usize>,
) -> (Option<usize>, f64, f64) {
    let length = times(scenario.bucket, buckets.len());
    let services = scenario.services.iter().zip(&recording.services);
    let pressures = services.enumerate().map(|(index, (service, record))| {
        let arrived = record.arrived.get(buckets.clone());
        let arrived = arrived.map_or(0, crate::record::total);
        let offered = per_second(arrived, length);
        (Some(index), offered / accepts(service), offered)
    });
    let most = pressures.max_by(|a, b| a.1.total_cmp(&b.1));
    most.filter(|it| it.1.is_finite() && it.1 > 0.0)
        .unwrap_or_default()
}

fn total(counts: &[u64], buckets: &Range<usize>) -> u64 {
    counts.get(buckets.clone()).map_or(0, |it| it.iter().sum())
}

fn peak(counts: &[u64], buckets: &Range<usize>) -> u64 {
    let counts = counts.get(buckets.clone()).unwrap_or_default();
    counts.iter().copied().max().unwrap_or_default()
}

#[expect(clippy::cast_precision_loss)] // far below 2^52
fn ratio(part: u64, all: u64) -> f64 {
    if all == 0 {
        1.0
    } else {
        part as f64 / all as f64
    }
}

#[expect(clippy::cast_precision_loss)] // far below 2^52
pub(super) fn per_second(count: u64, length: Duration) -> f64 {
    if length.is_zero() {
        return 0.0;
    }
    count as f64 / length.as_secs_f64()
}

pub(super) fn times(bucket: Duration, buckets: usize) -> Duration {
    bucket.saturating_mul(u32::try_from(buckets).unwrap_or(u32::MAX))
}
