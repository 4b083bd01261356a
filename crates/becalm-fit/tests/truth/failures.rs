//! Answers that say that nobody served a request: 503s that a worker gave, a proxy, or a queue; and the log does not say which.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use becalm_fit::{Ended, Options, Request};

use crate::log::fit;
use crate::others::Figures;
use crate::workers::{Chance, Other, Plain, Visit, Workers, answered, told};

type Time = fn(&mut Chance) -> f64;

const TIMES: [Time; 2] = [
    |chance| chance.exponential(0.03),
    |chance| 0.02 + 0.02 * chance.unit(),
];

/// What becomes of a request that is to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A worker works on it as on any other.
    Served,
    /// A worker works three times as long, as with one that waits for what is down.
    Longer,
    /// A worker works a third of the time.
    Shorter,
    /// No worker has it: a proxy waits for somebody who is not there, and gives up after 30 to 90 ms.
    Beside,
    /// No worker has it: a proxy gives up after 50 ms.
    Constant,
    /// No worker has it, and it is over at once.
    Quick,
}

/// Kinds, of which one is as likely as another: those that workers have, or that are over at once.
const OF_WORKERS: [&[Kind]; 5] = [
    &[Kind::Served],
    &[Kind::Longer],
    &[Kind::Shorter],
    &[Kind::Quick],
    &[Kind::Served, Kind::Quick],
];

/// And others, which no scenario of one service has.
const OF_NONE: [&[Kind]; 3] = [
    &[Kind::Beside],
    &[Kind::Constant],
    &[Kind::Served, Kind::Longer, Kind::Quick, Kind::Beside],
];

impl Kind {
    /// How long a worker works on it, by how long it works on others.
    fn work(self) -> f64 {
        match self {
            Self::Served => 1.0,
            Self::Longer => 3.0,
            Self::Shorter => 1.0 / 3.0,
            Self::Beside | Self::Constant | Self::Quick => 0.0,
        }
    }
}

/// A service of which this share of the requests fail, where it has this share of the load that it can have.
fn failing(kinds: &[Kind], share: f64, load: f64, time: Time, seed: u64) -> Other {
    let mut it = Plain::new(8, load, time, seed);
    let mut workers = Workers::new(it.workers);
    let work = kinds.iter().map(|it| it.work()).sum::<f64>() / kinds.len() as f64;
    let can = it.capacity() / (1.0 - share + share * work);
    let moments = it.chance.moments(it.seconds, load * can, |_| load * can);
    let visits = moments.into_iter().map(|at| {
        if it.chance.unit() >= share {
            let time = it.draw();
            return answered(at, workers.serve(at, time));
        }
        let kind = kinds[it.chance.below(kinds.len())];
        let end = match kind {
            Kind::Beside => at + 0.03 + 0.06 * it.chance.unit(),
            Kind::Constant => at + 0.05,
            Kind::Quick => at + 0.0002,
            kind => {
                let time = kind.work() * it.draw();
                workers.serve(at, time)
            }
        };
        Visit {
            target: u64::from(kind == Kind::Quick),
            ..unserved(at, end)
        }
    });
    let log = told(visits.collect());
    let mut other = it.other(&format!("{kinds:?} {share}"), log);
    let by = other.capacity / can;
    for time in &mut other.times {
        *time *= by;
    }
    let quick = kinds.iter().filter(|it| **it == Kind::Quick).count();
    // Who is refused at once is no work of the service; nor is, among such or where all that fail are quicker, who seems to be.
    let are_quicker = |it: &Kind| matches!(it, Kind::Quick | Kind::Shorter);
    let at_once = if kinds.iter().any(are_quicker) {
        share * quick as f64 / kinds.len() as f64 + at_once(&other.log)
    } else {
        0.0
    };
    (other.capacity, other.most, other.rate) = (can * (1.0 - at_once), can, load * can);
    other
}

fn unserved(at: f64, end: f64) -> Visit {
    Visit {
        status: 503,
        ..answered(at, end)
    }
}

