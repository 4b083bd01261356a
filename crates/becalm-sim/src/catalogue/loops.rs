//! `loops`: does backoff make the load less?

use std::time::Duration;

use becalm::{Budget, Jitter, Policy};

use super::asked::{Asked, World, count};
use super::entry::Studied;
use super::measure::{
    DEVIATIONS, attempts_deviation, between, clients, compare, float, rate, with_quiet_end,
};
use super::parts::{callers, unbounded};
use super::runs::finite;
use super::{Entry, Parameters, usual};
use crate::engine::Distribution;
use crate::oracle::loops::{ClosedLoop, open_attempts_per_second};
use crate::record::{Recording, total};
use crate::scenario::{Arrivals, Scenario};
use crate::study::{Comparison, Figure, Plan, Study, Tolerance};
use crate::verdict::list;
use crate::world;

/// The entry.
pub const LOOPS: Entry = Entry {
    name: "loops",
    title: "backoff in open and in closed loops",
    question: "Does waiting longer before a retry take load away, or only move it?",
    answer: "In an open loop it only moves it: calls come however the earlier ones end, and each \
             makes as many attempts after long delays as after short ones. In a closed loop of serial \
             clients the amplification is the same as well, but a client that waits does not call: \
             first tries fall. Most services are asked by open loops.",
    sources: &[
        source!("Schroeder, Wierman, Harchol-Balter: Open Versus Closed: A Cautionary Tale, NSDI'06"
            at "https://www.usenix.org/legacy/event/nsdi06/tech/schroeder.html"),
        source!("Marc Brooker: What is Backoff For?, 2022"
            at "https://brooker.co.za/blog/2022/08/11/backoff.html"),
    ],
    parameters: &[
        parameter!("loop": Choice(&["closed", "open"]) = "closed", "which loop the clients are in"),
        parameter!("clients": Count = "100", "clients of a closed loop"),
        parameter!("think": Duration = "1s", "what they think between two calls on average"),
        parameter!("load": Number = "100", "calls per second in an open loop"),
        usual::failures("0.5"),
        usual::service_time("50ms"),
        usual::horizon("60s"),
    ],
    contenders: &["base=0s", "base=1s", "base=10s"],
    policy,
    studied: Studied::In(World::new(scenario).telling(tell)),
    check,
};

/// No budget: it would bound the amplification, which is what is asked about.
fn policy() -> Policy {
    Policy::default().budget(Budget::None)
}

/// Clients of a service without a bound, in either loop.
pub(crate) fn scenario(parameters: &Parameters, policy: &Policy) -> Scenario {
    let time = parameters.duration("service-time");
    let mut clients = callers(parameters, policy).clients(count(parameters, "clients"));
    if parameters.text("loop") == "closed" {
        let think = Distribution::Exponential(parameters.duration("think"));
        clients.arrivals = Arrivals::Closed { think };
    }
    Scenario::new("loops", parameters.duration("horizon"))
        .service(unbounded("service", time).failures(parameters.number("failures")))
        .population(clients)
}

fn tell(asked: &Asked<'_>, study: &mut Study) {
    // From when on the delays of the first calls are over, in the loops that are usual.
    let to = asked.parameters.duration("horizon");
    let mut answers = Vec::new();
    let measure = |it: &Recording| {
        let record = clients(it);
        [&record.first_tries, &record.attempts].map(|of| rate(of, it.bucket, to / 2, to))
    };
    for (contender, runs) in asked.runs(&mut study.contenders, study.runs, measure) {
        let figures = [
            over_runs!("first_tries_per_s": "First tries, second half", "/s" =
                &finite(&runs, 0)),
            over_runs!("attempts_per_s": "Attempts, second half", "/s" =
                &finite(&runs, 1)),
        ];
        let value = |figure: &Figure| figure.value.unwrap_or(f64::NAN);
        let [first_tries, attempts] = figures.each_ref().map(value);
        contender.figures.extend(figures);
        answers.push(format!(
            "{first_tries:.0} first tries and {attempts:.0} attempts ({})",
            contender.name
        ));
    }
    study.answer = format!(
        "In {} loop there are in each second: {}.",
        match asked.parameters.text("loop") {
            "open" => "an open",
            _ => "a closed",
        },
        list(&answers)
    );
}

