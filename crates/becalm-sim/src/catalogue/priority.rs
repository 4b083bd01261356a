//! `priority`: does critical traffic survive a spike of something less critical?

use std::time::Duration;

use becalm::{Budget, Policy, Throttle, throttle::Priority};

use super::asked::{Asked, Range, World, count};
use super::entry::Studied;
use super::measure::{between, compare, success};
use super::parts::{limited, unbounded};
use super::runs::finite;
use super::{Entry, Parameters};
use crate::record::Recording;
use crate::scenario::{Arrivals, Downstream, Effect, Population, Scenario, Trigger};
use crate::study::{Comparison, Figure, Plan, Study, Tolerance};
use crate::verdict::{list, percent};
use crate::{oracle, world};

/// The entry.
pub const PRIORITY: Entry = Entry {
    name: "priority",
    title: "a spike of prefetches beside critical calls",
    question: "Do critical calls succeed while twelve times the usual prefetches come?",
    answer: "Not by themselves: a service that is asked for more than four times what it accepts \
             refuses three of four calls of either kind. If the clients that prefetch throttle \
             themselves hard (K = 1.1: they send 1.1 requests for each that is accepted) and the \
             critical ones may retry, the service accepts nearly all that is still sent, and more \
             than 99.4 % of the critical calls succeed. The policy asked about is that of the \
             prefetches. One throttle for all calls, at a gateway (throttle-at=gateway), achieves \
             it as well, because it sheds the least critical first and allows them the fewest \
             rejections: a quarter of K - 1.",
    sources: &[
        source!("Netflix: Enhancing Netflix Reliability with Service-Level Prioritized Load Shedding, 2024"
            at "https://netflixtechblog.com/enhancing-netflix-reliability-with-service-level-prioritized-load-shedding-e735e6ce8f7d"),
    ],
    parameters: &[
        parameter!("critical": Number = "100", "critical calls per second"),
        parameter!("load": Number = "100", "prefetches per second, usually"),
        parameter!("spike": Number = "12", "how many times as many come in the spike"),
        parameter!("clients": Count = "5", "clients of each kind"),
        parameter!("throttle-at": Choice(&["prefetch", "gateway"]) = "prefetch",
            "who has the policy: each client that prefetches, or a gateway that all calls pass"),
        parameter!("accepts": Number = "300", "requests accepted per second"),
        parameter!("outage": Duration = "60s", "how long the spike lasts, from 20 s on"),
        parameter!("horizon": Duration = "150s", "how long a run lasts"),
    ],
    contenders: &["throttle=none", "yours"],
    policy,
    // What is asked is who is served in the spike, not how long it is survived. Prefetches that are kept back are no storm.
    studied: Studied::In(
        World::new(scenario)
            .within(RANGES)
            .quick()
            .unjudged()
            .telling(tell),
    ),
    check,
};

/// Requests that are sent for each that is accepted: few, so that little is refused.
const K: f64 = 1.1;
/// What the throttle remembers.
const WINDOW: Duration = Duration::from_secs(2);

/// Prefetches are tried once, and shed early: over two seconds, so that a spike is soon seen.
fn policy() -> Policy {
    let throttle = Throttle::accepts(K).within(WINDOW).max(1.0);
    Policy::default().attempts(1).throttle(throttle)
}

/// When the spike begins.
const FROM: Duration = Duration::from_secs(20);

/// Critical calls and prefetches to one service that accepts so many per second, in the latter case
/// through a gateway.
pub(crate) fn scenario(parameters: &Parameters, policy: &Policy) -> Scenario {
    let accepts = parameters.number("accepts");
    let service = limited(accepts, Duration::from_millis(10));
    let spike = Effect::Load {
        population: "prefetch".to_owned(),
        factor: parameters.number("spike"),
    };
    let clients = count(parameters, "clients");
    let is_at_gateway = parameters.text("throttle-at") == "gateway";
    let target = if is_at_gateway { "gateway" } else { "service" };
    let population = |name: &str, rate: &str, policy: Policy| {
        let arrivals = Arrivals::Poisson(parameters.number(rate));
        Population::new(name, target, arrivals, policy).clients(clients)
    };
    // Room for the one retry in ten that is wanted while 1/1.1 of the requests are accepted, and for
    // the first seconds, until the others have learnt to shed; slow enough to outlast these.
    let critical =
        Policy::exponential(Duration::from_millis(500)).budget(Budget::ratio(0.2).burst(100.0));
    let mut scenario = Scenario::new("priority", parameters.duration("horizon"));
    let mut prefetch = policy.clone();
    if is_at_gateway {
        let call = Downstream::new("service", policy.clone());
        let gateway = unbounded("gateway", Duration::ZERO).calls(call);
        scenario = scenario.service(gateway);
        prefetch = Policy::default().attempts(1);
    }
    let mut prefetches = population("prefetch", "load", prefetch);
    // A throttle of its own counts nothing else: its K is for the calls that it is asked about.
    if is_at_gateway {
        prefetches = prefetches.priority(Priority::Sheddable);
    }
    scenario
        .service(service)
        .population(population("critical", "critical", critical))
        .population(prefetches)
        .trigger(Trigger::new(FROM, parameters.duration("outage"), spike))
}

