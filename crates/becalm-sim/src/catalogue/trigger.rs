//! `trigger`: how long may a service be slow before a storm begins that stays?

use std::time::Duration;

use becalm::{Budget, Policy};

use super::asked::{World, count};
use super::entry::Studied;
use super::measure::{clients, compare, success};
use super::parts::callers;
use super::{Entry, Parameters, usual};
use crate::engine::Distribution;
use crate::scenario::{Arrivals, Effect, Scenario, Service, Trigger};
use crate::study::{Comparison, Plan, Tolerance};
use crate::{oracle, world};

/// The entry.
pub const TRIGGER: Entry = Entry {
    name: "trigger",
    title: "the longest drop of capacity that is survived",
    question: "How long may the capacity be down before the service stays down?",
    answer: "With immediate retries and a queue without bounds: \
             tau (lambda/(lambda - mu_d) + (mu - lambda)/(2 lambda - mu_d)), where tau is what a \
             caller waits, mu the capacity and mu_d what is left of it. At 60 % load and a hang \
             that is 1.3 time-outs. Until then nothing is to be seen: the first attempt times out \
             after lambda/(lambda - mu_d) time-outs.",
    sources: &[
        source!("Huang et al.: Metastable Failures in the Wild, OSDI'22"
            at "https://www.usenix.org/conference/osdi22/presentation/huang-lexiang"),
    ],
    parameters: &[
        usual::load("600"),
        usual::WORKERS,
        usual::service_time("10ms"),
        usual::timeout("1s"),
        parameter!("left": Share = "0.2", "the share of the capacity that is left; 0 hangs"),
        parameter!("outage": Duration = "2s", "how long it is down, from 10 s on"),
        usual::horizon("60s"),
    ],
    contenders: &["attempts=1", "budget=none", "yours"],
    policy,
    studied: Studied::In(World::new(scenario)),
    check,
};

/// Immediate retries, as in the experiment; the budget is the default's.
fn policy() -> Policy {
    Policy::default().base(Duration::ZERO)
}

/// When the trigger begins.
const FROM: Duration = Duration::from_secs(10);

/// Clients of a service with a queue without bounds, whose capacity drops once.
pub(crate) fn scenario(parameters: &Parameters, policy: &Policy) -> Scenario {
    let time = Distribution::Constant(parameters.duration("service-time"));
    let share = parameters.number("left");
    let service = "service".to_owned();
    let effect = if share > 0.0 {
        Effect::Capacity { service, share }
    } else {
        Effect::Hang { service }
    };
    Scenario::new("trigger", parameters.duration("horizon"))
        .service(Service::new("service", count(parameters, "workers"), time))
        .population(callers(parameters, policy).timeout(parameters.duration("timeout")))
        .trigger(Trigger::new(FROM, parameters.duration("outage"), effect))
}

/// The load and what is left, as shares of the capacity.
const CASES: &[(f64, f64)] = &[(0.6, 0.2), (0.6, 0.0), (0.5, 0.0), (0.4, 0.2)];

fn check(plan: &Plan<'_>, quick: bool) -> Vec<Comparison> {
    // At equal distances the fluid of the derivation is all but exact; at random times it takes
    // ten times the size until chance is below the tolerance.
    let even = CASES.iter().take(if quick { 2 } else { 4 });
    let even = even.map(|case| longest(plan.seed, *case, 1000.0, true));
    let random = CASES.iter().take(if quick { 0 } else { 2 });
    let random = random.map(|case| longest(plan.seed, *case, 10_000.0, false));
    even.chain(random).collect()
}

/// The longest trigger that is survived, by halving.
fn longest(seed: u64, (load, left): (f64, f64), capacity: f64, is_even: bool) -> Comparison {
    let expected = oracle::trigger::longest(load * capacity, capacity, left * capacity, 1.0);
    let (mut survived, mut deadly) = (0.7 * expected, 1.3 * expected);
    // To a hundredth of the expected value.
    for _ in 0..6 {
        let middle = f64::midpoint(survived, deadly);
        if comes_back(seed, (load, left, capacity, is_even), middle) {
            survived = middle;
        } else {
            deadly = middle;
        }
    }
    let at = if is_even {
        "equal distances"
    } else {
        "random times"
    };
    compare(
        format!("the longest trigger in time-outs, load {load}, {left} left, calls at {at}"),
        expected,
        f64::midpoint(survived, deadly),
        Tolerance::Relative(0.05),
    )
}

fn comes_back(
    seed: u64,
    (load, left, capacity, is_even): (f64, f64, f64, bool),
    length: f64,
) -> bool {
    let policy = Policy::default().base(Duration::ZERO).budget(Budget::None);
    let parameters = TRIGGER.given(&[
        ("load", (load * capacity).to_string()),
        ("left", left.to_string()),
        ("workers", "1".to_owned()),
        ("service-time", format!("{}ns", (1e9 / capacity).round())),
    ]);
    let mut scenario = scenario(&parameters, &policy);
    let from = Duration::from_secs(2);
    let length = Duration::from_secs_f64(length);
    for trigger in &mut scenario.triggers {
        (trigger.from, trigger.length) = (from, length);
    }
    if is_even {
        for population in &mut scenario.populations {
            population.arrivals = Arrivals::Constant(load * capacity);
        }
    }
    let (late, to) = (
        from + length + Duration::from_secs(12),
        from + length + Duration::from_secs(15),
    );
    // By the end all of those calls have timed out.
    scenario.horizon = to + Duration::from_secs(5);
    let recording = world::run(&scenario, seed);
    success(&clients(&recording), recording.bucket, late, to) > 0.5
}
