//! `queue`: how much of a load does a service serve in time, without any retry?

use std::time::Duration;

use becalm::Policy;

use super::asked::World;
use super::entry::Studied;
use super::measure::{DEVIATIONS, clients, compare, float, rate};
use super::parts::{bounded, callers};
use super::runs::seeds;
use super::{Entry, Parameters, usual};
use crate::oracle::erlang;
use crate::oracle::finite_queue::FiniteQueue;
use crate::oracle::scalability::SlowingQueue;
use crate::record::{Histogram, PopulationRecord};
use crate::scenario::{Scalability, Scenario};
use crate::study::{Comparison, Plan, Tolerance};
use crate::world;

/// The entry.
pub const QUEUE: Entry = Entry {
    name: "queue",
    title: "the server model itself",
    question: "How many calls are answered before their callers leave?",
    answer: "Below capacity nearly all: the wait is Erlang's. Above it, a queue that takes longer to \
             pass than callers wait leaves no goodput at all, without a single retry: every answer \
             comes too late. (Q + 1)/(c mu) must stay below about 0.6 of the time-out. A short queue \
             refuses more and serves more.",
    sources: &[
        source!("A. K. Erlang: Solution of some problems in the theory of probabilities, 1917"
            at ""),
        source!("Kleinrock: Queueing Systems I, 1975, section 3.6" at ""),
        source!("Gunther: Guerrilla Capacity Planning, 2007, for workers that slow each other down"
            at ""),
    ],
    parameters: &[
        usual::load("1100"),
        usual::WORKERS,
        usual::MEAN_SERVICE_TIME,
        usual::QUEUE,
        parameter!("contention": Share = "0",
            "the share of the work that only one worker can do at a time"),
        parameter!("coherency": Share = "0",
            "what each pair of workers costs to agree, as a share of the work"),
        parameter!("timeout": Duration = "250ms", "when a client gives up"),
        usual::horizon("60s"),
    ],
    contenders: &["yours", "attempts=2;budget=none"],
    policy,
    studied: Studied::In(World::new(scenario)),
    check,
};

/// No retries: the queue alone.
fn policy() -> Policy {
    Policy::default().attempts(1)
}

/// Clients of a service with a bounded queue: M/M/c/K.
pub(crate) fn scenario(parameters: &Parameters, policy: &Policy) -> Scenario {
    let law = Scalability {
        contention: parameters.number("contention"),
        coherency: parameters.number("coherency"),
    };
    let mut service = bounded("service", parameters);
    service.scalability = (law != Scalability::default()).then_some(law);
    Scenario::new("queue", parameters.duration("horizon"))
        .service(service)
        .population(callers(parameters, policy).timeout(parameters.duration("timeout")))
}

/// Runs of each case, whose differences say how far their mean may be off.
const RUNS: u32 = 10;

/// From when on a run is looked at: the queue has filled.
const FROM: Duration = Duration::from_secs(10);

/// A case of the check: c workers of 10 ms each.
struct Case {
    load: f64,
    workers: u32,
    queue: u32,
    timeout: Duration,
    law: Scalability,
}

fn runs(case: &Case, plan: &Plan<'_>, seconds: u64) -> Vec<PopulationRecord> {
    let parameters = QUEUE.given(&[
        ("load", case.load.to_string()),
        ("workers", case.workers.to_string()),
        ("queue", case.queue.to_string()),
        ("timeout", format!("{}ms", case.timeout.as_millis())),
        ("horizon", format!("{seconds}s")),
        ("contention", case.law.contention.to_string()),
        ("coherency", case.law.coherency.to_string()),
    ]);
    let scenario = scenario(&parameters, &policy());
    let run = |seed| clients(&world::run(&scenario, seed));
    seeds(plan, RUNS).map(run).collect()
}

