//! Up to which load does a service come back by itself?

use std::time::Duration;

use becalm::{Budget, Policy, scope::Nested};

use crate::scenario::{Effect, Scenario, Service};

use super::load::{Multiplied, accepts, open_rate, requests};

/// Attempts for each first try that a policy can make for long while every attempt fails: its
/// attempts, or 1 + r where its budget allows retries for a share r of first tries, or 1 where its
/// budget is a `ratio`, which successes earn. The burst of a budget is spent once and plays no part,
/// and a floor is no share of first tries. Infinite for a policy that sets no bound.
///
/// The budgets `first-tries` and `window` are earned by first tries. The others, and a breaker, bound
/// in ways of their own: they are left out here, so that the policy may do better than this says.
pub fn most_attempts(policy: &Policy) -> f64 {
    let attempts = attempts_of(policy);
    let shares = policy.budget.kinds().filter_map(|kind| match kind {
        Budget::Ratio(_) => Some(0.0),
        Budget::FirstTries(tries) => Some(tries.ratio),
        Budget::Window(window) => Some(window.share),
        _ => None,
    });
    shares.fold(attempts, |most, share| most.min(1.0 + share))
}

/// The attempts of one call at most.
fn attempts_of(policy: &Policy) -> f64 {
    match policy.attempts {
        Policy::UNLIMITED => f64::INFINITY,
        attempts => f64::from(attempts),
    }
}

/// The hidden capacity, in first tries of all populations per second: up to it no service is filled
/// even while every attempt fails.
///
/// A service that serves mu requests per second is offered A lambda once all of lambda first tries
/// fail A times, and can come back only if that is below mu: lambda < mu / A, or mu / (1 + r) under
/// a budget (N. Bronson et al., *Metastable Failures in Distributed Systems*, `HotOS` 2021; L. Huang
/// et al., *Metastable Failures in the Wild*, OSDI 2022). Of several services it is the first that is
/// filled: calls to one behind another are multiplied by the attempts of every layer. Layers that know
/// of those above them ([`Nested`]) add theirs, or leave it to the outermost; a cache that a trigger empties, or that starts
/// empty, answers nothing unless it keeps late fills.
///
/// A service whose queue is shorter than its callers wait may carry more: what it refuses costs it
/// nothing. `None` where nothing bounds a service, or where closed loops alone call.
pub fn hidden_capacity(scenario: &Scenario) -> Option<f64> {
    let requests = failing(scenario, &|policy, _| most_attempts(policy));
    let filled = scenario.services.iter().zip(requests);
    let filled = filled
        .filter(|(service, load)| *load > 0.0 && accepts(service).is_finite())
        .map(|(service, load)| load / accepts(service));
    // The same mixture of calls, so much louder or quieter that its attempts fill one service.
    let most = filled.max_by(f64::total_cmp)?;
    Some(open_calls(scenario) / most)
}

/// Requests that arrive at each service per second while every attempt fails, where a policy makes so
/// many attempts of each call; it is told when its caller gives an attempt up. In the order of the
/// scenario.
pub(super) fn failing(
    scenario: &Scenario,
    attempts: &dyn Fn(&Policy, Option<Duration>) -> f64,
) -> Vec<f64> {
    let repeats = scenario.populations.iter().any(|population| {
        let mut variants = population.variants.iter();
        variants.any(|it| attempts(&it.policy, population.timeout) > 1.0)
    });
    let is_cold = |service: &Service| is_cold(scenario, service);
    let once = Multiplied {
        attempts: &|_, population| open_rate(scenario, population),
        steps: &|_, _, _| 1.0,
        is_cold: &is_cold,
    };
    let first_tries = requests(scenario, &once);
    let failing = Multiplied {
        attempts: &|_, population| {
            let rate = open_rate(scenario, population);
            if rate <= 0.0 {
                // Of a closed loop, which may have no bound on its attempts.
                return 0.0;
            }
            let all: f64 = population.variants.iter().map(|it| it.share).sum();
            let variants = population.variants.iter().filter(|it| it.share > 0.0);
            let each = variants.map(|it| it.share / all * attempts(&it.policy, population.timeout));
            rate * each.sum::<f64>()
        },
        steps: &|call, caller, load| {
            let alone = attempts(&call.policy, call.timeout);
            match call.policy.nested {
                Nested::Outermost if repeats && call.propagates => 1.0,
                Nested::Nearest if call.propagates => {
                    // Of all that the caller gets for one first try, one is a first attempt.
                    let above = load / first_tries.get(caller).copied().unwrap_or(load);
                    let added = (above + attempts_of(&call.policy) - 1.0) / above;
                    alone.min(added)
                }
                _ => alone,
            }
        },
        is_cold: &is_cold,
    };
    requests(scenario, &failing)
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
pub(crate) fn open_calls(scenario: &Scenario) -> f64 {
    let populations = scenario.populations.iter();
    populations.map(|it| open_rate(scenario, it)).sum()
}

/// Attempts of a call while all of them fail, as far as its deadline and its delays let it make them:
/// a call has half of the run for it on average.
pub(super) fn attempts_in_a_storm(
    scenario: &Scenario,
    policy: &Policy,
    timeout: Option<Duration>,
) -> f64 {
    let most = most_attempts(policy);
    // A budget of another kind bounds, too.
    let bounds = |kind: Budget| !matches!(kind, Budget::Concurrency(_));
    let most = if most.is_infinite() && policy.budget.kinds().any(bounds) {
        2.0
    } else {
        most
    };
    if most < MANY {
        return most;
    }
    let left = scenario.horizon.as_secs_f64() / 2.0;
    let left = policy
        .deadline
        .map_or(left, |it| left.min(it.as_secs_f64()));
    // Refused at once, unless nothing refuses.
    let refuses = scenario
        .services
        .iter()
        .any(|it| it.queue.is_some() || it.limit.is_some() || it.failures > 0.0);
    let fails = |effect: &Effect| {
        matches!(
            effect,
            Effect::Down { .. } | Effect::Failures { .. } | Effect::Deploy { .. }
        )
    };
    let refuses = refuses || scenario.triggers.iter().any(|it| fails(&it.effect));
    let answered = if refuses {
        2.0 * scenario.network.delay.mean()
    } else {
        policy
            .attempt_timeout
            .or(timeout)
            .map_or(left, |it| it.as_secs_f64())
    };
    let mut middle = || u64::MAX / 2;
    let delays: Vec<Duration> = policy.delays(&mut middle).take(STEPS).collect();
    let (mut attempts, mut passed) = (1.0, 0.0);
    for delay in &delays {
        passed += delay.as_secs_f64() + answered;
        if passed > left || attempts >= most {
            return attempts;
        }
        attempts += 1.0;
    }
    let last = delays.last().map_or(0.0, Duration::as_secs_f64) + answered;
    most.min(attempts + (left - passed) / last.max(1e-9))
}

/// Attempts from which on their delays are looked at, and delays that are.
const MANY: f64 = 16.0;
pub(super) const STEPS: usize = 64;
