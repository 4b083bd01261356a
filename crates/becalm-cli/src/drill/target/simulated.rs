//! What does the simulator make of the same calls to the service of a scenario file?

use becalm::Policy;
use becalm_sim::scenario::{Arrivals, Population, Scenario, Sharing, Trigger};

use super::outcome::Outcome;
use super::plan::Plan;
use super::round::Round;
use crate::drill::ledger::BUCKET;
use crate::drill::replay::drain;
use crate::drill::twin::Twin;

/// Runs the calls of each round, at the moments when they really began, through the service of the
/// file.
pub fn all(outcome: &Outcome, plan: &Plan, file: &Scenario) -> Vec<Twin> {
    let held = outcome.contenders.iter().zip(&outcome.rounds);
    held.filter_map(|(contender, round)| {
        let policy = &contender.variant.policy;
        let began = Arrivals::Trace(round.began.iter().copied().collect());
        let scenario = scenario(plan, file, round, policy, began)?;
        let Round { setup, lead, .. } = round;
        Some(Twin::of(&scenario, setup, *lead, policy, outcome.seed))
    })
    .collect()
}

/// The round as a scenario: the service and the network of the file, with the clients and the fault of the
/// drill.
fn scenario(
    plan: &Plan,
    file: &Scenario,
    round: &Round,
    policy: &Policy,
    began: Arrivals,
) -> Option<Scenario> {
    const CLIENTS: &str = "clients";
    let service = file.services.first()?.clone();
    let is_broken_behind = plan.is_broken_behind();
    let effect = plan
        .trouble
        .effect(is_broken_behind, &service.name, CLIENTS)?;
    let setup = &round.setup;
    let clients = Population::new(CLIENTS, &service.name, began, policy.clone())
        .sharing(Sharing::Shared)
        .timeout(setup.client_timeout);
    let horizon = setup.length().saturating_add(drain(round.patience));
    let mut scenario = Scenario::new("drill", horizon)
        .service(service)
        .population(clients)
        .trigger(Trigger::new(setup.before, setup.trigger, effect));
    scenario.network = file.network.clone();
    scenario.bucket = BUCKET;
    Some(scenario)
}
