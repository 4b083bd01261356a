//! Do the guards keep their laws in the engines and in the sans-IO call? In virtual time, through
//! the public interface.

#![cfg(feature = "std")]
#![allow(
    clippy::pedantic,
    clippy::type_complexity,
    reason = "a scenario reads best as it happens"
)]

mod any_guards;
mod breaker_by_hand;
mod breaker_calls;
mod breaker_cancelled;
mod breaker_layers;
mod breaker_probes;
mod breaker_reload;
mod breaker_spares;
mod budgets;
mod bulkhead_calls;
mod bulkhead_leaves;
mod bulkhead_patience;
mod bulkhead_reload;
mod bulkhead_waits;
mod composition;
mod gauges;
mod hangs;
mod hedged_late;
mod leaks;
mod leaks_of_futures;
mod order;
mod panics;
#[path = "../engines/probe.rs"]
#[allow(dead_code, reason = "shared with the tests of the engines")]
mod probe;
mod queued;
mod rate;
mod throttle;
mod world;
