//! How much of the critical traffic is served, if something less critical is shed first?
//!
//! C requests per second are served. If the critical ones come first they are all served up to C,
//! and the others get what is left. Without priorities every request has the same chance, so that a
//! spike of the others takes the critical ones down with it.
//!
//! Source: Netflix Technology Blog, *Enhancing Netflix Reliability with Service-Level Prioritized Load
//! Shedding* (2024),
//! <https://netflixtechblog.com/enhancing-netflix-reliability-with-service-level-prioritized-load-shedding-e735e6ce8f7d>.

use super::{amount, greater, lesser, positive};

/// The share of critical requests that are served, where they come first: min(1, C / critical).
pub fn critical(capacity: f64, critical: f64) -> f64 {
    lesser(1.0, amount(capacity) / positive(critical))
}

/// The share of the other requests that are served then: what is left of the capacity, over their
/// rate.
pub fn others(capacity: f64, critical: f64, others: f64) -> f64 {
    let left = amount(capacity) - amount(critical);
    lesser(1.0, greater(0.0, left) / positive(others))
}

/// The share of what is sent that is accepted, where one adaptive throttle stands before all of it:
/// 1 / (1 + (K - 1)/2^levels).
///
/// The least critical calls are shed in the stead of all others, so it is they who fill what is sent
/// up to the requests that they are allowed for each accepted one: of K - 1 half as many for each
/// level that they are below the critical ones. These meet the same rejections, which are too few
/// for their own shedding to begin.
pub fn accepted_behind_throttle(k: f64, levels: i32) -> f64 {
    let surplus = (positive(k) - 1.0) / f64::from(1_u32 << levels.clamp(0, 31));
    lesser(1.0, 1.0 / positive(1.0 + surplus))
}

/// The share of any requests that are served without priorities: min(1, C / all).
pub fn without(capacity: f64, all: f64) -> f64 {
    lesser(1.0, amount(capacity) / positive(all))
}
