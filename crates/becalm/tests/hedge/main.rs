//! When is a hedge sent, and what do calls learn from it?

mod calls;
mod service;
#[cfg(feature = "std")]
mod token_book;
