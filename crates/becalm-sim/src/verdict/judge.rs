//! What happened to one run?

use std::ops::Range;
use std::time::Duration;

use crate::record::{Histogram, PopulationRecord, Recording};
use crate::scenario::{Phases, Scenario};

use super::by_phase::ByPhase;
use super::load::accepts;
use super::outcome::{Outcome, Phase, ratio};
use super::recovery::{Usual, recovery};
use super::services::{per_second, seen, times};
use super::settling::is_settling;

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
    let answers = sum(|it| &it.succeeded);
    let first_answer = recovery.time().and_then(|time| {
        let back = time.as_nanos() / scenario.bucket.as_nanos().max(1);
        let back = usize::try_from(back).unwrap_or(usize::MAX);
        let mut since = answers.iter().skip(phases.after.start).skip(back);
        let later = since.position(|answers| *answers > 0)?;
        Some(times(scenario.bucket, back + later))
    });
    Outcome {
        first_answer,
        usual: usual.share,
        by_phase: ByPhase::of(&phases, scenario.bucket, recovery, recording),
        is_settling: is_settling(&phases, recording, &calls, &succeeded, pressure),
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