/// The share of those that failed in a quarter of a usual time though a worker had them.
fn at_once(log: &[Request]) -> f64 {
    let is_served = |it: &&Request| it.ended == Ended::Answered(200);
    let mut times: Vec<u64> = log.iter().filter(is_served).map(|it| it.duration).collect();
    times.sort_unstable();
    let quick = times[times.len() / 2] / 4;
    let failed = log.iter().filter(|it| !is_served(it) && it.target == 0);
    failed.filter(|it| it.duration < quick).count() as f64 / log.len() as f64
}

/// A service whose requests get a 503 when they have waited for this many seconds.
fn impatient(patience: f64, load: f64, time: Time, seed: u64) -> Other {
    let mut it = Plain::new(8, load, time, seed);
    let mut workers = Workers::new(it.workers);
    let moments = it.moments();
    let visits = moments.into_iter().map(|at| {
        let time = it.draw();
        serve_in_time(&mut workers, at, time, patience)
    });
    let log = told(visits.collect());
    it.other(&format!("waited {patience} s"), log)
}

fn serve_in_time(workers: &mut Workers, at: f64, time: f64, patience: f64) -> Visit {
    if workers.next(at).0 - at > patience {
        return unserved(at, at + patience);
    }
    answered(at, workers.serve(at, time))
}

/// The same under a load test of so many users.
fn looped(patience: f64, users: u32, time: Time) -> Other {
    let mut it = Plain::new(8, 1.0, time, u64::from(users));
    let mut workers = Workers::new(it.workers);
    let mut next: BinaryHeap<_> = (0..users).map(|it| Reverse((u64::from(it), it))).collect();
    let mut visits = Vec::new();
    while let Some(Reverse((nanos, user))) = next.pop() {
        let at = nanos as f64 / 1e9;
        if at > it.seconds {
            break;
        }
        let time = it.draw();
        let visit = serve_in_time(&mut workers, at, time, patience);
        let again = visit.end + it.chance.exponential(0.002);
        visits.push(visit);
        next.push(Reverse(((again * 1e9) as u64, user)));
    }
    it.other(&format!("{users} users, waited {patience} s"), told(visits))
}

/// Services that are overloaded, or asked by a load test.
fn overloaded() -> Vec<Other> {
    let mut all = Vec::new();
    for (time, seed) in TIMES.into_iter().zip(1..) {
        for (patience, users) in [(0.01, 16), (0.03, 30), (0.05, 60), (0.1, 60)] {
            for load in [0.8, 0.95, 1.1, 1.4] {
                all.push(impatient(patience, load, time, seed));
            }
            all.push(looped(patience, users, time));
        }
    }
    all
}

fn all(each: &[&[Kind]], loads: &[f64]) -> Vec<Other> {
    let mut all = Vec::new();
    for kinds in each {
        for share in [0.1, 0.3, 0.5] {
            for load in loads {
                let seed = all.len() as u64;
                let time = TIMES[all.len() / 2 % 2];
                all.push(failing(kinds, share, *load, time, seed));
            }
        }
    }
    all.extend(overloaded());
    all
}

#[test]
fn who_was_not_served_makes_no_service_faster() {
    let kinds = [&OF_WORKERS[..], &OF_NONE[..]].concat();
    Figures::of(&all(&kinds, &[0.7, 0.85]), false).hold();
}

#[test]
fn failures_that_a_worker_works_on_hide_no_workers_and_add_none() {
    for kinds in OF_WORKERS {
        for (share, seed) in [(0.1, 1), (0.3, 2), (0.5, 3)] {
            for time in TIMES {
                let other = failing(kinds, share, 0.85, time, seed);
                let fitted = fit(&other.log, Options::default());
                let (low, high) = fitted.workers.interval().unwrap_or((&0, &0));
                let name = format!("{}: {:?}", other.name, fitted.workers);
                assert!(fitted.workers.value == 8, "{name}");
                assert!((*low..=*high).contains(&8), "{name}");
            }
        }
    }
}

#[test]
#[ignore = "a hundred and thirty logs, 8 minutes: scripts/prove fit"]
fn failures_in_full() {
    let loads = [0.5, 0.7, 0.85, 0.95];
    let kinds = [&OF_WORKERS[..], &OF_NONE[..]].concat();
    Figures::of(&all(&kinds, &loads), false).hold();
    Figures::of(&all(&OF_WORKERS, &loads), true).hold();
}
