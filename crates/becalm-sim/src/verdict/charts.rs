//! Which pictures does a study have?

use std::time::Duration;

use crate::engine::float;
use crate::record::{Histogram, PopulationRecord, Recording};
use crate::scenario::{Effect, Phases, Scenario};
use crate::study::{Chart, ChartKind};

use super::capacity::open_calls;
use super::judge::sum;
use super::load::bottleneck;
use super::numbers::millis;
use super::outcome::{Outcome, recovery_times};

/// Points of a line at most: more than a screen shows, and few enough for a report to stay small.
const POINTS: usize = 600;

/// Steps of equal length, so many buckets each, as few as a screen shows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Steps {
    /// Buckets of the run.
    length: usize,
    /// Buckets of a step.
    group: usize,
    bucket: Duration,
}

impl Steps {
    pub(super) fn of(scenario: &Scenario, recording: &Recording) -> Self {
        let bucket = scenario.bucket.max(Duration::from_nanos(1));
        let buckets = scenario.horizon.as_nanos().div_ceil(bucket.as_nanos());
        let recorded = recording
            .populations
            .iter()
            .map(|it| it.attempts.len())
            .max();
        let length = usize::try_from(buckets)
            .unwrap_or(usize::MAX)
            .min(recorded.unwrap_or_default());
        Self {
            length,
            group: length.div_ceil(POINTS).max(1),
            bucket,
        }
    }

    /// Nanoseconds of a step.
    fn nanos(self) -> u64 {
        let step = self.bucket.as_nanos().saturating_mul(self.group as u128);
        u64::try_from(step).unwrap_or(u64::MAX)
    }

    /// Counts of buckets, per second of each step.
    pub(super) fn per_second<T: Copy + Into<u64>>(self, counts: &[T]) -> Vec<f64> {
        let groups = counts.chunks(self.group);
        groups
            .map(|it| {
                let length = self.bucket.as_secs_f64() * float(it.len() as u64);
                float(it.iter().map(|it| (*it).into()).sum::<u64>()) / length
            })
            .collect()
    }

    /// The most of each step.
    pub(super) fn most(self, counts: &[u32]) -> Vec<f64> {
        let groups = counts.chunks(self.group);
        groups
            .map(|it| f64::from(it.iter().copied().max().unwrap_or_default()))
            .collect()
    }

    /// The values of the steps, with when they begin in seconds.
    pub(super) fn line(self, values: impl IntoIterator<Item = f64>) -> Vec<(f64, f64)> {
        line(self.nanos(), values)
    }
}

fn line(step: u64, values: impl IntoIterator<Item = f64>) -> Vec<(f64, f64)> {
    // By whole nanoseconds, so that 39.9 s is 39.9 and not nearly so.
    let begins = (0_u64..).map(|index| float(index.saturating_mul(step)) / 1e9);
    begins.zip(values).collect()
}

/// The course of one run, in steps of equal length.
#[derive(Debug, Clone, Default)]
pub(super) struct Course {
    /// Nanoseconds of a step.
    step: u64,
    /// Per second.
    first_tries: Vec<f64>,
    /// Per second.
    attempts: Vec<f64>,
    /// Calls that succeed, per second.
    goodput: Vec<f64>,
    /// The longest of the step.
    queue: Vec<f64>,
    /// The latencies of the calls that began in a stretch of the run.
    latencies: Vec<Latency>,
}

/// The latencies of the calls that began in a stretch of a run; infinite where none succeeded.
#[derive(Debug, Clone, Copy)]
struct Latency {
    /// The begin of the stretch, in nanoseconds.
    from: u64,
    /// In milliseconds.
    p50: f64,
    /// In milliseconds.
    p99: f64,
}

