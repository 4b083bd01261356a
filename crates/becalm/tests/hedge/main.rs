//! When is a hedge sent, and what do calls learn from it?

mod calls;
mod pairs;
mod service;
#[cfg(feature = "std")]
mod token_book;
