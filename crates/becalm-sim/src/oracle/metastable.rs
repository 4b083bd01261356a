//! How much load can a service carry and still come back from a storm?
//!
//! A service serves mu requests per second. In the storm, every answer comes too late: each call
//! makes all its A attempts, so that A lambda attempts per second are offered, and the work done for
//! those whose callers have given up keeps the queue as long as it is. The storm feeds itself while
//! A lambda > mu. So the service comes back by itself only below mu/A: its *hidden capacity*, far
//! below the capacity that it shows on a quiet day. A budget of ratio r that first tries feed bounds the
//! attempts by (1 + r) lambda, once its burst is spent: its hidden capacity is mu/(1 + r). One that
//! successes feed earns nothing in the storm: as without retries, its hidden capacity is mu.
//!
//! Near the hidden capacity chance decides: the time to recover is a random variable that grows
//! steeply, so that nothing is said between the two bounds of [`Fate`].
//!
//! Sources: Bronson et al., *Metastable Failures in Distributed Systems* (`HotOS`'21),
//! <https://sigops.org/s/conferences/hotos/2021/papers/hotos21-s11-bronson.pdf>; Huang et al.,
//! *Metastable Failures in the Wild* (OSDI'22),
//! <https://www.usenix.org/conference/osdi22/presentation/huang-lexiang>.

use super::{amount, lesser, positive};

/// Below this share of the hidden capacity every run comes back.
pub const SAFE: f64 = 0.9;

/// From this multiple of the hidden capacity on, the storm stays.
pub const TRAPPED: f64 = 2.0;

/// What happens to a storm under a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fate {
    /// Every run comes back.
    Recovers,
    /// Chance decides.
    Undecided,
    /// The storm outlives any horizon.
    Stays,
    /// The load is above the capacity without a retry.
    Overloaded,
}

/// The load up to which a service comes back by itself: mu/A. NaN for no attempts.
pub fn hidden_capacity(capacity: f64, attempts: u32) -> f64 {
    amount(capacity) / positive(f64::from(attempts))
}

/// The hidden capacity where a budget of ratio r, fed by first tries, bounds the retries as well: mu
/// over the lesser of A and 1 + r.
pub fn hidden_capacity_with_budget(capacity: f64, attempts: u32, ratio: f64) -> f64 {
    amount(capacity) / lesser(positive(f64::from(attempts)), 1.0 + amount(ratio))
}

/// Attempts per second in the storm: A lambda.
pub fn collapsed_rate(first_tries: f64, attempts: u32) -> f64 {
    amount(first_tries) * positive(f64::from(attempts))
}

/// What happens to a storm under this load, given the capacity and the hidden capacity.
/// [`Fate::Undecided`] where a number is out of range.
pub fn fate(first_tries: f64, capacity: f64, hidden_capacity: f64) -> Fate {
    if first_tries > capacity {
        Fate::Overloaded
    } else if first_tries < SAFE * hidden_capacity {
        Fate::Recovers
    } else if first_tries >= TRAPPED * hidden_capacity {
        Fate::Stays
    } else {
        Fate::Undecided
    }
}
