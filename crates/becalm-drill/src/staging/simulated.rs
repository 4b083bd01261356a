//! What does the simulator make of the same calls to the service of a scenario file?

use std::time::Duration;

use becalm::Policy;
use becalm_sim::scenario::{Arrivals, Population, Scenario, Sharing, Trigger};

use super::growth::is_growing;
use super::outcome::Outcome;
use super::plan::Plan;
use super::round::{MORE, Round};
use crate::ledger::BUCKET;
use crate::replay::drain;
use crate::twin::Twin;

/// Runs the calls of each round, at the moments when they really began, through the service of the
/// file.
pub fn all(outcome: &Outcome, plan: &Plan, file: &Scenario) -> Vec<Twin> {
    let held = outcome.contenders.iter().zip(&outcome.rounds);
    held.filter_map(|(contender, round)| {
        one(plan, file, round, &contender.variant.policy, outcome.seed)
    })
    .collect()
}

/// One round. It goes on as a drill does, for what takes longer than in truth is not down: while more and more calls succeed,
/// those of the time after the fault come again.
fn one(plan: &Plan, file: &Scenario, round: &Round, policy: &Policy, seed: u64) -> Option<Twin> {
    let mut longer = round.clone();
    loop {
        let scenario = scenario(plan, file, &longer, policy)?;
        let Round { setup, lead, .. } = &longer;
        let twin = Twin::of(&scenario, setup, *lead, policy, seed);
        let length = setup.length();
        let is_seen = twin.judged.verdict == Ok(None) || length + MORE > plan.most;
        if is_seen || !is_growing(&twin.recording, setup, round.machine.patience, length) {
            return Some(twin);
        }
        longer.setup.after += MORE;
        longer.began = calls(round, longer.setup.length());
    }
}

/// When the calls of a round begin that is so long.
fn calls(round: &Round, length: Duration) -> Vec<Duration> {
    let Round { setup, began, .. } = round;
    let mut calls = began.clone();
    let after = began.iter().filter(|it| **it >= setup.trigger_end());
    let (mut later, mut end) = (Duration::ZERO, setup.length());
    while end < length && !setup.after.is_zero() {
        later += setup.after;
        end += setup.after;
        calls.extend(
            after
                .clone()
                .map(|it| *it + later)
                .filter(|it| *it < length),
        );
    }
    // The last calls of a round may be late.
    calls.sort_unstable();
    calls
}

/// The round as a scenario: the service and the network of the file, with the clients and the fault of the
/// drill.
fn scenario(plan: &Plan, file: &Scenario, round: &Round, policy: &Policy) -> Option<Scenario> {
    const CLIENTS: &str = "clients";
    let service = file.services.first()?.clone();
    let is_broken_behind = plan.is_broken_behind();
    let effect = plan
        .trouble
        .effect(is_broken_behind, &service.name, CLIENTS)?;
    let Round { setup, began, .. } = round;
    let began = Arrivals::Trace(began.iter().copied().collect());
    let clients = Population::new(CLIENTS, &service.name, began, policy.clone())
        .sharing(Sharing::Shared)
        .timeout(setup.client_timeout);
    let horizon = setup.length().saturating_add(drain(round.machine.patience));
    let mut scenario = Scenario::new("drill", horizon)
        .service(service)
        .population(clients)
        .trigger(Trigger::new(setup.before, setup.trigger, effect));
    scenario.network = file.network.clone();
    scenario.bucket = BUCKET;
    Some(scenario)
}
