//! What does the simulator make of the same calls to the service of a scenario file?

use becalm::Policy;
use becalm_sim::scenario::{Arrivals, Population, Scenario, Sharing, Trigger};

use super::outcome::Outcome;
use crate::drill::ledger::BUCKET;
use crate::drill::replay::DRAIN;
use crate::drill::setup::Setup;
use crate::drill::twin::Twin;

/// Runs the calls of each round, at the moments when they really began, through the service of the
/// file.
pub fn all(outcome: &Outcome, file: &Scenario) -> Vec<Twin> {
    let held = outcome.contenders.iter().zip(&outcome.rounds);
    held.filter_map(|(contender, round)| {
        let policy = &contender.variant.policy;
        let began = Arrivals::Trace(round.began.iter().copied().collect());
        let scenario = scenario(outcome, file, &round.setup, policy, began)?;
        Some(Twin::of(&scenario, &round.setup, policy, outcome.seed))
    })
    .collect()
}

/// The round as a scenario: the service and the network of the file, with the clients and the fault of the
/// drill.
fn scenario(
    outcome: &Outcome,
    file: &Scenario,
    setup: &Setup,
    policy: &Policy,
    began: Arrivals,
) -> Option<Scenario> {
    const CLIENTS: &str = "clients";
    let service = file.services.first()?.clone();
    let effect = outcome.trouble.effect(&service.name, CLIENTS)?;
    let clients = Population::new(CLIENTS, &service.name, began, policy.clone())
        .sharing(Sharing::Shared)
        .timeout(setup.client_timeout);
    let mut scenario = Scenario::new("drill", setup.length().saturating_add(DRAIN))
        .service(service)
        .population(clients)
        .trigger(Trigger::new(setup.before, setup.trigger, effect));
    scenario.network = file.network.clone();
    scenario.bucket = BUCKET;
    Some(scenario)
}
