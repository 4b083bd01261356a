//! Do the engines keep the laws of one call? In virtual time, through the public interface.

#![cfg(feature = "std")]

mod async_engine;
mod blocking_engine;
mod call_loop;
mod cancellation;
mod classified;
mod gave_up;
mod nested;
mod nested_budgets;
mod nested_deadlines;
mod observers;
mod panics;
mod probe;
mod runtime_control;
mod scenarios;
mod shape;
mod sleepers;
#[cfg(feature = "tokio")]
mod tokio_clock;
mod waiting_room;
mod zero_delay;
