//! Do the engines keep the laws of one call? In virtual time, through the public interface.

#![cfg(feature = "std")]
#![allow(
    clippy::pedantic,
    clippy::erasing_op,
    clippy::identity_op,
    clippy::type_complexity,
    clippy::redundant_pattern_matching,
    reason = "a table of times reads best as 0 * MS, 1 * MS, 2 * MS; a scenario as it happens"
)]

mod async_engine;
mod blocking_engine;
#[cfg(feature = "tokio")]
mod blocking_in_tokio;
mod call_loop;
mod cancellation;
mod classified;
mod counted_anew;
mod first_attempt;
mod foreign_wakers;
mod gave_up;
#[cfg(feature = "anyhow")]
mod gave_up_anyhow;
mod guard_edges;
mod hedged;
mod hedging;
mod hedging_bounds;
mod hedging_budgets;
mod hedging_layers;
mod hedging_leaves;
mod hedging_wakes;
mod in_every_engine;
mod nested;
mod nested_budgets;
mod nested_deadlines;
mod nested_processes;
mod nested_upward;
mod observed;
mod observers;
mod observers_about;
mod observers_settled;
mod panics;
mod probe;
mod repeated;
mod runtime_control;
mod scenarios;
mod shape;
mod sleepers;
#[cfg(feature = "tokio")]
mod strangers;
#[cfg(feature = "tokio")]
mod tokio_clock;
mod waiting_for_tokens;
mod waiting_room;
mod zero_delay;
