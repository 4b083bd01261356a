//! How long a horizon is enough to say whether a service comes back?

use std::time::Duration;

use crate::scenario::Scenario;

use super::judge::judge;
use super::later::{Later, beyond, whole};
use super::outcome::Outcome;
use super::runner::Runner;
use super::runs::Runs;
use super::variation::is_too_much;

/// How long runs get at most where that is the study's choice, and where a horizon that is enough is looked for.
pub(super) const LONGEST: Duration = Duration::from_secs(600);

/// Runs all again with the horizon that is foretold to be enough, and with longer ones while the verdict is still open: a
/// horizon that is asked for has been tried with the same seeds. None is asked for where none up to [`LONGEST`] will do, and
/// where the runs would take too much.
pub(super) fn enough<R: Runner>(
    scenario: &Scenario,
    runs: &Runs<'_, R>,
    outcomes: &[Outcome],
    open: &mut Later,
) {
    let places: Vec<u32> = (0..).zip(outcomes).map(|it| it.0).collect();
    let most = whole(LONGEST.max(open.horizon));
    let events = outcomes.iter().map(|it| it.events).max().unwrap_or(0);
    let mut longer = scenario.clone();
    while let Some(needs) = open.needs.take().filter(|it| *it <= most) {
        if is_too_much(scenario, events, needs) {
            return;
        }
        longer.horizon = needs;
        let outcomes = runs.again(&longer, &places, |it| judge(&longer, it));
        if outcomes.len() < places.len() {
            return;
        }
        let still = beyond(&longer, runs, &outcomes, &[]).filter(|it| it.is_open);
        let Some(still) = still else {
            open.needs = Some(needs);
            return;
        };
        open.horizon = open.horizon.max(still.horizon);
        // In few steps.
        let more = whole(needs.saturating_mul(3) / 2);
        open.needs = still.needs.map(|it| it.max(more).min(most));
        open.needs = open.needs.filter(|it| *it > needs);
    }
}
