//! What is told of each service of several?

use crate::change::Place;
use crate::scenario::{Scenario, Service};
use crate::study::{Figure, ServicePhase, ServiceSeen};

use super::figures::mean_of;
use super::load::accepts;
use super::outcome::{Outcome, ratio};
use super::services::{Flow, PhaseOf, Seen, callers};

/// What each service of several saw, by the mean over the runs.
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

const PHASES: &[(&str, PhaseOf)] = &[
    ("before", |it| &it.before),
    ("during", |it| &it.during),
    ("after", |it| &it.after),
    ("end", |it| &it.tail),
    ("whole", |it| &it.whole),
];

fn phase(name: &'static str, seen: &[&Seen], of: PhaseOf, callers: &[Place]) -> ServicePhase {
    let mut intervals = Vec::new();
    let mut typical = |key: &str, value: &dyn Fn(&Flow) -> Option<f64>| {
        let figure = mean_of("", "", "", &each(seen, |it| value(of(it))));
        let ends = figure.value.and(figure.interval);
        intervals.extend(ends.map(|ends| (key.to_owned(), ends)));
        figure.value
    };
    let (arrivals, queue) = (
        typical("arrivals", &|it| Some(it.arrivals())),
        typical("queue", &|it| Some(f64::from(it.queue))),
    );
    let amplification = typical("amplification", &Flow::amplification);
    let attempts = callers.iter().enumerate().filter_map(|(at, caller)| {
        let per_call = typical(caller.name(), &|it| it.attempts(at))?;
        Some((caller.name().to_owned(), per_call))
    });
    let attempts = attempts.collect();
    ServicePhase {
        name,
        arrivals: arrivals.unwrap_or_default(),
        amplification,
        queue: queue.unwrap_or_default(),
        attempts,
        intervals,
    }
}

/// What each run has one of, of those that have it. What one of several runs alone has is no figure of them.
fn each(seen: &[&Seen], of: impl Fn(&Seen) -> Option<f64>) -> Vec<f64> {
    let mut values: Vec<f64> = seen.iter().filter_map(|it| of(it)).collect();
    if values.len() < seen.len().min(2) {
        values.clear();
    }
    values
}

fn figures(seen: &[&Seen], service: &Service, is_triggered: bool) -> Vec<Figure> {
    let capacity = accepts(service);
    let figure = |id, title, unit, of: &dyn Fn(&Seen) -> Option<f64>| {
        mean_of(id, title, unit, &each(seen, of))
    };
    vec![
        figure("arrivals_end", "requests at the end", "/s", &|it| {
            Some(it.tail.arrivals())
        }),
        figure(
            "pressure_end",
            "times its capacity, at the end",
            "",
            &|it| {
                let pressure = it.tail.arrivals() / capacity;
                (capacity.is_finite() && pressure.is_finite()).then_some(pressure)
            },
        ),
        figure("amplification", "amplification", "", &|it| {
            it.whole.amplification()
        }),
        figure(
            "amplification_during",
            "amplification, during the trigger",
            "",
            &|it| it.during.amplification().filter(|_| is_triggered),
        ),
        figure(
            "amplification_by_callers",
            "amplification by its callers",
            "",
            &|it| amplification_by_callers(&it.whole),
        ),
        figure("queue_most", "longest queue", "", &|it| {
            // Nothing waits where there are as many workers as are wanted.
            let waits = service.workers != Service::UNLIMITED;
            waits.then(|| f64::from(it.whole.queue))
        }),
    ]
}

/// Of all who call a service together.
fn amplification_by_callers(flow: &Flow) -> Option<f64> {
    let first_tries: u64 = flow.calls.iter().map(|it| it.0).sum();
    let attempts: u64 = flow.calls.iter().map(|it| it.1).sum();
    (first_tries > 0).then(|| ratio(attempts, first_tries))
}
