//! What does a client-side throttle let through?
//!
//! A client sheds each of its calls with probability p = max(0, (requests - K accepts)/(requests + 1)),
//! counted over a window, where a shed call is a request, too. With R calls per second, of which a
//! backend accepts C, and a window of many requests, p = 1 - K C / R: so R (1 - p) = K C are sent,
//! whatever R is, and all where R is below K C.
//!
//! In a total outage nothing is accepted: p = n/(n + 1) with n requests in the window, so that
//! R/(n + 1) are sent per second. With n = R W that is one request per client per window, once the
//! window is full; before that, while n grows from 0, it is a harmonic sum.
//!
//! Implementations bound p, so that more is left to find out whether the backend is back.
//!
//! Source: Google SRE book, ch. 21, *Handling Overload*,
//! <https://sre.google/sre-book/handling-overload/>.

use super::{amount, greater, lesser, positive, share};

/// Requests per second that are sent to a backend which accepts so many of so many calls per second.
///
/// K C, at least what the bound `max` of p leaves, at most all.
pub fn sent(calls: f64, accepted: f64, k: f64, max: f64) -> f64 {
    let (calls, allowed) = (amount(calls), amount(accepted) * positive(k));
    let left = calls * (1.0 - share(max));
    lesser(greater(allowed, left), calls)
}

/// Requests per second that one client sends in a total outage that has lasted for a window, in
/// seconds: R / (R W + 1), at least what the bound `max` of p leaves.
pub fn sent_in_outage(calls: f64, window: f64, max: f64) -> f64 {
    let (calls, window) = (amount(calls), positive(window));
    let probes = calls / (calls * window + 1.0);
    let left = calls * (1.0 - share(max));
    greater(probes, left)
}

/// Requests that one client sends of its first so many calls in a total outage, if it had counted
/// nothing before and p is not bounded: 1 + 1/2 + ... + 1/n. At most 10^7 calls; NaN above.
pub fn sent_of_first(calls: u32) -> f64 {
    if calls > 10_000_000 {
        return f64::NAN;
    }
    // The small ones first: that loses the least.
    (1..=calls).rev().map(|n| 1.0 / f64::from(n)).sum()
}
