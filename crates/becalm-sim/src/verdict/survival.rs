//! How long an outage, and how much load, does a policy survive?

use crate::scenario::{Arrivals, Population, Scenario};
use crate::search::{Point, Proportion, Range, Threshold, find_beside};

use super::capacity::open_calls;
use super::load::{bottleneck, is_bounded};
use super::ruling::Ruling;
use super::runner::Runner;
use super::runs::Runs;
use super::stress::By;
use super::variation::{crowded, longer, louder};

/// The largest value that is survived, in its own unit.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Survived {
    /// The search, in factors of what the scenario has.
    pub threshold: Threshold,
    /// What a factor of 1 is: seconds, calls per second.
    pub unit: f64,
    /// The highest factor that was tried.
    pub highest: f64,
    /// The highest factor that can be survived at all, where there is one: no load above the
    /// capacity is.
    pub most: Option<f64>,
}

impl Survived {
    /// The value that half of all runs survive; the highest that was tried where more than half survive that.
    pub fn value(&self) -> Option<f64> {
        let above = self.threshold.is_above.then_some(self.highest);
        self.threshold.estimate.or(above).map(|it| it * self.unit)
    }

    /// The ends of the 95 % confidence interval, the lower of which is 0 where there is none.
    /// `None` without an upper end: then the value is the highest that was tried, or the runs are
    /// too few.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let high = self.threshold.high.or(self.most)?;
        let low = self.threshold.low.unwrap_or_default();
        Some((low * self.unit, high * self.unit))
    }
}

/// Triggers are tried from a sixteenth to eight times as long.
const LENGTHS: Range = Range {
    points: POINTS,
    ..Range::new(1.0 / 16.0, 8.0)
};

/// Values of a search at most: a few fewer than its own default, for a study makes two of them under
/// each policy.
pub(super) const POINTS: u32 = 10;

/// What a study knows already of values that a search may ask about, in factors of what the scenario has:
/// then both say the same of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    lengths: Vec<Point>,
    loads: Vec<Point>,
    clients: Vec<Point>,
}

impl Known {
    /// By the runs of a ruling: of the scenario as it is, and of the worse cases.
    pub fn by(ruling: &Ruling) -> Self {
        let point = |value, survived| Point { value, survived };
        let mut known = Self::default();
        for points in [&mut known.lengths, &mut known.loads, &mut known.clients] {
            points.push(point(1.0, ruling.back()));
        }
        for worse in &ruling.worse {
            match worse.by {
                By::Length(factor) => known.lengths.push(point(factor, worse.back)),
                By::Load(factor) => known.loads.push(point(factor, worse.back)),
                By::Trigger => (),
            }
        }
        known
    }
}

/// A search for what is survived. `each` is how many runs a value gets at most.
pub struct Survival<'a, R> {
    runs: &'a Runs<'a, R>,
    each: u32,
    known: Known,
}

impl<'a, R: Runner> Survival<'a, R> {
    /// A search that knows nothing yet.
    pub fn new(runs: &'a Runs<'a, R>, each: u32) -> Self {
        let known = Known::default();
        Self { runs, each, known }
    }

    /// A search that uses what a ruling has seen, so that both say the same.
    pub(super) fn beside(ruling: &Ruling, runs: &'a Runs<'a, R>, each: u32) -> Self {
        let known = Known::by(ruling);
        Self { runs, each, known }
    }

    /// The longest outage from which the service comes back: its triggers, made longer and shorter with
    /// their depth as it is. In seconds from the beginning of the first trigger to the end of the last.
    /// `None` without triggers that last.
    pub fn longest_outage(&self, scenario: &Scenario) -> Option<Survived> {
        let first = scenario.triggers.iter().map(|it| it.from).min()?;
        let lasts = scenario.triggers_end().saturating_sub(first);
        if lasts.is_zero() {
            return None;
        }
        let known = (SERIES, &*self.known.lengths);
        Some(self.survived(scenario, known, (LENGTHS, lasts.as_secs_f64()), longer))
    }

    /// The largest load from which the service comes back after its triggers, in first tries of all
    /// populations per second: up to the capacity, beyond which there is nothing to come back to.
    /// `None` where nothing bounds a service, or where closed loops alone call
    /// ([`most_clients`](Self::most_clients)).
    pub fn largest_load(&self, scenario: &Scenario) -> Option<Survived> {
        let to_capacity = 1.0 / bottleneck(scenario)?.utilisation();
        let range = Range {
            resolution: 0.02,
            points: POINTS,
            ..Range::new(to_capacity / 20.0, to_capacity)
        };
        let known = (2 * SERIES, &*self.known.loads);
        let mut load = self.survived(scenario, known, (range, open_calls(scenario)), louder);
        load.most = Some(to_capacity);
        Some(load)
    }

    /// The most clients of closed loops with which the service comes back after its triggers, of all
    /// populations together: what the [largest load](Self::largest_load) is to open loops. `None` where
    /// an open loop calls, and where nothing bounds a service.
    ///
    /// A closed loop has no load of its own: a client that waits does not call (B. Schroeder, A. Wierman,
    /// M. Harchol-Balter, *Open Versus Closed*, NSDI 2006). What can be too many is the clients. No number
    /// of them is beyond the capacity by formula, so that the search has no upper end of that kind.
    pub fn most_clients(&self, scenario: &Scenario) -> Option<Survived> {
        let is_closed = |it: &Population| matches!(it.arrivals, Arrivals::Closed { .. });
        let populations = &scenario.populations;
        let is_asked = is_bounded(scenario) && populations.iter().all(is_closed);
        let fewest = populations.iter().map(|it| it.clients).min()?;
        let all: f64 = populations.iter().map(|it| f64::from(it.clients)).sum();
        let range = Range {
            // No population has fewer than one.
            low: CROWDS.low.max(1.0 / f64::from(fewest.max(1))),
            ..CROWDS
        };
        let known = (3 * SERIES, &*self.known.clients);
        is_asked.then(|| self.survived(scenario, known, (range, all), crowded))
    }

    fn survived(
        &self,
        scenario: &Scenario,
        (series, known): (u64, &[Point]),
        (range, unit): (Range, f64),
        vary: fn(&Scenario, f64) -> Scenario,
    ) -> Survived {
        let Self { runs, each, .. } = *self;
        runs.announce(u64::from(range.points) * u64::from(each));
        let range = Range {
            runs: each,
            ..range
        };
        let threshold = find_beside(&range, known, |factor, asked| {
            let varied = vary(scenario, factor);
            let series = series + u64::from(asked.point);
            Proportion::of(runs.back(&varied, series, asked.runs))
        });
        Survived {
            threshold,
            unit,
            highest: range.high,
            most: None,
        }
    }
}

/// Clients are tried from a sixteenth to sixteen times as many.
const CROWDS: Range = Range {
    points: POINTS,
    ..Range::new(1.0 / 16.0, 16.0)
};

/// Searches have seeds of their own, each point others: the interval needs independent runs.
const SERIES: u64 = 1 << 32;
