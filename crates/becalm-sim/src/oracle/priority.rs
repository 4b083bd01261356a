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

/// The share of what is sent that is accepted, of any priority, where one adaptive throttle stands
/// before all of it: 1/K.
///
/// Of the less critical calls it sends K for each that is accepted, and so many that no fewer are
/// refused. The critical calls meet the same refusals, and from that very share on they are shed
/// as well: K is the number of requests for each accepted one at which their own shedding begins.
/// What they have learnt to shed before the others had, little brings down again. Where hardly any
/// of them are shed, somewhat more than 1/K is accepted.
pub fn accepted_behind_throttle(k: f64) -> f64 {
    lesser(1.0, 1.0 / positive(k))
}

/// The share of any requests that are served without priorities: min(1, C / all).
pub fn without(capacity: f64, all: f64) -> f64 {
    lesser(1.0, amount(capacity) / positive(all))
}
