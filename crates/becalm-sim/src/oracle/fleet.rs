//! What may a fleet retry, with one budget and with many? By pen and paper.
//!
//! A fleet makes L first tries a second, of which a share φ comes from processes where attempts fail with probability f. Each
//! call that succeeds earns r of a retry, and more retries are wanted than are earned.

use super::{amount, positive, share};

/// Retries a second of a fleet that shares one bucket.
///
/// Calls succeed that are not made where attempts fail, those whose first try does not fail, and 1 - f of the retries: G = r (L (1 - φ
/// f) + G (1 - f)), so that G = r L (1 - φ f) / (1 - r (1 - f)).
pub fn shared(load: f64, failing: f64, failures: f64, ratio: f64) -> f64 {
    let (failing, failures) = (share(failing), share(failures));
    positive(ratio) * positive(load) * (1.0 - failing * failures) / (1.0 - ratio * (1.0 - failures))
}

/// Retries a second of a fleet of processes that have a budget each, once the bursts are spent: what is earned elsewhere is of
/// no use. G = r φ L (1 - f) / (1 - r (1 - f)).
pub fn own(load: f64, failing: f64, failures: f64, ratio: f64) -> f64 {
    shared(positive(load) * share(failing), 1.0, failures, ratio)
}

/// The most that the retries of a fleet may be above `ratio` x calls that succeed, over any window: the bucket, a token
/// of each process, and what is earned between two exchanges.
pub fn excess(burst: f64, instances: f64, period_share: f64) -> f64 {
    amount(burst) + amount(instances) + amount(period_share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_earned_everywhere_is_retried_where_it_fails() {
        // 1000 a second, a tenth of them where 6 of 10 fail: 940 + 0.4 G succeed.
        let retries = shared(1000.0, 0.1, 0.6, 0.1);
        assert!((retries - 0.1 * (940.0 + 0.4 * retries)).abs() < 1e-9);
        let alone = own(1000.0, 0.1, 0.6, 0.1);
        assert!((alone - 0.1 * (40.0 + 0.4 * alone)).abs() < 1e-9);
        assert!(shared(1000.0, 0.1, 1.0, 0.1) - 90.0 < 1e-9);
        assert!(own(1000.0, 0.1, 1.0, 0.1).abs() < 1e-9);
        assert!(shared(0.0, 0.1, 0.6, 0.1).is_nan());
        assert!((excess(3.0, 2.0, 1.0) - 6.0).abs() < 1e-9);
    }
}
