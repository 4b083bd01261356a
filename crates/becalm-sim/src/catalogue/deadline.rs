//! `deadline`: how much of a service do a few requests take that never end?

use std::time::Duration;

use becalm::Policy;

use super::asked::{Asked, World, count};
use super::entry::Studied;
use super::measure::{DEVIATIONS, between, compare, seconds, service};
use super::{Entry, Parameters};
use crate::engine::Distribution;
use crate::oracle::deadline::Hangs;
use crate::scenario::{Arrivals, Downstream, Population, Scenario, Service};
use crate::study::{Comparison, Plan, Study, Tolerance};
use crate::verdict::{list, percent};
use crate::world;

/// The entry.
pub const DEADLINE: Entry = Entry {
    name: "deadline",
    title: "a few requests that never end",
    question: "What does a deadline that is too long cost, if 5 % of the requests hang?",
    answer: "Each that hangs holds a thread until its deadline. With 1000 threads, 1000 requests per \
             second of 100 ms and a deadline of 100 s, 5 % that hang take 5000 threads: only 19.6 % \
             of all are served. With a deadline of 1 s they take 50, and nothing is lost but the \
             5 %.",
    sources: &[
        source!("Google SRE book, ch. 22: Addressing Cascading Failures, Bimodal latency"
            at "https://sre.google/sre-book/addressing-cascading-failures/"),
    ],
    parameters: &[
        parameter!("load": Number = "1000", "calls per second"),
        parameter!("workers": Count = "1000", "requests that the frontend works on at once"),
        parameter!("work": Duration = "100ms", "how long the backend takes for a request"),
        parameter!("hanging": Share = "0.05", "the share that hangs"),
        parameter!("patience": Duration = "100s", "after which the frontend gives it up"),
        parameter!("horizon": Duration = "5m", "how long a run lasts"),
    ],
    contenders: &["attempts=1", "attempt-timeout=1s"],
    policy,
    studied: Studied::In(World::new(scenario).telling(tell)),
    check,
};

/// One attempt: the book's frontend does not retry.
fn policy() -> Policy {
    Policy::default().attempts(1)
}

/// What hangs does so for longer than anyone waits.
const FOR_EVER: Duration = Duration::from_secs(24 * 3600);

/// Users of a frontend that calls a backend under the policy, which hangs for some.
pub(crate) fn scenario(parameters: &Parameters, policy: &Policy) -> Scenario {
    let mut call = Downstream::new("backend", policy.clone());
    call.timeout = Some(parameters.duration("patience"));
    let none = Distribution::Constant(Duration::ZERO);
    let frontend = Service::new("frontend", count(parameters, "workers"), none);
    let work = Distribution::Bimodal {
        fast: parameters.duration("work"),
        slow: FOR_EVER,
        slow_share: parameters.number("hanging"),
    };
    let arrivals = Arrivals::Poisson(parameters.number("load"));
    let users = Policy::default().attempts(1);
    Scenario::new("deadline", parameters.duration("horizon"))
        .service(frontend.queue(0).calls(call))
        .service(Service::new("backend", Service::UNLIMITED, work))
        .population(Population::new("users", "frontend", arrivals, users))
}

fn tell(_: &Asked<'_>, study: &mut Study) {
    let answered = study.contenders.iter().filter_map(|contender| {
        let success = contender.value("success_share")?;
        Some(format!("{} ({})", percent(success / 100.0), contender.name))
    });
    // Threads that hang together are free together: what the end of a run is like says little.
    let answered: Vec<String> = answered.collect();
    study.answer = format!(
        "In the whole run so many of the calls are answered: {}.",
        list(&answered)
    );
}

/// From one hanging request of a thread to its next, at the longest deadline of the check.
const CYCLE: Duration = Duration::from_millis(101_900);

fn check(plan: &Plan<'_>, quick: bool) -> Vec<Comparison> {
    // The book's figures, or a tenth of each: the share that is served is the same to a hundredth.
    let (size, length) = if quick { (100, 2000) } else { (1000, 2000) };
    let served = [100, 1].map(|patience| served(size, patience, length, plan));
    let book = Hangs {
        arrivals: 1000.0,
        work: 0.1,
        hanging: 0.05,
        deadline: 100.0,
    };
    let by_the_book = compare(
        "the book's share, from the closed form",
        0.196,
        book.served_roughly(1000),
        Tolerance::Absolute(0.0005),
    );
    served.into_iter().chain([by_the_book]).collect()
}

fn served(size: u32, patience: u32, length: u32, plan: &Plan<'_>) -> Comparison {
    let parameters = DEADLINE.given(&[
        ("load", size.to_string()),
        ("workers", size.to_string()),
        ("patience", format!("{patience}s")),
        ("horizon", format!("{length}s")),
    ]);
    let right = Hangs {
        arrivals: f64::from(size),
        work: 0.1,
        hanging: 0.05,
        deadline: f64::from(patience),
    };
    let recording = world::run(&scenario(&parameters, &policy()), plan.seed);
    let frontend = service(&recording, 0);
    // A thread hangs once in twenty requests, and so about every 101.9 s, all of them together at
    // first: whole rounds are counted, from half of one to half of another.
    let (from, to) = (CYCLE.mul_f64(2.5), CYCLE.mul_f64(19.5));
    let arrived = between(&frontend.arrived, recording.bucket, from, to);
    let refused = between(&frontend.refused, recording.bucket, from, to);
    let expected = right.served(size);
    compare(
        format!("share of requests that get one of {size} threads, deadline {patience} s"),
        expected,
        1.0 - refused / arrived,
        Tolerance::Absolute(DEVIATIONS * deviation(&right, size, seconds(from, to))),
    )
}

/// The standard deviation of the share that is served, while the threads are always busy: each is a
/// renewal process, whose count deviates by sqrt(time variance / mean^3).
fn deviation(hangs: &Hangs, threads: u32, time: f64) -> f64 {
    let threads = f64::from(threads);
    if hangs.threads() < threads {
        return 0.0;
    }
    let mean = hangs.threads() / hangs.arrivals;
    let square = (1.0 - hangs.hanging) * hangs.work * hangs.work
        + hangs.hanging * hangs.deadline * hangs.deadline;
    let count = (threads * time * (square - mean * mean) / (mean * mean * mean)).sqrt();
    count / (hangs.arrivals * time)
}
