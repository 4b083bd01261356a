//! Which worse cases is a policy asked about?

use std::time::Duration;

use crate::scenario::{Effect, Scenario, Trigger, scaled};
use crate::search::Proportion;

use super::later::later;
use super::load::bottleneck;
use super::outcome::Outcome;
use super::runner::Runner;
use super::runs::Runs;
use super::variation::{longer, louder};

/// A case that is worse than the scenario, in one respect.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Stress {
    /// What is worse, to follow "with": `triggers twice as long`.
    pub what: String,
    /// By which factor, of what.
    pub by: By,
    /// The worse scenario.
    pub scenario: Scenario,
}

/// What is changed to make a case worse, and by which factor.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum By {
    /// The length of the triggers.
    Length(f64),
    /// The load.
    Load(f64),
    /// A trigger is there that was not.
    Trigger,
}

/// What happened to a worse case.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Worse {
    /// What was worse.
    pub what: String,
    /// By which factor, of what.
    pub by: By,
    /// The runs in which the service came back.
    pub back: Proportion,
}

/// The share of its capacity up to which a service is loaded: a service that is run above it by
/// intent has no room for any recovery.
const LOADED: f64 = 0.9;
/// How long the workers hang where a scenario has no trigger: longer than clients usually wait.
const HANG: Duration = Duration::from_secs(2);

impl Stress {
    /// The worse cases of a scenario: its triggers twice as long, or a hang of 2 s where it has
    /// none; and a load of 90 % of the capacity, where it has less.
    pub fn of(scenario: &Scenario) -> Vec<Self> {
        let mut worse = Vec::new();
        if scenario.triggers.is_empty() {
            worse.extend(Self::hang(scenario));
        } else {
            worse.push(Self {
                what: "triggers twice as long".into(),
                by: By::Length(2.0),
                scenario: longer(scenario, 2.0),
            });
        }
        worse.extend(Self::loaded(scenario));
        worse
    }

    fn loaded(scenario: &Scenario) -> Option<Self> {
        let utilisation = bottleneck(scenario)?.utilisation();
        let is_lower = utilisation < LOADED;
        is_lower.then(|| Self {
            what: "a load of 90 % of the capacity".into(),
            by: By::Load(LOADED / utilisation),
            scenario: louder(scenario, LOADED / utilisation),
        })
    }

    fn hang(scenario: &Scenario) -> Option<Self> {
        let most_loaded = bottleneck(scenario).map_or(0, |it| it.service);
        let service = scenario.services.get(most_loaded)?.name.clone();
        let trigger = Trigger::new(
            scaled(scenario.horizon, 0.3),
            HANG.min(scaled(scenario.horizon, 0.1)),
            Effect::Hang { service },
        );
        Some(Self {
            what: format!("a hang of {} s", trigger.length.as_secs_f64()),
            by: By::Trigger,
            scenario: scenario.clone().trigger(trigger),
        })
    }

    /// Runs it this many times, with the seeds of the scenario itself: what differs is the case alone. No file
    /// and no flag says how long, so that runs which are not back go on.
    pub(super) fn suffered<R: Runner>(&self, runs: &Runs<'_, R>, each: u32) -> Worse {
        let scenario = &self.scenario;
        let outcomes = runs.each_until_back(scenario, each);
        let back = Proportion::of(outcomes.iter().map(Outcome::holds));
        let later = later(scenario, runs, &outcomes, &[]);
        Worse {
            what: self.what.clone(),
            by: self.by,
            back: later.map_or(back, |it| it.back),
        }
    }
}
