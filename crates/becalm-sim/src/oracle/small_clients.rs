//! When does a budget for each client bound nothing?
//!
//! Each of n clients has a budget of its own that starts with B tokens. In a short outage they make U
//! first tries all together, so that each makes few, and the policy would ask for
//! U ((1 - p^A)/(1 - p) - 1) retries. A call that succeeds earns r, and at most a share s = 1 - p^A of
//! them does, so that the budgets grant up to r s U + B n. With B n above what is asked for the budgets
//! never bite, however small r is: the fleet's burst is B n, not B. One budget that all share grants
//! r s U + B, which is 1 + r s per first try again: where all fail, 1.
//!
//! Source: the law of the ratio budget; compare Marc Brooker, *Fixing retries with token buckets and
//! circuit breakers* (2022), <https://brooker.co.za/blog/2022/02/28/retries.html>, on many clients.

use super::flaky::{attempts_per_call, budget_bound, success};
use super::{amount, lesser, positive};

/// Clients of one kind in an outage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SmallClients {
    /// Clients: n, above 0.
    pub clients: f64,
    /// First tries of all of them together in the outage: U, above 0.
    pub first_tries: f64,
    /// The probability that an attempt fails: p.
    pub failures: f64,
    /// Attempts of a call: A.
    pub attempts: u32,
    /// Tokens that a call deposits that succeeds: r.
    pub ratio: f64,
    /// Tokens that a client's budget starts with, and holds at most: B.
    pub burst: f64,
}

impl SmallClients {
    /// Retries that the policy would ask for without a budget.
    pub fn retries_wanted(&self) -> f64 {
        let retries = attempts_per_call(self.failures, self.attempts) - 1.0;
        positive(self.first_tries) * retries
    }

    /// Whether the budgets' bursts are less than the retries that are wanted. If not, they bound
    /// nothing.
    pub fn is_bounded(&self) -> bool {
        amount(self.burst) * positive(self.clients) < self.retries_wanted()
    }

    /// The most attempts per first try, each client with a budget of its own: what is wanted, or
    /// 1 + r s + B n / U if that is less.
    pub fn amplification(&self) -> f64 {
        self.amplification_of(self.clients)
    }

    /// The most attempts per first try where all share one budget: what is wanted, or
    /// 1 + r s + B / U if that is less.
    pub fn shared_amplification(&self) -> f64 {
        self.amplification_of(1.0)
    }

    fn amplification_of(&self, budgets: f64) -> f64 {
        let wanted = attempts_per_call(self.failures, self.attempts);
        let earned = amount(self.ratio) * success(self.failures, self.attempts);
        let paid = budget_bound(earned, self.burst, positive(budgets), self.first_tries);
        lesser(wanted, paid)
    }
}
