//! Where does the load settle when a service refuses what is above its capacity?
//!
//! A service serves C requests per second and refuses the rest at once and for nothing. First tries
//! come at a rate of lambda above C; a refused one is tried again after a fixed delay, up to A
//! attempts. Let x attempts per second arrive once all has settled. Each is refused with the same
//! probability q = 1 - C/x, so a call makes (1 - q^A)/(1 - q) attempts:
//!
//! x = lambda (1 - q^A)/(1 - q) = lambda (1 - q^A) x / C, hence 1 - q^A = C / lambda,
//!
//! so q = (1 - C/lambda)^(1/A), and x = C/(1 - q). The delay plays no part: it only moves the
//! attempts to later. One per cent above capacity is enough for a multiple of the load.
//!
//! Source: Google SRE book, ch. 22, *Addressing Cascading Failures*,
//! <https://sre.google/sre-book/addressing-cascading-failures/>, whose example never gives up and so
//! grows without a bound; the fixed point is ours.

use super::{amount, lesser, positive};

/// Attempts per second: C/(1 - (1 - C/lambda)^(1/A)).
///
/// lambda where the capacity suffices, A lambda where there is none. NaN for no attempts.
pub fn attempts_per_second(capacity: f64, first_tries: f64, attempts: u32) -> f64 {
    let (capacity, first_tries) = (amount(capacity), amount(first_tries));
    if attempts == 0 {
        f64::NAN
    } else if capacity >= first_tries {
        first_tries
    } else if capacity <= 0.0 {
        first_tries * f64::from(attempts)
    } else {
        capacity / accepted_share(capacity, first_tries, attempts)
    }
}

/// Calls per second that succeed: the capacity, as each attempt that is served ends its call, or
/// all of them where it suffices. Refusals are free here, so that retries cost no goodput.
pub fn goodput(capacity: f64, first_tries: f64) -> f64 {
    lesser(amount(capacity), amount(first_tries))
}

/// 1 - q, for a capacity above 0 and below the first tries; without cancellation where q is near 1.
fn accepted_share(capacity: f64, first_tries: f64, attempts: u32) -> f64 {
    -libm::expm1(libm::log1p(-capacity / positive(first_tries)) / f64::from(attempts))
}
