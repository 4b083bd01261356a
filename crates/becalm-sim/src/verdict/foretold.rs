//! How much work will a study be? Told before it begins.

use crate::scenario::{Arrivals, Effect, Population, Scenario, Sharing, Stale, Variant};
use crate::study::Foretold;
use crate::world::{at_rest, is_made_at_once, of_states};

use super::brief::Thoroughness;
use super::capacity::{STEPS, attempts_in_a_storm, failing, hidden_capacity, open_calls};
use super::load::{accepts, bottleneck, first_tries, is_bounded, open_rate};
use super::stress::Stress;
use super::survival::POINTS;
use super::too_much::TooMuch;
use super::variation::{hurried, longer, louder, prolonged};

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
        // The scenario without its triggers.
        let others = each.min(3);
        self.add(scenario, each + others);
        if !thoroughness.rules || !is_bounded(scenario) {
            return;
        }
        self.add_later(scenario, each);
        for worse in Stress::of(scenario) {
            self.add(&worse.scenario, each);
            self.add_later(&worse.scenario, each);
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

    /// Adds the runs that go on where none comes back, as is likely above the hidden capacity.
    fn add_later(&mut self, scenario: &Scenario, each: u64) {
        let opened = opened(scenario);
        let hidden = hidden_capacity(&opened);
        let is_lost = hidden.is_some_and(|hidden| hidden < open_calls(&opened));
        let longer = prolonged(scenario, events(scenario));
        if let Some(longer) = longer.filter(|_| is_lost && !scenario.triggers.is_empty()) {
            self.add(&longer, each.min(2));
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
        let (at_once, as_calls_fail) = clients(scenario);
        let clients = at_once.saturating_add(as_calls_fail);
        self.clients = self.clients.saturating_add(runs.saturating_mul(clients));
        let comes = waiting(scenario).saturating_add(of_states(as_calls_fail));
        let bytes = at_rest(scenario).saturating_add(comes);
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
    let horizon = scenario.horizon;
    let surplus = scenario.triggers.iter().map(|it| match it.effect {
        Effect::Load { factor, .. } => {
            (factor - 1.0).max(0.0) * it.length.min(horizon).as_secs_f64()
        }
        _ => 0.0,
    });
    let seconds = horizon.as_secs_f64() + surplus.sum::<f64>();
    let requests = calm * seconds + more * stormy_seconds(scenario, &opened);
    (requests * OF_A_REQUEST) as u64
}

/// How long calls fail: while a trigger lasts, or to the end where the load is above the hidden capacity.
fn stormy_seconds(scenario: &Scenario, opened: &Scenario) -> f64 {
    let stays = hidden_capacity(opened).is_some_and(|hidden| hidden < open_calls(opened));
    let horizon = scenario.horizon;
    let begins = scenario.triggers.iter().map(|it| it.from).min();
    let begins = begins.unwrap_or(horizon).min(horizon);
    let ends = if stays {
        horizon
    } else {
        scenario.triggers_end().clamp(begins, horizon)
    };
    ends.saturating_sub(begins).as_secs_f64()
}

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

/// Clients of a run for which a state is made: those that have one from their first call on, and those that get one as a call of
/// theirs fails.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates, and is not negative
fn clients(scenario: &Scenario) -> (u64, u64) {
    let opened = opened(scenario);
    let seconds = stormy_seconds(scenario, &opened);
    let populations = scenario.populations.iter().zip(&opened.populations);
    let own = populations.filter(|(it, _)| it.sharing != Sharing::Shared);
    own.fold((0, 0), |(at_once, as_calls_fail), (it, opened)| {
        let clients = u64::from(it.clients);
        if is_made_at_once(it) {
            return (at_once + clients, as_calls_fail);
        }
        let calls = (open_rate(scenario, opened) * seconds) as u64;
        (at_once, as_calls_fail + clients.min(calls))
    })
}
