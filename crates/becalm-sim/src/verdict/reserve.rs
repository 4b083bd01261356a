//! Do many small clients hold more retries than the service can spare?

use becalm::budget::Ratio;
use becalm::policy::Mode;
use becalm::{Budget, Policy};

use super::examined::Examined;
use super::load::{bottleneck, open_rate};
use super::numbers::{list, plain};
use crate::engine::float;
use crate::scenario::{Population, Scenario, Sharing};

/// Seconds that a service may take to work off what small clients hold. A busy client's burst takes half a second of the load: more
/// than this only above 95 % of the capacity.
const LONG: f64 = 10.0;

/// Seconds of successes that the default's burst is: who earns more than it holds in them is no small client.
const USUAL: f64 = 5.0;

/// What is to be said where the service takes longer.
pub(super) fn too_many(examined: &[Examined]) -> Option<String> {
    let these: Vec<(&str, f64, f64)> = examined
        .iter()
        .filter_map(|it| {
            let held = held(&it.scenario);
            let takes = held / bottleneck(&it.scenario)?.spare();
            (takes > LONG && takes.is_finite()).then_some((it.name.as_str(), held, takes))
        })
        .collect();
    let worst = these.iter().max_by(|a, b| a.2.total_cmp(&b.2))?;
    let names: Vec<&str> = these.iter().map(|it| it.0).collect();
    Some(format!(
        "Under {} small clients hold {} retries, each the least of its budget: the service works them off in {} s beside its load, \
         and may be back that much later; give each of them fewer, such as budget=ratio:0.1,burst:1.",
        list(&names),
        plain(worst.1),
        plain(worst.2.round())
    ))
}

/// Retries that the clients hold which are too small to earn as many.
fn held(scenario: &Scenario) -> f64 {
    let of = |population: &Population| {
        let count = match population.sharing {
            Sharing::PerClient => float(population.clients.into()),
            Sharing::PerShard => float(population.clients.into()) * shards(scenario, population),
            Sharing::Shared => 1.0,
        };
        let rate = open_rate(scenario, population) / count;
        let each = population.variants.iter();
        each.map(|it| it.share * count * least(&it.policy, rate))
            .sum::<f64>()
    };
    scenario.populations.iter().map(of).sum()
}

/// Instances of the service that the population calls.
fn shards(scenario: &Scenario, population: &Population) -> f64 {
    let mut services = scenario.services.iter();
    let called = services.find(|it| it.name == population.target);
    called.map_or(1.0, |it| float(it.instances.into()))
}

/// The least that a budget holds, where this rate of calls does not earn more in half a second's worth of retries.
fn least(policy: &Policy, rate: f64) -> f64 {
    let ratios = policy.budget.kinds().filter_map(|it| match it {
        Budget::Ratio(ratio) | Budget::FirstTries(ratio) => Some(ratio),
        _ => None,
    });
    let repeats = policy.attempts > 1 && policy.mode == Mode::Enforce;
    let held = ratios.filter(|it| repeats && it.ratio * rate * USUAL <= it.held());
    held.map(Ratio::held).reduce(f64::min).unwrap_or_default()
}
