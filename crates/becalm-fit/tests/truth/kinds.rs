//! Kinds of services, and of those who tell of them: clocks that step, lines out of order, two servers at once.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use becalm::rng::SplitMix64;
use becalm_fit::Request;

use crate::log::BEGIN;
use crate::workers::{Chance, Other, Plain, Visit, Workers, answered, told};

/// All of them.
pub fn others() -> Vec<Other> {
    let mut all = Vec::new();
    by_costs(&mut all);
    by_day(&mut all);
    by_deployments(&mut all);
    by_caches(&mut all);
    by_connections(&mut all);
    by_servers(&mut all);
    by_tellers(&mut all);
    by_changes(&mut all);
    by_kinds(&mut all);
    all
}

fn short(chance: &mut Chance) -> f64 {
    chance.exponential(0.02)
}

fn even(chance: &mut Chance) -> f64 {
    0.02 + 0.02 * chance.unit()
}

/// Three endpoints: most requests are quick, and a few do most of the work.
fn of_endpoints(chance: &mut Chance) -> f64 {
    match chance.unit() {
        it if it < 0.7 => 0.002 + 0.002 * chance.unit(),
        it if it < 0.95 => chance.exponential(0.02),
        _ => 0.1 + 0.2 * chance.unit(),
    }
}

/// Pareto's, cut at a thousand times the shortest.
fn pareto(chance: &mut Chance) -> f64 {
    (0.008 * chance.unit().powf(-1.0 / 1.6)).min(8.0)
}

fn wide(chance: &mut Chance) -> f64 {
    let normal = (-2.0 * chance.unit().ln()).sqrt() * (std::f64::consts::TAU * chance.unit()).cos();
    0.01 * (1.4 * normal).exp()
}

fn by_costs(all: &mut Vec<Other>) {
    for (nth, load) in (0..).zip([0.5, 0.7, 0.85, 0.95]) {
        for (name, workers, time) in [
            ("endpoints", 6, of_endpoints as fn(&mut Chance) -> f64),
            ("Pareto", 10, pareto),
            ("wide", 5, wide),
        ] {
            let mut it = Plain::new(workers, load, time, 100 + nth);
            let log = told(it.visits());
            all.push(it.other(name, log));
        }
    }
}

/// The load of a day in ten minutes.
fn by_day(all: &mut Vec<Other>) {
    for (nth, high) in (0..).zip([0.6, 0.85, 0.97]) {
        let mut it = Plain::new(8, high, [short, even, wide][nth], 200 + nth as u64);
        it.seconds = 600.0;
        let most = high * it.capacity();
        let low = 0.2 * it.capacity();
        let rate =
            |at: f64| low + (most - low) * (0.5 - 0.5 * (at / 300.0 * std::f64::consts::TAU).cos());
        let mut workers = Workers::new(it.workers);
        let moments = it.chance.moments(it.seconds, most, rate);
        let visits = moments.into_iter().map(|at| {
            let time = it.draw();
            answered(at, workers.serve(at, time))
        });
        let log = told(visits.collect());
        all.push(it.other("a day", log));
    }
}

/// Deployments: all stop and requests wait; all stop and a proxy refuses; one worker after the other.
fn by_deployments(all: &mut Vec<Other>) {
    for (nth, load) in (0..).zip([0.5, 0.7, 0.8]) {
        for kind in ["waits", "refuses", "rolls"] {
            let mut it = Plain::new(6, load, short, 300 + nth);
            let mut workers = Workers::new(it.workers);
            let each = it.moments().into_iter().map(|at| {
                let deployments = [(30.0, 2.0), (60.0, 3.0)];
                let now = deployments
                    .iter()
                    .find(|(from, length)| (*from..from + length).contains(&at));
                match (kind, now) {
                    ("refuses", Some(_)) => {
                        return Visit {
                            status: 502,
                            ..answered(at, at + 0.0005)
                        };
                    }
                    ("waits", Some((from, length))) => workers.stop(from + length),
                    ("rolls", Some((from, _))) => {
                        let turn = ((at - from) / 0.4) as usize;
                        if let Some(free) = workers.0.get_mut(turn) {
                            *free = free.max(from + 0.4 * (turn + 1) as f64);
                        }
                    }
                    _ => {}
                }
                let time = (it.time)(&mut it.chance);
                answered(at, workers.serve(at, time))
            });
            let log = told(each.collect());
            all.push(it.other(&format!("a deployment {kind}"), log));
        }
    }
}

