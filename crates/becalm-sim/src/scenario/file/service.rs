//! How is a service written, and read back?

use std::time::Duration;

use becalm::Policy;

use super::entry::{Files, Section};
use super::lines::Lines;
use super::policy;
use super::refusal::{InvalidFile, Refusal};
use super::rows::{
    self, BURST, COUNT, DISCIPLINE, FLAG, Key, NUMBER, PATIENCE, PLACES, RATE, SHARE, TEXT, TIME,
    TIMES, WORKERS, choice, key, section,
};
use super::words::{ROUTING, SHARING, STALE};
use crate::engine::Distribution;
use crate::scenario::{Cache, Downstream, Limit, Scalability, Service};

pub(super) const KEYS: &[Key<Service>] = &[
    key!(name: TEXT, "\"orders\""),
    key!(instances: COUNT),
    key!(routing: choice!(ROUTING)),
    key!(workers: WORKERS),
    key!(time: TIMES),
    section!("scalability": scalability, |it, files| {
        rows::table(SCALABILITY, it, files, Scalability::default()).map(Some)
    }),
    key!(queue: PLACES),
    key!(discipline: DISCIPLINE),
    key!(refusal: TIME),
    key!(failures: SHARE),
    section!("limit": limit, |it, files| rows::table(LIMIT, it, files, NO_LIMIT).map(Some)),
    key!(stale: choice!(STALE)),
    section!("cache": cache, |it, files| {
        rows::table(CACHE, it, files, Cache::new(1, 0.0)).map(Some)
    }),
    section!("calls": calls, |it, files| {
        let over = || Downstream::new("", Policy::default());
        let calls = it.tables()?;
        calls.iter().map(|it| rows::table(CALLS, it, files, over())).collect()
    }),
];

pub(super) const SCALABILITY: &[Key<Scalability>] =
    &[key!(contention: SHARE), key!(coherency: SHARE)];

pub(super) const LIMIT: &[Key<Limit>] = &[key!(rate: RATE, "100"), key!(burst: BURST, "10")];

pub(super) const NO_LIMIT: Limit = Limit {
    rate: f64::INFINITY,
    burst: f64::INFINITY,
};

pub(super) const CACHE: &[Key<Cache>] = &[
    key!(keys: COUNT, "1000"),
    key!(hot: SHARE, "0.9"),
    key!(ttl: PATIENCE),
    key!(keeps_late_fills: FLAG),
    key!(starts_warm: FLAG),
];

pub(super) const CALLS: &[Key<Downstream>] = &[
    key!(service: TEXT, "\"database\""),
    key!(fan_out: COUNT),
    key!(at_once: FLAG),
    section!("policy": policy, policy::read),
    key!(timeout: PATIENCE),
    key!(sharing: choice!(SHARING)),
    key!(propagates: FLAG),
    key!(fails_for_good: FLAG),
    key!(refused_from: NUMBER),
    key!(silent_from: NUMBER),
];

/// A service of which the file gives the name alone.
pub(super) fn default() -> Service {
    Service::new("", 1, Distribution::Constant(Duration::from_millis(10)))
}

pub(super) fn read(section: &Section<'_>, files: Files<'_>) -> Result<Service, Refusal> {
    rows::read(KEYS, section, files, default())
}

pub(super) fn write(service: &Service, lines: &mut Lines) -> Result<(), InvalidFile> {
    lines.header("[[service]]");
    rows::write(KEYS, service, &default(), lines);
    if let Some(law) = &service.scalability {
        lines.key("scalability", rows::inline(SCALABILITY, law));
    }
    if let Some(limit) = &service.limit {
        lines.key("limit", rows::inline(LIMIT, limit));
    }
    if let Some(cache) = &service.cache {
        lines.header("[service.cache]");
        rows::write(CACHE, cache, &Cache::new(1, 0.0), lines);
    }
    for call in &service.calls {
        lines.header("[[service.calls]]");
        let default = Downstream::new("", Policy::default());
        rows::write(CALLS, call, &default, lines);
        lines.policy("[service.calls.policy]", &call.policy)?;
    }
    Ok(())
}
