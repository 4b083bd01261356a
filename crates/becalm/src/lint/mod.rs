//! Which legal policies are dangerous, why, and what helps?
//!
//! A lint is advice about a policy that [validates](Policy::validate): the policy runs as it is
//! written. The codes are stable, so that a build can refuse some and accept others.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::ops::Deref;
use core::time::Duration;

use crate::duration::nanos;
use crate::policy::Policy;
use crate::schedule::Step;

mod admission;
mod breaker;
mod budgets;
mod hedge;
mod repeated;
mod retries;

/// One danger of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lint {
    /// The kind of danger, in kebab case: one of [`Lint::CODES`], the same in every version.
    pub code: &'static str,
    /// What is dangerous and what helps: one sentence, with the policy's own figures.
    pub message: String,
}

impl Lint {
    /// Every code, in the order in which [`Policy::lints`] reports them.
    pub const CODES: &'static [&'static str] = CODES;
}

impl fmt::Display for Lint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl Policy {
    /// Lists what is legal but dangerous in this policy. The default policy has no lints.
    ///
    /// ```
    /// use becalm::{Jitter, Policy};
    /// use std::time::Duration;
    ///
    /// let policy = Policy::fixed(Duration::from_secs(1)).jitter(Jitter::None);
    /// assert_eq!(policy.lints()[0].code, "no-jitter");
    /// assert!(Policy::default().lints().is_empty());
    /// ```
    pub fn lints(&self) -> Vec<Lint> {
        let case = Case {
            policy: self,
            waits: self.schedule().take(PROBED).collect(),
        };
        let of_retries = OF_RETRIES.iter().filter(|_| self.attempts > 1);
        of_retries
            .chain(OF_PROTECTION)
            .filter_map(|(code, rule)| rule(&case).map(|message| Lint { code, message }))
            .collect()
    }
}

type Rule = fn(&Case<'_>) -> Option<String>;

macro_rules! rules {
    ($($(#[$about:meta])* $rules:ident { $($code:literal: $rule:path,)* })*) => {
        const CODES: &[&str] = &[$($($code,)*)*];
        $($(#[$about])* const $rules: &[(&str, Rule)] = &[$(($code, $rule),)*];)*
    };
}

rules! {
    /// The dangers of retrying, the worst first; none where nothing is retried.
    OF_RETRIES {
        "no-bound": retries::no_bound,
        "unlimited-without-budget": budgets::unlimited_without_budget,
        "no-budget": budgets::no_budget,
        "retries-at-once": retries::retries_at_once,
        "no-jitter": retries::no_jitter,
        "jitter-after-cap": retries::jitter_after_cap,
        "narrow-jitter": retries::narrow_jitter,
        "no-growth": retries::no_growth,
        "large-budget": budgets::large_budget,
        "concurrency-alone": budgets::concurrency_alone,
        "budget-never-grants": budgets::budget_never_grants,
        "budget-runs-out": budgets::budget_runs_out,
        "wait-without-budget": budgets::wait_without_budget,
        "wait-without-bound": budgets::wait_without_bound,
        "repeats-non-idempotent": repeated::repeats_non_idempotent,
        "repeats-what-may-be-done": repeated::repeats_what_may_be_done,
        "nested-retries": retries::nested_retries,
        "hints-ignored": retries::hints_ignored,
        "hints-clamped": retries::hints_clamped,
        "hint-beyond-deadline": retries::hint_beyond_deadline,
        "throttled-sooner": retries::throttled_sooner,
        "attempt-timeout-fills-deadline": retries::attempt_timeout_fills_deadline,
        "waits-exceed-deadline": retries::waits_exceed_deadline,
        "no-deadline": retries::no_deadline,
        "long-waits": retries::long_waits,
    }

    /// The dangers of what stands around the attempts, from the outside in.
    OF_PROTECTION {
        "throttle-eager": admission::throttle_eager,
        "throttle-stops-probing": admission::throttle_stops_probing,
        "rate-waits-forever": admission::rate_waits_forever,
        "hedge-without-budget": hedge::hedge_without_budget,
        "hedge-eager": hedge::hedge_eager,
        "hedge-never-starts": hedge::hedge_never_starts,
        "hedge-needs-traffic": hedge::hedge_needs_traffic,
        "bulkhead-waits-forever": admission::bulkhead_waits_forever,
        "bulkhead-held-by-hangs": admission::bulkhead_held_by_hangs,
        "bulkhead-wait-fills-deadline": admission::bulkhead_wait_fills_deadline,
        "bulkhead-long-queue": admission::bulkhead_long_queue,
        "breaker-hair-trigger": breaker::breaker_hair_trigger,
        "breaker-opened-by-one-call": breaker::breaker_opened_by_one_call,
        "breaker-blind-to-hangs": breaker::breaker_blind_to_hangs,
        "breaker-needs-traffic": breaker::breaker_needs_traffic,
        "breaker-no-jitter": breaker::breaker_no_jitter,
        "breaker-probes-often": breaker::breaker_probes_often,
        "breaker-open-long": breaker::breaker_open_long,
    }
}

/// A policy, with its first waits.
struct Case<'a> {
    policy: &'a Policy,
    waits: Vec<Step>,
}

impl Deref for Case<'_> {
    type Target = Policy;

    fn deref(&self) -> &Policy {
        self.policy
    }
}

/// As many waits as are looked at one by one; by then an exponential has long met any cap.
const PROBED: usize = 256;

impl Case<'_> {
    fn is_unlimited(&self) -> bool {
        self.attempts == Policy::UNLIMITED
    }

    /// The longest wait among those that were looked at.
    fn longest(&self) -> Duration {
        self.waits
            .iter()
            .map(|wait| wait.most)
            .max()
            .unwrap_or_default()
    }

    /// The first retry whose start lies at or beyond the deadline when every wait takes this long.
    fn first_beyond(&self, deadline: Duration, length: impl Fn(&Step) -> Duration) -> Option<u32> {
        let mut left = deadline;
        for wait in &self.waits {
            left = left.saturating_sub(length(wait));
            if left.is_zero() {
                return Some(wait.retry);
            }
        }
        // The waits that were not looked at are no shorter than the last that was.
        let last = self.waits.last()?;
        let length = Some(nanos(length(last))).filter(|length| *length > 0)?;
        let more = u32::try_from(nanos(left).div_ceil(length)).ok()?;
        (more < self.attempts - last.retry).then(|| last.retry + more)
    }
}

/// A number of attempts in a sentence.
struct Count(u32);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Policy::UNLIMITED => f.write_str("unlimited"),
            attempts => f.write_str(&attempts.to_string()),
        }
    }
}
