//! What do metrics and tracing get to hear?

mod metrics;
mod tracing;
