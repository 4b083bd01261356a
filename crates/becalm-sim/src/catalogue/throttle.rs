//! `throttle`: how much does a client-side throttle send to a backend that rejects?

use std::time::Duration;

use becalm::{Policy, Throttle};

use super::asked::{Asked, World, count};
use super::entry::Studied;
use super::measure::{DEVIATIONS, between, clients, compare, rate, success};
use super::parts::{limited, unbounded};
use super::runs::finite;
use super::{Entry, Parameters};
use crate::record::Recording;
use crate::scenario::{Arrivals, Effect, Population, Scenario, Trigger};
use crate::study::{Comparison, Plan, Study, Tolerance};
use crate::verdict::{list, percent};
use crate::{oracle, world};

/// The entry.
pub const THROTTLE: Entry = Entry {
    name: "throttle",
    title: "adaptive throttling at the client",
    question: "What reaches a backend that accepts a tenth of what its clients want to send?",
    answer: "K C, twice what it accepts with K = 2, whatever is wanted. In a total outage about one \
             request per client per window, or what the bound of the probability leaves if that is \
             more.",
    sources: &[source!("Google SRE book, ch. 21: Handling Overload"
            at "https://sre.google/sre-book/handling-overload/")],
    parameters: &[
        parameter!("load": Number = "500", "calls per second"),
        parameter!("clients": Count = "10", "clients, each with a throttle of its own"),
        parameter!("accepts": Number = "50", "requests accepted per second in the overload"),
        parameter!("overload": Duration = "30s", "how long it lasts, from 10 s on"),
        parameter!("horizon": Duration = "2m", "how long a run lasts"),
    ],
    contenders: &["throttle=none", "yours", "throttle=accepts:1.1,within:10s"],
    policy,
    // What is asked is what is sent, not how long an overload is survived. What a throttle keeps back is no storm.
    studied: Studied::In(World::new(scenario).quick().unjudged().telling(tell)),
    check,
};

/// The book's K over a shorter window than its two minutes, so that a run shows the recovery.
fn policy() -> Policy {
    Policy::default()
        .attempts(1)
        .throttle(Throttle::default().within(WINDOW))
}

/// When the overload begins.
const FROM: Duration = Duration::from_secs(10);

/// Clients that usually ask for half of what the service accepts, and for a time for much more.
pub(crate) fn scenario(parameters: &Parameters, policy: &Policy) -> Scenario {
    let usual = parameters.number("accepts") / 2.0;
    let effect = Effect::Load {
        population: "clients".to_owned(),
        factor: parameters.number("load") / usual,
    };
    Scenario::new("throttle", parameters.duration("horizon"))
        .service(limited(parameters.number("accepts"), MILLISECOND))
        .population(asking(usual, policy).clients(count(parameters, "clients")))
        .trigger(Trigger::new(FROM, parameters.duration("overload"), effect))
}

/// What a request takes.
const MILLISECOND: Duration = Duration::from_millis(1);

/// Clients that make this many calls per second.
fn asking(load: f64, policy: &Policy) -> Population {
    Population::new(
        "clients",
        "service",
        Arrivals::Poisson(load),
        policy.clone(),
    )
}

fn tell(asked: &Asked<'_>, study: &mut Study) {
    let parameters = asked.parameters;
    // The first half of the overload is left to the throttles to learn in.
    let length = parameters.duration("overload");
    let (from, to) = (FROM + length / 2, FROM + length);
    let end = parameters.duration("horizon");
    let mut answers = Vec::new();
    let measure = |it: &Recording| {
        let record = clients(it);
        let sent = rate(&record.attempts, it.bucket, from, to);
        [sent, success(&record, it.bucket, to, end)]
    };
    for (contender, runs) in asked.runs(&mut study.contenders, study.runs, measure) {
        let figure = over_runs!("sent_per_s": "Requests sent, second half of the overload", "/s" =
            &finite(&runs, 0));
        let sent = figure.value.unwrap_or(f64::NAN);
        contender.figures.push(figure);
        let after = over_runs!("": "", "" = &finite(&runs, 1));
        let after = after.value.unwrap_or(f64::NAN);
        contender.evidence = format!(
            "{sent:.0} requests a second are sent in the second half of the overload; of the calls \
             after it {} succeed.",
            percent(after)
        );
        answers.push(format!("{sent:.0} ({})", contender.name));
    }
    study.answer = format!(
        "Of {} calls a second, of which {} are accepted, so many are sent: {}.",
        parameters.text("load"),
        parameters.text("accepts"),
        list(&answers)
    );
}

/// The window of the throttles: the closed forms hold once it is full.
const WINDOW: Duration = Duration::from_secs(10);

fn check(plan: &Plan<'_>, quick: bool) -> Vec<Comparison> {
    let mut comparisons = Vec::new();
    let windows = if quick { 4 } else { 40 };
    for (load, accepts, max) in [
        (1000.0, 100.0, 1.0),
        (1000.0, 300.0, 1.0),
        (400.0, 20.0, 0.5),
    ] {
        comparisons.push(sent(load, accepts, max, (plan, windows)));
    }
    let clients = if quick { 100 } else { 1000 };
    comparisons.push(outage(1.0, clients, plan));
    comparisons.push(outage(0.9, clients, plan));
    comparisons
}

fn shedding(max: f64) -> Policy {
    let throttle = Throttle::accepts(2.0).within(WINDOW).max(max);
    Policy::default().attempts(1).throttle(throttle)
}

/// Requests per second that are sent in an overload, by one client, once its window is full.
fn sent(load: f64, accepts: f64, max: f64, (plan, windows): (&Plan<'_>, u32)) -> Comparison {
    let (from, to) = (WINDOW * 2, WINDOW * (2 + windows));
    let scenario = Scenario::new("throttle", to)
        .service(limited(accepts, MILLISECOND))
        .population(asking(load, &shedding(max)));
    let recording = world::run(&scenario, plan.seed);
    let sent = rate(&clients(&recording).attempts, recording.bucket, from, to);
    compare(
        format!("requests sent per second, {load} wanted, {accepts} accepted, p at most {max}"),
        oracle::throttle::sent(load, accepts, 2.0, max),
        sent,
        // What the throttle sends follows the random calls of a window: 5 % are five standard
        // deviations of the fewest, 200 per second in four windows.
        Tolerance::Relative(0.05),
    )
}

/// Requests that a client sends per window in an outage that has lasted for some.
fn outage(max: f64, fleet: u32, plan: &Plan<'_>) -> Comparison {
    let (from, to) = (WINDOW * 2, WINDOW * 7);
    let each = 10.0;
    let hang = Effect::Down {
        service: "service".to_owned(),
    };
    let scenario = Scenario::new("throttle", to)
        .service(unbounded("service", MILLISECOND))
        .population(asking(each * f64::from(fleet), &shedding(max)).clients(fleet))
        .trigger(Trigger::new(Duration::ZERO, to, hang));
    let recording = world::run(&scenario, plan.seed);
    let sent = between(&clients(&recording).attempts, recording.bucket, from, to);
    let windows = f64::from(fleet) * 5.0;
    let expected =
        oracle::throttle::sent_in_outage(each, WINDOW.as_secs_f64(), max) * WINDOW.as_secs_f64();
    compare(
        format!("requests per client per window in an outage, p at most {max}"),
        expected,
        sent / windows,
        // The window has ten slices, the newest of which is not full: it holds from nine tenths to
        // all of its length.
        Tolerance::Absolute(0.11 * expected + DEVIATIONS * (expected / windows).sqrt()),
    )
}