impl Course {
    /// Of the service nearest to its capacity, and of all populations.
    pub(super) fn of(scenario: &Scenario, recording: &Recording) -> Self {
        let steps = Steps::of(scenario, recording);
        let per_second = |of: fn(&PopulationRecord) -> &[u32]| {
            steps.per_second(&sum(recording, steps.length, of))
        };
        let queue = bottleneck(scenario).map_or(0, |it| it.service);
        let queue = recording.services.get(queue);
        let queue = queue.map(|it| it.queue.as_slice()).unwrap_or_default();
        Self {
            step: steps.nanos(),
            first_tries: per_second(|it| &it.first_tries),
            attempts: per_second(|it| &it.attempts),
            goodput: per_second(|it| &it.succeeded),
            queue: steps.most(queue),
            latencies: latencies(recording, Phases::of(scenario).settled),
        }
    }

    fn latency(&self, of: impl Fn(&Latency) -> f64) -> Vec<(f64, f64)> {
        let points = self.latencies.iter();
        points.map(|it| (float(it.from) / 1e9, of(it))).collect()
    }

    fn line(&self, values: impl Iterator<Item = f64>) -> Vec<(f64, f64)> {
        line(self.step, values)
    }

    fn amplification(&self) -> Vec<(f64, f64)> {
        let each = self.attempts.iter().zip(&self.first_tries);
        self.line(each.map(|(attempts, first)| {
            if *first > 0.0 {
                attempts / first
            } else {
                f64::NAN
            }
        }))
        .into_iter()
        .filter(|point| point.1.is_finite())
        .collect()
    }
}

/// Of the calls of all populations, without those that may still be running.
fn latencies(recording: &Recording, settled: usize) -> Vec<Latency> {
    let bucket = u64::try_from(recording.bucket.as_nanos()).unwrap_or(u64::MAX);
    let slices = recording.slices.iter().enumerate();
    slices
        .take_while(|(_, start)| (**start as usize) < settled)
        .map(|(at, start)| {
            let mut latency = Histogram::default();
            for population in &recording.populations {
                if let Some(endings) = population.endings.get(at) {
                    latency.merge(&endings.latency);
                }
            }
            let quantile = |share| latency.quantile(share).map_or(f64::INFINITY, millis);
            Latency {
                from: u64::from(*start).saturating_mul(bucket),
                p50: quantile(0.5),
                p99: quantile(0.99),
            }
        })
        .collect()
}

/// How slow calls were over time under one policy, by its first run. `None` where none succeeded.
pub(super) fn latency(scenario: &Scenario, course: &Course) -> Option<Chart> {
    let lines = vec![
        ("median".into(), course.latency(|it| it.p50)),
        ("p99".into(), course.latency(|it| it.p99)),
    ];
    let some = course.latencies.iter().any(|it| it.p50.is_finite());
    some.then(|| Chart {
        title: "Latency of successful calls, by when they began".into(),
        kind: ChartKind::Lines(lines),
        ..latency_chart(scenario)
    })
}

fn latency_chart(scenario: &Scenario) -> Chart {
    Chart {
        id: "latency".into(),
        x: "time, s".into(),
        y: "ms".into(),
        bands: bands(scenario),
        is_logarithmic: true,
        ..Chart::default()
    }
}

