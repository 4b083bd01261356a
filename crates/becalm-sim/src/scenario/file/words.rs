//! How are the choices of a scenario written?

use std::time::Duration;

use becalm::duration;
use becalm::support::Human;
use becalm::{IdempotencyKey, Operation, throttle::Priority};

use super::entry::Entry;
use super::refusal::{Refusal, unknown};
use crate::scenario::{Discipline, Routing, Sharing, Stale};

/// No bound: of a queue, of workers.
pub(super) const UNLIMITED: &str = "unlimited";
/// What is switched off.
pub(super) const NONE: &str = "none";

pub(super) const ROUTING: &[(&str, Routing)] = &[
    ("random", Routing::Random),
    ("round-robin", Routing::RoundRobin),
    ("least-loaded", Routing::LeastLoaded),
    ("by-key", Routing::ByKey),
];

pub(super) const STALE: &[(&str, Stale)] = &[
    ("served", Stale::Served),
    ("past-deadline", Stale::PastDeadline),
    ("cancelled", Stale::Cancelled),
];

pub(super) const SHARING: &[(&str, Sharing)] = &[
    ("per-client", Sharing::PerClient),
    ("shared", Sharing::Shared),
    ("per-shard", Sharing::PerShard),
];

pub(super) const PRIORITY: &[(&str, Priority)] = &[
    ("critical-plus", Priority::CriticalPlus),
    ("critical", Priority::Critical),
    ("sheddable-plus", Priority::SheddablePlus),
    ("sheddable", Priority::Sheddable),
];

const OPERATION: &[(&str, Operation)] = &[
    ("idempotent", Operation::Idempotent),
    ("keyed", Operation::KeyedByCaller),
    ("not-idempotent", Operation::NotIdempotent),
];

const FIFO: &str = "fifo";
const LIFO: &str = "lifo";
const CODEL: &str = "codel";

/// The word of this choice. What has none is of a later version than this file, and cannot be.
pub(super) fn word<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> &'static str {
    let found = words.iter().find(|(_, it)| it == value);
    debug_assert!(found.is_some(), "a choice has no word");
    found.map_or("", |(word, _)| word)
}

/// `"idempotent"`, `"keyed"`, `"keyed:UUID"`, `"not-idempotent"`.
pub(super) fn operation(entry: &Entry<'_>) -> Result<Operation, Refusal> {
    match entry.text()?.split_once("keyed:") {
        Some(("", key)) => {
            let key: Result<IdempotencyKey, _> = key.parse();
            key.map(Operation::Keyed).map_err(|_| {
                entry.refuse("the key is not a UUID; write \"keyed\" for keys of the callers' own")
            })
        }
        _ => entry.choice(OPERATION),
    }
}

pub(super) fn operation_text(operation: &Operation) -> String {
    match operation {
        Operation::Keyed(key) => format!("keyed:{key}"),
        operation => word(OPERATION, operation).to_owned(),
    }
}

/// `"fifo"`, `"lifo"`, `"codel"`, `"codel:5ms,interval:100ms"`.
pub(super) fn discipline(entry: &Entry<'_>) -> Result<Discipline, Refusal> {
    let text = entry.text()?;
    let (kind, parameters) = text.split_once(':').unwrap_or((text, ""));
    match (kind.trim(), parameters) {
        (FIFO, "") => Ok(Discipline::Fifo),
        (LIFO, "") => Ok(Discipline::Lifo),
        (CODEL, "") => Ok(Discipline::CoDel {
            target: CODEL_TARGET,
            interval: CODEL_INTERVAL,
        }),
        (CODEL, parameters) => codel(parameters).ok_or_else(|| {
            entry.refuse("write \"codel:5ms,interval:100ms\", both above 0, or \"codel\" for these")
        }),
        (FIFO | LIFO, _) => Err(entry.refuse(format!("\"{kind}\" takes no parameters"))),
        (kind, _) => Err(entry.refuse(unknown("word", kind, [FIFO, LIFO, CODEL]))),
    }
}

pub(super) fn discipline_text(discipline: &Discipline) -> String {
    match discipline {
        Discipline::Fifo => FIFO.into(),
        Discipline::Lifo => LIFO.into(),
        Discipline::CoDel { target, interval } => {
            format!("{CODEL}:{},interval:{}", Human(*target), Human(*interval))
        }
    }
}

/// RFC 8289, section 4.4: 5 ms and 100 ms.
const CODEL_TARGET: Duration = Duration::from_millis(5);
const CODEL_INTERVAL: Duration = Duration::from_millis(100);

fn codel(parameters: &str) -> Option<Discipline> {
    let (target, rest) = match parameters.split_once(',') {
        Some((target, rest)) => (target, Some(rest)),
        None => (parameters, None),
    };
    let interval = match rest.map(|rest| rest.split_once(':')) {
        None => CODEL_INTERVAL,
        Some(Some((name, interval))) if name.trim() == "interval" => {
            duration::parse(interval).ok()?
        }
        Some(_) => return None,
    };
    let target = duration::parse(target).ok()?;
    let is_valid = !target.is_zero() && !interval.is_zero();
    is_valid.then_some(Discipline::CoDel { target, interval })
}

/// A duration, or `"none"`.
pub(super) fn optional_length(entry: &Entry<'_>) -> Result<Option<Duration>, Refusal> {
    match entry.as_text() {
        Some(NONE) => Ok(None),
        _ => entry.length().map(Some),
    }
}

/// A whole number from this one up, or `"unlimited"`.
pub(super) fn bounded(entry: &Entry<'_>, least: u32) -> Result<Option<u32>, Refusal> {
    match entry.as_text() {
        Some(UNLIMITED) => Ok(None),
        _ => entry.count(least).map(Some).map_err(|_| {
            let counts = entry.counts_from(least);
            entry.refuse(format!("{counts}, or \"{UNLIMITED}\""))
        }),
    }
}
