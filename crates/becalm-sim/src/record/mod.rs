//! What happened in a run? Counts in buckets of time, and latencies.

mod histogram;
mod recording;
mod slices;
mod tally;

pub use histogram::Histogram;
pub use recording::{
    CallsRecord, PopulationRecord, Recording, ServiceRecord, Stop, Stopped, total,
};
pub use slices::Endings;
pub(crate) use slices::slices;
pub(crate) use tally::{Began, PopulationTally, ServiceTally};
