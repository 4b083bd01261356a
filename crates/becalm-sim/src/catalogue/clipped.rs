//! `clipped`: what happens to jitter that the cap cuts away?

use std::time::Duration;

use becalm::support::Lone;
use becalm::{Budget, Jitter, Policy};

use super::entry::Studied;
use super::fleet::{self, Fleet, float};
use super::{Candidate, Entry, InvalidParameter, Parameters};
use crate::engine::each_in_order;
use crate::herd::{Formula, Herd, run};
use crate::oracle::herd::sum_of_uniforms_between;
use crate::study::{Comparison, Plan, Study, Tolerance};

/// The entry.
pub const CLIPPED: Entry = Entry {
    name: "clipped",
    title: "jitter that is added before the cap",
    question: "Do clients stay spread once they have reached the cap?",
    answer: "Google Cloud's formula, min(2^n s + U(0, 1 s), max), adds its jitter and then takes the \
             maximum: at the cap nothing is left of it, and what the first five retries have spread \
             stays as it is for ever. With a maximum of 32 s about 0.06 N clients come in the fullest \
             100 ms of every wave, where 0.003 N would if the same attempts were spread evenly. A \
             policy here is clamped before the draw, so that its jitter is whole at the cap.",
    sources: &[
        source!("Google Cloud: Retry strategy, Cloud Storage documentation"
            at "https://cloud.google.com/storage/docs/retry-strategy"),
        source!("Google Cloud: Implementing exponential backoff, Memorystore for Redis"
            at "https://cloud.google.com/memorystore/docs/redis/exponential-backoff"),
    ],
    parameters: &[
        fleet::CLIENTS,
        parameter!("outage": Duration = "10m", "how long the server refuses every attempt"),
        fleet::SPREAD,
        fleet::ACCEPTS,
        parameter!("horizon": Duration = "15m",
            "when the run ends, even if clients are not connected by then"),
        fleet::BUCKET,
    ],
    contenders: &["additive:1s", "equal", "full"],
    policy,
    studied: Studied::Alone(study),
    check,
};

/// The name of the formula among the contenders.
const FORMULA: &str = "clipped";

/// The formula's own figures, with its jitter kept whole at the cap.
fn policy() -> Policy {
    Policy::exponential(Duration::from_secs(1))
        .cap(Duration::from_secs(32))
        .jitter(Jitter::Additive(Duration::from_secs(1)))
        .attempts(Policy::UNLIMITED)
        .budget(Budget::None)
}

fn study(
    parameters: &Parameters,
    candidates: &[Candidate],
    plan: &Plan<'_>,
) -> Result<Study, InvalidParameter> {
    let herd = fleet::asked(parameters)?;
    if candidates.is_empty() {
        return Ok(fleet::study(&CLIPPED, parameters, &[], &herd, plan));
    }
    let formula = Fleet {
        name: FORMULA.to_owned(),
        policy: "min(2^n s + U(0, 1 s), 32 s), not a policy: what others do".to_owned(),
        evidence: String::new(),
        records: fleet::records(&herd, &Formula::GOOGLE_CLOUD, plan)?,
    };
    if let Some(progress) = plan.progress {
        progress(1, candidates.len() as u64 + 1);
    }
    let fleets = fleet::of_each(&herd, candidates, plan, vec![formula])?;
    Ok(fleet::study(&CLIPPED, parameters, &fleets, &herd, plan))
}

/// Five standard deviations, as in the checks of the herd.
const DEVIATIONS: f64 = 5.0;

fn check(plan: &Plan<'_>, quick: bool) -> Vec<Comparison> {
    let clients = if quick { 4_000 } else { 200_000 };
    let parts: [Part; 2] = [clipped, |plan, clients| {
        spread(plan, clients).into_iter().collect()
    }];
    each_in_order(&parts, plan.threads, |part| part(plan, clients)).concat()
}

/// A herd of its own, and what is compared of it.
type Part = fn(&Plan<'_>, u32) -> Vec<Comparison>;

/// The waves of the formula: five delays of 1, 2, 4, 8, 16 s with whole jitter, then 32 s without.
///
/// So the last wave before the cap begins at 31 s, in the shape of a sum of five uniform numbers, and
/// each later one repeats it 32 s later to the nanosecond. Its fullest bucket is beside the middle.
fn clipped(plan: &Plan<'_>, clients: u32) -> Vec<Comparison> {
    let mut herd = Herd::of(clients);
    herd.outage = Duration::from_secs(200);
    let record = run(&herd, &Formula::GOOGLE_CLOUD, plan.seed).unwrap_or_default();
    let share = sum_of_uniforms_between(5, 2.4, 2.5);
    let deviation = (share * (1.0 - share) / f64::from(clients)).sqrt();
    let wave = |number: u32| {
        let from = Duration::from_millis(33_400) + Duration::from_secs(32) * number;
        let count = record.attempts_between(from, from + herd.bucket);
        float(count) / f64::from(clients)
    };
    let first = Comparison {
        what: "clipped: share of the clients in the fullest 100 ms of the wave at 31 s".to_owned(),
        expected: share,
        got: wave(0),
        tolerance: Tolerance::Absolute(DEVIATIONS * deviation),
    };
    let later = [1, 5].map(|number| Comparison {
        what: format!("clipped: the same, {number} waves of 32 s later"),
        expected: wave(0),
        got: wave(number),
        tolerance: Tolerance::Absolute(0.0),
    });
    std::iter::once(first).chain(later).collect()
}

/// A policy whose delays have the same mean of 32 s and whole jitter, once it has settled.
fn spread(plan: &Plan<'_>, clients: u32) -> Option<Comparison> {
    let mean = Duration::from_secs(32);
    let policy = Policy::fixed(mean)
        .cap(mean * 2)
        .jitter(Jitter::Proportional(1.0))
        .attempts(Policy::UNLIMITED)
        .budget(Budget::None);
    let lone = Lone::new(policy, Duration::ZERO).ok()?;
    let mut herd = Herd::of(clients);
    herd.outage = mean * 24;
    herd.horizon = herd.outage;
    let record = run(&herd, &lone, plan.seed).ok()?;
    let window = mean * 8;
    let buckets = window.as_secs_f64() / herd.bucket.as_secs_f64();
    let attempts = record.attempts_between(herd.outage.saturating_sub(window), herd.outage);
    // A renewal count: 8 mean delays, of a variance of a third of the mean's square.
    let deviation = (f64::from(clients) * 8.0 / 3.0).sqrt() / buckets / f64::from(clients);
    Some(Comparison {
        what: "spread: share of the clients in a 100 ms, delays of 32 s in the mean".to_owned(),
        expected: herd.bucket.as_secs_f64() / mean.as_secs_f64(),
        got: float(attempts) / buckets / f64::from(clients),
        tolerance: Tolerance::Absolute(DEVIATIONS * deviation),
    })
}