const FAILURES: f64 = 0.5;

/// Ceilings of the retries, full jitter: half of each is waited in the mean.
fn waiting(ceiling: Duration) -> Policy {
    Policy::fixed(ceiling)
        .jitter(Jitter::Full)
        .budget(Budget::None)
}

fn check(plan: &Plan<'_>, quick: bool) -> Vec<Comparison> {
    let seconds = if quick { 60 } else { 1000 };
    let ceilings = [
        Duration::ZERO,
        Duration::from_millis(400),
        Duration::from_secs(2),
    ];
    let closed = ceilings
        .iter()
        .flat_map(|ceiling| closed(*ceiling, plan, seconds));
    // A second without calls, and the longest delays before it, must fit in.
    let open = ceilings
        .iter()
        .take(2)
        .map(|ceiling| open(*ceiling, plan, seconds));
    closed.chain(open).collect()
}

fn closed(ceiling: Duration, plan: &Plan<'_>, seconds: u64) -> [Comparison; 2] {
    let parameters = LOOPS.given(&[("horizon", format!("{seconds}s"))]);
    let recording = world::run(&scenario(&parameters, &waiting(ceiling)), plan.seed);
    let record = clients(&recording);
    let delays = [ceiling.as_secs_f64() / 2.0; 3];
    let right = ClosedLoop {
        clients: 100.0,
        think: 1.0,
        attempt: 0.05,
        failures: FAILURES,
        delays: &delays,
    };
    // The clients begin by thinking, so that the first round is shorter of retries.
    let (from, to) = (Duration::from_secs(10), Duration::from_secs(seconds));
    let first_tries = between(&record.first_tries, recording.bucket, from, to);
    let attempts = between(&record.attempts, recording.bucket, from, to);
    let time = super::measure::seconds(from, to);
    let expected = right.first_tries_per_second();
    let ceiling = ceiling.as_secs_f64();
    [
        compare(
            format!("closed loop: first tries per second, delays up to {ceiling} s"),
            expected,
            first_tries / time,
            // A round deviates by less than one and a half of its mean, so that a renewal count
            // deviates by less than as many roots of itself.
            Tolerance::Relative(DEVIATIONS * 1.5 / (expected * time).sqrt()),
        ),
        compare(
            format!("closed loop: amplification, delays up to {ceiling} s"),
            right.attempts_per_call(),
            attempts / first_tries,
            // And the calls still running at either end.
            Tolerance::Absolute(
                DEVIATIONS * attempts_deviation(FAILURES, 4) / first_tries.sqrt()
                    + 100.0 / first_tries,
            ),
        ),
    ]
}

fn open(ceiling: Duration, plan: &Plan<'_>, seconds: u64) -> Comparison {
    let parameters = LOOPS.given(&[
        ("loop", "open".to_owned()),
        ("horizon", format!("{seconds}s")),
    ]);
    let scenario = with_quiet_end(scenario(&parameters, &waiting(ceiling)));
    let record = clients(&world::run(&scenario, plan.seed));
    let calls = float(total(&record.calls));
    compare(
        format!(
            "open loop: amplification, delays up to {} s",
            ceiling.as_secs_f64()
        ),
        open_attempts_per_second(1.0, FAILURES, 4),
        record.amplification(),
        // And the calls that a delay carries past the end: fewer than one second's.
        Tolerance::Absolute(
            DEVIATIONS * attempts_deviation(FAILURES, 4) / calls.sqrt() + 10.0 / calls,
        ),
    )
}
