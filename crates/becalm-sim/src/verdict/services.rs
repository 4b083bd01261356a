//! What did each service of several get?

use std::ops::Range;
use std::time::Duration;

use crate::record::{CallsRecord, Recording};
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

/// Who calls a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caller {
    Population(usize),
    /// A service, by one of its calls.
    Service(usize, usize),
}

/// Those who call a service, in the order of [`Flow::calls`].
pub(super) fn callers(scenario: &Scenario, service: usize) -> Vec<Caller> {
    let name = &scenario.services[service].name;
    let populations = scenario.populations.iter().enumerate();
    let populations = populations.filter(|(_, it)| it.target == *name);
    let services = scenario.services.iter().enumerate().flat_map(|(at, of)| {
        let calls = of.calls.iter().enumerate();
        let calls = calls.filter(|(_, call)| call.service == *name);
        calls.map(move |(call, _)| Caller::Service(at, call))
    });
    let populations = populations.map(|(at, _)| Caller::Population(at));
    populations.chain(services).collect()
}

pub(super) fn name(scenario: &Scenario, caller: Caller) -> &str {
    match caller {
        Caller::Population(at) => &scenario.populations[at].name,
        Caller::Service(at, _) => &scenario.services[at].name,
    }
}

/// What each service got in a run; nothing of a scenario with one service, where attempts of clients
/// say it all.
pub(super) fn seen(scenario: &Scenario, recording: &Recording, phases: &Phases) -> Vec<Seen> {
    if scenario.services.len() < 2 {
        return Vec::new();
    }
    let flows = |buckets: Range<usize>| flows(scenario, recording, &buckets);
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

fn flows(scenario: &Scenario, recording: &Recording, buckets: &Range<usize>) -> Vec<Flow> {
    let length = times(scenario.bucket, buckets.len());
    let count = |counts: &[u32]| -> u64 {
        let counts = counts.get(buckets.clone());
        counts.map_or(0, crate::record::total)
    };
    let unrepeated = unrepeated(scenario, &|at, _| {
        let population = recording.populations.get(at);
        per_second(population.map_or(0, |it| count(&it.first_tries)), length)
    });
    let calls = |caller| match caller {
        Caller::Population(at) => {
            let of = recording.populations.get(at);
            of.map(|it| (count(&it.first_tries), count(&it.attempts)))
        }
        Caller::Service(at, call) => {
            let of = recording.services.get(at);
            let of = of.and_then(|it| it.calls.get(call));
            of.map(|it: &CallsRecord| (count(&it.first_tries), count(&it.attempts)))
        }
    };
    let flow = |(at, unrepeated): (usize, f64)| {
        let record = recording.services.get(at);
        let queue = record.and_then(|it| it.queue.get(buckets.clone()));
        let callers = callers(scenario, at).into_iter();
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
            let callers: Vec<&str> = callers(scenario, at)
                .into_iter()
                .map(|it| name(scenario, it))
                .collect();
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

fn phase(name: &'static str, seen: &[&Seen], of: PhaseOf, callers: &[&str]) -> ServicePhase {
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
                Some(((*caller).to_owned(), typical(&|it| it.attempts(at))?))
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
