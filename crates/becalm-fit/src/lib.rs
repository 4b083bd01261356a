#![doc = include_str!("../README.md")]
//!
//! # Where to look
//!
//! A log is read as [`Request`]s, in the order of its lines, which a [`Fit`] takes in ([`Fits`] takes each upstream apart). [`Fitted`] is what they say, each value
//! with how it is [`Known`], and as a scenario of the storm simulator. A range of [`prometheus`] says some of it, too.

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod arrivals;
mod closed;
mod conclude;
mod delays;
mod differences;
mod fit;
mod fits;
mod fitted;
mod gathered;
mod knee;
mod known;
mod levels;
mod load;
pub mod log;
mod number;
mod options;
mod order;
mod pool;
pub mod prometheus;
mod queue;
mod quick;
mod reading;
mod repeats;
mod request;
mod sample;
mod scenario;
mod sharing;
mod stamps;
mod tally;
mod timeout;
mod times;
mod underway;
mod warning;
mod windows;
mod worst;

pub use fit::Fit;
pub use fits::Fits;
pub use fitted::{Bursts, By, Ends, FirstTries, Fitted, Found, Knee, Retries, Window};
pub use known::{How, Known};
pub use options::Options;
pub use request::{AtUpstream, Ended, Request};
pub use warning::Warning;
