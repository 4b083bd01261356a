//! `metastable`: does a service come back after a short outage, or do retries keep it down?

use std::time::Duration;

use becalm::{Breaker, Budget, Jitter, Policy};

use super::asked::{World, count};
use super::entry::Studied;
use super::measure::{comes_back, compare, rate, service, worst_of_each};
use super::parts::{bounded, callers};
use super::{Entry, Parameters, usual};
use crate::oracle::metastable;
use crate::record::Recording;
use crate::scenario::{Effect, Scenario, Stale, Trigger};
use crate::study::{Comparison, Plan, Tolerance};
use crate::world;

/// The entry.
pub const METASTABLE: Entry = Entry {
    name: "metastable",
    title: "a short outage that retries make a long one",
    question: "Does the service come back when the trigger is gone?",
    answer: "Only below its hidden capacity, mu/A, or mu/(1 + r) under a budget that first tries feed. \
             Under one that successes feed it is mu: in an outage that earns nothing, and the service \
             is back later by what the budgets held, over the spare capacity. Above the hidden \
             capacity every answer comes too late, every call makes all its attempts, and the work \
             done for callers that have left keeps the queue full: A lambda attempts per second, for \
             ever. Backoff and jitter move that load and do not make it less. A budget, a breaker, a \
             queue shorter than callers wait, or a service that drops what nobody waits for end it.",
    sources: &[
        source!("Bronson et al.: Metastable Failures in Distributed Systems, HotOS'21"
            at "https://sigops.org/s/conferences/hotos/2021/papers/hotos21-s11-bronson.pdf"),
        source!("Huang et al.: Metastable Failures in the Wild, OSDI'22"
            at "https://www.usenix.org/conference/osdi22/presentation/huang-lexiang"),
    ],
    parameters: &[
        usual::load("700"),
        usual::CLIENTS,
        usual::WORKERS,
        usual::MEAN_SERVICE_TIME,
        usual::QUEUE,
        usual::timeout("250ms"),
        parameter!("outage": Duration = "2s", "how long the service hangs, from 10 s on"),
        parameter!("stale": Choice(&["served", "past-deadline", "cancelled"]) = "served",
            "what happens to work whose caller has left"),
        usual::horizon("60s"),
    ],
    contenders: &["attempts=1", "budget=none", "yours"],
    policy: Policy::default,
    studied: Studied::In(World::new(scenario)),
    check,
};

/// When the trigger begins.
const FROM: Duration = Duration::from_secs(10);

/// Clients of a service that hangs once.
pub(crate) fn scenario(parameters: &Parameters, policy: &Policy) -> Scenario {
    let stale = match parameters.text("stale") {
        "past-deadline" => Stale::PastDeadline,
        "cancelled" => Stale::Cancelled,
        _ => Stale::Served,
    };
    let hang = Effect::Hang {
        service: "service".to_owned(),
    };
    Scenario::new("metastable", parameters.duration("horizon"))
        .service(bounded("service", parameters).stale(stale))
        .population(
            callers(parameters, policy)
                .clients(count(parameters, "clients"))
                .timeout(parameters.duration("timeout")),
        )
        .trigger(Trigger::new(FROM, parameters.duration("outage"), hang))
}

/// Requests per second that the service of the check serves: 4 workers of 10 ms.
const CAPACITY: f64 = 400.0;

/// The check's queue is four times as long as callers wait, as in the entry.
const QUEUE: u32 = 400;

/// When a run of the check ends, and what of it is looked at: calls that began then have ended.
const END: Duration = Duration::from_secs(45);
const LATE: (Duration, Duration) = (Duration::from_secs(35), Duration::from_secs(40));

/// What the check changes.
struct Case {
    what: &'static str,
    /// In multiples of the hidden capacity mu/4.
    load: f64,
    policy: Policy,
    queue: u32,
    stale: &'static str,
    comes_back: bool,
}

fn cases() -> Vec<Case> {
    let bare = || Policy::default().budget(Budget::None);
    let case = |what, load, policy, comes_back| Case {
        what,
        load,
        policy,
        queue: QUEUE,
        stale: "served",
        comes_back,
    };
    let hasty = bare().base(Duration::ZERO);
    // A cap of 2 s, so that every retry comes before the end of a run is looked at.
    let jitter = |jitter| bare().cap(Duration::from_secs(2)).jitter(jitter);
    let short = Case {
        queue: 40,
        ..case("a queue shorter than callers wait", 2.4, bare(), true)
    };
    let cancelled = Case {
        stale: "cancelled",
        ..case("cancellation", 2.4, bare(), true)
    };
    let known = Case {
        stale: "past-deadline",
        ..case("deadlines that the service knows", 2.4, bare(), true)
    };
    vec![
        case(
            "four attempts at 0.8 of the hidden capacity",
            0.8,
            bare(),
            true,
        ),
        case(
            "one attempt at 3.2 times mu/4",
            3.2,
            bare().attempts(1),
            true,
        ),
        case("no delay", 2.4, hasty, false),
        case("no jitter", 2.4, jitter(Jitter::None), false),
        case("full jitter", 2.4, jitter(Jitter::Full), false),
        case("equal jitter", 2.4, jitter(Jitter::Equal), false),
        case(
            "decorrelated jitter",
            2.4,
            jitter(Jitter::Decorrelated),
            false,
        ),
        case("a budget of 0.1", 2.4, Policy::default(), true),
        case(
            "a breaker",
            2.4,
            bare().breaker(Breaker::consecutive(5)),
            true,
        ),
        short,
        cancelled,
        known,
    ]
}

fn run(case: &Case, seed: u64) -> Recording {
    let hidden = metastable::hidden_capacity(CAPACITY, 4);
    let parameters = METASTABLE.given(&[
        ("load", (case.load * hidden).to_string()),
        ("workers", "4".to_owned()),
        ("queue", case.queue.to_string()),
        ("stale", case.stale.to_owned()),
        ("horizon", format!("{}s", END.as_secs())),
    ]);
    world::run(&scenario(&parameters, &case.policy), seed)
}

fn check(plan: &Plan<'_>, quick: bool) -> Vec<Comparison> {
    worst_of_each(&cases(), (plan, quick), fate)
}

/// What happened to the service of a case in one run.
fn fate(case: &Case, seed: u64) -> Vec<Comparison> {
    let recording = run(case, seed);
    let mut comparisons = vec![comes_back(case.what, case.comes_back, &recording, LATE)];
    if !case.comes_back {
        comparisons.push(collapsed(case, &recording));
    }
    comparisons
}

/// The attempts per second in the storm: A lambda.
fn collapsed(case: &Case, recording: &Recording) -> Comparison {
    let load = case.load * metastable::hidden_capacity(CAPACITY, 4);
    let (from, to) = LATE;
    let arrived = service(recording, 0).arrived;
    compare(
        format!("{}: attempts per second in the storm", case.what),
        metastable::collapsed_rate(load, 4),
        rate(&arrived, recording.bucket, from, to),
        // 1200 calls, each of which counts four times: 2.9 % is one standard deviation.
        Tolerance::Relative(0.12),
    )
}
