//! How much work will a study be? Told before it begins.

use std::time::Duration;

use becalm::{Budget, Policy};

use crate::scenario::{Arrivals, Effect, Population, Scenario, Sharing, Stale, Variant};
use crate::world::at_rest;

use super::capacity::{failing, hidden_capacity, most_attempts, open_calls};
use super::load::{accepts, bottleneck, first_tries, is_bounded};
use super::stress::Stress;
use super::study::{Thoroughness, hurried};
use super::survival::POINTS;
use super::too_much::TooMuch;
use super::variation::{longer, louder};

/// The work of a study, guessed from its scenarios: the retries of a storm among it, where the load is
/// above the hidden capacity. Right to a factor of two or three, as nobody knows yet how soon a search
/// is sure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Foretold {
    /// Runs, at most.
    pub runs: u64,
    /// Events in all of them.
    pub events: u64,
    /// Clients with state of their own that have to be made, in all of them.
    pub clients: u64,
    /// Bytes of one run: its clients, instances, keys and buckets, and in a storm what waits in queues
    /// without a bound.
    pub bytes: u64,
}

/// Events of a request from its call to its answer, with a retry here and there: between five and eight
/// were counted in scenarios with one to three layers.
const OF_A_REQUEST: f64 = 7.0;
/// Half of a range that is searched by bisection or drawn as a map.
const MIDDLE: f64 = 0.56;
/// The mean factor of the lengths of a trigger in a search or a map, from an eighth to eight.
const LENGTH: f64 = 2.0;

impl Foretold {
    /// Of a study of these scenarios, a contender each, with so many runs of each case.
    pub(super) fn of(scenarios: &[Scenario], each: u32, thoroughness: Thoroughness) -> Self {
        let mut foretold = Self::default();
        for scenario in scenarios {
            foretold.add_contender(scenario, u64::from(each), thoroughness);
        }
        foretold
    }

    /// Whether a study of these scenarios may be begun that holds so many bytes at once.
    ///
    /// # Errors
    ///
    /// What makes it too large.
    pub(crate) fn check<'a>(
        &self,
        scenarios: impl IntoIterator<Item = &'a Scenario> + Clone,
        most: u64,
    ) -> Result<(), TooMuch> {
        let mut each = scenarios.clone().into_iter();
        if let Some(too_much) = each.find_map(|it| TooMuch::at_rest(it, most)) {
            return Err(too_much);
        }
        let largest = scenarios.into_iter().max_by_key(|it| events(it));
        match largest {
            Some(largest) if self.events > TooMuch::EVENTS => {
                Err(TooMuch::of_events(largest, self.runs, self.events))
            }
            _ => Ok(()),
        }
    }

    fn add_contender(&mut self, scenario: &Scenario, each: u64, thoroughness: Thoroughness) {
        // The scenario without its triggers, and again for its charts.
        let others = each.min(3) + 1;
        self.add(scenario, each + others);
        if !is_bounded(scenario) {
            return;
        }
        for worse in Stress::of(scenario) {
            self.add(&worse.scenario, each);
        }
        let Some(utilisation) = bottleneck(scenario).map(|it| it.utilisation()) else {
            return;
        };
        let shorter = hurried(scenario);
        let loaded = louder(&shorter, MIDDLE / utilisation);
        let lasts = scenario.triggers.iter().any(|it| !it.length.is_zero());
        if thoroughness.searches {
            self.add(&loaded, u64::from(POINTS) * each);
            self.add_outage(&shorter, each);
        }
        if let Some(map) = thoroughness.map.filter(|_| lasts) {
            let cells = u64::from(map.lengths) * u64::from(map.loads);
            self.add(&longer(&loaded, LENGTH), cells * u64::from(map.runs));
        }
    }

    /// Adds a search for the longest outage that it survives, at so many runs of each value.
    pub(crate) fn add_outage(&mut self, scenario: &Scenario, each: u64) {
        if scenario.triggers.iter().any(|it| !it.length.is_zero()) {
            self.add(&longer(scenario, LENGTH), u64::from(POINTS) * each);
        }
    }

    /// Adds so many runs of a scenario.
    pub(crate) fn add(&mut self, scenario: &Scenario, runs: u64) {
        self.runs = self.runs.saturating_add(runs);
        let events = runs.saturating_mul(events(scenario));
        self.events = self.events.saturating_add(events);
        let clients = clients(scenario);
        self.clients = self.clients.saturating_add(runs.saturating_mul(clients));
        let bytes = at_rest(scenario).saturating_add(waiting(scenario));
        self.bytes = self.bytes.max(bytes);
    }
}

