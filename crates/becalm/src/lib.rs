//! Retries that cannot start a storm.
#![forbid(unsafe_code)]
#![cfg_attr(not(any(feature = "std", test)), no_std)]

extern crate alloc;

mod atomic;
pub mod backoff;
pub mod budget;
pub mod classify;
pub mod duration;
pub mod hint;
pub mod idempotency;
pub mod jitter;
pub mod policy;
pub mod rng;
pub mod scope;
pub mod stop;
pub mod time;

pub use backoff::Backoff;
pub use budget::Budget;
pub use classify::{Class, Classify, Effect, Failure, Verdict};
pub use hint::{Hint, HintMode};
pub use idempotency::{IdempotencyKey, Operation};
pub use jitter::Jitter;
pub use policy::{InvalidPolicy, Policy};
pub use scope::Nested;
pub use stop::StopReason;
pub use time::Instant;
