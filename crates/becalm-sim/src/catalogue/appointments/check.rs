//! Does a herd before a door take as long as pen and paper say?

use std::time::Duration;

use becalm::support::Lone;
use becalm::{Budget, Jitter, Policy};

use crate::admission::{Arrivals, Door, Handshakes, run};
use crate::catalogue::fleet::float;
use crate::engine::each_in_order;
use crate::herd::Herd;
use crate::oracle::appointments as oracle;
use crate::study::{Comparison, Plan, Tolerance};

/// The cap of all checks.
const CAP: f64 = 8.0;
/// Clients over the capacity: the floor in seconds.
const FLOOR: u32 = 40;

pub(super) fn check(plan: &Plan<'_>, quick: bool) -> Vec<Comparison> {
    let clients = if quick { 8_000 } else { 200_000 };
    let parts: [Part; 4] = [
        |plan, clients| appointments(plan, clients, Jitter::Full).into(),
        |plan, clients| appointments(plan, clients, Jitter::None).into(),
        |plan, clients| refused(plan, clients).into(),
        |plan, clients| open(plan, clients).into(),
    ];
    each_in_order(&parts, plan.threads, |part| part(plan, clients)).concat()
}

/// A herd of its own, and what is compared of it.
type Part = fn(&Plan<'_>, u32) -> Vec<Comparison>;

/// The record of a herd before a door; nothing where it was refused, which then compares to no right answer.
fn record(plan: &Plan<'_>, clients: u32, door: Door, jitter: Jitter) -> Arrivals {
    let policy = Policy::exponential(Duration::from_secs(1))
        .cap(Duration::from_secs_f64(CAP))
        .jitter(jitter)
        .max_hint(Duration::from_secs(300))
        .attempts(Policy::UNLIMITED)
        .budget(Budget::None);
    let mut herd = Herd::of(clients);
    herd.outage = Duration::from_secs(3);
    herd.horizon = Duration::from_secs(100);
    let mut handshakes = Handshakes::of(herd, clients / FLOOR);
    handshakes.patience = Duration::from_secs(2);
    handshakes.backlog = clients / FLOOR * 5;
    let lone = Lone::new(policy, Duration::ZERO).ok();
    let record = lone.and_then(|lone| run(&handshakes, door, &lone, plan.seed).ok());
    record.unwrap_or_default()
}

/// Seconds from the end of the outage until this share is back.
fn back(record: &Arrivals, share: f64) -> f64 {
    let nanos = record.reconnects.after_outage.quantile(share);
    nanos.map_or(f64::NAN, |nanos| float(nanos) / 1e9)
}

/// The last is back when all places have passed: a burst and a fraction of a second within the floor.
fn appointments(plan: &Plan<'_>, clients: u32, jitter: Jitter) -> [Comparison; 3] {
    let record = record(plan, clients, Door::Appointments, jitter);
    let floor = oracle::floor(clients.into(), (clients / FLOOR).into());
    let last = float(record.reconnects.last) / 1e9 - 3.0;
    [
        Comparison {
            what: format!("appointments, {jitter}: seconds until the last of {clients} is back"),
            expected: floor,
            got: last,
            tolerance: Tolerance::Relative(0.02),
        },
        Comparison {
            what: format!("appointments, {jitter}: handshakes, one for each client"),
            expected: clients.into(),
            got: float(record.handshakes),
            tolerance: Tolerance::Absolute(0.0),
        },
        Comparison {
            what: format!("appointments, {jitter}: most dials of a client once the server is up"),
            expected: 2.0,
            got: record.most_dials.into(),
            tolerance: Tolerance::AtMost,
        },
    ]
}

fn refused(plan: &Plan<'_>, clients: u32) -> [Comparison; 3] {
    let record = record(plan, clients, Door::Plain, Jitter::Full);
    let capacity = f64::from(clients / FLOOR);
    [0.5, 0.9, 0.99].map(|share| Comparison {
        what: format!("503, full: seconds until {share} of {clients} are back"),
        expected: oracle::refused_full(clients.into(), capacity, CAP, share),
        got: back(&record, share),
        tolerance: Tolerance::Relative(0.02),
    })
}

/// Without admission the queue is older than the patience from the first seconds on.
fn open(plan: &Plan<'_>, clients: u32) -> [Comparison; 2] {
    let record = record(plan, clients, Door::Open, Jitter::Full);
    let capacity = f64::from(clients / FLOOR);
    // The dials of the first half second.
    let dials = record
        .reconnects
        .attempts_between(Duration::from_secs(3), Duration::from_millis(3500));
    let served = oracle::served_before_collapse(capacity, 2.0, float(dials) * 2.0);
    let connected = float(record.reconnects.after_outage.len());
    [
        Comparison {
            what: format!("no admission: of {clients}, back before the queue is too old"),
            expected: served,
            got: connected,
            tolerance: Tolerance::Relative(0.02),
        },
        Comparison {
            what: "no admission: share of the handshakes for clients that had left".to_owned(),
            expected: 0.9,
            got: float(record.wasted) / float(record.handshakes),
            tolerance: Tolerance::AtLeast,
        },
    ]
}
