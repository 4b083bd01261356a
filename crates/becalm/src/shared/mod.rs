//! What do all calls to one dependency have in common?
//!
//! The policy in force, the budget, the waiting room. No clock, no IO: a retrier adds those.

mod current_rules;
#[cfg(feature = "std")]
pub(crate) mod registry;
mod twin;

use alloc::sync::Arc;
use core::time::Duration;

use crate::atomic::{AtomicU64, Ordering};
use crate::budget::{Budgets, Gauge, RetryBudget, Withdrawal};
use crate::classify::Failure;
use crate::decide::Rules;
use crate::duration::nanos;
use crate::gauges::{Demand, DemandCounts, StopCounts};
use crate::guard::Guards;
#[cfg(feature = "std")]
use crate::keyed::Idle;
use crate::policy::{InvalidPolicy, Policy};
use crate::scope::{Heard, Nested, Scope};
use crate::stop::StopReason;
use crate::time::{ClockId, Instant};
use current_rules::CurrentRules;
pub(crate) use current_rules::HeldRules;

/// The state that all calls to one dependency share.
///
/// Drivers without a standard library, and simulators, make one and begin
/// [`Call`](crate::Call)s on it; everybody else uses a [`Retrier`](crate::Retrier), which holds one.
#[derive(Debug)]
pub struct Shared {
    budgets: Budgets,
    /// Nanoseconds; `u64::MAX` for none. Read by every call, so kept out of the rules.
    deadline: AtomicU64,
    attempt_timeout: AtomicU64,
    /// 1 where the policy's calls may make more than one attempt.
    repeats: AtomicU64,
    /// 1 where nested calls pay from the retrier above.
    shares: AtomicU64,
    /// The [word](Scope::word) of the scope inside a plain call, 0 where none is plain: see
    /// [`FirstTry`](crate::call::FirstTry).
    plain: AtomicU64,
    disabled: AtomicU64,
    waiting: AtomicU64,
    /// What every call looks at: [`HEARS_CALLS`] and the other flags.
    wants: AtomicU64,
    foreign_budget: Option<Arc<dyn RetryBudget>>,
    guards: Guards,
    stops: StopCounts,
    heard: Heard,
    demand: Option<DemandCounts>,
    /// Whether somebody wants to know of every attempt.
    observed: bool,
    rules: CurrentRules,
    #[cfg(feature = "std")]
    tick: Duration,
    clock: ClockId,
    id: u32,
}

/// The budget wants to hear of calls and outcomes.
const HEARS_CALLS: u64 = 1;
/// The budget or a guard wants to know when a call starts.
const STARTS: u64 = 4;
/// The budget or a guard wants to know when a call ends.
const ENDS: u64 = 8;
/// The budget counts the running calls.
const COUNTS_CALLS: u64 = 16;
/// The budget looks at first tries.
const HEARS_FIRST_TRIES: u64 = 32;

impl Shared {
    /// The state of a policy on a timer of this tick (zero where the timer is exact).
    ///
    /// # Errors
    ///
    /// An invalid policy is refused, naming the field.
    pub fn new(policy: Policy, tick: Duration) -> Result<Self, InvalidPolicy> {
        Self::with(policy, tick, ClockId::UNKNOWN, None, false)
    }

    /// This state on this clock: calls hand their deadline down to calls on the same one.
    ///
    /// Without it they do not, and see none above: but for one that is over, which is so on every clock.
    #[must_use]
    pub fn on_clock(mut self, clock: ClockId) -> Self {
        self.clock = clock;
        self.publish(self.rules_of(&self.hold_rules()));
        self
    }

    /// Also counts what is [asked](Self::demand) of the dependency.
    ///
    /// Opt-in, since it writes memory on every call, if none that other threads write.
    #[must_use]
    pub fn counting_demand(mut self) -> Self {
        self.demand = Some(DemandCounts::new());
        self.publish(self.rules_of(&self.hold_rules()));
        self
    }

    pub(crate) fn with(
        policy: Policy,
        tick: Duration,
        clock: ClockId,
        foreign_budget: Option<Arc<dyn RetryBudget>>,
        observed: bool,
    ) -> Result<Self, InvalidPolicy> {
        policy.validate()?;
        let rules = Arc::new(Rules::of(policy, tick));
        Ok(Self::of_rules(rules, tick, clock, foreign_budget, observed))
    }

    /// The policy in force.
    pub fn policy(&self) -> Policy {
        self.rules_of(&self.hold_rules()).policy.clone()
    }

