//! How does the state go on under another policy, and what is left of it in the next one?

use super::Shared;
use super::readings::OBSERVES;
use crate::decide::Rules;
use crate::keyed::Idle;
use crate::policy::{InvalidPolicy, Mode, Policy};
use crate::time::Instant;

impl Shared {
    /// Puts another policy in force for calls that have not failed yet; the budget keeps what is
    /// left, as [`Budgets::reconfigure`](crate::budget::Budgets::reconfigure) says. A budget that was given as an object stays as it is. The [mode](Self::mode) is the policy's.
    ///
    /// # Errors
    ///
    /// An invalid policy is refused, and the old one stays in force.
    pub fn replace_policy(&self, policy: Policy, now: Instant) -> Result<(), InvalidPolicy> {
        policy.validate()?;
        let take_over = || {
            if self.given.budget.is_none() {
                self.budgets.reconfigure(&policy.budget, now);
            }
            self.guards.reconfigure(&policy, now);
            Rules::of(policy, self.given.tick)
        };
        self.rules.replace(take_over, |rules| {
            self.put(OBSERVES, rules.policy.mode == Mode::Observe);
            self.publish(rules);
        });
        self.guards.let_go();
        Ok(())
    }

    /// Whether a new state of this policy would behave no differently, and nothing is running.
    pub(crate) fn is_as_new(&self, now: Instant) -> bool {
        let owes_nothing = self.given.budget.is_none() && self.budgets.is_idle(now);
        owes_nothing && self.waiting() == 0 && !self.is_switched() && self.guards.are_as_new(now)
    }

    /// Whether somebody has switched something here, and expects to find it so.
    pub(crate) fn is_set_by_hand(&self) -> bool {
        self.is_switched() || self.guards.are_isolated()
    }

    fn is_switched(&self) -> bool {
        let of_policy = self.rules_of(&self.hold_rules()).policy.mode;
        self.retries_are_disabled() || self.mode() != of_policy
    }

    /// Takes over what another owes that is thrown away: its budget is no fuller from now on.
    pub(crate) fn inherit(&self, stale: &Self, now: Instant) {
        // One that was given as an object is the same for both, or its owner's to look after.
        if self.given.budget.is_none() && stale.given.budget.is_none() {
            self.budgets.inherit(&stale.budgets, now);
        }
    }
}
