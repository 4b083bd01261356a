//! What is told of each service of several?

use crate::change::Place;
use crate::scenario::{Scenario, Service};
use crate::study::{Figure, ServicePhase, ServiceSeen, figure};

use super::load::accepts;
use super::numbers::median;
use super::outcome::{Outcome, ratio};
use super::services::{Flow, PhaseOf, Seen, callers};

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
        figure!("arrivals_end": "requests at the end", "/s" =
            typical(&|it| Some(it.tail.arrivals()))),
        Figure::new(
            "pressure_end",
            "times its capacity, at the end",
            "",
            typical(&|it| {
                let pressure = it.tail.arrivals() / capacity;
                (capacity.is_finite() && pressure.is_finite()).then_some(pressure)
            }),
        ),
        figure!("amplification": "amplification", "" = typical(&|it| it.whole.amplification())),
        figure!("amplification_during": "amplification during the trigger", "" =
            during.filter(|_| is_triggered)),
        figure!("attempts_per_call": "attempts for each call to it", "" =
            typical(&|it| attempts_per_call(&it.whole))),
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
fn attempts_per_call(flow: &Flow) -> Option<f64> {
    let first_tries: u64 = flow.calls.iter().map(|it| it.0).sum();
    let attempts: u64 = flow.calls.iter().map(|it| it.1).sum();
    (first_tries > 0).then(|| ratio(attempts, first_tries))
}
