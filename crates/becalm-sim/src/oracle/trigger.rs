//! How long may a service be slow before a storm begins that stays?
//!
//! The capacity drops from mu to `mu_d` for a time T and comes back whole. Requests wait in an
//! unbounded queue, first in, first out; callers give up after tau and retry at once; what they gave
//! up is served all the same. As a fluid:
//!
//! 1. First tries come at lambda, so the queue grows at lambda - `mu_d`. The one that comes at t
//!    waits (lambda - `mu_d`) t / `mu_d`. Those that come after tau `mu_d` / (lambda - `mu_d`) wait for
//!    longer than tau, and the first of them gives up a tau later: at
//!    t1 = tau lambda / (lambda - `mu_d`). The queue is then (lambda - `mu_d`) t1 = lambda tau.
//! 2. From t1 on each first try is followed by a retry: the queue grows at 2 lambda - `mu_d`.
//! 3. At the end of T the service works at mu again. A request that comes at that moment is still in
//!    time if the queue is below mu tau. If it is above, that request comes too late as well, and
//!    with A lambda > mu the retries keep the queue there.
//!
//! So the storm stays if lambda tau + (2 lambda - `mu_d`)(T - t1) > mu tau:
//!
//! T > tau (lambda/(lambda - `mu_d`) + (mu - lambda)/(2 lambda - `mu_d`)).
//!
//! Within 5 % for lambda up to 0.6 mu, where mu tau is at least 1000, so that chance plays little
//! part. Above that, the requests that wait at the end of T count as well, and T is shorter.
//!
//! Source of the experiment: Huang et al., *Metastable Failures in the Wild* (OSDI'22),
//! <https://www.usenix.org/conference/osdi22/presentation/huang-lexiang>; the formula is ours.

use super::{amount, positive};

/// The longest drop of capacity from which the service comes back, in seconds.
///
/// `capacity` and `left` are mu and `mu_d`, `timeout` is tau. Infinite where what is left carries
/// the load: then nothing queues. NaN where the load is not below the capacity.
pub fn longest(first_tries: f64, capacity: f64, left: f64, timeout: f64) -> f64 {
    let (lambda, mu) = (positive(first_tries), positive(capacity));
    let (left, tau) = (amount(left), positive(timeout));
    if lambda >= mu || (lambda + mu + left + tau).is_nan() {
        f64::NAN
    } else if left >= lambda {
        f64::INFINITY
    } else {
        tau * (lambda / (lambda - left) + (mu - lambda) / (2.0 * lambda - left))
    }
}

/// Whether the storm that was begun can stay: A lambda > mu. Otherwise it ends by itself, however
/// long the drop was.
pub fn can_stay(first_tries: f64, capacity: f64, attempts: u32) -> bool {
    first_tries * f64::from(attempts) > capacity
}
