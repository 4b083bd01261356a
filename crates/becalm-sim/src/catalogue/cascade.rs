//! `cascade`: where does the load settle when a little too much is asked, and refused?

use std::time::Duration;

use becalm::{Budget, Jitter, Policy};

use super::asked::{self, Range};
use super::measure::{compare, rate, service};
use super::{Candidate, Entry, InvalidParameter, Parameters, usual};
use crate::engine::Distribution;
use crate::oracle;
use crate::scenario::{Arrivals, Limit, Population, Scenario, Service};
use crate::study::{Comparison, Plan, Study, Tolerance};
use crate::world;

/// The entry.
pub const CASCADE: Entry = Entry {
    name: "cascade",
    title: "a load slightly above the capacity",
    question: "How far above its capacity do retries drive a service that refuses what is too much?",
    answer: "To C/(1 - (1 - C/lambda)^(1/A)) attempts per second, whatever the delays: one per cent \
             above capacity becomes one and a half times the capacity with 4 attempts, and 2.7 times \
             with 10. While refusals are free nothing is lost by it. When they cost, the service \
             falls by refusing alone.",
    sources: &[
        source!("Google SRE book, ch. 22: Addressing Cascading Failures"
            at "https://sre.google/sre-book/addressing-cascading-failures/"),
    ],
    parameters: &[
        usual::load("1010"),
        parameter!("capacity": Number = "1000", "requests accepted per second"),
        usual::horizon("5m"),
    ],
    contenders: &["attempts=1", "budget=none", "yours"],
    policy,
    scenario: Some(scenario),
    study,
    check,
};

/// The book's clients retry after a second.
fn policy(_: &Parameters) -> Policy {
    Policy::fixed(Duration::from_secs(1))
}

/// One client of a service that accepts so many requests per second, and refuses for nothing.
pub(crate) fn scenario(parameters: &Parameters, policy: &Policy) -> Scenario {
    let capacity = parameters.number("capacity");
    let time = Distribution::Constant(Duration::from_millis(10));
    let mut service = Service::new("service", Service::UNLIMITED, time);
    service.limit = Some(Limit {
        rate: capacity,
        // A tenth of a second's worth: enough that what chance leaves unused is not lost.
        burst: (capacity / 10.0).max(1.0),
    });
    let arrivals = Arrivals::Poisson(parameters.number("load"));
    Scenario::new("cascade", parameters.duration("horizon"))
        .service(service)
        .population(Population::new(
            "clients",
            "service",
            arrivals,
            policy.clone(),
        ))
}

const RANGES: &[Range] = &[Range::LOAD, Range::new("capacity", 1e-3, 1e6)];

fn study(
    parameters: &Parameters,
    candidates: &[Candidate],
    plan: &Plan<'_>,
) -> Result<Study, InvalidParameter> {
    asked::study(&CASCADE, RANGES, scenario, (parameters, candidates, plan))
}

fn check(plan: &Plan<'_>, quick: bool) -> Vec<Comparison> {
    let (capacity, horizon) = if quick { (500.0, 80) } else { (1000.0, 300) };
    let mut comparisons = Vec::new();
    for (above, attempts) in [(1.5, 2), (1.5, 4), (2.0, 4)] {
        // Spread, so that a retry does not find the very moment of fullness again that refused it.
        let policy = Policy::fixed(Duration::from_secs(1))
            .jitter(Jitter::Full)
            .attempts(attempts)
            .budget(Budget::None);
        let parameters = asked::given(
            &CASCADE,
            &[
                ("load", (above * capacity).to_string()),
                ("capacity", capacity.to_string()),
                ("horizon", format!("{horizon}s")),
            ],
        );
        let recording = world::run(&scenario(&parameters, &policy), plan.seed);
        let arrived = service(&recording, 0).arrived;
        // It settles within a few delays.
        let (from, to) = (Duration::from_secs(20), Duration::from_secs(horizon));
        let got = rate(&arrived, recording.bucket, from, to);
        comparisons.push(compare(
            format!("attempts per second, load {above} of the capacity, {attempts} attempts"),
            oracle::cascade::attempts_per_second(capacity, above * capacity, attempts),
            got,
            // What is above the capacity is a small difference of random numbers, and each of
            // them counts A times: over 40 seeds the quick case deviates by 0.6 %.
            Tolerance::Relative(0.03),
        ));
    }
    comparisons
}