/// A cache in front answers some, and says so or not.
fn by_caches(all: &mut Vec<Other>) {
    for (nth, (load, hits)) in (0..).zip([(0.5, 0.9), (0.7, 0.6), (0.85, 0.3), (0.8, 0.8)]) {
        for is_told in [true, false] {
            let mut it = Plain::new(4, load, even, 400 + nth);
            let mut workers = Workers::new(it.workers);
            let rate = load * it.capacity() / (1.0 - hits);
            let moments = it.chance.moments(it.seconds, rate, |_| rate);
            let each = moments.into_iter().map(|at| {
                let chance = &mut it.chance;
                if chance.unit() < hits {
                    return answered(at, at + 0.0003 + 0.001 * chance.unit());
                }
                let time = (it.time)(chance);
                Visit {
                    upstream: u32::from(is_told),
                    ..answered(at, workers.serve(at, time))
                }
            });
            let log = told(each.collect());
            let mut other = it.other(if is_told { "a told cache" } else { "a cache" }, log);
            if !is_told {
                other.capacity /= 1.0 - hits;
                other.most = other.capacity;
                other.rate = rate;
                other.workers = None;
                for (nth, time) in other.times.iter_mut().enumerate() {
                    if (nth as f64 * 0.618_034).fract() < hits {
                        *time = 0.0008;
                    }
                }
            }
            all.push(other);
        }
    }
}

/// Connections that ask for several things, each when the one before it is answered.
fn by_connections(all: &mut Vec<Other>) {
    for (nth, (load, length)) in (0..).zip([(0.6, 5), (0.8, 20), (0.7, 60), (0.9, 8)]) {
        let mut it = Plain::new(8, load, [short, even][nth % 2], 500 + nth as u64);
        let mut workers = Workers::new(it.workers);
        let rate = load * it.capacity() / f64::from(length);
        let mut next = BinaryHeap::new();
        for (client, at) in (1..).zip(it.chance.moments(it.seconds, rate, |_| rate)) {
            next.push(Reverse(((at * 1e9) as u64, client, length)));
        }
        let mut visits = Vec::new();
        while let Some(Reverse((at, client, left))) = next.pop() {
            let at = at as f64 / 1e9;
            let time = it.draw();
            let end = workers.serve(at, time);
            visits.push(Visit {
                client,
                ..answered(at, end)
            });
            if left > 1 {
                next.push(Reverse(((end * 1e9) as u64, client, left - 1)));
            }
        }
        let log = told(visits);
        all.push(it.other(&format!("connections of {length}"), log));
    }
}

/// Two servers behind one log, which names them or not.
fn by_servers(all: &mut Vec<Other>) {
    for (nth, (load, choice)) in (0..).zip([
        (0.7, "at random"),
        (0.8, "in turn"),
        (0.8, "the emptier"),
        (0.9, "at random"),
        (0.6, "the emptier"),
        (0.8, "named"),
    ]) {
        let mut it = Plain::new(8, load, short, 600 + nth);
        let mut servers = [Workers::new(4), Workers::new(4)];
        let each = it.moments().into_iter().zip(0..).map(|(at, turn)| {
            let to = match choice {
                "in turn" => turn % 2,
                "the emptier" => usize::from(
                    servers[0].next(at).0 > servers[1].next(at).0
                        || servers[0].found(at) > servers[1].found(at),
                ),
                _ => it.chance.below(2),
            };
            let time = (it.time)(&mut it.chance);
            let upstream = if choice == "named" { 1 + to as u32 } else { 0 };
            Visit {
                upstream,
                ..answered(at, servers[to].serve(at, time))
            }
        });
        let log = told(each.collect());
        all.push(it.other(&format!("two servers, {choice}"), log));
    }
}

