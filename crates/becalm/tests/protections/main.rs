//! Do breaker, bulkhead, rate and throttle do what they promise, each on its own?

mod adaptive_limit;
mod adaptive_throttle;
mod adaptive_throttle_model;
mod breaker_config;
mod breaker_edges;
mod breaker_model;
mod bulkhead_model;
mod bulkhead_properties;
mod rate_limiter;
mod rate_limiter_law;
mod rate_limiter_model;