fn check(plan: &Plan<'_>, quick: bool) -> Vec<Comparison> {
    let seconds = if quick { 30 } else { 300 };
    let case = |load, workers, queue, timeout| Case {
        load,
        workers,
        queue,
        timeout: Duration::from_millis(timeout),
        law: Scalability::default(),
    };
    let cases = [
        case(80.0, 1, 10_000, 50),
        case(270.0, 3, 20, 80),
        case(330.0, 3, 20, 80),
        case(330.0, 3, 40, 150),
    ];
    let mut comparisons: Vec<Comparison> = cases
        .iter()
        .map(|case| goodput(case, plan, seconds))
        .collect();
    for (workers, load) in [(1, 70.0), (3, 210.0)] {
        comparisons.push(wait(&case(load, workers, 10_000, 60_000), plan, seconds));
    }
    for (contention, coherency) in [(0.2, 0.0), (0.05, 0.02)] {
        let law = Scalability {
            contention,
            coherency,
        };
        let case = case(400.0, 12, 20, 60_000);
        comparisons.push(throughput(&Case { law, ..case }, plan, seconds));
    }
    comparisons
}

/// All that are not refused are answered in time.
fn throughput(case: &Case, plan: &Plan<'_>, seconds: u64) -> Comparison {
    let queue = SlowingQueue {
        arrivals: case.load,
        served: 100.0,
        workers: case.workers,
        places: case.queue,
        law: case.law,
    };
    let (mean, error) = mean(&goodputs(case, plan, seconds));
    compare(
        format!(
            "answers per second, load {} on {} x 100/s that slow each other down (contention {}, \
             coherency {}), {} wait at most",
            case.load, case.workers, case.law.contention, case.law.coherency, case.queue
        ),
        queue.throughput(),
        mean,
        Tolerance::Absolute(DEVIATIONS * error),
    )
}

/// The answers in time per second of each run.
fn goodputs(case: &Case, plan: &Plan<'_>, seconds: u64) -> Vec<f64> {
    let to = Duration::from_secs(seconds);
    let bucket = Duration::from_millis(100);
    let records = runs(case, plan, seconds).into_iter();
    let rates = records.map(|record| rate(&record.succeeded, bucket, FROM, to));
    rates.collect()
}

fn goodput(case: &Case, plan: &Plan<'_>, seconds: u64) -> Comparison {
    let queue = FiniteQueue {
        arrivals: case.load,
        served: 100.0,
        workers: case.workers,
        places: case.queue,
    };
    let (mean, error) = mean(&goodputs(case, plan, seconds));
    compare(
        format!(
            "answers in time per second, load {} on {} x 100/s, {} wait at most, time-out {} ms",
            case.load,
            case.workers,
            case.queue,
            case.timeout.as_millis()
        ),
        queue.goodput(case.timeout.as_secs_f64()),
        mean,
        Tolerance::Absolute(DEVIATIONS * error),
    )
}

/// The mean time from call to answer: Erlang's wait and the service.
fn wait(case: &Case, plan: &Plan<'_>, seconds: u64) -> Comparison {
    let means: Vec<f64> = runs(case, plan, seconds)
        .iter()
        .map(|record| mean_of(&record.latency))
        .collect();
    let (mean, error) = mean(&means);
    let expected = erlang::mean_wait(case.workers, case.load, 100.0) + 0.01;
    compare(
        format!(
            "mean time to the answer in seconds, load {} on {} x 100/s",
            case.load, case.workers
        ),
        expected,
        mean,
        // The recording keeps times to within a sixtieth. The queue is empty at the start, which
        // is forgotten within a second.
        Tolerance::Absolute(DEVIATIONS * error + expected / 60.0),
    )
}

/// The mean of a histogram, from a thousand quantiles.
fn mean_of(times: &Histogram) -> f64 {
    let steps = 1000;
    let nanos = (0..steps).filter_map(|step| {
        let share = (f64::from(step) + 0.5) / f64::from(steps);
        times.quantile(share)
    });
    nanos.map(float).sum::<f64>() / f64::from(steps) / 1e9
}

/// The mean, and its standard error.
fn mean(values: &[f64]) -> (f64, f64) {
    let count = f64::from(RUNS);
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values
        .iter()
        .map(|value| (value - mean) * (value - mean))
        .sum();
    (mean, (squares / (count - 1.0) / count).sqrt())
}
