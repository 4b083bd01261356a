//! How much work will a search for a policy be?

use crate::study::Foretold;

use super::halving::kept;
use super::trial::Trial;

/// How often a search runs what.
pub(super) struct Effort<'a> {
    /// Runs of a case in each round.
    pub rounds: &'a [u32],
    /// Policies that stay to the end, however they fare.
    pub always: usize,
    /// Policies that are left at the end, at least.
    pub least: usize,
    /// Fresh runs of each case of the front and of the given policy.
    pub fresh: u32,
    /// Runs of each value of the two searches for an outage; 0 for no search.
    pub outage: u32,
}

/// The work of a search among these policies, the given one first. As which of them are left is not known, each
/// counts with its share of the runs.
pub(super) fn foretold(trials: &[Trial], effort: &Effort<'_>) -> Foretold {
    let mut foretold = Foretold::default();
    let Some(given) = trials.first() else {
        return foretold;
    };
    let (mut left, mut last, mut runs) = (trials.len(), 0, 0);
    for round in effort.rounds {
        runs += left as u64 * u64::from(*round);
        last = left;
        left = (kept(left, effort.least) + effort.always).min(left);
    }
    // All that have the last round may be the front. There is a ruling on the recommended policy and on the given one.
    runs += (last as u64 + 3) * u64::from(effort.fresh);
    let share = runs.div_ceil(trials.len() as u64);
    for case in trials.iter().flat_map(Trial::cases) {
        foretold.add(case, share);
    }
    foretold.add_outage(&given.scenario, 2 * u64::from(effort.outage));
    foretold
}
