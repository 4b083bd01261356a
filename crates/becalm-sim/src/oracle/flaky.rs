//! What do retries cost and bring where failures are independent?
//!
//! Each attempt fails with probability p, however the others end, and a call makes at most A
//! attempts. Attempt k + 1 is made if the first k failed, which has probability p^k. So a call makes
//! 1 + p + ... + p^(A-1) = (1 - p^A)/(1 - p) attempts in the mean, and it fails only if all A do: it
//! succeeds with probability 1 - p^A.
//!
//! Source: Marc Brooker, *Fixing retries with token buckets and circuit breakers* (2022),
//! <https://brooker.co.za/blog/2022/02/28/retries.html>.

use super::{amount, lesser, positive, share};

/// Attempts per call, without a budget: (1 - p^A)/(1 - p). It is A where all fail; NaN for no
/// attempts.
pub fn attempts_per_call(failures: f64, attempts: u32) -> f64 {
    attempts_of(share(failures), f64::from(attempts))
}

/// The share of calls that succeed, without a budget: 1 - p^A. NaN for no attempts.
pub fn success(failures: f64, attempts: u32) -> f64 {
    success_of(share(failures), f64::from(attempts))
}

/// The most attempts per call that a ratio budget lets through: 1 + r + B n / U.
///
/// Each of n clients starts with a burst of B tokens, and each of the U first tries of all of them
/// together earns r in the mean: the ratio itself of a budget that first tries feed, and so much of it
/// as calls succeed of one that successes do. A retry takes one token, so there are at most r U + B n
/// of them. Met where p is far above r and the calls want to be retried more than once; else
/// [`attempts_per_call`] is less.
pub fn budget_bound(ratio: f64, burst: f64, clients: f64, first_tries: f64) -> f64 {
    1.0 + amount(ratio) + amount(burst) * amount(clients) / positive(first_tries)
}

/// Attempts per call in the long run, under a budget of this ratio: the lesser of what the failures
/// ask for and what the deposits pay, 1 + r.
pub fn budgeted(failures: f64, attempts: u32, ratio: f64) -> f64 {
    lesser(attempts_per_call(failures, attempts), 1.0 + amount(ratio))
}

/// Retries per call, in the long run, where each *success* deposits r instead of each first try:
/// r (1 - p) / (1 - r (1 - p)).
///
/// With x retries per call there are (1 + x)(1 - p) successes per call. While the budget is what
/// binds, each token is used: x = r (1 + x)(1 - p), solved for x. So the dearer failures are, the
/// fewer retries there are. Infinite where r (1 - p) is 1 or more: then retries pay for themselves.
pub fn retries_paid_by_successes(ratio: f64, failures: f64) -> f64 {
    let paid = amount(ratio) * (1.0 - share(failures));
    if paid >= 1.0 {
        f64::INFINITY
    } else {
        paid / (1.0 - paid)
    }
}

/// As [`attempts_per_call`], for a number of attempts that need not be whole or finite.
pub(super) fn attempts_of(failures: f64, attempts: f64) -> f64 {
    if attempts < 1.0 {
        f64::NAN
    } else if failures >= 1.0 {
        attempts
    } else {
        success_of(failures, attempts) / (1.0 - failures)
    }
}

/// As [`success`], for a number of attempts that need not be whole or finite.
pub(super) fn success_of(failures: f64, attempts: f64) -> f64 {
    if attempts < 1.0 {
        f64::NAN
    } else if failures >= 1.0 {
        0.0
    } else {
        // 1 - p^A without cancellation where p is near 1.
        -libm::expm1(attempts * libm::log(failures))
    }
}
