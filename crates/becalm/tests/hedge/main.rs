//! When is a hedge sent, and what do calls learn from it?

mod calls;
mod feedback;
mod latencies;
mod service;
#[cfg(feature = "std")]
mod token_book;
