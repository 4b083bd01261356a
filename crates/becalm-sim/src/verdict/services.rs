//! What did each service of several get?

use std::ops::Range;
use std::time::Duration;

use crate::change::Place;
use crate::engine::float;
use crate::record::Recording;
use crate::scenario::{Phases, Scenario};

use super::load::unrepeated;

/// What a service got in the phases of a run.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Seen {
    /// Before the first trigger.
    pub before: Flow,
    /// From then until the last trigger is over.
    pub during: Flow,
    /// From then to the end.
    pub after: Flow,
    /// The last quarter of what is after the triggers, without the calls that may still be running.
    pub tail: Flow,
    /// From the first trigger to the end; without triggers the whole run.
    pub since: Flow,
    /// The whole run.
    pub whole: Flow,
}

/// What a service got in a stretch of a run.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Flow {
    /// How long it is.
    pub length: Duration,
    /// Requests that arrived.
    pub arrived: u64,
    /// Requests that the clients' first tries in it bring if nobody retries: fan-outs multiply them,
    /// and warm caches keep them.
    pub unrepeated: f64,
    /// The longest queue of all its instances together.
    pub queue: u32,
    /// First tries and all attempts of those who call it: of populations, then of services, in the
    /// order of the scenario.
    pub calls: Vec<(u64, u64)>,
}

impl Flow {
    /// Requests for each that first tries alone would bring; `None` where they bring none.
    pub fn amplification(&self) -> Option<f64> {
        (self.unrepeated > 0.0).then(|| float(self.arrived) / self.unrepeated)
    }

    /// Requests that arrived per second.
    pub fn arrivals(&self) -> f64 {
        per_second(self.arrived, self.length)
    }

    /// Attempts for each first try of the caller at this place among those who call; `None` without first tries.
    pub(super) fn attempts(&self, caller: usize) -> Option<f64> {
        let (first_tries, attempts) = *self.calls.get(caller)?;
        (first_tries > 0).then(|| float(attempts) / float(first_tries))
    }
}

/// The places from which a service is called, in the order of [`Flow::calls`].
pub(super) fn callers(scenario: &Scenario, service: usize) -> Vec<Place> {
    let name = scenario.services.get(service).map(|it| it.name.as_str());
    let mut places = Place::all_of(scenario);
    places.retain(|it| it.target(scenario) == name);
    places
}

/// What each service got in a run; nothing of a scenario with one service, where attempts of clients
/// say it all.
pub(super) fn seen(scenario: &Scenario, recording: &Recording, phases: &Phases) -> Vec<Seen> {
    if scenario.services.len() < 2 {
        return Vec::new();
    }
    let services = 0..scenario.services.len();
    let callers: Vec<_> = services.map(|at| callers(scenario, at)).collect();
    let flows = |buckets: Range<usize>| flows(scenario, recording, &callers, &buckets);
    let [before, during, after, tail, since, whole] = [
        phases.before.clone(),
        phases.during.clone(),
        phases.after.clone(),
        phases.tail(),
        phases.during.start..phases.after.end,
        0..phases.after.end,
    ]
    .map(flows);
    let seen = |at: usize| Seen {
        before: before[at].clone(),
        during: during[at].clone(),
        after: after[at].clone(),
        tail: tail[at].clone(),
        since: since[at].clone(),
        whole: whole[at].clone(),
    };
    (0..scenario.services.len()).map(seen).collect()
}

fn flows(
    scenario: &Scenario,
    recording: &Recording,
    callers: &[Vec<Place>],
    buckets: &Range<usize>,
) -> Vec<Flow> {
    let length = times(scenario.bucket, buckets.len());
    let count = |counts: &[u32]| -> u64 {
        let counts = counts.get(buckets.clone());
        counts.map_or(0, crate::record::total)
    };
    let unrepeated = unrepeated(scenario, &|at, _| {
        let population = recording.populations.get(at);
        per_second(population.map_or(0, |it| count(&it.first_tries)), length)
    });
    let calls = |place: &Place| {
        let sent = place.sent(recording);
        sent.map(|(first_tries, attempts)| (count(first_tries), count(attempts)))
    };
    let flow = |(at, unrepeated): (usize, f64)| {
        let record = recording.services.get(at);
        let queue = record.and_then(|it| it.queue.get(buckets.clone()));
        let callers = callers.get(at).into_iter().flatten();
        Flow {
            length,
            arrived: record.map_or(0, |it| count(&it.arrived)),
            unrepeated: unrepeated * length.as_secs_f64(),
            queue: queue.map_or(0, |it| it.iter().copied().max().unwrap_or_default()),
            calls: callers.map(|it| calls(it).unwrap_or_default()).collect(),
        }
    };
    unrepeated.into_iter().enumerate().map(flow).collect()
}

/// A phase of a run.
pub(super) type PhaseOf = fn(&Seen) -> &Flow;

pub(super) fn per_second(count: u64, length: Duration) -> f64 {
    if length.is_zero() {
        return 0.0;
    }
    float(count) / length.as_secs_f64()
}

pub(super) fn times(bucket: Duration, buckets: usize) -> Duration {
    bucket.saturating_mul(u32::try_from(buckets).unwrap_or(u32::MAX))
}
