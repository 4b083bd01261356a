//! How much work will a study be? Told before it begins.

use std::mem::size_of;

use becalm::shared::Shared;

use crate::scenario::{Arrivals, Scenario, Sharing};

use super::load::{accepts, bottleneck, first_tries, is_bounded};
use super::stress::Stress;
use super::study::{Thoroughness, hurried};
use super::survival::POINTS;
use super::variation::{longer, louder};

/// The work of a study, guessed from its scenarios: right to a factor of two or three, as nobody knows
/// yet how many retries there will be and how soon a search is sure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Foretold {
    /// Runs, at most.
    pub runs: u64,
    /// Events in all of them.
    pub events: u64,
    /// Clients with state of their own that have to be made, in all of them.
    pub clients: u64,
    /// Bytes of the clients of one run, where most of them have something to remember.
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
            if lasts {
                self.add(&longer(&shorter, LENGTH), u64::from(POINTS) * each);
            }
        }
        if let Some(map) = thoroughness.map.filter(|_| lasts) {
            let cells = u64::from(map.lengths) * u64::from(map.loads);
            self.add(&longer(&loaded, LENGTH), cells * u64::from(map.runs));
        }
    }

    fn add(&mut self, scenario: &Scenario, runs: u64) {
        self.runs = self.runs.saturating_add(runs);
        let events = runs.saturating_mul(events(scenario));
        self.events = self.events.saturating_add(events);
        let clients = clients(scenario);
        self.clients = self.clients.saturating_add(runs.saturating_mul(clients));
        let each = size_of::<Shared>() as u64;
        self.bytes = self.bytes.max(clients.saturating_mul(each));
    }
}

/// Events of a run.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates, and is not negative
fn events(scenario: &Scenario) -> u64 {
    let requests: f64 = first_tries(&opened(scenario)).iter().sum();
    (requests * scenario.horizon.as_secs_f64() * OF_A_REQUEST) as u64
}

/// The scenario with open loops in place of closed ones, which call as often if the service keeps
/// up with them.
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
        let rate = target.map_or(calls, |it| calls.min(accepts(it)));
        population.arrivals = Arrivals::Poisson(rate);
    }
    opened
}

/// Clients of a run that have a state of their own.
fn clients(scenario: &Scenario) -> u64 {
    let own = scenario.populations.iter();
    let own = own.filter(|it| it.sharing == Sharing::PerClient);
    own.map(|it| u64::from(it.clients)).sum()
}