    /// Puts another policy in force for calls that have not failed yet; the budget keeps its fill
    /// fraction. A budget that was given as an object stays as it is.
    ///
    /// # Errors
    ///
    /// An invalid policy is refused, and the old one stays in force.
    #[cfg(feature = "std")]
    pub fn replace_policy(&self, policy: Policy, now: Instant) -> Result<(), InvalidPolicy> {
        policy.validate()?;
        let take_over = || {
            if self.foreign_budget.is_none() {
                self.budgets.reconfigure(&policy.budget, now);
            }
            self.guards.reconfigure(&policy, now);
            Rules::of(policy, self.tick)
        };
        self.rules.replace(take_over, |rules| self.publish(rules));
        self.guards.let_go();
        Ok(())
    }

    /// Switches retries off, for an incident: every call makes one attempt, and a failed one stops
    /// with [`AttemptsExhausted`](crate::StopReason::AttemptsExhausted).
    pub fn disable_retries(&self) {
        self.switch_retries(1);
    }

    /// Switches retries on again.
    pub fn enable_retries(&self) {
        self.switch_retries(0);
    }

    fn switch_retries(&self, disabled: u64) {
        self.rules.beside(|rules| {
            self.disabled.store(disabled, Ordering::Relaxed);
            self.publish(rules);
        });
    }

    /// Whether a new state of this policy would behave no differently, and nothing is running.
    #[cfg(feature = "std")]
    pub(crate) fn is_as_new(&self, now: Instant) -> bool {
        let owes_nothing = self.foreign_budget.is_none() && self.budgets.is_idle(now);
        owes_nothing
            && self.waiting() == 0
            && !self.retries_are_disabled()
            && self.guards.are_as_new(now)
    }

    /// Whether somebody has switched something here, and expects to find it so.
    #[cfg(feature = "std")]
    pub(crate) fn is_set_by_hand(&self) -> bool {
        self.retries_are_disabled() || self.guards.are_isolated()
    }

    /// Takes over what another owes that is thrown away: its budget is no fuller from now on.
    #[cfg(feature = "std")]
    pub(crate) fn inherit(&self, stale: &Self, now: Instant) {
        // One that was given as an object is the same for both, or its owner's to look after.
        if self.foreign_budget.is_none() && stale.foreign_budget.is_none() {
            self.budgets.inherit(&stale.budgets, now);
        }
    }

    /// Calls that wait for their next attempt, or for the adaptive rate before the first.
    pub fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// How full the budget is, from 0 to 1; 1 where there is none.
    pub fn budget_fill(&self, now: Instant) -> f64 {
        self.budget().fill(now)
    }

    /// Copies out of the rules what every call reads. One change at a time, or the copies of two
    /// would mix.
    fn publish(&self, rules: &Rules) {
        let policy = &rules.policy;
        let limit = |duration: Option<Duration>| duration.map_or(u64::MAX, nanos);
        self.deadline
            .store(limit(policy.deadline), Ordering::Relaxed);
        self.attempt_timeout
            .store(limit(policy.attempt_timeout), Ordering::Relaxed);
        let repeats = policy.attempts > 1;
        self.repeats.store(u64::from(repeats), Ordering::Relaxed);
        let shares = policy.nested == Nested::ShareBudget;
        self.shares.store(u64::from(shares), Ordering::Relaxed);
        let untimed = policy.deadline.is_none() && policy.attempt_timeout.is_none();
        let hears_calls = self.budget().hears_calls();
        let reads_clock = self.budget().reads_clock();
        let is_foreign = self.foreign_budget.is_some();
        let has_ratio_alone = !is_foreign && self.budgets.is_plain();
        let mut wants = 0;
        let mut add = |is_wanted: bool, bit| wants |= if is_wanted { bit } else { 0 };
        add(hears_calls, HEARS_CALLS);
        add(
            is_foreign || self.budgets.hears_first_tries(),
            HEARS_FIRST_TRIES,
        );
        let counts_calls = if is_foreign {
            hears_calls
        } else {
            self.budgets.counts_calls()
        };
        add(counts_calls, COUNTS_CALLS);
        add(reads_clock || self.guards.reads_clock_at_start(), STARTS);
        // The kinds of the policy's budget want no time of a success.
        add(
            is_foreign && reads_clock || self.guards.reads_clock_at_end(),
            ENDS,
        );
        self.wants.store(wants, Ordering::Relaxed);
        let is_plain = untimed
            && has_ratio_alone
            && self.guards.are_idle()
            && self.demand.is_none()
            && !self.observed;
        let may_repeat = repeats && !self.retries_are_disabled();
        let inside = Scope::NONE.inside(self.id, self.clock, Instant::NEVER, may_repeat, 1);
        self.plain
            .store(if is_plain { inside.word() } else { 0 }, Ordering::Relaxed);
    }

