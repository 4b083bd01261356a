//! What is known of a policy so far?

use crate::engine::float;
use crate::record::{Histogram, Recording, total};
use crate::scenario::{Phases, Scenario};
use crate::search::Proportion;
use crate::verdict::{
    Outcome, Runner, Runs, Stress, first_tries, is_bounded, judge, millis, open_calls, ratio,
};

use super::halving::Round;
use super::objectives::Objectives;

/// A policy under test.
pub(super) struct Trial {
    pub(super) scenario: Scenario,
    worse: Vec<Stress>,
    /// Whether the service can stay down at all.
    is_bounded: bool,
    /// Requests that arrive at each service for each first try, if nobody retries; empty where
    /// services call no others, so that clients alone retry.
    once: Vec<f64>,
    lost: Proportion,
    /// Of the runs of the scenario itself.
    cost: Cost,
}

/// What the clients and the service of one run or of several go through.
#[derive(Debug, Clone, Default)]
pub(super) struct Cost {
    /// Since the trigger; in the whole run where there is none.
    attempts: u64,
    first_tries: u64,
    /// In the whole run.
    calls: u64,
    succeeded: u64,
    latency: Histogram,
}

/// Rounds have seeds of their own, the same for all policies.
const SERIES: u64 = 1 << 40;
/// And so has each case, for what is counted together has to be independent.
const CASE: u64 = 1 << 30;

impl Trial {
    pub(super) fn new(scenario: Scenario) -> Self {
        let is_bounded = is_bounded(&scenario);
        let worse = if is_bounded {
            Stress::of(&scenario)
        } else {
            Vec::new()
        };
        let once = if is_layered(&scenario) {
            let all: f64 = open_calls(&scenario);
            let loads = first_tries(&scenario).into_iter();
            loads.map(|load| load / all).collect()
        } else {
            Vec::new()
        };
        Self {
            worse,
            once,
            scenario,
            is_bounded,
            lost: Proportion::default(),
            cost: Cost::default(),
        }
    }

    /// What each round runs: the scenario and its worse cases.
    pub(super) fn cases(&self) -> impl Iterator<Item = &Scenario> {
        let worse = self.worse.iter().map(|it| &it.scenario);
        std::iter::once(&self.scenario).chain(worse)
    }

    /// Runs the scenario and its worse cases, and says what is known by now.
    pub(super) fn attempt<R: Runner>(&mut self, runs: &Runs<'_, R>, round: Round) -> Objectives {
        let (costs, lost) = self.run(runs, round.number, round.runs);
        for cost in costs {
            self.cost.add(&cost);
        }
        self.lost.successes += lost.successes;
        self.lost.runs += lost.runs;
        Objectives {
            lost: if self.lost.runs == 0 {
                0.0
            } else {
                self.lost.share()
            },
            load: self.cost.load(),
            failed: self.cost.failed(),
            latency: self.cost.latency(),
        }
    }

    /// What each run of the scenario costs, and how many of these and of the worse cases are lost.
    ///
    /// Only whether it comes back is asked of the worse cases: their load and their latency are not
    /// what the client lives with. Nothing is lost where nothing bounds a service.
    pub(super) fn run<R: Runner>(
        &self,
        runs: &Runs<'_, R>,
        series: u64,
        each: u32,
    ) -> (Vec<Cost>, Proportion) {
        let series = SERIES + series;
        let scenario = &self.scenario;
        let outcomes = runs.each(scenario, series, each, |it| {
            let outcome = judge(scenario, it);
            let cost = Cost::of(&outcome, self.at_fullest(it));
            (outcome, cost)
        });
        let (outcomes, costs): (Vec<Outcome>, Vec<Cost>) = outcomes.into_iter().unzip();
        if !self.is_bounded {
            return (costs, Proportion::default());
        }
        let mut lost: Vec<bool> = outcomes.iter().map(|it| !it.holds()).collect();
        for (case, worse) in (1..).zip(&self.worse) {
            let worse = &worse.scenario;
            let series = series + case * CASE;
            lost.extend(runs.back(worse, series, 0..each).into_iter().map(|it| !it));
        }
        (costs, Proportion::of(lost))
    }
}

impl Trial {
    /// From the trigger on, requests at the service that retries bring most: as many as calls of the
    /// clients would make it. `None` where clients alone retry.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "far below 2^52, and not negative"
    )]
    fn at_fullest(&self, recording: &Recording) -> Option<u64> {
        let from = Phases::of(&self.scenario).during.start;
        let services = recording.services.iter().zip(&self.once);
        let each = services.filter(|(_, once)| **once > 0.0).map(|(it, once)| {
            let arrived = it.arrived.get(from..).unwrap_or_default();
            (float(total(arrived)) / once) as u64
        });
        each.max()
    }
}

/// Whether services call others, so that retries are not the clients' alone.
pub(super) fn is_layered(scenario: &Scenario) -> bool {
    scenario.services.iter().any(|it| !it.calls.is_empty())
}

impl Cost {
    fn of(outcome: &Outcome, at_fullest: Option<u64>) -> Self {
        Self {
            attempts: at_fullest.unwrap_or(outcome.during.attempts + outcome.after.attempts),
            first_tries: outcome.during.first_tries + outcome.after.first_tries,
            calls: outcome.whole.calls,
            succeeded: outcome.whole.succeeded,
            latency: outcome.latency.clone(),
        }
    }

    fn add(&mut self, other: &Self) {
        self.attempts += other.attempts;
        self.first_tries += other.first_tries;
        self.calls += other.calls;
        self.succeeded += other.succeeded;
        self.latency.merge(&other.latency);
    }

    /// Attempts for each first try.
    pub(super) fn load(&self) -> f64 {
        ratio(self.attempts, self.first_tries)
    }

    /// The share of calls that do not succeed.
    pub(super) fn failed(&self) -> f64 {
        float(self.calls.saturating_sub(self.succeeded)) / float(self.calls.max(1))
    }

    /// The 99th percentile of the latency, in milliseconds; infinite where no call succeeds.
    pub(super) fn latency(&self) -> f64 {
        let p99 = self.latency.quantile(0.99);
        p99.map_or(f64::INFINITY, millis)
    }
}
