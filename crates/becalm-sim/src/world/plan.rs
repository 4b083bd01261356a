//! Who calls whom, by number? A scenario with its names looked up, once before a run.

use std::sync::Arc;
use std::time::Duration;

use becalm::rng::{Random, SplitMix64};
use becalm::support::Unheld;
use becalm::time::{ClockId, Instant};
use becalm::{Policy, Scope, call::CallOptions, shared::Shared};

use super::owners::{Made, only_deposits};
use crate::engine::Distribution;
pub(super) use crate::engine::nanos;
use crate::scenario::{
    Downstream, Population, Routing, Scenario, Service, Sharing, Stale, Variant,
};

/// What is looked up.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    pub scenario: &'a Scenario,
    /// What every message takes, if all take as long.
    pub delay: Option<u64>,
    pub lines: Vec<Line>,
    /// For each population.
    pub callers: Vec<Caller>,
    /// For each service, the first of the lines of its calls.
    pub first_line_of: Vec<usize>,
    /// Those who have a state that their calls share: a client, an instance, all of them.
    pub owners: usize,
    /// Their states, as far as they are made.
    pub made: Made,
}

/// A caller, a service and a policy between them.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools)] // facts that do not depend on each other
pub(super) struct Line {
    /// The service that is called.
    pub target: usize,
    /// When an attempt is given up, in nanoseconds; `u64::MAX` for never.
    pub timeout: u64,
    /// The policy's deadline, in nanoseconds; `u64::MAX` for none.
    pub deadline: u64,
    pub options: CallOptions,
    /// The state of an owner whose calls have not begun.
    pub fresh: Arc<Shared>,
    /// Whether a call that succeeds at once leaves no more behind than a deposit.
    pub only_deposits: bool,
    /// Such a call that has begun at 0, where all are like it.
    pub first: Option<Unheld>,
    /// Whether a guard may make an attempt wait.
    pub may_wait: bool,
    pub may_hedge: bool,
    /// Whether the service asks for the key of a request.
    pub is_keyed: bool,
    /// Whether the service hands the scope of a request on.
    pub is_scoped: bool,
    /// Whether the service asks for more of a request than what every service does.
    pub has_details: bool,
    /// Whether the caller hands the scope of its own request on.
    pub propagates: bool,
    /// Whether the caller answers with a permanent error where such a call gives up.
    pub fails_for_good: bool,
    /// The first instance from which nothing is refused on its way, and the first of those after it
    /// from which something arrives.
    pub arrives_from: (u32, u32),
    first_owner: usize,
    sharing: Sharing,
    /// The states of each owner: one for each instance of the service, or one.
    shards: u32,
}

/// The clients of a population.
#[derive(Debug)]
pub(super) struct Caller {
    pub first_line: usize,
    /// For each variant, the first client that has none of it or of those before.
    ends: Vec<u32>,
}

impl<'a> Plan<'a> {
    /// `None` for a scenario that is not valid.
    pub fn new(scenario: &'a Scenario) -> Option<Self> {
        scenario.validate().ok()?;
        let mut plan = Self {
            scenario,
            delay: match scenario.network.delay {
                Distribution::Constant(time) => Some(nanos(time)),
                _ => None,
            },
            lines: Vec::new(),
            callers: Vec::new(),
            first_line_of: Vec::new(),
            owners: 0,
            made: Made::of(0),
        };
        for population in &scenario.populations {
            plan.population(population)?;
        }
        for service in &scenario.services {
            plan.first_line_of.push(plan.lines.len());
            for downstream in &service.calls {
                plan.downstream(service, downstream)?;
            }
        }
        plan.made = Made::of(plan.owners);
        Some(plan)
    }

    fn population(&mut self, population: &Population) -> Option<()> {
        let first_line = self.lines.len();
        let ends = shares_of(population.clients, &population.variants);
        let first_owner = self.owners;
        for (variant, (start, end)) in population.variants.iter().zip(spans(&ends)) {
            let line = self.line(&population.target, &variant.policy, population.timeout)?;
            let shards = self.shards(population.sharing, line.target);
            let owners = match population.sharing {
                Sharing::PerClient | Sharing::PerShard => end - start,
                Sharing::Shared => 1,
            };
            let mut line = Line {
                first_owner,
                sharing: population.sharing,
                shards,
                options: {
                    let mut options = CallOptions::new();
                    options.operation = population.operation;
                    options.priority = population.priority;
                    options
                },
                ..line
            };
            line.all_begin_alike();
            self.lines.push(line);
            self.owners += (owners as usize).saturating_mul(shards as usize);
        }
        self.callers.push(Caller { first_line, ends });
        Some(())
    }

    fn downstream(&mut self, service: &Service, downstream: &Downstream) -> Option<()> {
        let line = self.line(&downstream.service, &downstream.policy, downstream.timeout)?;
        let shards = self.shards(downstream.sharing, line.target);
        let owners = match downstream.sharing {
            Sharing::PerClient | Sharing::PerShard => service.instances,
            Sharing::Shared => 1,
        };
        let mut line = Line {
            first_owner: self.owners,
            sharing: downstream.sharing,
            shards,
            propagates: downstream.propagates,
            fails_for_good: downstream.fails_for_good,
            arrives_from: (
                downstream.refused_from,
                downstream
                    .refused_from
                    .saturating_add(downstream.silent_from),
            ),
            ..line
        };
        if !line.propagates {
            line.all_begin_alike();
        }
        self.lines.push(line);
        self.owners += (owners as usize).saturating_mul(shards as usize);
        Some(())
    }