    /// The scope inside a plain call, at the top and with nothing to look after but the ratio
    /// budget; `None` where calls are not plain.
    #[cfg(feature = "std")]
    #[inline]
    pub(crate) fn plain(&self) -> Option<Scope> {
        match self.plain.load(Ordering::Relaxed) {
            0 => None,
            word => Some(Scope::of_word(word)),
        }
    }

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
            match &self.foreign_budget {
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
            self.on_success(now.unwrap_or(Instant::ZERO), None);
        }
    }

    /// Nanoseconds; `u64::MAX` for none.
    #[inline]
    pub(crate) fn deadline(&self) -> u64 {
        self.deadline.load(Ordering::Relaxed)
    }

    /// Nanoseconds; `u64::MAX` for none.
    #[inline]
    pub(crate) fn attempt_timeout(&self) -> u64 {
        self.attempt_timeout.load(Ordering::Relaxed)
    }

    /// Whether a call that may set its own attempts may make more than one.
    #[inline]
    pub(crate) fn repeats(&self, own: Option<u32>) -> bool {
        let repeats = match own {
            Some(attempts) => attempts > 1,
            None => self.repeats.load(Ordering::Relaxed) != 0,
        };
        repeats && !self.retries_are_disabled()
    }

    #[inline]
    pub(crate) fn retries_are_disabled(&self) -> bool {
        self.disabled.load(Ordering::Relaxed) != 0
    }

    pub(crate) fn clock(&self) -> ClockId {
        self.clock
    }

    #[cfg(feature = "std")]
    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// The number of the retrier that pays for what shares a budget inside calls in this scope: the
    /// one that pays for their own retries.
    #[inline]
    pub(crate) fn payer(&self, above: Scope) -> u32 {
        match above.payer() {
            0 => self.id,
            _ if self.shares.load(Ordering::Relaxed) == 0 => self.id,
            payer => payer,
        }
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

    /// The budget that was given as an object, or the policy's.
    fn budget(&self) -> &dyn RetryBudget {
        match &self.foreign_budget {
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

    /// What is left of each kind in the policy's budget; nothing where the budget was given as an
    /// object.
    pub fn budget_gauges(&self, now: Instant) -> impl Iterator<Item = Gauge> {
        self.budgets.gauges(now)
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

    /// Whether the budget or a guard wants to know when a call starts.
    #[inline]
    pub(crate) fn reads_clock_at_start(&self) -> bool {
        self.wants(STARTS)
    }

    /// Whether the budget or a guard wants to know when a call ends.
    #[inline]
    pub(crate) fn reads_clock_at_end(&self) -> bool {
        self.wants(ENDS)
    }

    #[inline]
    fn wants(&self, bit: u64) -> bool {
        self.wants.load(Ordering::Relaxed) & bit != 0
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

    /// A call has succeeded; `last` is what it had paid last.
    #[inline]
    pub(crate) fn on_success(&self, now: Instant, last: Option<Withdrawal>) {
        match &self.foreign_budget {
            Some(budget) => budget.on_success(now, last),
            None => self.budgets.on_success(now, last),
        }
    }

    /// An attempt has failed.
    #[inline]
    pub(crate) fn on_failure(&self, now: Instant, failure: &Failure) {
        match &self.foreign_budget {
            Some(budget) => budget.on_failure(now, failure),
            None => self.budgets.on_failure(now, failure),
        }
    }

    /// A retry that was paid for has ended without success.
    #[inline]
    pub(crate) fn spent(&self, withdrawal: Withdrawal) {
        match &self.foreign_budget {
            Some(budget) => budget.spent(withdrawal),
            None => self.budgets.spent(withdrawal),
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

    #[inline]
    pub(crate) fn withdraw(&self, now: Instant, failure: &Failure) -> Option<Withdrawal> {
        if let Some(demand) = &self.demand {
            demand.wanted();
        }
        match &self.foreign_budget {
            Some(budget) => budget.withdraw(now, failure),
            None => self.budgets.withdraw(now, failure),
        }
    }

    pub(crate) fn refund(&self, withdrawal: Withdrawal) {
        self.budget().refund(withdrawal);
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
        self.waiting
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, enter)
            .is_ok()
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
