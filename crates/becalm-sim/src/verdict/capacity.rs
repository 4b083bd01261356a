//! Up to which load does a service come back by itself?

use becalm::{Budget, Nested, Policy};

use crate::scenario::{Cache, Effect, Scenario, Service};

use super::load::{accepts, bottleneck, misses, open_rate};

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

/// The hidden capacity, in first tries of all populations per second: where retries alone fill a
/// service, that which they fill first.
///
/// A service that serves mu requests per second is offered A lambda once all of lambda first tries
/// fail A times, and can come back only if that is below mu: lambda < mu / A, or mu / (1 + r) under
/// a budget (N. Bronson et al., *Metastable Failures in Distributed Systems*, `HotOS` 2021; L. Huang
/// et al., *Metastable Failures in the Wild*, OSDI 2022). The attempts of the services on the way
/// multiply, but where they know of the retries above them. A cache that a trigger empties, and that
/// does not keep late fills, answers nothing: behind it the capacity is that of the cold pair
/// (Bronson et al., section 2.2). Other caches count as warm. `None` where nothing bounds a service.
pub fn hidden_capacity(scenario: &Scenario) -> Option<f64> {
    // Without first tries nothing is retried either.
    bottleneck(scenario)?;
    let services = scenario.services.iter().zip(retried(scenario));
    let most = services
        .map(|(service, flow)| flow.all() / accepts(service))
        .filter(|it| !it.is_nan())
        .max_by(f64::total_cmp)?;
    // The same mixture of calls, so much louder or quieter that its attempts fill the service.
    Some(open_calls(scenario) / most)
}

/// First tries of all open loops per second.
pub(super) fn open_calls(scenario: &Scenario) -> f64 {
    let populations = scenario.populations.iter();
    populations.map(|it| open_rate(scenario, it)).sum()
}

/// Requests per second.
#[derive(Debug, Clone, Copy, Default)]
struct Flow {
    /// Those that somebody above repeats if they fail.
    repeated: f64,
    /// Those that nobody does.
    once: f64,
}

impl Flow {
    fn all(self) -> f64 {
        self.repeated + self.once
    }

    /// Adds all attempts that this policy can make for so many calls.
    fn add(&mut self, calls: f64, policy: &Policy) {
        // Not a number where none are multiplied without bound.
        if calls > 0.0 {
            let attempts = calls * most_attempts(policy);
            if policy.attempts > 1 {
                self.repeated += attempts;
            } else {
                self.once += attempts;
            }
        }
    }
}

/// Requests that arrive at each service per second while all fail, in the order of the scenario.
fn retried(scenario: &Scenario) -> Vec<Flow> {
    let place = |name: &str| scenario.services.iter().position(|it| it.name == name);
    let mut from_clients = vec![Flow::default(); scenario.services.len()];
    for population in &scenario.populations {
        let shares: f64 = population.variants.iter().map(|it| it.share).sum();
        let rate = open_rate(scenario, population);
        if let Some(flow) = place(&population.target).and_then(|at| from_clients.get_mut(at)) {
            for variant in &population.variants {
                flow.add(rate * variant.share / shares, &variant.policy);
            }
        }
    }
    // As many rounds as the longest path has steps.
    let mut flows = from_clients.clone();
    for _ in 1..scenario.services.len() {
        let mut next = from_clients.clone();
        for (service, flow) in scenario.services.iter().zip(&flows) {
            let cache = service.cache.as_ref();
            let missed = cache.map_or(1.0, |it| misses_of(scenario, service, it, *flow));
            for call in &service.calls {
                let Some(below) = place(&call.service).and_then(|at| next.get_mut(at)) else {
                    continue;
                };
                let calls = missed * f64::from(call.fan_out);
                let (mut plain, mut known) = (flow.all(), 0.0);
                if call.propagates && call.policy.nested == Nested::Suppress {
                    (plain, known) = (flow.once, flow.repeated);
                }
                below.add(plain * calls, &call.policy);
                if known * calls > 0.0 {
                    below.repeated += known * calls;
                }
            }
        }
        flows = next;
    }
    flows
}

/// The share of requests that a cache does not answer in the worst of times.
fn misses_of(scenario: &Scenario, service: &Service, cache: &Cache, flow: Flow) -> f64 {
    let is_emptied = scenario.triggers.iter().any(|trigger| {
        matches!(&trigger.effect, Effect::CacheLoss { service: of } if *of == service.name)
    });
    if is_emptied && !cache.keeps_late_fills {
        1.0
    } else {
        misses(cache, flow.all())
    }
}