    /// How many states each owner has.
    fn shards(&self, sharing: Sharing, target: usize) -> u32 {
        match sharing {
            Sharing::PerShard => self.scenario.services[target].instances,
            Sharing::PerClient | Sharing::Shared => 1,
        }
    }

    fn line(&self, target: &str, policy: &Policy, timeout: Option<Duration>) -> Option<Line> {
        let services = &self.scenario.services;
        let target = services.iter().position(|service| service.name == target)?;
        let service = services.get(target)?;
        let limit = |time: Option<Duration>| time.map_or(u64::MAX, nanos);
        let is_keyed = service.cache.is_some() || service.routing == Routing::ByKey;
        Some(Line {
            target,
            timeout: limit(policy.attempt_timeout.or(timeout)),
            deadline: limit(policy.deadline),
            options: CallOptions::new(),
            // On one clock: deadlines are handed down on it.
            fresh: Arc::new(
                Shared::new(policy.clone(), Duration::ZERO)
                    .ok()?
                    .on_clock(ClockId::PROCESS),
            ),
            only_deposits: only_deposits(policy),
            first: None,
            may_wait: policy.bulkhead.is_some() || policy.rate.is_some(),
            may_hedge: policy.hedge.is_some(),
            is_keyed,
            has_details: is_keyed
                || !service.calls.is_empty()
                || service.stale == Stale::PastDeadline,
            is_scoped: service.calls.iter().any(|call| call.propagates),
            propagates: false,
            fails_for_good: false,
            arrives_from: (0, 0),
            first_owner: 0,
            sharing: Sharing::PerClient,
            shards: 1,
        })
    }

    /// The line of a client, and the first owner of its states.
    #[inline]
    pub fn of_client(&self, population: u32, client: u32) -> (usize, usize) {
        let caller = &self.callers[population as usize];
        let variant = match caller.ends.len() {
            1 => 0,
            _ => caller.ends.partition_point(|end| *end <= client),
        };
        let line = caller.first_line + variant;
        let of = &self.lines[line];
        let at = match of.sharing {
            Sharing::PerClient => client as usize,
            Sharing::PerShard => client as usize * of.shards as usize,
            Sharing::Shared => variant,
        };
        (line, of.first_owner + at)
    }

    /// The first owner of the states of an instance that calls.
    #[inline]
    pub fn of_instance(&self, line: usize, instance: u32) -> usize {
        let of = &self.lines[line];
        let at = match of.sharing {
            Sharing::PerClient => instance as usize,
            Sharing::PerShard => instance as usize * of.shards as usize,
            Sharing::Shared => 0,
        };
        of.first_owner + at
    }
}

impl Line {
    /// Whose state a call uses which asks for this key.
    #[inline]
    pub fn owner(&self, first: usize, key: u64) -> usize {
        let at = match self.shards {
            1 => 0,
            shards => shard(key, shards),
        };
        first + at as usize
    }

    /// No call has anything above it: where no state hears of its beginning, one begins as another.
    fn all_begin_alike(&mut self) {
        if self.only_deposits {
            self.first = Unheld::begin(&self.fresh, &self.options, Scope::NONE, Instant::ZERO);
        }
    }
}

/// Spreads clients over variants by their shares: whole parts first, what is left to the largest
/// remainders, of equal ones to the first.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss
)] // shares are not negative, and clients are counted in 32 bits
fn shares_of(clients: u32, variants: &[Variant]) -> Vec<u32> {
    let sum: f64 = variants.iter().map(|variant| variant.share).sum();
    let exact: Vec<f64> = variants
        .iter()
        .map(|variant| f64::from(clients) * (variant.share / sum))
        .collect();
    let mut counts: Vec<u64> = exact.iter().map(|share| *share as u64).collect();
    let left = u64::from(clients).saturating_sub(counts.iter().sum());
    let mut by_remainder: Vec<usize> = (0..exact.len()).collect();
    let remainder = |at: &usize| exact[*at] - counts[*at] as f64;
    by_remainder.sort_by(|a, b| remainder(b).total_cmp(&remainder(a)));
    for at in by_remainder.into_iter().take(left as usize) {
        counts[at] += 1;
    }
    let mut end = 0;
    let ends = counts.iter().map(|count| {
        end = (end + count).min(u64::from(clients));
        end as u32
    });
    let mut ends: Vec<u32> = ends.collect();
    if let Some(last) = ends.last_mut() {
        *last = clients;
    }
    ends
}

fn spans(ends: &[u32]) -> impl Iterator<Item = (u32, u32)> {
    let starts = std::iter::once(0).chain(ends.iter().copied());
    starts.zip(ends.iter().copied())
}

/// The instance that the bits of a call belong to.
pub(super) fn shard(bits: u64, instances: u32) -> u32 {
    // Not the bits themselves: those of hot keys would go to few instances.
    let mixed = SplitMix64::new(bits).next_u64();
    u32::try_from((u128::from(mixed) * u128::from(instances)) >> 64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_spread_by_the_largest_remainder() {
        let spread = |clients, shares: &[f64]| {
            let variants: Vec<_> = shares
                .iter()
                .map(|share| Variant {
                    policy: Policy::default(),
                    share: *share,
                })
                .collect();
            let ends = shares_of(clients, &variants);
            spans(&ends)
                .map(|(start, end)| end - start)
                .collect::<Vec<_>>()
        };
        assert_eq!(spread(10, &[0.5, 0.5]), [5, 5]);
        assert_eq!(spread(10, &[1.0, 1.0, 1.0]), [4, 3, 3]);
        assert_eq!(spread(3, &[0.1, 0.9]), [0, 3]);
        assert_eq!(spread(7, &[0.0, 2.0]), [0, 7]);
        assert_eq!(spread(1, &[0.4, 0.6]), [0, 1]);
    }
}