/// Bytes of a request that waits, with the call that made it.
const OF_A_WAIT: f64 = 800.0;

/// Bytes of what waits in queues without a bound by the end of a run, where the load is above the hidden
/// capacity.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates, and is not negative
fn waiting(scenario: &Scenario) -> u64 {
    let opened = opened(scenario);
    if hidden_capacity(&opened).is_none_or(|hidden| hidden >= open_calls(&opened)) {
        return 0;
    }
    let begins = scenario.triggers.iter().map(|it| it.from).min();
    let left = scenario.horizon.saturating_sub(begins.unwrap_or_default());
    let loads = failing(&opened, &|policy, timeout| {
        attempts_in_a_storm(scenario, policy, timeout)
    });
    let each = scenario.services.iter().zip(loads).map(|(service, load)| {
        let more = (load - accepts(service)).max(0.0);
        let is_kept = service.queue.is_none() && service.stale == Stale::Served;
        if is_kept { more } else { 0.0 }
    });
    (each.sum::<f64>() * left.as_secs_f64() * OF_A_WAIT) as u64
}

/// Events of a run: of first tries, and of the retries while a trigger lasts, or to the end where the
/// load is above the hidden capacity.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates, and is not negative
fn events(scenario: &Scenario) -> u64 {
    let opened = opened(scenario);
    let calm: f64 = first_tries(&opened).iter().sum();
    let stormy = failing(&opened, &|policy, timeout| {
        attempts_in_a_storm(scenario, policy, timeout)
    });
    let more = (stormy.iter().sum::<f64>() - calm).max(0.0);
    let calls = open_calls(&opened);
    let stays = hidden_capacity(&opened).is_some_and(|hidden| hidden < calls);
    let horizon = scenario.horizon;
    let begins = scenario.triggers.iter().map(|it| it.from).min();
    let begins = begins.unwrap_or(horizon).min(horizon);
    let ends = if stays {
        horizon
    } else {
        scenario.triggers_end().clamp(begins, horizon)
    };
    let surplus = scenario.triggers.iter().map(|it| match it.effect {
        Effect::Load { factor, .. } => {
            (factor - 1.0).max(0.0) * it.length.min(horizon).as_secs_f64()
        }
        _ => 0.0,
    });
    let seconds = horizon.as_secs_f64() + surplus.sum::<f64>();
    let requests = calm * seconds + more * ends.saturating_sub(begins).as_secs_f64();
    (requests * OF_A_REQUEST) as u64
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
const STEPS: usize = 64;

/// The scenario with open loops in place of closed ones, which call as often: those who find a place
/// as the service answers them, and those who do not as soon as they have given up.
fn opened(scenario: &Scenario) -> Scenario {
    let mut opened = scenario.clone();
    for population in &mut opened.populations {
        let Arrivals::Closed { think } = &population.arrivals else {
            continue;
        };
        let target = scenario
            .services
            .iter()
            .find(|it| it.name == population.target);
        let round = think.mean() + target.map_or(0.0, |it| it.time.mean());
        let calls = f64::from(population.clients) / round.max(1e-6);
        let places = target.and_then(|it| {
            let of_each = f64::from(it.workers) + f64::from(it.queue?);
            Some(f64::from(it.instances) * of_each)
        });
        let outside = (f64::from(population.clients) - places.unwrap_or(f64::INFINITY)).max(0.0);
        let refused = outside / (think.mean() + until_given_up(scenario, population)).max(1e-6);
        let served = target.map_or(calls, |it| calls.min(accepts(it)));
        population.arrivals = Arrivals::Poisson(served + refused);
    }
    opened
}

/// Seconds that a call takes whose attempts are all refused at once.
fn until_given_up(scenario: &Scenario, population: &Population) -> f64 {
    let there_and_back = 2.0 * scenario.network.delay.mean();
    let Some(Variant { policy, .. }) = population.variants.first() else {
        return there_and_back;
    };
    let attempts = attempts_in_a_storm(scenario, policy, population.timeout);
    let mut middle = || u64::MAX / 2;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    // saturates, and is not negative
    let delays = policy
        .delays(&mut middle)
        .take((attempts as usize).saturating_sub(1));
    let waits: f64 = delays.take(STEPS).map(|it| it.as_secs_f64()).sum();
    waits + attempts * there_and_back
}

/// Clients of a run that have a state of their own.
fn clients(scenario: &Scenario) -> u64 {
    let own = scenario.populations.iter();
    let own = own.filter(|it| it.sharing != Sharing::Shared);
    own.map(|it| u64::from(it.clients)).sum()
}