/// Clocks that step or run slow, and lines that stand elsewhere.
fn by_tellers(all: &mut Vec<Other>) {
    for (nth, (load, kind)) in (0..).zip([
        (0.7, "10 s forward"),
        (0.7, "30 s back"),
        (0.8, "200 ms back"),
        (0.8, "a twentieth fast"),
        (0.7, "by start"),
        (0.8, "shuffled over 100 ms"),
        (0.7, "in blocks"),
        (0.8, "by client"),
        (0.7, "cut to ms"),
        (0.9, "two clocks 5 ms apart"),
    ]) {
        let mut it = Plain::new(6, load, [short, even][nth % 2], 700 + nth as u64);
        let mut log = told(it.visits());
        let half = log[log.len() / 2].end();
        let by = match kind {
            "10 s forward" => 10_000_000,
            "30 s back" => -30_000_000,
            "200 ms back" => -200_000,
            _ => 0,
        };
        for request in log.iter_mut().filter(|it| it.end() > half) {
            request.start += by;
        }
        let length = log.len();
        let mut keyed: Vec<(i64, Request)> = log.iter().map(|it| (it.end(), *it)).collect();
        let mut chance = Chance(SplitMix64::new(nth as u64));
        match kind {
            "by start" => keyed.iter_mut().for_each(|it| it.0 = it.1.start),
            "shuffled over 100 ms" => keyed
                .iter_mut()
                .for_each(|it| it.0 += chance.below(100_000) as i64),
            "in blocks" => {
                for (at, it) in keyed.iter_mut().enumerate() {
                    it.0 = ((at / 400) * 4 + chance.below(4)) as i64;
                }
            }
            "by client" => keyed
                .iter_mut()
                .for_each(|it| it.0 = chance.below(50) as i64),
            "cut to ms" => {
                for (_, it) in &mut keyed {
                    let end = it.end() / 1_000 * 1_000;
                    it.duration = it.duration / 1_000 * 1_000;
                    it.start = end - it.duration as i64;
                }
            }
            "two clocks 5 ms apart" => {
                for (_, it) in &mut keyed {
                    it.start += 5_000 * chance.below(2) as i64;
                }
            }
            _ => {}
        }
        if !matches!(kind, "10 s forward" | "30 s back" | "200 ms back") {
            keyed.sort_by_key(|it| it.0);
        }
        let mut log: Vec<Request> = keyed.into_iter().map(|it| it.1).collect();
        assert_eq!(log.len(), length);
        if kind == "a twentieth fast" {
            for it in &mut log {
                let [start, end] = [it.start, it.end()].map(|it| BEGIN + (it - BEGIN) / 20 * 21);
                (it.start, it.duration) = (start, (end - start).unsigned_abs().max(1));
            }
            for time in &mut it.times {
                *time *= 1.05;
            }
        }
        all.push(it.other(kind, log));
    }
}

/// Workers and times that change.
fn by_changes(all: &mut Vec<Other>) {
    for (nth, (load, from, to)) in (0..).zip([
        (0.6, 4, 8),
        (0.6, 8, 4),
        (0.8, 8, 5),
        (0.9, 4, 6),
        (0.4, 12, 3),
    ]) {
        let least = from.min(to);
        let mut it = Plain::new(least, load, [short, even][nth % 2], 800 + nth as u64);
        let mut workers = Workers::new(from);
        let mut is_before = true;
        let each = it.moments().into_iter().map(|at| {
            if at > 45.0 && is_before {
                is_before = false;
                workers.0.resize(to as usize, at);
            }
            let time = (it.time)(&mut it.chance);
            answered(at, workers.serve(at, time))
        });
        let log = told(each.collect());
        let mut other = it.other(&format!("{from} workers, then {to}"), log);
        other.most *= f64::from(from.max(to)) / f64::from(least);
        other.workers = None;
        all.push(other);
    }
    for (nth, load) in (0..).zip([0.5, 0.7, 0.8]) {
        // A neighbour makes all slower for ten seconds of each half minute.
        let mut it = Plain::new(6, load, even, 850 + nth);
        let mut workers = Workers::new(it.workers);
        let each = it.moments().into_iter().map(|at| {
            let by = if at % 30.0 < 10.0 { 1.5 } else { 1.0 };
            let time = by * (it.time)(&mut it.chance);
            answered(at, workers.serve(at, time))
        });
        let log = told(each.collect());
        let mut other = it.other("a neighbour", log);
        other.capacity /= 1.5;
        all.push(other);
    }
    for (nth, load) in (0..).zip([0.5, 0.7, 0.85]) {
        // The more are busy, the slower each of them is: locks, caches.
        let mut it = Plain::new(8, load, even, 860 + nth);
        it.load /= 1.3;
        let mut workers = Workers::new(it.workers);
        let each = it.moments().into_iter().map(|at| {
            let (begun, _) = workers.next(at);
            let by = 1.0 + 0.3 * workers.found(begun) as f64 / 7.0;
            let time = by * (it.time)(&mut it.chance);
            answered(at, workers.serve(at, time))
        });
        let log = told(each.collect());
        for time in &mut it.times {
            *time *= 1.3;
        }
        it.load = load;
        all.push(it.other("locks", log));
    }
}

