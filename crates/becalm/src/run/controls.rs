//! What may an operator read and change while calls are running?

use std::sync::Arc;

use super::Retrier;
use crate::breaker::{CircuitBreaker, State, Transition};
use crate::budget::Gauge;
use crate::gauges::{Demand, Observed};
use crate::policy::{InvalidPolicy, Mode, Policy};
use crate::shared::Shared;
use crate::stop::StopReason;

impl<C> Retrier<C> {
    /// Switches retries off for all calls, for an incident: a failed first try stops with
    /// [`AttemptsExhausted`](crate::StopReason::AttemptsExhausted).
    pub fn disable_retries(&self) {
        self.core.shared.disable_retries();
    }

    /// Switches retries on again.
    pub fn enable_retries(&self) {
        self.core.shared.enable_retries();
    }

    /// Whether the policy is kept, or only told.
    pub fn mode(&self) -> Mode {
        self.core.shared.mode()
    }

    /// Sets whether the policy is kept, or only told, for all clones, up to the next
    /// [`replace_policy`](Self::replace_policy). A call that has begun goes on as it was, but for one that had
    /// nothing to look after until it failed. To end what waits already,
    /// [`disable_retries`](Self::disable_retries).
    pub fn set_mode(&self, mode: Mode) {
        self.core.shared.set_mode(mode);
    }

    /// What enforcing would have done to the calls that were [observed](Mode::Observe).
    pub fn observed(&self) -> Observed {
        self.core.shared.observed()
    }

    /// The policy in force, with the mode that it was given.
    pub fn policy(&self) -> Policy {
        self.core.shared.policy()
    }

    /// Puts another policy in force for all clones; the budget keeps what is left
    /// ([`Budgets::reconfigure`](crate::budget::Budgets::reconfigure)), so that a reload mints no burst. A call that has failed already goes on under the old one. The mode is the policy's.
    ///
    /// # Errors
    ///
    /// An invalid policy is refused, and the old one stays in force.
    pub fn replace_policy(&self, policy: Policy) -> Result<(), InvalidPolicy> {
        self.core
            .shared
            .replace_policy(policy, self.core.host.sleeper.now())
    }

    /// How full the budget is, from 0 to 1; 1 where there is none.
    pub fn budget_fill(&self) -> f64 {
        self.core.shared.budget_fill(self.core.host.sleeper.now())
    }

    /// Calls that are waiting for their next attempt.
    pub fn waiting(&self) -> u64 {
        self.core.shared.waiting()
    }

    /// How often calls stopped for this reason: where it is
    /// [`BudgetExhausted`](crate::StopReason::BudgetExhausted), how many retries were denied. A call
    /// that is dropped is told to an observer as cancelled, but is not counted.
    pub fn stops(&self, reason: StopReason) -> u64 {
        self.core.shared.stops(reason)
    }

    /// What was asked of the dependency, if the retrier was built to
    /// [count](super::RetrierBuilder::count_demand) it.
    pub fn demand(&self) -> Option<Demand> {
        self.core.shared.demand()
    }

    /// How much is left of each kind in the policy's budget, and how often it denied a retry; of a budget
    /// that was given as an object, its own [gauge](crate::budget::RetryBudget::gauge).
    pub fn budget_gauges(&self) -> impl Iterator<Item = Gauge> {
        let now = self.core.host.sleeper.now();
        self.core.shared.budget_gauges(now)
    }

    /// Attempts that have a place in the bulkhead; `None` where there is none.
    pub fn in_flight(&self) -> Option<u32> {
        let places = self.core.shared.guards().places()?;
        Some(places.in_flight())
    }

    /// Attempts that may have a place in the bulkhead at once, as of now; `None` where there is none.
    pub fn concurrency_limit(&self) -> Option<u32> {
        let places = self.core.shared.guards().places()?;
        Some(places.limit())
    }

    /// The state of the breaker; `None` where there is none.
    pub fn breaker_state(&self) -> Option<State> {
        let breaker = self.core.shared.guards().breaker()?;
        Some(breaker.state(self.core.host.sleeper.now()))
    }
}

/// The breaker by hand. Nothing happens where there is none, or where it is in that state already;
/// observers are told of changes.
///
/// ```
/// use becalm::{Breaker, Policy, StopReason};
/// let orders = Policy::default().breaker(Breaker::consecutive(5)).retrier()?;
/// orders.isolate(); // it is being migrated: nobody calls it
/// let gave_up = orders.retry_blocking(|_| Ok::<_, std::io::Error>(17)).unwrap_err();
/// assert_eq!(gave_up.reason(), StopReason::BreakerOpen);
/// orders.end_isolation();
/// assert!(orders.retry_blocking(|_| Ok::<_, std::io::Error>(17)).is_ok());
/// # Ok::<(), becalm::policy::InvalidPolicy>(())
/// ```
impl<C> Retrier<C> {
    /// Opens the breaker as if it had tripped: its open time begins, and probes follow.
    pub fn force_open(&self) {
        let host = &self.core.host;
        let random = || host.seed.draw();
        self.shift(|breaker| breaker.force_open(host.sleeper.now(), random));
    }

    /// Closes the breaker, which then counts from zero.
    pub fn force_close(&self) {
        self.shift(CircuitBreaker::force_close);
    }

    /// Lets no call pass until [`end_isolation`](Self::end_isolation) or
    /// [`force_close`](Self::force_close).
    pub fn isolate(&self) {
        self.shift(CircuitBreaker::isolate);
    }

    /// Ends the isolation: probes decide what follows.
    pub fn end_isolation(&self) {
        self.shift(CircuitBreaker::end_isolation);
    }

    fn shift(&self, shift: impl FnOnce(&CircuitBreaker) -> Option<Transition>) {
        let breaker = self.core.shared.guards().breaker();
        if let Some(transition) = breaker.and_then(shift) {
            self.core.host.tell_transition(None, transition);
        }
    }
}

/// For a driver that holds it as [`Keyed`](crate::Keyed) hands it out.
impl<C> AsRef<Shared> for Arc<Retrier<C>> {
    fn as_ref(&self) -> &Shared {
        &self.core.shared
    }
}
