//! When may a budget be thrown away, and what does the next one owe then?

use super::{Budgets, RetryBudget};
use crate::classify::Failure;
use crate::keyed::Idle;
use crate::time::Instant;

impl Idle for Budgets {
    fn is_idle(&self, now: Instant) -> bool {
        self.fill(now) >= 1.0 && !self.has_calls()
    }

    fn is_in_use(&self) -> bool {
        self.has_calls()
    }

    fn inherit(&self, stale: &Self, now: Instant) {
        spend_down_to(self, stale.fill(now), now);
    }
}

/// Withdraws until the budget is no fuller than this.
fn spend_down_to(budget: &dyn RetryBudget, fill: f64, now: Instant) {
    let mut left = budget.fill(now);
    while left > fill {
        let Some(token) = budget.withdraw(now, &Failure::transient()) else {
            return;
        };
        budget.spent(token);
        let before = core::mem::replace(&mut left, budget.fill(now));
        // A kind that counts what is running owes nothing once that is over.
        if left >= before {
            return;
        }
    }
}
