//! Who runs the operation, and waits? The engines: async, blocking, and the loop by hand, all over
//! the same [`Call`](crate::Call).

mod beside;
mod blocking;
mod builder;
mod call_loop;
mod controls;
mod course;
mod first_flight;
mod gave_up;
mod hedges;
mod options;
mod progress;
mod retrier;
mod retry;
mod watch;

pub use blocking::Blocking;
pub use builder::RetrierBuilder;
pub use call_loop::CallLoop;
pub use gave_up::{GaveUp, Last, Record};
pub use retrier::Retrier;
pub use retry::Retry;
