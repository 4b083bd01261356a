//! How many requests are served by workers that slow each other down?
//!
//! Requests come at independent random times at a rate lambda and wait in at most Q places for one of c
//! workers; their work is exponential, mu alone. With n in the system m = min(n, c) are at work, each at
//! 1/(1 + sigma (m - 1) + kappa m (m - 1)) of its speed, so they end at the rate
//!
//! `mu_n` = m mu / (1 + sigma (m - 1) + kappa m (m - 1)).
//!
//! That is a birth-death process: `pi_n` ~ lambda^n / (`mu_1` `mu_2` ... `mu_n`), and all that are not
//! refused are served: lambda (1 - `pi_K`) per second, K = c + Q.
//!
//! Sources: Gunther, *Guerrilla Capacity Planning* (2007), for the law; Kleinrock, *Queueing Systems* I
//! (1975), section 3.2, for the states.

use super::positive;
use crate::scenario::Scalability;

/// Workers that slow each other down, behind a bounded queue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlowingQueue {
    /// Requests that come per second: lambda, above 0.
    pub arrivals: f64,
    /// Requests that a worker serves per second while it is alone: mu, above 0.
    pub served: f64,
    /// Workers: c, from 1 up.
    pub workers: u32,
    /// Requests that wait at most: Q.
    pub places: u32,
    /// How much they slow each other down.
    pub law: Scalability,
}

impl SlowingQueue {
    /// The probabilities of 0, 1, ... K requests in the system, from sums of logarithms.
    pub fn states(&self) -> Vec<f64> {
        let load = positive(self.arrivals) / positive(self.served);
        let mut weight = 0.0;
        let above = (1..=self.workers.saturating_add(self.places)).map(|n| {
            let at_work = n.min(self.workers);
            weight += (load / (f64::from(at_work) * self.law.speed(at_work))).ln();
            weight
        });
        let weights: Vec<f64> = std::iter::once(0.0).chain(above).collect();
        let most = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let shares: Vec<f64> = weights.iter().map(|it| (it - most).exp()).collect();
        let sum: f64 = shares.iter().sum();
        shares.iter().map(|it| it / sum).collect()
    }

    /// Requests per second that are served.
    pub fn throughput(&self) -> f64 {
        let refused = self.states().last().copied().unwrap_or(f64::NAN);
        self.arrivals * (1.0 - refused)
    }
}
