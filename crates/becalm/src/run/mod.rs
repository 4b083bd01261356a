//! Who runs the operation, and waits? The engine step, and the drivers on it: async, blocking, and
//! the loop by hand.

mod again;
mod attempts;
mod before;
mod blocking;
mod builder;
mod call_loop;
mod controls;
mod copies;
mod core;
mod engine;
mod first_attempt;
mod gave_up;
mod keyed;
mod options;
mod retrier;
mod retry;
mod sans_io;

pub use self::core::Core;
pub use attempts::Attempts;
#[doc(hidden)]
pub use before::before_attempts;
pub use blocking::Blocking;
pub use builder::RetrierBuilder;
pub use call_loop::CallLoop;
pub use copies::Copies;
pub use engine::{Engine, EngineBuilder, Step};
pub use gave_up::{GaveUp, Last, Record, Stopped};
pub use retrier::Retrier;
pub use retry::Retry;
pub use sans_io::FirstAttempt;
