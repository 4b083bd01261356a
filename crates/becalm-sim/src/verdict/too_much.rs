//! Why is a study refused that would take too much? With the field that makes it large.

use std::fmt;

use crate::engine::float;
use crate::scenario::{Arrivals, Effect, Scenario};
use crate::world::{Part, Stopped, parts_at_most, parts_at_rest, recordings, sum};

use super::capacity::attempts_in_a_storm;
use super::load::{accepts, open_rate};
use super::numbers::plain;

/// Why a study has no answer: it would take more than it may. `Display` names the field that makes it
/// large, and the remedy.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum TooMuch {
    /// All its runs would take more events than anybody waits for. Nothing has run.
    Events {
        /// Foretold events of all runs.
        events: u64,
        /// What makes them so many.
        field: String,
    },
    /// A run needs more memory than all runs may take.
    Memory {
        /// Bytes that all runs at once may take.
        most: u64,
        /// What makes it so large.
        field: String,
    },
    /// The time of a run hardly passes, as so much happens in it.
    Pace {
        /// What makes it so much.
        field: String,
    },
}

impl TooMuch {
    /// Events that a study may take: a million million. On a core that is most of a day.
    pub const EVENTS: u64 = 1_000_000_000_000;

    /// Of a study of this scenario with so many foretold events in so many runs.
    pub(super) fn of_events(scenario: &Scenario, runs: u64, events: u64) -> Self {
        let mut fields = fields(scenario);
        fields.push(Field::new("the runs (--runs)", float(runs), 300.0));
        Self::Events {
            events,
            field: largest(&fields),
        }
    }

    /// Of a scenario whose runs would hold more than so many bytes from the beginning.
    pub(super) fn at_rest(scenario: &Scenario, most: u64) -> Option<Self> {
        let is_over = sum(&parts(scenario)) > most;
        is_over.then(|| Self::of_a_run(scenario, Stopped::Memory, most))
    }

    /// Of a run that stopped.
    pub(super) fn of_a_run(scenario: &Scenario, stopped: Stopped, most: u64) -> Self {
        if stopped == Stopped::Pace {
            let field = largest(&fields(scenario));
            return Self::Pace { field };
        }
        // What is there from the beginning, or else what comes as calls fail.
        let most_of = |parts: Vec<Part>| parts.into_iter().max_by_key(|it| it.bytes);
        let mut parts = [parts(scenario), parts_at_most(scenario)].into_iter();
        let part = parts.find_map(|it| most_of(it).filter(|it| it.bytes > most / 2));
        let field = match part {
            Some(part) => {
                let of = if part.of.is_empty() {
                    String::new()
                } else {
                    format!(" of {}", part.of)
                };
                let each = match part.field {
                    "clients" => " or share what they have (sharing = \"shared\")",
                    _ => "",
                };
                let count = plain(float(part.count));
                match part.field {
                    "bucket" => format!("the number of buckets ({count}) by a longer bucket"),
                    field => format!("the {field}{of} ({count}){each}"),
                }
            }
            None => format!(
                "what waits (bound the queues, or set time-outs), or {}",
                largest(&fields(scenario))
            ),
        };
        Self::Memory { most, field }
    }
}

impl fmt::Display for TooMuch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Events { events, field } => write!(
                f,
                "the study would take more than {} events, some {:.0e}; reduce {field}",
                plain(float(Self::EVENTS)),
                float(*events)
            ),
            Self::Memory { most, field } => write!(
                f,
                "a run needs more than {} MB of memory, which is what runs may take; reduce {field}, or \
                 allow more (--memory)",
                plain(float(most / 1_000_000))
            ),
            Self::Pace { field } => write!(
                f,
                "a run hardly gets on, as millions of events happen in a moment of it; reduce {field}"
            ),
        }
    }
}

impl std::error::Error for TooMuch {}

/// What a run holds before anything happens in it, and what all runs share.
fn parts(scenario: &Scenario) -> Vec<Part> {
    let mut parts = parts_at_rest(scenario);
    parts.extend(recordings(scenario));
    parts
}

/// A number of a scenario that may make it large, over what is usual.
struct Field {
    name: String,
    times: f64,
}

impl Field {
    fn new(name: impl Into<String>, value: f64, usual: f64) -> Self {
        Self {
            name: name.into(),
            times: value / usual,
        }
    }
}

/// What is furthest above the usual.
fn largest(fields: &[Field]) -> String {
    let most = fields.iter().max_by(|a, b| a.times.total_cmp(&b.times));
    most.map_or_else(String::new, |it| it.name.clone())
}

/// What makes a scenario take many events, with what is usual of each.
fn fields(scenario: &Scenario) -> Vec<Field> {
    let seconds = scenario.horizon.as_secs_f64();
    let mut fields = vec![Field::new("the horizon", seconds, 60.0)];
    for population in &scenario.populations {
        let name = &population.name;
        let (what, rate) = match &population.arrivals {
            Arrivals::Closed { think } => {
                let round = think.mean().max(1e-3);
                ("clients", f64::from(population.clients) / round)
            }
            Arrivals::Trace(_) => ("recorded calls", open_rate(scenario, population)),
            _ => ("arrivals", open_rate(scenario, population)),
        };
        let shown = plain(rate);
        fields.push(Field::new(
            format!("the {what} of {name} ({shown}/s)"),
            rate,
            1e4,
        ));
        for variant in &population.variants {
            let attempts = attempts_in_a_storm(scenario, &variant.policy, population.timeout);
            fields.push(repeats(name, attempts));
        }
    }
    for service in &scenario.services {
        let name = &service.name;
        for call in &service.calls {
            let attempts = attempts_in_a_storm(scenario, &call.policy, call.timeout);
            fields.push(repeats(name, attempts));
            let fan_out = f64::from(call.fan_out);
            fields.push(Field::new(
                format!("the fan-out of {name} ({})", plain(fan_out)),
                fan_out,
                10.0,
            ));
        }
        let capacity = accepts(service);
        if capacity.is_finite() {
            fields.push(Field::new(
                format!(
                    "the capacity of {name} ({}/s), up to which load is tried",
                    plain(capacity)
                ),
                capacity,
                1e5,
            ));
        }
    }
    for trigger in &scenario.triggers {
        if let Effect::Load { population, factor } = &trigger.effect {
            fields.push(Field::new(
                format!(
                    "the factor of the load of {population} ({})",
                    plain(*factor)
                ),
                *factor,
                10.0,
            ));
        }
    }
    fields
}

fn repeats(of: &str, attempts: f64) -> Field {
    let name = format!("the retries of {of} (fewer attempts, a longer base, or a budget)");
    Field::new(name, attempts, 10.0)
}
