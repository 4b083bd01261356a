//! Can a verdict be given on a scenario at all?

use std::fmt;
use std::time::Duration;

use becalm::support::Human;

use crate::scenario::{InvalidScenario, Phases, Scenario};

/// Why there is no verdict on a scenario. `Display` names the field and the remedy.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Unjudgeable {
    /// It cannot be run.
    Invalid(InvalidScenario),
    /// Its steps are so long that too few are left after its triggers.
    Coarse {
        /// The step in which everything is counted.
        bucket: Duration,
        /// How long it may be.
        most: Duration,
    },
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
            Self::Coarse { bucket, most } => write!(
                f,
                "the bucket of {} is too long to see what comes of the triggers; make it at most {}",
                Human(*bucket),
                Human(*most)
            ),
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

/// What two windows take at least, of the finest steps, with one more.
const TWO_SECONDS: Duration = Duration::from_millis(2_100);
/// Steps of two windows, with one more as the triggers may end in the middle of one.
const STEPS: u32 = 21;

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
    let left = scenario.horizon.saturating_sub(scenario.triggers_end());
    if left >= TWO_SECONDS && scenario.bucket > left / STEPS {
        return Err(Unjudgeable::Coarse {
            bucket: scenario.bucket,
            most: left / STEPS,
        });
    }
    let windows = u32::try_from(2 * phases.window).unwrap_or(u32::MAX);
    // A bucket more, as the triggers may end in the middle of one.
    let after = scenario.bucket.saturating_mul(windows.saturating_add(1));
    Err(Unjudgeable::TooShort {
        horizon: scenario.horizon,
        least: scenario.triggers_end().saturating_add(after),
    })
}
