//! Can a verdict be given on a scenario at all?

use std::fmt;
use std::time::Duration;

use becalm::duration::Human;

use crate::scenario::{InvalidScenario, Phases, Scenario};

/// Why there is no verdict on a scenario. `Display` names the field and the remedy.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Unjudgeable {
    /// It cannot be run.
    Invalid(InvalidScenario),
    /// It ends before anybody could see what comes of its triggers.
    TooShort {
        /// How long it lasts.
        horizon: Duration,
        /// How long it has to last.
        least: Duration,
    },
}

impl fmt::Display for Unjudgeable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(invalid) => invalid.fmt(f),
            Self::TooShort { horizon, least } => write!(
                f,
                "the horizon of {} is too short to see what comes of the triggers; make it at least \
                 {}",
                Human(*horizon),
                Human(*least)
            ),
        }
    }
}

impl std::error::Error for Unjudgeable {}

/// Checks that a verdict can be given: the scenario is valid, and two windows of time are left after its
/// last trigger.
///
/// # Errors
///
/// What is wrong, with its remedy.
pub fn judgeable(scenario: &Scenario) -> Result<(), Unjudgeable> {
    scenario.validate().map_err(Unjudgeable::Invalid)?;
    let phases = Phases::of(scenario);
    if phases.leave_time() {
        return Ok(());
    }
    let windows = u32::try_from(2 * phases.window).unwrap_or(u32::MAX);
    // A bucket more, as the triggers may end in the middle of one.
    let after = scenario.bucket.saturating_mul(windows.saturating_add(1));
    Err(Unjudgeable::TooShort {
        horizon: scenario.horizon,
        least: scenario.triggers_end().saturating_add(after),
    })
}
