//! Does the contest take what the original's takes?

use std::time::Duration;

use becalm::support::Lone;

use crate::occ::published::{CLIENTS, Strategy};
use crate::occ::{self, Contest, Mean};
use crate::study::{Comparison, Plan, Tolerance};

/// From so few clients up the original's figures are far enough from chance to be compared.
const LEAST_CLIENTS: u32 = 50;

/// Trials of each point where no number is asked for: as in the original.
pub(super) const TRIALS: u32 = 100;

pub(super) fn check(plan: &Plan<'_>, quick: bool) -> Vec<Comparison> {
    let trials = if quick { 6 } else { TRIALS };
    let sizes = (0..).zip(CLIENTS);
    let sizes = sizes.filter(|(_, clients)| {
        *clients >= LEAST_CLIENTS && (!quick || [50, 100].contains(clients))
    });
    sizes
        .flat_map(|(at, clients)| compare(plan, (at, clients), trials))
        .collect()
}

fn compare(plan: &Plan<'_>, (at, clients): (usize, u32), trials: u32) -> Vec<Comparison> {
    let mut comparisons = Vec::new();
    for strategy in Strategy::ALL {
        let [calls, time] = strategy.figures().map(|it| it[at]);
        let lone = Lone::new(strategy.policy(), Duration::ZERO).ok();
        let contest = Contest::of(clients);
        let got = lone
            .and_then(|lone| occ::trials(&contest, &lone, plan.seed, trials, plan.threads).ok());
        let got = got.unwrap_or_default();
        let (of_calls, of_time) = strategy.tolerance();
        let figure = |what: &str, expected: u32, got: Mean, share: f64| {
            let expected = f64::from(expected);
            // The original's figure is a median of five means, and what is allowed is meant for such
            // a one. A single mean is off by more: three standard errors, or four where they are
            // themselves known from few trials.
            let deviations = if trials < TRIALS { 4.0 } else { 3.0 };
            let chance = deviations * got.error;
            Comparison {
                what: format!("{}, {clients} clients: {what}", strategy.name()),
                expected,
                got: got.value,
                tolerance: Tolerance::Absolute(share * expected + chance),
            }
        };
        comparisons.push(figure("calls", calls, got.calls, of_calls));
        comparisons.push(figure("time in ms", time, got.time, of_time));
    }
    comparisons
}
