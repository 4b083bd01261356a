//! What does the budget hear of calls and attempts?

use super::Shared;
use super::readings::{COUNTS_CALLS, HEARS_CALLS, HEARS_FIRST_TRIES};
use crate::budget::{RetryBudget, Withdrawal};
use crate::classify::Failure;
use crate::decide::Rules;
use crate::time::Instant;

impl Shared {
    /// A plain call has succeeded.
    #[cfg(feature = "std")]
    #[inline]
    pub(crate) fn deposit_plain(&self) {
        self.budgets.ratio().deposit();
        self.heard.untold();
    }

    /// A call has succeeded, at this time if its budget [wants to know](Self::reads_clock_at_end).
    /// Unless a probe of the breaker brought the success, its own budget earns, no matter which one
    /// pays for its retries.
    #[inline]
    pub(crate) fn earn(&self, is_probe: bool, now: Option<Instant>) {
        if !is_probe {
            self.heard.untold();
            let now = now.unwrap_or(Instant::ZERO); // a budget that reads no clock is told no time
            match &self.given.budget {
                Some(budget) => budget.deposit(now),
                None => self.budgets.deposit(now),
            }
        }
    }

    /// A call that paid for nothing has succeeded: see [`earn`](Self::earn).
    #[inline]
    pub(crate) fn succeeded(&self, is_probe: bool, now: Option<Instant>) {
        self.earn(is_probe, now);
        if self.wants(HEARS_CALLS) {
            self.on_success(|| now.unwrap_or(Instant::ZERO), || None);
        }
    }

    /// The first attempt of a call starts: a first try, which the budget hears of unless it is a
    /// probe of the breaker. Returns whether the budget is to be told of the call's
    /// [end](Self::call_ended).
    #[inline]
    pub(crate) fn first_attempt(&self, is_probe: bool, now: Instant) -> bool {
        if !is_probe && self.wants(HEARS_FIRST_TRIES) {
            self.budget().first_try(now);
        }
        self.count_attempt(true);
        // Decided once: after a reload an end without a beginning would be taken from another call.
        let is_counted = self.wants(COUNTS_CALLS);
        if is_counted {
            self.budget().call_began();
        }
        is_counted
    }

    /// A call of which the budget was told has ended.
    pub(crate) fn call_ended(&self) {
        self.budget().call_ended();
    }

    /// A call has succeeded; `last` is what it had paid last. The kinds of the policy's budget want no time of it.
    #[inline]
    pub(crate) fn on_success(
        &self,
        now: impl FnOnce() -> Instant,
        last: impl FnOnce() -> Option<Withdrawal>,
    ) {
        match &self.given.budget {
            Some(budget) => budget.on_success(now(), last()),
            None => self.budgets.succeeded(last),
        }
    }

    #[inline]
    fn on_failure(&self, now: Instant, failure: &Failure) {
        match &self.given.budget {
            Some(budget) => budget.on_failure(now, failure),
            None => self.budgets.on_failure(now, failure),
        }
    }

    /// An attempt has failed, of a class by the lists of these rules.
    #[inline]
    pub(crate) fn failed(&self, rules: &Rules, now: Instant, failure: &Failure) {
        let class = rules.class_of(failure);
        let listed;
        let failure = if class == failure.class {
            failure
        } else {
            listed = Failure { class, ..*failure };
            &listed
        };
        self.on_failure(now, failure);
    }

    /// A retry that was paid for has ended without success.
    #[inline]
    pub(crate) fn spent(&self, withdrawal: Withdrawal) {
        match &self.given.budget {
            Some(budget) => budget.spent(withdrawal),
            None => self.budgets.spent(withdrawal),
        }
    }

    #[inline]
    pub(crate) fn withdraw(&self, now: Instant, failure: &Failure) -> Option<Withdrawal> {
        if let Some(demand) = &self.demand {
            demand.wanted();
        }
        match &self.given.budget {
            Some(budget) => budget.withdraw(now, failure),
            None => self.budgets.withdraw(now, failure),
        }
    }

    pub(crate) fn refund(&self, withdrawal: Withdrawal) {
        self.budget().refund(withdrawal);
    }
}
