//! `priority`: does critical traffic survive a spike of something less critical?

use std::time::Duration;

use becalm::{Budget, Policy, Priority, Throttle};

use super::asked::{self, Range, count};
use super::measure::{compare, success};
use super::{Candidate, Entry, InvalidParameter, Kind, Parameter, Parameters, Source};
use crate::engine::Distribution;
use crate::oracle;
use crate::record::Recording;
use crate::scenario::{Arrivals, Effect, Limit, Population, Scenario, Service, Trigger};
use crate::study::{Comparison, Figure, Plan, Study, Tolerance};
use crate::verdict::Thoroughness;
use crate::world;

/// The entry.
pub const PRIORITY: Entry = Entry {
    name: "priority",
    title: "a spike of prefetches beside critical calls",
    question: "Do critical calls succeed while twelve times the usual prefetches come?",
    answer: "Not by themselves: a service that is asked for five times what it accepts refuses four \
             of five calls of either kind. If the clients that prefetch throttle themselves hard \
             (K = 1.1: they send 1.1 requests for each that is accepted) and the critical ones may \
             retry, the service accepts nearly all that is still sent, and more than 99.4 % of the \
             critical calls succeed. The policy asked about is that of the prefetches.",
    sources: &[Source {
        title: "Netflix: Enhancing Netflix Reliability with Service-Level Prioritized Load Shedding, 2024",
        url: "https://netflixtechblog.com/enhancing-netflix-reliability-with-service-level-prioritized-load-shedding-e735e6ce8f7d",
    }],
    parameters: &[
        Parameter::new("critical", Kind::Number, "100", "critical calls per second"),
        Parameter::new(
            "load",
            Kind::Number,
            "100",
            "prefetches per second, usually",
        ),
        Parameter::new(
            "spike",
            Kind::Number,
            "12",
            "how many times as many come in the spike",
        ),
        Parameter::new("clients", Kind::Count, "5", "clients of each kind"),
        Parameter::new(
            "accepts",
            Kind::Number,
            "300",
            "requests accepted per second",
        ),
        Parameter::new(
            "outage",
            Kind::Duration,
            "60s",
            "how long the spike lasts, from 20 s on",
        ),
        Parameter::new("horizon", Kind::Duration, "150s", "how long a run lasts"),
    ],
    contenders: &["throttle=none", "yours"],
    policy,
    scenario: Some(scenario),
    study,
    check,
};

/// Prefetches are tried once, and shed early: over two seconds, so that a spike is soon seen.
fn policy(_: &Parameters) -> Policy {
    let throttle = Throttle::accepts(1.1)
        .within(Duration::from_secs(2))
        .max(1.0);
    Policy::default().attempts(1).throttle(throttle)
}

/// When the spike begins.
const FROM: Duration = Duration::from_secs(20);

/// Critical calls and prefetches to one service that accepts so many per second.
pub(crate) fn scenario(parameters: &Parameters, policy: &Policy) -> Scenario {
    let accepts = parameters.number("accepts");
    let time = Distribution::Constant(Duration::from_millis(10));
    let mut service = Service::new("service", Service::UNLIMITED, time);
    service.limit = Some(Limit {
        rate: accepts,
        burst: (accepts / 10.0).max(1.0),
    });
    let spike = Effect::Load {
        population: "prefetch".to_owned(),
        factor: parameters.number("spike"),
    };
    let clients = count(parameters, "clients");
    let population = |name: &str, rate: &str, policy: Policy| {
        let arrivals = Arrivals::Poisson(parameters.number(rate));
        Population::new(name, "service", arrivals, policy).clients(clients)
    };
    // Room for the one retry in ten that is wanted while 1/1.1 of the requests are accepted, and for
    // the first seconds, until the others have learnt to shed; slow enough to outlast these.
    let critical =
        Policy::exponential(Duration::from_millis(500)).budget(Budget::ratio(0.2).burst(100.0));
    Scenario::new("priority", parameters.duration("horizon"))
        .service(service)
        .population(population("critical", "critical", critical))
        .population(population("prefetch", "load", policy.clone()).priority(Priority::Sheddable))
        .trigger(Trigger::new(FROM, parameters.duration("outage"), spike))
}

const RANGES: &[Range] = &[
    Range::LOAD,
    Range::new("critical", 1e-3, 1e6),
    Range::new("spike", 0.0, 1e4),
    Range::new("clients", 1.0, 1e6),
    Range::new("accepts", 1e-3, 1e6),
];

fn study(
    parameters: &Parameters,
    candidates: &[Candidate],
    plan: &Plan<'_>,
) -> Result<Study, InvalidParameter> {
    let given = (parameters, candidates, plan);
    // What is asked is who is served in the spike, not how long it is survived.
    let thoroughness = Thoroughness::QUICK;
    let mut study = asked::study_with(&PRIORITY, thoroughness, RANGES, scenario, given)?;
    for (candidate, contender) in candidates.iter().zip(&mut study.contenders) {
        let recording = world::run(&scenario(parameters, &candidate.policy), plan.seed);
        let percent = |population| {
            let share = in_spike(&recording, population, parameters);
            Some(100.0 * share).filter(|it| it.is_finite())
        };
        contender.figures.push(Figure::new(
            "critical_served",
            "Critical calls that succeed in the spike",
            "%",
            percent(0),
        ));
        contender.figures.push(Figure::new(
            "prefetch_served",
            "Prefetches that succeed in the spike",
            "%",
            percent(1),
        ));
    }
    Ok(study)
}

/// The share of a population's calls that succeed, of those that begin in the spike.
fn in_spike(recording: &Recording, population: usize, parameters: &Parameters) -> f64 {
    let to = FROM + parameters.duration("outage");
    let record = recording.populations.get(population);
    record.map_or(f64::NAN, |it| success(it, recording.bucket, FROM, to))
}

fn check(plan: &Plan<'_>, quick: bool) -> Vec<Comparison> {
    let (size, outage) = if quick { (0.2, "60s") } else { (2.0, "120s") };
    let scaled = |value: f64| (value * size).to_string();
    let parameters = asked::given(
        &PRIORITY,
        &[
            ("critical", scaled(500.0)),
            ("load", scaled(500.0)),
            ("accepts", scaled(1500.0)),
            ("clients", "5".to_owned()),
            ("outage", outage.to_owned()),
            ("horizon", "3m".to_owned()),
        ],
    );
    let run = |policy: &Policy| world::run(&scenario(&parameters, policy), plan.seed);
    let shed = run(&policy(&parameters));
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
    ]
}
