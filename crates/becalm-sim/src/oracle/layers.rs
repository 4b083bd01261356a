//! How do the retries of layers multiply?
//!
//! L layers lie above the bottom, and each makes at most A attempts at the one below. The attempts
//! that reach the bottom for one call of a user are one sequence: a layer repeats because the whole
//! sequence below it failed, and all stop at the first success. The sequence ends after A^L failures
//! at the latest. So it is one call with A^L attempts, and the sum of
//! [`flaky`](super::flaky) holds: (1 - p^(A^L))/(1 - p).
//!
//! Sources: the 243 (three attempts in five layers) of the Amazon Builders' Library, *Timeouts,
//! retries, and backoff with jitter*,
//! <https://aws.amazon.com/builders-library/timeouts-retries-and-backoff-with-jitter/>; the 64 (four
//! attempts in three layers) of the Google SRE book, ch. 22, *Addressing Cascading Failures*,
//! <https://sre.google/sre-book/addressing-cascading-failures/>.

use super::flaky::{attempts_of, attempts_per_call, retries_paid_by_successes, success};
use super::{amount, lesser, share};

/// Layers above which [`with_fan_out`] is not computed.
pub const MOST_LAYERS: u32 = 1000;

/// Attempts at the bottom per call of a user: (1 - p^(A^L))/(1 - p).
///
/// A^L where all fail, and never more than 1/(1 - p). Infinite where p is 1 and A^L is past the
/// largest float.
pub fn attempts_at_bottom(failures: f64, attempts: u32, layers: u32) -> f64 {
    attempts_of(share(failures), most(attempts, layers))
}

/// The most attempts at the bottom: A^L.
pub fn most(attempts: u32, layers: u32) -> f64 {
    libm::pow(f64::from(attempts), f64::from(layers))
}

/// Attempts at the bottom where the layers know of each other, and the nearest to the bottom retries
/// until one above repeats: one sequence that ends with the first success, and after L (A - 1) + 1
/// failures at the latest.
pub fn added(failures: f64, attempts: u32, layers: u32) -> f64 {
    let most = f64::from(layers) * (f64::from(attempts.max(1)) - 1.0) + 1.0;
    attempts_of(share(failures), most)
}

/// The most attempts at the bottom, in the long run, where every layer has a budget of ratio r:
/// (1 + r)^L, as each layer makes at most 1 + r attempts for each call from above.
pub fn budgeted(ratio: f64, layers: u32) -> f64 {
    libm::pow(1.0 + amount(ratio), f64::from(layers))
}

/// Attempts at the bottom per call of a user, in the long run, where every layer has a budget that earns
/// r for each of its calls that succeeds.
///
/// Layer by layer from the bottom. A call whose attempts fail with probability p makes x retries:
/// what the failures ask for ([`attempts_per_call`] less one), or what the successes pay
/// ([`retries_paid_by_successes`]) if that is less. Then it is 1 + x attempts and succeeds with
/// probability (1 - p)(1 + x), which says how often an attempt of the layer above fails. 1 where all
/// fail: an outage earns nothing. NaN above [`MOST_LAYERS`] layers.
pub fn budgeted_by_successes(failures: f64, attempts: u32, ratio: f64, layers: u32) -> f64 {
    if layers > MOST_LAYERS {
        return f64::NAN;
    }
    let mut failing = share(failures);
    let mut at_bottom = 1.0;
    for _ in 0..layers {
        let asked = attempts_per_call(failing, attempts) - 1.0;
        let made = 1.0 + lesser(asked, retries_paid_by_successes(ratio, failing));
        at_bottom *= made;
        failing = (1.0 - (1.0 - failing) * made).clamp(0.0, 1.0);
    }
    at_bottom
}

/// Calls at the bottom for one call of a user, without a failure, where every layer makes k calls
/// for each that it gets: k^L.
pub fn fan_out(calls: u32, layers: u32) -> f64 {
    libm::pow(f64::from(calls), f64::from(layers))
}

/// Attempts at the bottom per call of a user, where every layer makes k calls at once for each
/// request, all of which must succeed, with at most A attempts each.
///
/// Layer by layer from the bottom. An attempt there succeeds with probability a = 1 - p and is
/// w = 1 attempt at the bottom. A call from above makes (1 - (1 - a)^A)/a attempts and succeeds with
/// probability c = 1 - (1 - a)^A. A request that makes k such calls succeeds with probability c^k, and
/// is k times as many attempts: these are a and w of the next layer. (k A)^L where all fail, k^L
/// where none does. NaN above [`MOST_LAYERS`] layers.
pub fn with_fan_out(failures: f64, attempts: u32, layers: u32, calls: u32) -> f64 {
    if layers > MOST_LAYERS {
        return f64::NAN;
    }
    let mut failing = share(failures);
    let mut at_bottom = 1.0;
    for _ in 0..layers {
        let succeeds = libm::pow(success(failing, attempts), f64::from(calls));
        at_bottom *= f64::from(calls) * attempts_per_call(failing, attempts);
        failing = 1.0 - succeeds;
    }
    at_bottom + 0.0 * failing
}
