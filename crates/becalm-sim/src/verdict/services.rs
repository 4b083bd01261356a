//! What did each service of several get?

use std::ops::Range;
use std::time::Duration;

use crate::change::Place;
use crate::record::Recording;
use crate::scenario::{Phases, Scenario, Service};
use crate::study::{Figure, ServicePhase, ServiceSeen};

use super::figures::median;
use super::judge::{Outcome, per_second, times};
use super::load::{accepts, unrepeated};

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
    #[expect(clippy::cast_precision_loss)] // far below 2^52
    pub fn amplification(&self) -> Option<f64> {
        (self.unrepeated > 0.0).then(|| self.arrived as f64 / self.unrepeated)
    }

    /// Requests that arrived per second.
    pub fn arrivals(&self) -> f64 {
        per_second(self.arrived, self.length)
    }

    /// Attempts for each call of the caller at this place among those who call; `None` without calls.
    #[expect(clippy::cast_precision_loss)] // far below 2^52
    pub(super) fn attempts(&self, caller: usize) -> Option<f64> {
        let (first_tries, attempts) = *self.calls.get(caller)?;
        (first_tries > 0).then(|| attempts as f64 / first_tries as f64)
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
    let mut each = [
        flows(phases.before.clone()),
        flows(phases.during.clone()),
        flows(phases.after.clone()),
        flows(phases.tail()),
        flows(phases.during.start..phases.after.end),
        flows(0..phases.after.end),
    ]
    .map(Vec::into_iter);
    let mut all = Vec::new();
    while let [
        Some(before),
        Some(during),
        Some(after),
        Some(tail),
        Some(since),
        Some(whole),
    ] = each.each_mut().map(Iterator::next)
    {
        all.push(Seen {
            before,
            during,
            after,
            tail,
            since,
            whole,
        });
    }
    all
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

/// What each service of several saw, by the median over the runs.
pub(super) fn over_runs(scenario: &Scenario, outcomes: &[Outcome]) -> Vec<ServiceSeen> {
    if scenario.services.len() < 2 {
        return Vec::new();
    }
    let services = scenario.services.iter().enumerate();
    services
        .map(|(at, service)| {
            let seen: Vec<&Seen> = outcomes
                .iter()
                .filter_map(|it| it.services.get(at))
                .collect();
            let callers = callers(scenario, at);
            let is_triggered = !scenario.triggers.is_empty();
            let phases = PHASES
                .iter()
                .filter(|(name, _)| is_triggered || *name == "whole" || *name == "end");
            ServiceSeen {
                name: service.name.clone(),
                figures: figures(&seen, service, is_triggered),
                phases: phases
                    .map(|(name, of)| phase(name, &seen, *of, &callers))
                    .collect(),
            }
        })
        .collect()
}

/// A phase of a run.
pub(super) type PhaseOf = fn(&Seen) -> &Flow;

const PHASES: &[(&str, PhaseOf)] = &[
    ("before", |it| &it.before),
    ("during", |it| &it.during),
    ("after", |it| &it.after),
    ("end", |it| &it.tail),
    ("whole", |it| &it.whole),
];

fn phase(name: &'static str, seen: &[&Seen], of: PhaseOf, callers: &[Place]) -> ServicePhase {
    let typical =
        |value: &dyn Fn(&Flow) -> Option<f64>| median(seen.iter().filter_map(|it| value(of(it))));
    let attempts = callers.iter().enumerate();
    ServicePhase {
        name,
        arrivals: typical(&|it| Some(it.arrivals())).unwrap_or_default(),
        amplification: typical(&Flow::amplification),
        queue: typical(&|it| Some(f64::from(it.queue))).unwrap_or_default(),
        attempts: attempts
            .filter_map(|(at, caller)| {
                Some((caller.name().to_owned(), typical(&|it| it.attempts(at))?))
            })
            .collect(),
    }
}

fn figures(seen: &[&Seen], service: &Service, is_triggered: bool) -> Vec<Figure> {
    let capacity = accepts(service);
    let typical = |of: &dyn Fn(&Seen) -> Option<f64>| median(seen.iter().filter_map(|it| of(it)));
    let during = typical(&|it| it.during.amplification());
    vec![
        Figure::new(
            "arrivals_end",
            "requests at the end",
            "/s",
            typical(&|it| Some(it.tail.arrivals())),
        ),
        Figure::new(
            "pressure_end",
            "times its capacity, at the end",
            "",
            typical(&|it| {
                let pressure = it.tail.arrivals() / capacity;
                (capacity.is_finite() && pressure.is_finite()).then_some(pressure)
            }),
        ),
        Figure::new(
            "amplification",
            "amplification",
            "",
            typical(&|it| it.whole.amplification()),
        ),
        Figure::new(
            "amplification_during",
            "amplification during the trigger",
            "",
            during.filter(|_| is_triggered),
        ),
        Figure::new(
            "attempts_per_call",
            "attempts for each call to it",
            "",
            typical(&|it| attempts_per_call(&it.whole)),
        ),
        Figure::new(
            "queue_most",
            "longest queue",
            "",
            // Nothing waits where there are as many workers as are wanted.
            typical(&|it| Some(f64::from(it.whole.queue)))
                .filter(|_| service.workers != Service::UNLIMITED),
        ),
    ]
}

/// Of all who call a service together.
#[expect(clippy::cast_precision_loss)] // far below 2^52
fn attempts_per_call(flow: &Flow) -> Option<f64> {
    let first_tries: u64 = flow.calls.iter().map(|it| it.0).sum();
    let attempts: u64 = flow.calls.iter().map(|it| it.1).sum();
    (first_tries > 0).then(|| attempts as f64 / first_tries as f64)
}
