//! How many requests are served in time, by c workers behind a queue that is bounded?
//!
//! Requests come at independent random times at a rate lambda, service times are exponential, c
//! workers serve mu each, K = c + Q fit in, and one more is refused (M/M/c/K). Callers leave after
//! tau, but their requests stay: so the queue knows nothing of tau, and the number n in the system
//! has the well-known distribution `pi_n` ~ lambda^n / (mu 2 mu ... min(n, c) mu).
//!
//! A request that finds n < c starts at once and takes Exp(mu). One that finds n >= c waits until
//! n - c + 1 others are done, of which c work at any time: Erlang(n - c + 1, c mu). Both are in time
//! with a probability that is known, so
//!
//! goodput = sum over n < K of lambda `pi_n` P(Erlang(n - c + 1, c mu) + Exp(mu) <= tau).
//!
//! Let nu = c mu, `G_m` = P(Erlang(m, nu) <= tau), which is the probability that a Poisson number of
//! mean nu tau is at least m, and `H_m` = P(Erlang(m, nu) + Exp(mu) <= tau). By partial fractions of
//! their transforms, nu `H_(m-1)` = (nu - mu) `H_m` + mu `G_m`. From the largest m down this only adds
//! positive numbers and shrinks every error, so it is exact for any c and K; the other way round,
//! and in the closed form, errors grow like (1 - 1/c)^-m.
//!
//! Source: Kleinrock, *Queueing Systems* I (1975), section 3.6, for the states; the recursion is ours.

use super::erlang::MOST_WORKERS;
use super::{amount, positive};

/// Places of a queue above which nothing here is computed: time and memory grow with them.
pub const MOST_PLACES: u32 = 10_000_000;

/// The mean of a Poisson number above which it is beyond doubt that it exceeds [`MOST_PLACES`].
const BEYOND_DOUBT: f64 = 1e10;

/// Workers behind a bounded queue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FiniteQueue {
    /// Requests that come per second: lambda, above 0.
    pub arrivals: f64,
    /// Requests that one worker serves per second: mu, above 0.
    pub served: f64,
    /// Workers: c, from 1 to [`MOST_WORKERS`].
    pub workers: u32,
    /// Requests that wait at most: Q, up to [`MOST_PLACES`].
    pub places: u32,
}

impl FiniteQueue {
    /// The probabilities of 0, 1, ... K requests in the system; empty where a number is out of
    /// range.
    pub fn states(&self) -> Vec<f64> {
        let load = positive(self.arrivals) / positive(self.served);
        if load.is_nan() || !(1..=MOST_WORKERS).contains(&self.workers) || self.places > MOST_PLACES
        {
            return Vec::new();
        }
        // What state n is to state n - 1: it falls with n. So there is one largest state, and
        // nothing overflows where all are computed from there.
        let ratio = |n: u32| load / f64::from(n.min(self.workers));
        let last = self.workers + self.places;
        let mut above = vec![1.0];
        let largest = (1..=last).rev().find(|n| ratio(*n) >= 1.0).unwrap_or(0);
        let mut weight = 1.0;
        let mut states: Vec<f64> = (1..=largest)
            .rev()
            .map(|n| {
                weight /= ratio(n);
                weight
            })
            .collect();
        states.reverse();
        weight = 1.0;
        above.extend((largest + 1..=last).map(|n| {
            weight *= ratio(n);
            weight
        }));
        states.append(&mut above);
        let sum: f64 = states.iter().sum();
        for state in &mut states {
            *state /= sum;
        }
        states
    }

    /// The share of requests that are refused: the probability of K.
    pub fn refused(&self) -> f64 {
        self.states().last().copied().unwrap_or(f64::NAN)
    }

    /// The mean number of requests that wait.
    pub fn mean_queue(&self) -> f64 {
        let states = self.states();
        if states.is_empty() {
            return f64::NAN;
        }
        let waiting = states.iter().skip(self.workers as usize);
        waiting.zip(0_u32..).map(|(p, n)| p * f64::from(n)).sum()
    }

    /// Requests per second that are served within the time that their callers wait, in seconds; an
    /// infinite time counts all that are served.
    pub fn goodput(&self, timeout: f64) -> f64 {
        let states = self.states();
        if states.is_empty() || timeout.is_nan() || timeout < 0.0 {
            return f64::NAN;
        }
        let workers = self.workers as usize;
        let at_once = -libm::expm1(-self.served * timeout);
        let idle: f64 = states.iter().take(workers).sum();
        let queued = states.iter().skip(workers);
        // One value less than there are states: who finds K is refused.
        let in_time = self.in_time_behind(timeout);
        let behind: f64 = queued.zip(&in_time).map(|(p, in_time)| p * in_time).sum();
        self.arrivals * (idle * at_once + behind)
    }

    /// P(Erlang(m, c mu) + Exp(mu) <= tau) for m = 1 ... Q.
    fn in_time_behind(&self, timeout: f64) -> Vec<f64> {
        let mean = f64::from(self.workers) * self.served * timeout;
        let mut in_time = vec![0.0; self.places as usize];
        if mean >= BEYOND_DOUBT {
            in_time.fill(1.0);
            return in_time;
        }
        let own = 1.0 / f64::from(self.workers);
        let tail = PoissonTail::of_mean(amount(mean));
        // What is late: 1 - H. At the end of the tail and above all are, to 1e-30.
        let mut late = 1.0;
        for others in (tail.start.max(1)..tail.end()).rev() {
            if let Some(slot) = in_time.get_mut(others - 1) {
                *slot = 1.0 - late;
            }
            late = (1.0 - own) * late + own * (1.0 - tail.at_least(others));
        }
        // Below its start the tail is 1, so that each step makes it less by the same factor. The
        // steps above the last place are taken at once.
        let below = tail.start.saturating_sub(1);
        let last = below.min(in_time.len());
        #[expect(clippy::cast_precision_loss, reason = "below 1e10")]
        let steps = (below - last) as f64;
        late *= libm::pow(1.0 - own, steps);
        for slot in in_time.iter_mut().take(last).rev() {
            *slot = 1.0 - late;
            late *= 1.0 - own;
        }
        in_time
    }
}

/// P(N >= m) for a Poisson number N.
struct PoissonTail {
    /// All below are 1.
    start: usize,
    /// From `start` on; all above are 0.
    at_least: Vec<f64>,
}

impl PoissonTail {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "the mean is below 1e10"
    )]
    fn of_mean(mean: f64) -> Self {
        // Beyond 12 standard deviations and 60 more there is less than 1e-30.
        let reach = (12.0 * mean.sqrt() + 60.0) as usize;
        let mode = mean as usize;
        let start = mode.saturating_sub(reach);
        let mut weight = 1.0;
        let mut at_least: Vec<f64> = (start + 1..=mode)
            .rev()
            .map(|n| {
                weight *= n as f64 / mean;
                weight
            })
            .collect();
        at_least.reverse();
        at_least.push(1.0);
        weight = 1.0;
        at_least.extend((mode + 1..=mode + reach).map(|n| {
            weight *= mean / n as f64;
            weight
        }));
        let mut sum = 0.0;
        for value in at_least.iter_mut().rev() {
            sum += *value;
            *value = sum;
        }
        for value in &mut at_least {
            *value /= sum;
        }
        Self { start, at_least }
    }

    /// The first number that is never reached.
    fn end(&self) -> usize {
        self.start + self.at_least.len()
    }

    fn at_least(&self, number: usize) -> f64 {
        match number.checked_sub(self.start) {
            None => 1.0,
            Some(at) => self.at_least.get(at).copied().unwrap_or(0.0),
        }
    }
}
