//! How fast may attempts be sent, first tries and retries alike, once the server has said "too many"?
//!
//! [`AdaptiveRate`] is the configuration, plain data; [`RateLimiter`] keeps the state: the client
//! rate limiter of the AWS SDKs' adaptive retry mode. A token bucket, whose rate CUBIC cuts at a
//! throttle and lets grow again, bounded by twice the rate that is measured.

mod bucket;
pub(crate) mod cell;
mod config;
mod cubic;
mod limiter;
mod measure;

pub(crate) use bucket::Place;
pub use config::{AdaptiveRate, InvalidAdaptiveRate};
pub use limiter::RateLimiter;
