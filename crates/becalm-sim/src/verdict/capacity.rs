//! Up to which load does a service come back by itself?

use becalm::{Budget, Nested, Policy};

use crate::scenario::{Downstream, Effect, Scenario, Service};

use super::load::{Multiplied, accepts, open_rate, requests};

/// Attempts for each first try that a policy can make for long while every attempt fails: its
/// attempts, or 1 + r where its budget allows retries for a share r of first tries, or 1 where its
/// budget is a `ratio`, which successes earn. The burst of a budget is spent once and plays no part,
/// and a floor is no share of first tries. Infinite for a policy that sets no bound.
///
/// The budgets `first-tries` and `window` are earned by first tries. The others, and a breaker, bound
/// in ways of their own: they are left out here, so that the policy may do better than this says.
pub fn most_attempts(policy: &Policy) -> f64 {
    let attempts = match policy.attempts {
        Policy::UNLIMITED => f64::INFINITY,
        attempts => f64::from(attempts),
    };
    let all = match policy.budget {
        Budget::Ratio(_) | Budget::FirstTries(_) | Budget::Window(_) | Budget::AllOf(_) => {
            policy.budget.all_of()
        }
        _ => return attempts,
    };
    let ratio = all.ratio.map(|_| 0.0);
    let first_tries = all.first_tries.map(|it| it.ratio);
    let window = all.window.map(|it| it.share);
    let shares = [ratio, first_tries, window].into_iter().flatten();
    shares.fold(attempts, |most, share| most.min(1.0 + share))
}

/// The hidden capacity, in first tries of all populations per second: up to it no service is filled
/// even while every attempt fails.
///
/// A service that serves mu requests per second is offered A lambda once all of lambda first tries
/// fail A times, and can come back only if that is below mu: lambda < mu / A, or mu / (1 + r) under
/// a budget (N. Bronson et al., *Metastable Failures in Distributed Systems*, `HotOS` 2021; L. Huang
/// et al., *Metastable Failures in the Wild*, OSDI 2022). Of several services it is the first that is
/// filled: calls to one behind another are multiplied by the attempts of every layer, but for layers
/// that see a retry above them and leave it that; a cache that a trigger empties, or that starts
/// empty, answers nothing unless it keeps late fills.
///
/// A service whose queue is shorter than its callers wait may carry more: what it refuses costs it
/// nothing. `None` where nothing bounds a service, or where closed loops alone call.
pub fn hidden_capacity(scenario: &Scenario) -> Option<f64> {
    let repeats = scenario.populations.iter().any(|population| {
        let mut variants = population.variants.iter();
        variants.any(|it| most_attempts(&it.policy) > 1.0)
    });
    let leaves_it = |call: &Downstream| {
        repeats && call.propagates && matches!(call.policy.nested, Nested::Outermost)
    };
    let failing = Multiplied {
        calls: &|population| {
            let all: f64 = population.variants.iter().map(|it| it.share).sum();
            let variants = population.variants.iter().filter(|it| it.share > 0.0);
            let attempts = variants.map(|it| it.share / all * most_attempts(&it.policy));
            attempts.sum()
        },
        steps: &|call| {
            if leaves_it(call) {
                1.0
            } else {
                most_attempts(&call.policy)
            }
        },
        is_cold: &|service| is_cold(scenario, service),
    };
    let filled = scenario.services.iter().zip(requests(scenario, &failing));
    let filled = filled
        .filter(|(service, load)| *load > 0.0 && accepts(service).is_finite())
        .map(|(service, load)| load / accepts(service));
    // The same mixture of calls, so much louder or quieter that its attempts fill one service.
    let most = filled.max_by(f64::total_cmp)?;
    Some(open_calls(scenario) / most)
}

/// Whether the cache of a service is empty at some time, and stays so while all that it asks fail:
/// one that keeps late fills fills again under any load.
fn is_cold(scenario: &Scenario, service: &Service) -> bool {
    let is_lost = scenario.triggers.iter().any(|trigger| {
        matches!(&trigger.effect, Effect::CacheLoss { service: of } if *of == service.name)
    });
    let cache = service.cache.as_ref();
    cache.is_some_and(|it| !it.keeps_late_fills && (is_lost || !it.starts_warm))
}

/// First tries of all open loops per second.
pub(super) fn open_calls(scenario: &Scenario) -> f64 {
    let populations = scenario.populations.iter();
    populations.map(|it| open_rate(scenario, it)).sum()
}
