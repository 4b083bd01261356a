//! What does a database carry behind a cache that may be empty?
//!
//! A look-aside cache answers a share h of the requests, and a database that serves d per second the
//! rest. So the pair shows a capacity of d / (1 - h). When the cache is empty every request misses:
//! then it is d, its *hidden* capacity. A load between the two is served for years and not again
//! after the cache was lost: with a queue at the database longer than callers wait, every fill comes
//! too late, and is thrown away with the call that it was for.
//!
//! If late fills are kept, the cache refills, however slowly. With a share x of the keys in it, a
//! request misses with probability 1 - h x, and a miss is of a missing key with probability
//! h (1 - x)/(1 - h x). The database fills at most d times that per second into k keys:
//! k dx/dt = d h (1 - x)/(1 - h x). By integration, x takes the time
//! k/(d h) (h x - (1 - h) ln(1 - x)). It is the least time, since some keys are read twice.
//!
//! Source: Bronson et al., *Metastable Failures in Distributed Systems* (`HotOS`'21), section 2.2,
//! <https://sigops.org/s/conferences/hotos/2021/papers/hotos21-s11-bronson.pdf>; the refill is ours.

use super::{amount, greater, positive, share};

/// Requests per second that the pair serves while the cache is warm: d / (1 - h). Infinite where
/// everything hits.
pub fn advertised_capacity(database: f64, hits: f64) -> f64 {
    positive(database) / (1.0 - share(hits))
}

/// Requests per second that the pair serves while the cache is cold, and up to which it refills by
/// itself: d, or d/A where each call makes A attempts at a database that is too late. NaN for no
/// attempts.
pub fn hidden_capacity(database: f64, attempts: u32) -> f64 {
    positive(database) / positive(f64::from(attempts))
}

/// The share of keys that must be in the cache for the database to carry the rest of the load:
/// (1 - d / lambda) / h, at least 0. Above 1 where it never does.
pub fn warmth_needed(arrivals: f64, database: f64, hits: f64) -> f64 {
    let too_much = 1.0 - positive(database) / positive(arrivals);
    greater(0.0, too_much) / positive(share(hits))
}

/// The least time, in seconds, until this share of `keys` is in a cache that was empty, where late
/// fills are kept and the database is busy all the time. Infinite for all keys, unless nothing else is asked for.
pub fn refill_time(keys: f64, database: f64, hits: f64, warmth: f64) -> f64 {
    let (hits, warmth) = (positive(share(hits)), share(warmth));
    let rare = if hits < 1.0 {
        (1.0 - hits) * libm::log1p(-warmth)
    } else {
        0.0
    };
    let filled = hits * warmth - rare;
    amount(keys) * filled / (positive(database) * hits)
}
