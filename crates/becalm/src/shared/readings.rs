//! What does every call read of the rules, before it has failed? Copies, each of one word.

use core::time::Duration;

use super::Shared;
use crate::decide::Rules;
use crate::duration::nanos;
use crate::scope::{Nested, Scope};
use crate::sync::Ordering;
use crate::time::{ClockId, Instant};

/// The budget wants to hear of calls and outcomes.
pub(super) const HEARS_CALLS: u64 = 1;
/// The budget looks at first tries.
pub(super) const HEARS_FIRST_TRIES: u64 = 2;
/// The budget counts the running calls.
pub(super) const COUNTS_CALLS: u64 = 4;
/// The budget or a guard wants to know when a call starts.
const STARTS: u64 = 8;
/// The budget or a guard wants to know when a call ends.
const ENDS: u64 = 16;
/// The policy's calls may make more than one attempt.
const REPEATS: u64 = 32;
/// Nested calls pay from the retrier above.
const SHARES: u64 = 64;

/// Retries are switched off.
pub(super) const DISABLED: u64 = 1;
/// The policy is told, and not kept.
pub(super) const OBSERVES: u64 = 2;

impl Shared {
    /// Copies out of the rules what every call reads. One change at a time, or the copies of two
    /// would mix.
    pub(super) fn publish(&self, rules: &Rules) {
        let (policy, relaxed) = (&rules.policy, Ordering::Relaxed);
        let limit = |duration: Option<Duration>| duration.map_or(u64::MAX, nanos);
        self.deadline.store(limit(policy.deadline), relaxed);
        let attempt_timeout = limit(policy.attempt_timeout);
        self.attempt_timeout.store(attempt_timeout, relaxed);
        let (own, guards) = (&self.budgets, &self.guards);
        let is_foreign = self.given.budget.is_some();
        let hears_calls = self.budget().hears_calls();
        let reads_clock = self.budget().reads_clock();
        let counts_calls = if is_foreign {
            hears_calls
        } else {
            own.counts_calls()
        };
        // The kinds of the policy's budget want no time of a success.
        let ends = is_foreign && reads_clock || guards.reads_clock_at_end();
        let flags = [
            (hears_calls, HEARS_CALLS),
            (is_foreign || own.hears_first_tries(), HEARS_FIRST_TRIES),
            (counts_calls, COUNTS_CALLS),
            (reads_clock || guards.reads_clock_at_start(), STARTS),
            (ends, ENDS),
            (policy.attempts > 1, REPEATS),
            (policy.nested == Nested::ShareBudget, SHARES),
        ];
        let mut wants = 0;
        for &(is_wanted, flag) in &flags {
            wants |= if is_wanted { flag } else { 0 };
        }
        self.wants.store(wants, relaxed);
        let is_quick = !is_foreign
            && own.is_plain()
            && guards.are_idle()
            && self.demand.is_none()
            && !self.given.is_observed;
        let inside = Scope::NONE.inside(
            self.id,
            self.given.clock,
            Instant::NEVER,
            self.repeats(None),
            1,
        );
        let is_plain = is_quick && policy.deadline.is_none() && policy.attempt_timeout.is_none();
        let word = |is_so: bool| if is_so { inside.word() } else { 0 };
        self.plain.store(word(is_plain), relaxed);
        self.quick
            .store(word(is_quick && !self.observes()), relaxed);
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

    /// The scope inside a call that would be plain but for time limits, or for what it sets for itself; `None` where
    /// there is more to look after.
    #[cfg(feature = "std")]
    #[inline]
    pub(crate) fn quick(&self) -> Option<Scope> {
        match self.quick.load(Ordering::Relaxed) {
            0 => None,
            word => Some(Scope::of_word(word)),
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
        own.map_or_else(|| self.wants(REPEATS), |attempts| attempts > 1)
            && self.switches.load(Ordering::Relaxed) == 0
    }

    #[inline]
    pub(crate) fn retries_are_disabled(&self) -> bool {
        self.switches.load(Ordering::Relaxed) & DISABLED != 0
    }

    /// Whether calls that begin now are told what enforcing would do, and run once.
    #[inline]
    pub(crate) fn observes(&self) -> bool {
        self.switches.load(Ordering::Relaxed) & OBSERVES != 0
    }

    /// Turns a switch. One change at a time.
    pub(super) fn put(&self, switch: u64, is_on: bool) {
        let others = self.switches.load(Ordering::Relaxed) & !switch;
        let this = if is_on { switch } else { 0 };
        self.switches.store(others | this, Ordering::Relaxed);
    }

    pub(crate) fn clock(&self) -> ClockId {
        self.given.clock
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
            _ if !self.wants(SHARES) => self.id,
            payer => payer,
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

    /// Whether the budget counts the running calls.
    #[cfg(feature = "std")]
    #[inline]
    pub(crate) fn counts_calls(&self) -> bool {
        self.wants(COUNTS_CALLS)
    }

    #[inline]
    pub(super) fn wants(&self, bit: u64) -> bool {
        self.wants.load(Ordering::Relaxed) & bit != 0
    }
}
