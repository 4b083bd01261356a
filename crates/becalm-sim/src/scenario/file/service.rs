//! How is a service written, and read back?

use becalm::Policy;
use toml::{Table, Value};

use super::Files;
use super::arrivals::{distribution, write_distribution};
use super::entry::{Entry, Section};
use super::lines::Lines;
use super::population;
use super::refusal::{InvalidFile, Refusal};
use super::words::{self, ROUTING, SHARING, STALE, UNLIMITED, word};
use crate::engine::Distribution;
use crate::scenario::{Cache, Downstream, Limit, Scalability, Service};

pub(super) const KEYS: &[&str] = &[
    "name",
    "instances",
    "routing",
    "workers",
    "time",
    "scalability",
    "queue",
    "discipline",
    "refusal",
    "failures",
    "limit",
    "stale",
    "cache",
    "calls",
];
const SCALABILITY: &[&str] = &["contention", "coherency"];
const LIMIT: &[&str] = &["rate", "burst"];
const CACHE: &[&str] = &["keys", "hot", "ttl", "keeps_late_fills", "starts_warm"];
const CALLS: &[&str] = &[
    "service",
    "fan_out",
    "at_once",
    "policy",
    "timeout",
    "sharing",
    "propagates",
    "fails_for_good",
    "refused_from",
    "silent_from",
];

pub(super) fn read(section: &Section<'_>, files: Files<'_>) -> Result<Service, Refusal> {
    let name = section.required("name", "\"orders\"")?.text()?;
    let mut service = default(name);
    section.set("instances", &mut service.instances, |it| it.count(1))?;
    section.set("routing", &mut service.routing, |it| it.choice(ROUTING))?;
    section.set("workers", &mut service.workers, |it| {
        Ok(words::bounded(it, 1)?.unwrap_or(Service::UNLIMITED))
    })?;
    section.set("time", &mut service.time, |it| distribution(it, files))?;
    section.set("scalability", &mut service.scalability, |it| {
        read_scalability(it).map(Some)
    })?;
    section.set("queue", &mut service.queue, |it| words::bounded(it, 0))?;
    section.set("discipline", &mut service.discipline, words::discipline)?;
    section.set("refusal", &mut service.refusal, Entry::duration)?;
    section.set("failures", &mut service.failures, Entry::share)?;
    section.set("limit", &mut service.limit, |it| read_limit(it).map(Some))?;
    section.set("stale", &mut service.stale, |it| it.choice(STALE))?;
    section.set("cache", &mut service.cache, |it| read_cache(it).map(Some))?;
    let calls = section.sections("calls", CALLS)?;
    let calls = calls.iter().map(|call| read_call(call, files));
    service.calls = calls.collect::<Result<_, _>>()?;
    Ok(service)
}

pub(super) fn write(service: &Service, lines: &mut Lines) -> Result<(), InvalidFile> {
    let Service {
        name,
        instances,
        routing,
        workers,
        time,
        scalability,
        queue,
        discipline,
        refusal,
        failures,
        limit,
        stale,
        cache,
        calls,
    } = service;
    let default = default(name);
    lines.header("[[service]]");
    lines.key("name", name.as_str());
    lines.changed("instances", instances, &default.instances, |it| *it);
    lines.changed("routing", routing, &default.routing, |it| word(ROUTING, it));
    lines.changed("workers", workers, &default.workers, |it| match *it {
        Service::UNLIMITED => Value::from(UNLIMITED),
        workers => workers.into(),
    });
    lines.changed("time", time, &default.time, write_distribution);
    if let Some(law) = scalability {
        let Scalability {
            contention,
            coherency,
        } = *law;
        lines.key(
            "scalability",
            table([("contention", contention), ("coherency", coherency)]),
        );
    }
    if let Some(places) = queue {
        lines.key("queue", *places);
    }
    lines.changed("discipline", discipline, &default.discipline, |it| {
        words::discipline_text(it)
    });
    if *refusal != default.refusal {
        lines.time("refusal", *refusal);
    }
    lines.changed("failures", failures, &default.failures, |it| *it);
    if let Some(Limit { rate, burst }) = limit {
        lines.key("limit", table([("rate", *rate), ("burst", *burst)]));
    }
    lines.changed("stale", stale, &default.stale, |it| word(STALE, it));
    if let Some(cache) = cache {
        write_cache(cache, lines);
    }
    calls.iter().try_for_each(|call| write_call(call, lines))
}

