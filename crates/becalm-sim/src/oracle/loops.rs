//! What does backoff do to the load, in open and in closed loops?
//!
//! Open loop: calls come however the earlier ones end. Each makes (1 - p^A)/(1 - p) attempts,
//! now or later: a delay moves load, and takes none away. In a long overload that is no help.
//!
//! Closed loop: each of N serial clients thinks for Z, calls, waits for the end of its call, and
//! thinks again. A call makes the same number of attempts, each of which takes R, and before retry k
//! (with probability p^k) it waits for `d_k` in the mean. So a round takes
//!
//! Z + R (1 - p^A)/(1 - p) + sum over k < A of p^k `d_k`
//!
//! in the mean, and by the renewal-reward theorem N over that are the first tries per second. Backoff
//! slows them down: amplification is the same, but there is less to amplify.
//!
//! Sources: Schroeder, Wierman, Harchol-Balter, *Open Versus Closed: A Cautionary Tale* (NSDI'06),
//! <https://www.usenix.org/legacy/event/nsdi06/tech/schroeder.html>; Marc Brooker,
//! *What is Backoff For?* (2022), <https://brooker.co.za/blog/2022/08/11/backoff.html>.

use super::flaky::attempts_of;
use super::{amount, positive, share};

/// Serial clients, all times in seconds and in the mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClosedLoop<'a> {
    /// Clients: N.
    pub clients: f64,
    /// What a client thinks between two calls: Z.
    pub think: f64,
    /// What an attempt takes, successful or not: R.
    pub attempt: f64,
    /// The probability that an attempt fails: p.
    pub failures: f64,
    /// What is waited before each retry: `d_1`, `d_2`, ... There is one attempt more than these.
    pub delays: &'a [f64],
}

impl ClosedLoop<'_> {
    /// First tries per second of all clients together. Infinite where a round takes no time.
    pub fn first_tries_per_second(&self) -> f64 {
        amount(self.clients) / self.round()
    }

    /// Attempts per second of all clients together.
    pub fn attempts_per_second(&self) -> f64 {
        self.first_tries_per_second() * self.attempts_per_call()
    }

    /// Attempts per call: the same as in an open loop.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    pub fn attempts_per_call(&self) -> f64 {
        attempts_of(share(self.failures), self.delays.len() as f64 + 1.0)
    }

    /// The mean time from one first try of a client to its next.
    pub fn round(&self) -> f64 {
        let failures = share(self.failures);
        let mut reached = 1.0;
        let mut waited = 0.0;
        for delay in self.delays {
            reached *= failures;
            waited += reached * amount(*delay);
        }
        amount(self.think) + amount(self.attempt) * self.attempts_per_call() + waited
    }
}

/// Attempts per second in an open loop: the rate of first tries times (1 - p^A)/(1 - p), whatever
/// the delays are.
pub fn open_attempts_per_second(first_tries: f64, failures: f64, attempts: u32) -> f64 {
    positive(first_tries) * super::flaky::attempts_per_call(failures, attempts)
}
