//! Which requests are done once, whoever repeats them?

mod answer;
mod layer;
mod memory;
mod name;
mod refusal;
mod rules;
mod service;
mod shelf;
mod store;

pub use answer::Answer;
pub use layer::IdempotencyLayer;
pub use memory::MemoryStore;
pub use name::{Caller, Fingerprint, Name};
pub use rules::Task;
pub use service::{IdempotencyFuture, Idempotent};
pub use store::{Claim, Store};
