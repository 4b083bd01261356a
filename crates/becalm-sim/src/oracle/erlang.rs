//! How long is the wait for one of c workers?
//!
//! Requests come at independent random times with a load of a = lambda/mu workers. Without a place to
//! wait, the share that finds all c workers busy is Erlang's B. It follows from the balance of the
//! states, B(0) = 1 and B(c) = a B(c-1) / (c + a B(c-1)), which only adds and divides positive
//! numbers and so keeps its precision for any c. With a queue without bounds the share that waits is
//! Erlang's C = B / (1 - rho (1 - B)), with rho = a/c, and the mean wait is C / (c mu - lambda).
//!
//! Source: A. K. Erlang, *Solution of some problems in the theory of probabilities of significance in
//! automatic telephone exchanges* (1917); the recursion in e.g. Cooper, *Introduction to Queueing
//! Theory*, 2nd ed., sections 3.3 and 3.4.

use super::{amount, positive};

/// Workers above which nothing here is computed: the time that it takes grows with them.
pub const MOST_WORKERS: u32 = 10_000_000;

/// The share of requests that find all workers busy, where none waits. `load` is lambda/mu.
///
/// It holds for any distribution of service times with the same mean. 1 without workers.
pub fn blocked(workers: u32, load: f64) -> f64 {
    let load = amount(load);
    if workers > MOST_WORKERS {
        return f64::NAN;
    }
    (1..=workers).fold(1.0 + 0.0 * load, |blocked, workers| {
        load * blocked / (f64::from(workers) + load * blocked)
    })
}

/// The share of requests that wait, in a queue without bounds: 1 where the load is not below the
/// number of workers. Service times are exponential.
pub fn waiting(workers: u32, load: f64) -> f64 {
    let blocked = blocked(workers, load);
    if load >= f64::from(workers) {
        return 1.0 + 0.0 * blocked;
    }
    let busy = load / f64::from(workers);
    blocked / (1.0 - busy * (1.0 - blocked))
}

/// The mean time that a request waits for a worker, in seconds, in a queue without bounds.
///
/// `arrivals` is lambda, `served` what one worker serves per second, mu. Infinite where the load is
/// not below the number of workers.
pub fn mean_wait(workers: u32, arrivals: f64, served: f64) -> f64 {
    let (arrivals, served) = (amount(arrivals), positive(served));
    let spare = f64::from(workers) * served - arrivals;
    let waiting = waiting(workers, arrivals / served);
    if spare <= 0.0 {
        f64::INFINITY + 0.0 * waiting
    } else {
        waiting / spare
    }
}
