//! Up to which load does a service come back by itself?

use becalm::{Budget, Policy};

use crate::scenario::Scenario;

use super::load::bottleneck;

/// Attempts for each first try that a policy can make for long while every attempt fails: its
/// attempts, or 1 + r where its budget allows retries for a share r of first tries. The burst of a
/// budget is spent once and plays no part. Infinite for a policy that sets no bound.
///
/// Of the budgets, `ratio` and `window` bound by first tries. The others, and a breaker, bound by
/// what succeeds or by time, which is not a share of first tries: they are left out here, so that
/// the policy may do better than this says.
pub fn most_attempts(policy: &Policy) -> f64 {
    let attempts = match policy.attempts {
        Policy::UNLIMITED => f64::INFINITY,
        attempts => f64::from(attempts),
    };
    let all = match policy.budget {
        Budget::Ratio(_) | Budget::Window(_) | Budget::AllOf(_) => policy.budget.all_of(),
        _ => return attempts,
    };
    let ratio = all.ratio.map(|it| it.ratio);
    let window = all.window.map(|it| it.share);
    let shares = ratio.into_iter().chain(window).map(|share| 1.0 + share);
    shares.fold(attempts, f64::min)
}

/// The hidden capacity, in first tries of all populations per second: where their retries alone
/// fill the service nearest to its capacity.
///
/// A service that serves mu requests per second is offered A lambda once all of lambda first tries
/// fail A times, and can come back only if that is below mu: lambda < mu / A, or mu / (1 + r) under
/// a budget (N. Bronson et al., *Metastable Failures in Distributed Systems*, `HotOS` 2021; L. Huang
/// et al., *Metastable Failures in the Wild*, OSDI 2022). `None` where nothing bounds a service.
pub fn hidden_capacity(scenario: &Scenario) -> Option<f64> {
    let bottleneck = bottleneck(scenario)?;
    let calls = open_calls(scenario);
    let shares = scenario.populations.iter().flat_map(|population| {
        let shares: f64 = population.variants.iter().map(|it| it.share).sum();
        let rate = super::load::open_rate(scenario, population);
        let variants = population.variants.iter();
        variants.map(move |it| (rate * it.share / shares, most_attempts(&it.policy)))
    });
    let attempts: f64 = shares
        .filter(|(rate, _)| *rate > 0.0)
        .map(|(rate, attempts)| rate * attempts)
        .sum();
    // The same mixture of calls, so much louder or quieter that its attempts fill the service.
    Some(calls / bottleneck.utilisation() / (attempts / calls))
}

/// First tries of all open loops per second.
pub(super) fn open_calls(scenario: &Scenario) -> f64 {
    let populations = scenario.populations.iter();
    populations
        .map(|it| super::load::open_rate(scenario, it))
        .sum()
}
