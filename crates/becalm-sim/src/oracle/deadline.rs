//! How much of a service do a few requests take that never end?
//!
//! A request that ends holds a thread for its work, s; a share h of them never ends and holds its
//! thread until the deadline, D. By Little's law lambda requests per second hold
//! lambda ((1 - h) s + h D) threads. With c threads and no queue, c over that are served where they
//! do not suffice. The exact share is 1 - B of Erlang, for any distribution of times
//! ([`super::erlang`]); in a deep overload both are the same.
//!
//! The book's figures: 1000 requests per second of 100 ms, 5 % of which hang, on 1000 threads. With
//! a deadline of 100 s they ask for 95 + 5000 threads: 1000/5095 = 19.6 % are served. With a deadline
//! of 1 s they ask for 145: all are.
//!
//! Source: Google SRE book, ch. 22, *Addressing Cascading Failures*, "Bimodal latency",
//! <https://sre.google/sre-book/addressing-cascading-failures/>.

use super::{amount, erlang, lesser, share};

/// Requests, a share of which never ends. Times in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hangs {
    /// Requests per second: lambda.
    pub arrivals: f64,
    /// How long the work of one takes that ends: s.
    pub work: f64,
    /// The share that never ends: h.
    pub hanging: f64,
    /// After which a thread is free again: D.
    pub deadline: f64,
}

impl Hangs {
    /// Threads that are busy in the mean, if there are enough.
    pub fn threads(&self) -> f64 {
        let hanging = share(self.hanging);
        let held = (1.0 - hanging) * amount(self.work) + hanging * amount(self.deadline);
        amount(self.arrivals) * held
    }

    /// The share of requests that get a thread, by the ratio of threads: the book's figure.
    pub fn served_roughly(&self, threads: u32) -> f64 {
        lesser(1.0, f64::from(threads) / self.threads())
    }

    /// The share of requests that get a thread: 1 - B. NaN above
    /// [`erlang::MOST_WORKERS`] threads.
    pub fn served(&self, threads: u32) -> f64 {
        1.0 - erlang::blocked(threads, self.threads())
    }
}