/// What a service is of which the file gives the name alone.
fn default(name: &str) -> Service {
    let time = Distribution::Constant(std::time::Duration::from_millis(10));
    Service::new(name, 1, time)
}

fn table(numbers: [(&str, f64); 2]) -> Table {
    let numbers = numbers.map(|(key, value)| (key.to_owned(), Value::from(value)));
    Table::from_iter(numbers)
}

fn read_scalability(entry: &Entry<'_>) -> Result<Scalability, Refusal> {
    let section = entry.section(SCALABILITY)?;
    let mut law = Scalability::default();
    section.set("contention", &mut law.contention, Entry::share)?;
    section.set("coherency", &mut law.coherency, Entry::share)?;
    Ok(law)
}

fn read_limit(entry: &Entry<'_>) -> Result<Limit, Refusal> {
    let section = entry.section(LIMIT)?;
    let burst = section.required("burst", "10")?;
    let limit = Limit {
        rate: section.required("rate", "100")?.positive()?,
        burst: burst.positive()?,
    };
    if limit.burst < 1.0 {
        return Err(burst.refuse("a burst below 1 lets nothing through; write at least 1"));
    }
    Ok(limit)
}

fn read_cache(entry: &Entry<'_>) -> Result<Cache, Refusal> {
    let section = entry.section(CACHE)?;
    let keys = section.required("keys", "1000")?.count(1)?;
    let hot = section.required("hot", "0.9")?.share()?;
    let mut cache = Cache::new(keys, hot);
    section.set("ttl", &mut cache.ttl, words::optional_length)?;
    section.set("keeps_late_fills", &mut cache.keeps_late_fills, Entry::flag)?;
    section.set("starts_warm", &mut cache.starts_warm, Entry::flag)?;
    Ok(cache)
}

fn write_cache(cache: &Cache, lines: &mut Lines) {
    let Cache {
        keys,
        hot,
        ttl,
        keeps_late_fills,
        starts_warm,
    } = cache;
    let default = Cache::new(*keys, *hot);
    lines.header("[service.cache]");
    lines.key("keys", *keys);
    lines.key("hot", *hot);
    if let Some(ttl) = ttl {
        lines.time("ttl", *ttl);
    }
    let late = &default.keeps_late_fills;
    lines.changed("keeps_late_fills", keeps_late_fills, late, |it| *it);
    lines.changed("starts_warm", starts_warm, &default.starts_warm, |it| *it);
}

fn read_call(section: &Section<'_>, files: Files<'_>) -> Result<Downstream, Refusal> {
    let service = section.required("service", "\"database\"")?.text()?;
    let mut call = Downstream::new(service, Policy::default());
    section.set("fan_out", &mut call.fan_out, |it| it.count(1))?;
    section.set("at_once", &mut call.at_once, Entry::flag)?;
    section.set("policy", &mut call.policy, |it| {
        population::policy(it, files)
    })?;
    section.set("timeout", &mut call.timeout, words::optional_length)?;
    section.set("sharing", &mut call.sharing, |it| it.choice(SHARING))?;
    section.set("propagates", &mut call.propagates, Entry::flag)?;
    section.set("fails_for_good", &mut call.fails_for_good, Entry::flag)?;
    section.set("refused_from", &mut call.refused_from, |it| it.count(0))?;
    section.set("silent_from", &mut call.silent_from, |it| it.count(0))?;
    Ok(call)
}

fn write_call(call: &Downstream, lines: &mut Lines) -> Result<(), InvalidFile> {
    let Downstream {
        service,
        fan_out,
        at_once,
        policy,
        timeout,
        sharing,
        propagates,
        fails_for_good,
        refused_from,
        silent_from,
    } = call;
    let default = Downstream::new(service.as_str(), Policy::default());
    lines.header("[[service.calls]]");
    lines.key("service", service.as_str());
    lines.changed("fan_out", fan_out, &default.fan_out, |it| *it);
    lines.changed("at_once", at_once, &default.at_once, |it| *it);
    if let Some(timeout) = timeout {
        lines.time("timeout", *timeout);
    }
    lines.changed("sharing", sharing, &default.sharing, |it| word(SHARING, it));
    lines.changed("propagates", propagates, &default.propagates, |it| *it);
    let for_good = &default.fails_for_good;
    lines.changed("fails_for_good", fails_for_good, for_good, |it| *it);
    lines.changed("refused_from", refused_from, &default.refused_from, |it| {
        *it
    });
    lines.changed("silent_from", silent_from, &default.silent_from, |it| *it);
    lines.policy("[service.calls.policy]", policy)
}
