//! What do all calls to one dependency have in common?
//!
//! The policy in force, the budget, the waiting room. No clock, no IO: a retrier adds those.

mod current_rules;
mod earnings;
mod readings;
#[cfg(feature = "std")]
pub(crate) mod registry;
#[cfg(feature = "std")]
mod reload;
mod together;
mod twin;

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::time::Duration;

use crate::budget::{Budgets, Gauge, RetryBudget};
#[cfg(feature = "std")]
use crate::classify::{Class, Failure};
use crate::decide::Rules;
use crate::gauges::{DemandCounts, ObservedCounts, StopCounts};
use crate::guard::Guards;
use crate::observe::Would;
use crate::policy::{InvalidPolicy, Mode, Policy};
use crate::retry_on::RetryOn;
use crate::scope::Heard;
use crate::stop::StopReason;
use crate::sync::{AtomicU64, Once, Ordering, change};
use crate::time::{ClockId, Instant};
use current_rules::CurrentRules;
pub(crate) use current_rules::HeldRules;
use readings::{DISABLED, OBSERVES};

pub use crate::gauges::{Demand, Observed};

/// The state that all calls to one dependency share.
///
/// Drivers without a standard library, and simulators, make one and begin
/// [`Call`](crate::call::Call)s on it; everybody else uses a [`Retrier`](crate::Retrier), which holds one.
#[derive(Debug)]
pub struct Shared {
    budgets: Budgets,
    /// Nanoseconds; `u64::MAX` for none. Read by every call, so kept out of the rules.
    deadline: AtomicU64,
    attempt_timeout: AtomicU64,
    /// The [word](crate::Scope::word) of the scope inside a plain call, 0 where none is plain: see
    /// [`FirstTry`](crate::call::FirstTry).
    plain: AtomicU64,
    /// The word of the scope inside a quick call, 0 where none is quick: a quick call would be plain but for its time limits.
    quick: AtomicU64,
    /// What was switched by hand, or by the policy's mode: see `readings`.
    switches: AtomicU64,
    waiting: AtomicU64,
    /// What every call looks at: see `readings`.
    wants: AtomicU64,
    guards: Guards,
    stops: StopCounts,
    observed: Once<Box<ObservedCounts>>,
    heard: Heard,
    demand: Option<DemandCounts>,
    rules: CurrentRules,
    given: Given,
    id: u32,
    #[cfg(feature = "std")]
    together: std::sync::OnceLock<Box<together::Together>>,
}

/// What a state is given besides its policy.
#[derive(Debug, Clone)]
pub(crate) struct Given {
    /// The timer's.
    pub tick: Duration,
    pub clock: ClockId,
    /// When it was made, on that clock.
    pub made: Instant,
    /// A budget as an object, in place of the policy's.
    pub budget: Option<Arc<dyn RetryBudget>>,
    /// Whether somebody wants to know of every attempt.
    pub is_observed: bool,
}

impl Shared {
    /// The state of a policy on a timer of this tick (zero where the timer is exact).
    ///
    /// # Errors
    ///
    /// An invalid policy is refused, naming the field.
    pub fn new(policy: Policy, tick: Duration) -> Result<Self, InvalidPolicy> {
        let given = Given {
            tick,
            clock: ClockId::UNKNOWN,
            made: Instant::ZERO,
            budget: None,
            is_observed: false,
        };
        Self::with(policy, given)
    }

    /// This state on this clock: calls hand their deadline down to calls on the same one.
    ///
    /// Without it they do not, and see none above: but for one that is over, which is so on every clock.
    #[must_use]
    pub fn on_clock(mut self, clock: ClockId) -> Self {
        self.given.clock = clock;
        self.publish(self.rules_of(&self.hold_rules()));
        self
    }

    /// Also counts what is [asked](Self::demand) of the dependency.
    ///
    /// Opt-in, since it writes memory on every call, if none that other threads write.
    #[must_use]
    pub fn counting_demand(mut self) -> Self {
        self.demand = Some(DemandCounts::default());
        self.publish(self.rules_of(&self.hold_rules()));
        self
    }

    pub(crate) fn with(policy: Policy, given: Given) -> Result<Self, InvalidPolicy> {
        policy.validate()?;
        let rules = Arc::new(Rules::of(policy, given.tick));
        Ok(Self::of_rules(rules, given))
    }

    /// The policy in force.
    pub fn policy(&self) -> Policy {
        self.rules_of(&self.hold_rules()).policy.clone()
    }

    /// Switches retries off, for an incident: every call makes one attempt, and a failed one stops
    /// with [`AttemptsExhausted`](crate::StopReason::AttemptsExhausted).
    pub fn disable_retries(&self) {
        self.switch(DISABLED, true);
    }

    /// Switches retries on again.
    pub fn enable_retries(&self) {
        self.switch(DISABLED, false);
    }

