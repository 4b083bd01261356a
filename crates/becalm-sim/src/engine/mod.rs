//! What moves virtual time: events in order, random streams, distributions, runs side by side.
//! Nothing about retries.

pub mod distribution;
mod numbers;
pub mod parallel;
pub mod queue;
pub mod random;
mod ziggurat;

pub use distribution::Distribution;
pub(crate) use numbers::{float, nanos};
pub use parallel::{each_in_order, each_in_order_telling};
pub use queue::{Event, EventQueue};
pub use random::Stream;