/// One in five holds a lock for half of its time.
fn with_a_lock(it: &mut Plain, moments: Vec<f64>) -> Vec<Visit> {
    let (mut workers, mut lock) = (Workers::new(it.workers), 0.0_f64);
    let each = moments.into_iter().map(|at| {
        let time = it.draw();
        let (begun, nth) = workers.next(at);
        let mut end = begun + time;
        if it.chance.unit() < 0.2 {
            end = (begun + time / 2.0).max(lock) + time / 2.0;
            lock = end;
        }
        workers.0[nth] = end;
        answered(at, end)
    });
    each.collect()
}

/// A lock that some take, bulkheads, jobs of each minute, and a queue with an end.
fn by_kinds(all: &mut Vec<Other>) {
    for (nth, load) in (0..).zip([0.5, 0.8, 0.9]) {
        let mut it = Plain::new(12, load, even, 900 + nth);
        // What it can do is what it does where all come at once.
        let at_once = vec![0.0; 300_000];
        let last = with_a_lock(&mut it, at_once)
            .last()
            .map_or(1.0, |it| it.end);
        let can = 300_000.0 / last;
        it.load = load * can / it.capacity();
        let moments = it.moments();
        let log = told(with_a_lock(&mut it, moments));
        it.load = load;
        let mut other = it.other("a lock", log);
        (other.capacity, other.most, other.rate) = (can, can, load * can);
        other.workers = None;
        all.push(other);
    }
    for (nth, load) in (0..).zip([0.6, 0.85]) {
        let mut it = Plain::new(8, load, short, 920 + nth);
        let mut pools = [Workers::new(2), Workers::new(6)];
        let each = it.moments().into_iter().map(|at| {
            let to = usize::from(it.chance.unit() < 0.75);
            let time = (it.time)(&mut it.chance);
            Visit {
                target: 1 + to as u64,
                ..answered(at, pools[to].serve(at, time))
            }
        });
        let log = told(each.collect());
        all.push(it.other("bulkheads", log));
    }
    for (nth, load) in (0..).zip([0.3, 0.5]) {
        let mut it = Plain::new(8, load, even, 930 + nth);
        let mut workers = Workers::new(8);
        let mut moments = it.moments();
        for job in 1..9 {
            moments.extend(std::iter::repeat_n(f64::from(job) * 10.0, 100));
        }
        moments.sort_by(f64::total_cmp);
        let each = moments.into_iter().map(|at| {
            let time = (it.time)(&mut it.chance);
            answered(at, workers.serve(at, time))
        });
        let log = told(each.collect());
        all.push(it.other("jobs", log));
    }
    for (nth, load) in (0..).zip([0.8, 0.95, 1.1]) {
        let mut it = Plain::new(6, load, short, 940 + nth);
        let mut workers = Workers::new(6);
        let each = it.moments().into_iter().map(|at| {
            let (begun, _) = workers.next(at);
            if begun - at > 0.1 {
                return Visit {
                    status: 503,
                    ..answered(at, at + 0.0002)
                };
            }
            let time = (it.time)(&mut it.chance);
            let end = workers.serve(at, time);
            let gives_up = at + 0.25;
            Visit {
                status: if end > gives_up { 499 } else { 200 },
                ..answered(at, end.min(gives_up))
            }
        });
        let log = told(each.collect());
        all.push(it.other("sheds and leaves", log));
    }
}
