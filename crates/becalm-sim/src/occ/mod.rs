//! How much work do clients cost each other that update one row by compare and swap?
//!
//! The model of Brooker, *Exponential Backoff And Jitter* (AWS Architecture Blog, 2015), as its
//! published simulator (`aws-arch-backoff-simulator`) has it: each client reads the row's version,
//! writes with the version it has read, and if another write came between, backs off and begins
//! again. The server takes no time; each of the four hops of a cycle takes |Normal(10 ms, 2 ms)|.
//!
//! `Contest` is the configuration, `run` one trial, `trials` the mean of
//! many, [`published`]
//! what the original measures.

mod contest;
mod hop;
pub mod published;
mod trial;
mod trials;

pub use contest::Contest;
pub use trial::{Trial, run};
pub use trials::{Mean, Trials, trials};
