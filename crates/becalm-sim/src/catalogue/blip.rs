//! `blip`: how many calls do retries save where a service is away for a moment?

use std::time::Duration;

use becalm::{Budget, Policy};

use super::asked::{World, count};
use super::entry::Studied;
use super::measure::{
    DEVIATIONS, between, clients, compare, compare_share, float, success, with_quiet_end,
    worst_of_each,
};
use super::parts::{callers, unbounded};
use super::{Entry, Parameters, usual};
use crate::oracle::blip;
use crate::record::total;
use crate::scenario::{Effect, Scenario, Trigger};
use crate::study::{Comparison, Plan, Tolerance};
use crate::world;

/// The entry.
pub const BLIP: Entry = Entry {
    name: "blip",
    title: "a short absence under a busy client",
    question: "How many of the calls that begin while the service is away are saved?",
    answer: "Without a bound all but those whose waits end too soon: 1 - E (D - W)+ / D, for an absence D and the \
             sum W of a call's waits. A budget of a fixed burst saves no more calls than it holds tokens, \
             which is nothing to a busy client. A burst in time, r T of what succeeds, pays for all while \
             D x the retries of each call is at most r T, whatever the rate: 0.23 s by the default schedule, a tenth and 5 s.",
    sources: &[
        source!("W. Feller: An Introduction to Probability Theory and Its Applications, volume II, 1971, I.9"
            at ""),
    ],
    parameters: &[
        usual::load("1000"),
        parameter!("clients": Count = "1", "clients, each with a budget of its own"),
        usual::service_time("5ms"),
        parameter!("absence": Duration = "200ms", "how long the service is away, from 10 s on"),
        usual::horizon("20s"),
    ],
    contenders: &[
        "attempts=1",
        "budget=none",
        "budget=ratio:0.1,burst:10",
        "yours",
    ],
    policy: Policy::default,
    studied: Studied::In(World::new(scenario)),
    check,
};

/// When the service goes away: by then a budget knows the rate.
const FROM: Duration = Duration::from_secs(10);

/// Clients of a service that refuses all requests for a moment.
pub(crate) fn scenario(parameters: &Parameters, policy: &Policy) -> Scenario {
    let down = Effect::Down {
        service: "service".to_owned(),
    };
    let time = parameters.duration("service-time");
    Scenario::new("blip", parameters.duration("horizon"))
        .service(unbounded("service", time))
        .population(callers(parameters, policy).clients(count(parameters, "clients")))
        .trigger(Trigger::new(FROM, parameters.duration("absence"), down))
}

/// An absence, and a budget that pays for all that is asked, or holds this many tokens.
struct Case {
    millis: u64,
    budget: Budget,
    tokens: Option<f64>,
}

fn cases() -> Vec<Case> {
    let case = |millis, budget, tokens| Case {
        millis,
        budget,
        tokens,
    };
    let follows = Budget::ratio(0.1);
    let fixed = Budget::ratio(0.1).burst(10.0).floor_per_second(0.0);
    vec![
        case(100, Budget::None, None),
        case(200, Budget::None, None),
        case(300, Budget::None, None),
        case(500, Budget::None, None),
        case(100, follows, None),
        case(200, follows, None),
        case(200, fixed, Some(10.0)),
    ]
}

/// Seconds that the waits of the default policy are drawn from.
const CEILINGS: [f64; 3] = [0.1, 0.2, 0.4];

fn check(plan: &Plan<'_>, quick: bool) -> Vec<Comparison> {
    worst_of_each(&cases(), (plan, quick), saved)
}

fn saved(case: &Case, seed: u64) -> Vec<Comparison> {
    let absence = Duration::from_millis(case.millis);
    let parameters = BLIP.given(&[
        ("load", "10000".to_owned()),
        ("absence", format!("{}ms", case.millis)),
        ("horizon", "14s".to_owned()),
    ]);
    let policy = Policy::default().budget(case.budget);
    let scenario = with_quiet_end(scenario(&parameters, &policy));
    let recording = world::run(&scenario, seed);
    let record = clients(&recording);
    let to = FROM + absence;
    let calls = between(&record.calls, recording.bucket, FROM, to);
    let got = success(&record, recording.bucket, FROM, to);
    let what = format!(
        "{} ms away, budget {}: calls that succeed",
        case.millis, case.budget
    );
    let seconds = absence.as_secs_f64();
    if let Some(tokens) = case.tokens {
        // What succeeded while it was away earned nothing: nothing did.
        return vec![compare(what, tokens / calls, got, Tolerance::AtMost)];
    }
    let retries = float(total(&record.attempts)) - float(total(&record.first_tries));
    vec![
        compare_share(what, 1.0 - blip::lost(&CEILINGS, seconds), got, calls),
        compare(
            format!(
                "{} ms away, budget {}: retries of each call",
                case.millis, case.budget
            ),
            blip::retries(&CEILINGS, seconds),
            retries / calls,
            // A call makes 1 to 3: its deviation is below 1.
            Tolerance::Absolute(DEVIATIONS / calls.sqrt()),
        ),
    ]
}
