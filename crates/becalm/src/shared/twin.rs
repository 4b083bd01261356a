//! How do many owners of one policy have a state each, and the policy in common?

use alloc::boxed::Box;
use alloc::sync::Arc;

use crate::budget::{Budget, Budgets};
use crate::decide::Rules;
use crate::gauges::StopCounts;
use crate::guard::Guards;
use crate::policy::Mode;
use crate::scope::Heard;
use crate::sync::{AtomicU64, Once};

use super::current_rules::CurrentRules;
use super::readings::OBSERVES;
use super::{Given, Shared, next_id};

impl Shared {
    /// A new state of the policy in force, as if made like this one: its budget is full, its guards
    /// have seen nothing. A budget that was given as an object is the same for both.
    ///
    /// The two hold the policy in common until one of them is given another: half of their memory,
    /// and of what a failure reads. Simulators make one twin for each of many clients.
    #[must_use]
    pub fn twin(&self) -> Self {
        let mut twin = Self::of_rules(self.rules.share(), self.given.clone());
        if self.demand.is_some() {
            twin = twin.counting_demand();
        }
        if self.retries_are_disabled() {
            twin.disable_retries();
        }
        if self.mode() != twin.mode() {
            twin.set_mode(self.mode());
        }
        twin
    }

    /// The state of rules that were made of a valid policy.
    pub(super) fn of_rules(rules: Arc<Rules>, given: Given) -> Self {
        let budget = if given.budget.is_some() {
            Budget::None
        } else {
            rules.policy.budget
        };
        let is_observing = rules.policy.mode == Mode::Observe;
        let shared = Self {
            budgets: Budgets::new(budget),
            deadline: AtomicU64::new(0),
            attempt_timeout: AtomicU64::new(0),
            plain: AtomicU64::new(0),
            quick: AtomicU64::new(0),
            switches: AtomicU64::new(if is_observing { OBSERVES } else { 0 }),
            waiting: AtomicU64::new(0),
            wants: AtomicU64::new(0),
            guards: Guards::new(&rules.policy),
            stops: StopCounts::default(),
            observed: Once::new(Box::default),
            heard: Heard::nothing(),
            demand: None,
            rules: CurrentRules::new(rules),
            given,
            id: next_id(),
            #[cfg(feature = "std")]
            together: std::sync::OnceLock::new(),
        };
        shared.budgets.begin(shared.given.made);
        shared.publish(shared.rules_of(&shared.hold_rules()));
        shared
    }
}

#[cfg(test)]
mod tests {
    use crate::classify::Failure;
    use crate::policy::Policy;
    use crate::time::Instant;
    use core::time::Duration;

    use super::*;

    #[test]
    fn a_twin_has_the_policy_and_a_state_of_its_own() {
        let policy = Policy::default().budget(Budget::ratio(0.1));
        let one = Shared::new(policy, Duration::from_millis(1)).expect("a valid policy");
        let failure = Failure::transient();
        while one.withdraw(Instant::ZERO, &failure).is_some() {}
        one.count_stop(crate::StopReason::BudgetExhausted);
        let other = one.twin();
        assert_eq!(other.policy(), one.policy());
        assert!(other.budget_fill(Instant::ZERO) > 0.99, "{other:?}");
        assert!(one.budget_fill(Instant::ZERO) < 0.1, "{one:?}");
        assert_eq!(other.stops(crate::StopReason::BudgetExhausted), 0);
    }

    #[cfg(feature = "std")]
    #[test]
    fn a_twin_is_of_the_policy_in_force_and_keeps_it_when_the_other_changes() {
        let of = |attempts| Policy::default().attempts(attempts);
        let one = Shared::new(of(2), Duration::ZERO).expect("a valid policy");
        let first = one.twin();
        one.replace_policy(of(3), Instant::ZERO)
            .expect("a valid policy");
        let second = one.twin();
        one.replace_policy(of(5), Instant::ZERO)
            .expect("a valid policy");
        second.disable_retries();
        let attempts = [&first, &second, &one].map(|it| it.policy().attempts);
        assert_eq!(attempts, [2, 3, 5]);
        assert!(second.twin().retries_are_disabled() && !one.retries_are_disabled());
    }
}
