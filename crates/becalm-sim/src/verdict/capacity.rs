//! Up to which load does a service come back by itself?

use becalm::{Budget, Nested, Policy};

use crate::scenario::{Downstream, Effect, Scenario, Service};

use super::load::{Multiplied, accepts, requests};

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
        repeats && call.propagates && matches!(call.policy.nested, Nested::Suppress)
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
