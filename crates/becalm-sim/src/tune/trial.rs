//! What is known of a policy so far?

use crate::record::{Histogram, Recording};
use crate::scenario::Scenario;
use crate::verdict::{Runs, Stress, judge};

use super::halving::Round;
use super::objectives::Objectives;

/// A policy under test.
pub(super) struct Trial {
    scenario: Scenario,
    worse: Vec<Stress>,
    runs: u32,
    lost: u32,
    /// Of the runs of the scenario itself: since the trigger, and in the whole run.
    attempts: u64,
    first_tries: u64,
    calls: u64,
    succeeded: u64,
    latency: Histogram,
}

/// Rounds have seeds of their own, the same for all policies.
const SERIES: u64 = 1 << 40;

impl Trial {
    pub(super) fn new(scenario: Scenario) -> Self {
        Self {
            worse: Stress::of(&scenario),
            scenario,
            runs: 0,
            lost: 0,
            attempts: 0,
            first_tries: 0,
            calls: 0,
            succeeded: 0,
            latency: Histogram::default(),
        }
    }

    /// Cases that each round runs.
    pub(super) fn cases(&self) -> u64 {
        1 + self.worse.len() as u64
    }

    /// Runs the scenario and its worse cases, and says what is known by now.
    ///
    /// Only whether it comes back is asked of the worse cases: their load and their latency are not
    /// what the client lives with.
    pub(super) fn attempt<R: Fn(&Scenario, u64) -> Recording + Sync>(
        &mut self,
        runs: &Runs<'_, R>,
        round: Round,
    ) -> Objectives {
        let series = SERIES + round.number;
        let scenario = &self.scenario;
        let outcomes = runs.each(scenario, series, round.runs, |it| judge(scenario, it));
        for outcome in outcomes {
            self.runs += 1;
            self.lost += u32::from(!outcome.holds());
            self.attempts += outcome.during.attempts + outcome.after.attempts;
            self.first_tries += outcome.during.first_tries + outcome.after.first_tries;
            self.calls += outcome.whole.calls;
            self.succeeded += outcome.whole.succeeded;
            self.latency.merge(&outcome.latency);
        }
        for worse in &self.worse {
            let worse = &worse.scenario;
            let held = runs.each(worse, series, round.runs, |it| judge(worse, it).holds());
            for held in held {
                self.runs += 1;
                self.lost += u32::from(!held);
            }
        }
        self.objectives()
    }

    #[expect(clippy::cast_precision_loss)] // far below 2^52
    fn objectives(&self) -> Objectives {
        let share = |part: u64, all: u64| part as f64 / all.max(1) as f64;
        let p99 = self.latency.quantile(0.99);
        Objectives {
            lost: share(self.lost.into(), self.runs.into()),
            load: if self.first_tries == 0 {
                1.0
            } else {
                share(self.attempts, self.first_tries)
            },
            failed: share(self.calls.saturating_sub(self.succeeded), self.calls),
            latency: p99.map_or(f64::INFINITY, |nanos| nanos as f64 / 1e6),
        }
    }
}