    /// Sets whether the policy is kept, or only told, for calls that begin from now on.
    pub fn set_mode(&self, mode: Mode) {
        self.switch(OBSERVES, mode == Mode::Observe);
    }

    /// Whether the policy is kept, or only told.
    pub fn mode(&self) -> Mode {
        if self.observes() {
            Mode::Observe
        } else {
            Mode::Enforce
        }
    }

    fn switch(&self, switch: u64, is_on: bool) {
        self.rules.beside(|rules| {
            self.put(switch, is_on);
            self.publish(rules);
        });
    }

    /// Calls that wait for their next attempt, or for the adaptive rate before the first.
    pub fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// How full the budget is, from 0 to 1; 1 where there is none.
    pub fn budget_fill(&self, now: Instant) -> f64 {
        self.budget().fill(now)
    }

    /// The rules in force, for a call to keep to its end.
    #[inline]
    pub(crate) fn hold_rules(&self) -> HeldRules {
        self.rules.hold()
    }

    /// What is held of these.
    #[inline]
    pub(crate) fn rules_of<'a>(&'a self, held: &'a HeldRules) -> &'a Rules {
        self.rules.of(held)
    }

    /// What the policy in force lists to be repeated.
    pub fn retry_on(&self) -> Option<Arc<RetryOn>> {
        self.rules_of(&self.hold_rules()).policy.retry_on.clone()
    }

    /// The class of a failure by the lists of the policy in force.
    #[cfg(feature = "std")]
    pub(crate) fn class_of(&self, failure: &Failure) -> Class {
        self.rules_of(&self.hold_rules()).class_of(failure)
    }

    /// The budget that was given as an object, or the policy's.
    fn budget(&self) -> &dyn RetryBudget {
        match &self.given.budget {
            Some(budget) => &**budget,
            None => &self.budgets,
        }
    }

    /// What may refuse an attempt.
    #[inline]
    pub(crate) fn guards(&self) -> &Guards {
        &self.guards
    }

    /// How often calls stopped for this reason.
    pub fn stops(&self, reason: StopReason) -> u64 {
        self.stops.get(reason)
    }

    /// What is left of each kind in the policy's budget; of a budget that was given as an object, its own
    /// [gauge](RetryBudget::gauge).
    pub fn budget_gauges(&self, now: Instant) -> impl Iterator<Item = Gauge> {
        let given = self.given.budget.iter();
        given
            .filter_map(move |budget| budget.gauge(now))
            .chain(self.budgets.gauges(now))
    }

    /// What enforcing would have done to the calls that were [observed](Mode::Observe).
    pub fn observed(&self) -> Observed {
        let counts = self.observed.get();
        counts.map_or_else(Observed::default, |counts| counts.sum())
    }

    /// Enforcing would have done this.
    #[cold]
    pub(crate) fn count_observed(&self, would: Would) {
        self.observed.get_or_make(Box::default).count(would);
    }

    /// What was asked of the dependency, where that is [counted](Self::counting_demand).
    pub fn demand(&self) -> Option<Demand> {
        self.demand.as_ref().map(DemandCounts::sum)
    }

    /// An attempt starts.
    #[inline]
    pub(crate) fn count_attempt(&self, is_first_try: bool) {
        if let Some(demand) = &self.demand {
            demand.attempt(is_first_try);
        }
    }

    /// What its attempts have heard from layers below.
    pub(crate) fn heard(&self) -> &Heard {
        &self.heard
    }

    /// A call has stopped for this reason.
    pub(crate) fn count_stop(&self, reason: StopReason) {
        self.stops.count(reason);
    }

    /// Takes a place in the waiting room, if one is free.
    #[inline]
    pub(crate) fn start_waiting(&self, places: Option<u32>) -> bool {
        let Some(places) = places.map(u64::from) else {
            self.waiting.fetch_add(1, Ordering::Relaxed);
            return true;
        };
        // Never counts a call that is not admitted, or it would keep out another.
        let enter = |waiting| (waiting < places).then(|| waiting + 1);
        change(&self.waiting, enter).is_some()
    }

    #[inline]
    pub(crate) fn stop_waiting(&self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A number that no other state of this process has; 0, which means none, once they run out.
#[cfg(feature = "std")]
fn next_id() -> u32 {
    use core::sync::atomic::AtomicU32;
    // The order of states, not one that a model would have to check.
    static LAST: AtomicU32 = AtomicU32::new(0);
    let (relaxed, next) = (Ordering::Relaxed, |last: u32| last.checked_add(1));
    LAST.fetch_update(relaxed, relaxed, next)
        .map_or(0, |last| last + 1)
}

/// Without a standard library scopes are handed on by the driver, and nobody is looked up.
#[cfg(not(feature = "std"))]
fn next_id() -> u32 {
    0
}

impl AsRef<Shared> for Shared {
    fn as_ref(&self) -> &Shared {
        self
    }
}
