//! `small-clients`: does a budget bound anything where each client makes few calls?

use std::time::Duration;

use becalm::{Budget, Policy};

use super::asked::{World, count};
use super::entry::Studied;
use super::measure::{clients, compare, float, with_quiet_end, worst};
use super::parts::{callers, unbounded};
use super::{Entry, Parameters, usual};
use crate::engine::each_in_order;
use crate::record::{PopulationRecord, total};
use crate::scenario::{Effect, Scenario, Sharing, Trigger};
use crate::study::{Comparison, Plan, Tolerance};
use crate::{oracle, world};

/// The entry.
pub const SMALL_CLIENTS: Entry = Entry {
    name: "small-clients",
    title: "budgets of many clients with few calls each",
    question: "Does a budget of each client bound the retries of a fleet?",
    answer: "Not once the bursts of all, B n, are more than the retries that the policy would ask \
             for: then every client retries as if it had no budget, and the fleet sends A times its \
             load. One budget that all share restores 1 + r.",
    sources: &[
        source!("Marc Brooker: Fixing retries with token buckets and circuit breakers, 2022"
            at "https://brooker.co.za/blog/2022/02/28/retries.html"),
    ],
    parameters: &[
        parameter!("load": Number = "100", "calls per second of all clients together"),
        parameter!("clients": Count = "1000", "how many clients"),
        parameter!("sharing": Choice(&["each", "shared"]) = "each", "whose the budget is"),
        parameter!("outage": Duration = "10s", "how long the service is down, from 10 s on"),
        usual::horizon("60s"),
    ],
    contenders: &["attempts=1", "budget=none", "yours"],
    policy: Policy::default,
    studied: Studied::In(World::new(scenario)),
    check,
};

/// Many clients of a service that is down once.
pub(crate) fn scenario(parameters: &Parameters, policy: &Policy) -> Scenario {
    let sharing = if parameters.text("sharing") == "shared" {
        Sharing::Shared
    } else {
        Sharing::PerClient
    };
    let down = Effect::Down {
        service: "service".to_owned(),
    };
    let from = Duration::from_secs(10);
    Scenario::new("small-clients", parameters.duration("horizon"))
        .service(unbounded("service", Duration::from_millis(10)))
        .population(
            callers(parameters, policy)
                .clients(count(parameters, "clients"))
                .sharing(sharing),
        )
        .trigger(Trigger::new(from, parameters.duration("outage"), down))
}

/// Calls of an outage that lasts for the whole run but its last second.
fn outage(fleet: u32, sharing: &str, seed: u64) -> PopulationRecord {
    let parameters = SMALL_CLIENTS.given(&[
        ("clients", fleet.to_string()),
        ("sharing", sharing.to_owned()),
        ("horizon", "11s".to_owned()),
    ]);
    let policy = Policy::exponential(Duration::from_millis(1))
        .attempts(4)
        .budget(Budget::default().floor_per_second(0.0));
    let mut scenario = scenario(&parameters, &policy);
    for trigger in &mut scenario.triggers {
        (trigger.from, trigger.length) = (Duration::ZERO, scenario.horizon);
    }
    clients(&world::run(&with_quiet_end(scenario), seed))
}

fn check(plan: &Plan<'_>, quick: bool) -> Vec<Comparison> {
    let seeds = super::runs::seeds(plan, if quick { 2 } else { 20 });
    let seeds: Vec<u64> = seeds.collect();
    let cases = [(5000, "each"), (20, "each"), (5000, "shared")];
    let runs = each_in_order(&seeds, plan.threads, |seed| -> Vec<Comparison> {
        let cases = cases.iter();
        cases
            .flat_map(|(fleet, sharing)| bounded(*fleet, sharing, &outage(*fleet, sharing, *seed)))
            .collect()
    });
    worst(&runs)
}

fn bounded(fleet: u32, sharing: &str, record: &PopulationRecord) -> [Comparison; 2] {
    let first_tries = float(total(&record.first_tries));
    let right = oracle::small_clients::SmallClients {
        clients: f64::from(fleet),
        first_tries,
        failures: 1.0,
        attempts: 4,
        ratio: 0.1,
        // The least of the default: nothing has succeeded.
        burst: 10.0,
    };
    let (expected, budgets) = if sharing == "shared" {
        (right.shared_amplification(), 1.0)
    } else {
        (right.amplification(), f64::from(fleet))
    };
    let got = record.amplification();
    let what = format!("amplification in an outage, {fleet} clients, budget {sharing}");
    // A budget that binds is met but for less than a token, and for what was deposited while it was
    // full. One that does not lets all through, but for the rare client with four calls or more:
    // a fifth of a call each makes that less than one in 10 000.
    let slack = if expected < 4.0 {
        2.0 * budgets / first_tries
    } else {
        0.01
    };
    [
        compare(what.clone(), expected, got, Tolerance::AtMost),
        compare(
            format!("{what}: met"),
            expected,
            got,
            Tolerance::Absolute(slack),
        ),
    ]
}