const RANGES: &[Range] = &[
    Range::new("critical", 1e-3, 1e6),
    Range::new("spike", 0.0, 1e4),
];

fn tell(asked: &Asked<'_>, study: &mut Study) {
    let parameters = asked.parameters;
    let mut answers = Vec::new();
    let measure = |it: &Recording| {
        let spike = [0, 1].map(|population| in_spike(it, population, parameters));
        let after = [0, 1].map(|population| after_spike(it, population, parameters));
        [spike[0], spike[1], after[0], after[1]].map(|share| 100.0 * share)
    };
    for (contender, runs) in asked.runs(&mut study.contenders, study.runs, measure) {
        let spike = [
            over_runs!("critical_served": "Critical calls that succeed in the spike", "%" =
                &finite(&runs, 0)),
            over_runs!("prefetch_served": "Prefetches that succeed in the spike", "%" =
                &finite(&runs, 1)),
        ];
        let share = |figure: &Figure| figure.value.map_or(f64::NAN, |it| it / 100.0);
        let [critical, prefetch] = spike.each_ref().map(share);
        let after =
            |population: usize| share(&over_runs!("": "", "%" = &finite(&runs, 2 + population)));
        contender.evidence = format!(
            "In the spike {} of the critical calls and {} of the prefetches succeed, after it {} and \
             {}.",
            percent(critical),
            percent(prefetch),
            percent(after(0)),
            percent(after(1))
        );
        answers.push(format!(
            "{} of the critical calls and {} of the prefetches ({})",
            percent(critical),
            percent(prefetch),
            contender.name
        ));
        contender.figures.extend(spike);
    }
    study.answer = format!("In the spike so many succeed: {}.", list(&answers));
}

/// The share of a population's calls that succeed, of those that begin in the spike.
fn in_spike(recording: &Recording, population: usize, parameters: &Parameters) -> f64 {
    let to = FROM + parameters.duration("outage");
    let record = recording.populations.get(population);
    record.map_or(f64::NAN, |it| success(it, recording.bucket, FROM, to))
}

/// The share among the calls that begin after the spike.
fn after_spike(recording: &Recording, population: usize, parameters: &Parameters) -> f64 {
    let from = FROM + parameters.duration("outage");
    let record = recording.populations.get(population);
    let to = parameters.duration("horizon");
    record.map_or(f64::NAN, |it| success(it, recording.bucket, from, to))
}

fn check(plan: &Plan<'_>, quick: bool) -> Vec<Comparison> {
    let (size, outage) = if quick { (0.2, "60s") } else { (2.0, "120s") };
    let scaled = |value: f64| (value * size).to_string();
    let parameters = PRIORITY.given(&[
        ("critical", scaled(500.0)),
        ("load", scaled(500.0)),
        ("accepts", scaled(1500.0)),
        ("clients", "5".to_owned()),
        ("outage", outage.to_owned()),
        ("horizon", "3m".to_owned()),
    ]);
    let mut behind_one = parameters.clone();
    let set = behind_one.set("throttle-at", "gateway");
    debug_assert!(set.is_ok(), "{set:?}");
    let gateway = world::run(&scenario(&behind_one, &policy()), plan.seed);
    let run = |policy: &Policy| world::run(&scenario(&parameters, policy), plan.seed);
    let shed = run(&policy());
    let unshed = run(&Policy::default().attempts(1));
    let capacity = 1500.0;
    vec![
        compare(
            "share of critical calls served, prefetches shed",
            0.994,
            in_spike(&shed, 0, &parameters),
            Tolerance::AtLeast,
        ),
        compare(
            "share of critical calls served, prefetches not shed",
            0.994,
            in_spike(&unshed, 0, &parameters),
            Tolerance::AtMost,
        ),
        compare(
            "share of prefetches served, shed: at most what the critical calls leave",
            // What little is left of the burst of the limit at the beginning of the spike is in it.
            1.03 * oracle::priority::others(capacity, 500.0, 6000.0),
            in_spike(&shed, 1, &parameters),
            Tolerance::AtMost,
        ),
        compare(
            "share of prefetches served, shed: nearly what the critical calls leave",
            0.85 * oracle::priority::others(capacity, 500.0, 6000.0),
            in_spike(&shed, 1, &parameters),
            Tolerance::AtLeast,
        ),
        compare(
            "share of critical calls served, one throttle for all at a gateway",
            0.994,
            in_spike(&gateway, 0, &parameters),
            Tolerance::AtLeast,
        ),
        compare(
            "share of requests that the service accepts, one throttle for all at a gateway",
            oracle::priority::accepted_behind_throttle(K, 2),
            accepted(&gateway, &parameters),
            // Windows of two seconds, of which the excess of one is seen in the next.
            Tolerance::Relative(0.02),
        ),
    ]
}

/// Of what reaches the service the share that it accepts, once the throttles have learnt to shed.
fn accepted(recording: &Recording, parameters: &Parameters) -> f64 {
    let (from, to) = (FROM + WINDOW * 5, FROM + parameters.duration("outage"));
    let service = recording.services.last().cloned().unwrap_or_default();
    let count = |counts: &[u32]| between(counts, recording.bucket, from, to);
    1.0 - count(&service.refused) / count(&service.arrived)
}
