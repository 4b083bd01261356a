//! `cascade`: where does the load settle when a little too much is asked, and refused?

use std::time::Duration;

use becalm::{Budget, Jitter, Policy};

use super::asked::{Range, World};
use super::entry::Studied;
use super::measure::{compare, rate, service};
use super::parts::{callers, limited};
use super::{Entry, Parameters, usual};
use crate::scenario::Scenario;
use crate::study::{Comparison, Plan, Tolerance};
use crate::{oracle, world};

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
    studied: Studied::In(World::new(scenario).within(RANGES)),
    check,
};

/// The book's clients retry after a second.
fn policy() -> Policy {
    Policy::fixed(Duration::from_secs(1))
}

/// One client of a service that accepts so many requests per second, and refuses for nothing.
pub(crate) fn scenario(parameters: &Parameters, policy: &Policy) -> Scenario {
    let capacity = parameters.number("capacity");
    Scenario::new("cascade", parameters.duration("horizon"))
        .service(limited(capacity, Duration::from_millis(10)))
        .population(callers(parameters, policy))
}

const RANGES: &[Range] = &[Range::new("capacity", 1e-3, 1e6)];

fn check(plan: &Plan<'_>, quick: bool) -> Vec<Comparison> {
    let (capacity, horizon) = if quick { (500.0, 80) } else { (1000.0, 300) };
    let mut comparisons = Vec::new();
    for (above, attempts) in [(1.5, 2), (1.5, 4), (2.0, 4)] {
        // Spread, so that a retry does not find the very moment of fullness again that refused it.
        let policy = Policy::fixed(Duration::from_secs(1))
            .jitter(Jitter::Full)
            .attempts(attempts)
            .budget(Budget::None);
        let parameters = CASCADE.given(&[
            ("load", (above * capacity).to_string()),
            ("capacity", capacity.to_string()),
            ("horizon", format!("{horizon}s")),
        ]);
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
