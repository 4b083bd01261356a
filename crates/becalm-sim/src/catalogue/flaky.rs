//! `flaky`: what do retries bring, and cost, where failures are independent?

use std::time::Duration;

use becalm::{Budget, Policy};

use super::asked::{World, count};
use super::entry::Studied;
use super::measure::{
    DEVIATIONS, attempts_deviation, clients, compare, compare_share, float, with_quiet_end,
};
use super::parts::{callers, unbounded};
use super::{Entry, Parameters, usual};
use crate::record::{PopulationRecord, total};
use crate::scenario::Scenario;
use crate::study::{Comparison, Plan, Tolerance};
use crate::{oracle, world};

/// The entry.
pub const FLAKY: Entry = Entry {
    name: "flaky",
    title: "independent failures",
    question: "What do retries bring, and what do they cost, when a share of all requests fails?",
    answer: "With a share p of failures, A attempts succeed in 1 - p^A of the calls and make \
             (1 - p^A)/(1 - p) attempts for each. A few per cent of failures are gone for a few per \
             cent of load. The more fails, the less retries bring and the more they cost: A times \
             the load when nothing works. A budget of ratio r lets the first case pass and bounds \
             the second to 1 + r, and the bursts of its clients.",
    sources: &[
        source!("Marc Brooker: Fixing retries with token buckets and circuit breakers, 2022"
            at "https://brooker.co.za/blog/2022/02/28/retries.html"),
    ],
    parameters: &[
        usual::load("1000"),
        usual::CLIENTS,
        usual::failures("0.3"),
        usual::service_time("10ms"),
        usual::horizon("60s"),
    ],
    contenders: &["attempts=1", "budget=none", "yours"],
    policy: Policy::default,
    studied: Studied::In(World::new(scenario)),
    check,
};

/// Clients of a service without a bound, which fails now and then.
pub(crate) fn scenario(parameters: &Parameters, policy: &Policy) -> Scenario {
    let time = parameters.duration("service-time");
    Scenario::new("flaky", parameters.duration("horizon"))
        .service(unbounded("service", time).failures(parameters.number("failures")))
        .population(callers(parameters, policy).clients(count(parameters, "clients")))
}

/// Calls that are done with within the last second, in which none begins.
fn quick_policy() -> Policy {
    Policy::exponential(Duration::from_millis(1)).attempts(4)
}

fn run(failures: f64, policy: &Policy, (plan, quick): (&Plan<'_>, bool)) -> PopulationRecord {
    let horizon = if quick { "21s" } else { "201s" };
    let parameters = FLAKY.given(&[("horizon", horizon.to_owned())]);
    let mut scenario = scenario(&parameters, policy);
    for service in &mut scenario.services {
        service.failures = failures;
    }
    clients(&world::run(&with_quiet_end(scenario), plan.seed))
}

fn check(plan: &Plan<'_>, quick: bool) -> Vec<Comparison> {
    let mut comparisons = Vec::new();
    for failures in [0.1, 0.5, 0.9] {
        let unbounded = quick_policy().budget(Budget::None);
        let record = run(failures, &unbounded, (plan, quick));
        let calls = float(total(&record.calls));
        let expected = oracle::flaky::attempts_per_call(failures, 4);
        let tolerance =
            Tolerance::Absolute(DEVIATIONS * attempts_deviation(failures, 4) / calls.sqrt());
        comparisons.push(compare(
            format!("amplification, {failures} fail, 4 attempts"),
            expected,
            record.amplification(),
            tolerance,
        ));
        comparisons.push(compare_share(
            format!("share of calls that succeed, {failures} fail, 4 attempts"),
            oracle::flaky::success(failures, 4),
            float(total(&record.succeeded)) / calls,
            calls,
        ));
    }
    comparisons.extend(budgeted(plan, quick));
    comparisons
}

/// The bound of the budget holds exactly, and is met but for what the clients are left with.
fn budgeted(plan: &Plan<'_>, quick: bool) -> [Comparison; 2] {
    let (ratio, burst, each) = (0.1, 10.0, 20.0);
    let policy = quick_policy().budget(Budget::ratio(ratio).burst(burst).floor_per_second(0.0));
    let record = run(0.5, &policy, (plan, quick));
    let first_tries = float(total(&record.first_tries));
    let earned = ratio * float(total(&record.succeeded)) / first_tries;
    let bound = oracle::flaky::budget_bound(earned, burst, each, first_tries);
    let what = "amplification, half fail, budget of 0.1 and bursts of 10";
    [
        compare(what, bound, record.amplification(), Tolerance::AtMost),
        // Less than a token is left to each client, and what it deposits before its first failure,
        // while its budget is full, is lost.
        compare(
            format!("{what}: met"),
            bound,
            record.amplification(),
            Tolerance::Absolute(2.0 * each / first_tries),
        ),
    ]
}
