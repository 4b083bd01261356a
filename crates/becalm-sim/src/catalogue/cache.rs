//! `cache`: does a service refill its cache after losing it?

use std::time::Duration;

use becalm::{Budget, Policy};

use super::asked::{Range, World, count};
use super::entry::Studied;
use super::measure::{between, clients, compare, compare_share, service, success, worst};
use super::parts::{bounded, callers, unbounded};
use super::{Entry, Parameters, usual};
use crate::engine::each_in_order;
use crate::record::Recording;
use crate::scenario::{Cache, Downstream, Effect, Scenario, Trigger};
use crate::study::{Comparison, Plan, Tolerance};
use crate::{oracle, world};

/// The entry.
pub const CACHE: Entry = Entry {
    name: "cache",
    title: "a look-aside cache that is lost",
    question: "Does the cache fill again when it has been lost under load?",
    answer: "With 90 % hits a database for 300 requests per second carries 3000 per second, as long \
             as the cache is warm. Cold, it carries 300: at 2000 per second its queue soon takes longer \
             than callers wait, every fill comes too late and is thrown away, and the cache never \
             fills again. If late fills are kept (late-fills=kept), it does, in the time that the \
             database takes to read the keys.",
    sources: &[
        source!("Bronson et al.: Metastable Failures in Distributed Systems, HotOS'21, section 2.2"
            at "https://sigops.org/s/conferences/hotos/2021/papers/hotos21-s11-bronson.pdf"),
    ],
    parameters: &[
        usual::load("2000"),
        parameter!("keys": Count = "3000", "keys that are asked for again and again"),
        parameter!("hits": Share = "0.9", "the share of requests for these"),
        usual::database_workers("3"),
        usual::database_time("10ms"),
        // Ten times as long as callers wait.
        usual::database_queue("3000"),
        usual::timeout("1s"),
        parameter!("late-fills": Choice(&["dropped", "kept"]) = "dropped",
            "what happens to an answer of the database that nobody waits for"),
        parameter!("horizon": Duration = "60s", "how long a run lasts; the cache is lost at 10 s"),
    ],
    contenders: &["attempts=1", "budget=none", "yours"],
    policy: Policy::default,
    // Losing a cache takes no time, so that there is no longest loss to search for.
    studied: Studied::In(World::new(scenario).within(RANGES).quick()),
    check,
};

/// When the cache is lost.
const FROM: Duration = Duration::from_secs(10);

/// Clients of a service that looks into its cache, and then asks the database once.
pub(crate) fn scenario(parameters: &Parameters, policy: &Policy) -> Scenario {
    let mut cache = Cache::new(count(parameters, "keys"), parameters.number("hits"));
    cache.keeps_late_fills = parameters.text("late-fills") == "kept";
    let fill = Downstream::new("database", Policy::default().attempts(1));
    let mut front = unbounded("service", Duration::from_millis(1)).calls(fill);
    front.cache = Some(cache);
    let lost = Effect::CacheLoss {
        service: "service".to_owned(),
    };
    Scenario::new("cache", parameters.duration("horizon"))
        .service(front)
        .service(bounded("database", parameters))
        .population(callers(parameters, policy).timeout(parameters.duration("timeout")))
        .trigger(Trigger::new(FROM, Duration::from_secs(1), lost))
}

const RANGES: &[Range] = &[Range::new("keys", 1.0, 1e7)];

/// The share of keyed requests that hit, from one second to another.
fn hits(recording: &Recording, from: u64, to: u64) -> f64 {
    let front = service(recording, 0);
    let (from, to) = (Duration::from_secs(from), Duration::from_secs(to));
    let count = |counts: &[u32]| between(counts, recording.bucket, from, to);
    count(&front.hits) / (count(&front.hits) + count(&front.misses))
}

/// A run of the check: the load, what happens to late fills, how long.
fn run(load: f64, (keys, late_fills): (u32, &str), seconds: u64, seed: u64) -> Recording {
    let parameters = CACHE.given(&[
        ("load", load.to_string()),
        ("keys", keys.to_string()),
        ("late-fills", late_fills.to_owned()),
        ("horizon", format!("{seconds}s")),
    ]);
    let once = Policy::default().attempts(1).budget(Budget::None);
    world::run(&scenario(&parameters, &once), seed)
}

fn check(plan: &Plan<'_>, quick: bool) -> Vec<Comparison> {
    let runs = if quick { 1 } else { 5 };
    let seeds: Vec<u64> = super::runs::seeds(plan, runs).collect();
    worst(&each_in_order(&seeds, plan.threads, |seed| {
        warm_and_cold(*seed)
    }))
}

fn warm_and_cold(seed: u64) -> Vec<Comparison> {
    let database = 300.0;
    let served = |recording: &Recording, from, to| {
        let (from, to) = (Duration::from_secs(from), Duration::from_secs(to));
        success(&clients(recording), recording.bucket, from, to)
    };
    let cold = run(2000.0, (3000, "dropped"), 40, seed);
    let below = run(
        0.8 * oracle::cache::hidden_capacity(database, 1),
        (300, "dropped"),
        60,
        seed,
    );
    let kept = run(2000.0, (300, "kept"), 60, seed);
    vec![
        compare_share(
            "warm: share of hits at 2000/s",
            0.9,
            hits(&cold, 0, 10),
            20_000.0,
        ),
        compare(
            "warm: share served at 2000/s",
            0.999,
            served(&cold, 1, 9),
            Tolerance::AtLeast,
        ),
        // Fills are in time until the wait is a second, after 300/(2000 - 300) s: the database reads
        // 354 answers until then, 318 of them of the 3000 keys. That is 9.5 % of the requests, and
        // 12 % with five standard deviations of the fills.
        compare(
            "cold: share of hits at 2000/s",
            0.12,
            hits(&cold, 25, 35),
            Tolerance::AtMost,
        ),
        compare(
            "cold: share served at 2000/s",
            0.12,
            served(&cold, 25, 35),
            Tolerance::AtMost,
        ),
        compare(
            "cold, at 0.8 of the database: share served in the end",
            0.99,
            served(&below, 45, 55),
            Tolerance::AtLeast,
        ),
        compare(
            "late fills kept: share of hits at 2000/s in the end",
            0.89,
            hits(&kept, 45, 55),
            Tolerance::AtLeast,
        ),
    ]
}
