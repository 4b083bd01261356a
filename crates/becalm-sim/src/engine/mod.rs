//! What moves virtual time: events in order, random streams, distributions. Nothing about retries.

pub mod distribution;
pub mod queue;
pub mod random;

pub use distribution::Distribution;
pub use queue::{Event, EventQueue};
pub use random::Stream;