/// The courses of all contenders, each by its first run, in one picture for each quantity.
pub(super) fn courses(scenario: &Scenario, courses: &[(String, Course)]) -> Vec<Chart> {
    let lines = |of: &dyn Fn(&Course) -> Vec<(f64, f64)>| {
        let named = courses
            .iter()
            .map(|(name, course)| (name.clone(), of(course)));
        ChartKind::Lines(named.collect())
    };
    let capacity: Vec<(f64, String)> = bottleneck(scenario)
        // In calls of the clients, however many requests each of them makes of the service behind.
        .map(|it| {
            (
                it.capacity * (open_calls(scenario) / it.load),
                "capacity".into(),
            )
        })
        .into_iter()
        .collect();
    let chart = |id: &str, title: &str, y: &str, kind| Chart {
        id: id.into(),
        title: title.into(),
        x: "time, s".into(),
        y: y.into(),
        kind,
        bands: bands(scenario),
        ..Chart::default()
    };
    // Of several services the clients' attempts are not all that there are.
    let several = scenario.services.len() > 1;
    let mut arrivals = chart(
        "arrivals",
        if several {
            "Attempts that clients send"
        } else {
            "Attempts that are sent"
        },
        "attempts per second",
        lines(&|it| it.line(it.attempts.iter().copied())),
    );
    arrivals.levels.clone_from(&capacity);
    let mut goodput = chart(
        "goodput",
        "Calls that succeed",
        "calls per second",
        lines(&|it| it.line(it.goodput.iter().copied())),
    );
    goodput.levels = capacity;
    let nearest = bottleneck(scenario).and_then(|it| scenario.services.get(it.service));
    let waiting = match nearest.filter(|_| several) {
        Some(service) => format!("Requests that wait for a worker of {}", service.name),
        None => "Requests that wait for a worker".into(),
    };
    let queue = chart(
        "queue",
        &waiting,
        "requests",
        lines(&|it| it.line(it.queue.iter().copied())),
    );
    let amplification = chart(
        "amplification",
        if several {
            "Amplification by clients"
        } else {
            "Amplification"
        },
        "attempts per first try",
        lines(&Course::amplification),
    );
    let latency = Chart {
        title: "Latency of successful calls, p99, by when they began".into(),
        kind: lines(&|it| it.latency(|it| it.p99)),
        ..latency_chart(scenario)
    };
    vec![arrivals, goodput, queue, amplification, latency]
}

/// The share of runs that came back, by the time since the last trigger's end. `None` where no
/// scenario has a trigger.
pub(super) fn recoveries(
    scenario: &Scenario,
    contenders: &[(String, Vec<Outcome>)],
) -> Option<Chart> {
    if scenario.triggers.is_empty() {
        return None;
    }
    let after = scenario.horizon.saturating_sub(scenario.triggers_end());
    let line = |outcomes: &[Outcome]| {
        let mut times = recovery_times(outcomes);
        times.sort_by(f64::total_cmp);
        let all = float(times.len().max(1) as u64);
        let mut points = vec![(0.0, 0.0)];
        let mut share = 0.0;
        for (index, time) in times
            .iter()
            .copied()
            .take_while(|it| it.is_finite())
            .enumerate()
        {
            // A step: up at the time, flat until the next.
            points.push((time, share));
            share = float(index as u64 + 1) / all;
            points.push((time, share));
        }
        points.push((after.as_secs_f64(), share));
        points
    };
    let lines = contenders
        .iter()
        .map(|(name, outcomes)| (name.clone(), line(outcomes)));
    Some(Chart {
        id: "recovery".into(),
        title: "Runs that came back".into(),
        x: "time since the end of the trigger, s".into(),
        y: "share of runs".into(),
        kind: ChartKind::Lines(lines.collect()),
        ..Chart::default()
    })
}

/// The triggers, as stretches of the time axis.
pub(super) fn bands(scenario: &Scenario) -> Vec<(f64, f64, String)> {
    let triggers = scenario.triggers.iter();
    triggers
        .map(|trigger| {
            let end = trigger.from.saturating_add(trigger.length);
            (
                trigger.from.as_secs_f64(),
                end.min(scenario.horizon).as_secs_f64(),
                name(&trigger.effect),
            )
        })
        .collect()
}

/// What goes wrong, in few words.
fn name(effect: &Effect) -> String {
    match effect {
        Effect::Capacity { service, share } => {
            format!("{service} at {:.0} % of its capacity", share * 100.0)
        }
        Effect::Hang { service } => format!("{service} hangs"),
        Effect::Down { service } => format!("{service} is down"),
        Effect::Latency { service, .. } => format!("{service} is slow"),
        Effect::Failures { service, share } => {
            format!("{service} fails {:.0} %", share * 100.0)
        }
        Effect::Load { population, factor } => format!("{factor} x the calls of {population}"),
        Effect::CacheLoss { service } => format!("the cache of {service} is lost"),
        Effect::Deploy { service, .. } => format!("{service} restarts"),
        Effect::Loss { share } => format!("{:.0} % of messages are lost", share * 100.0),
    }
}
