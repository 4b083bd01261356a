//! Which legal policies are dangerous, why, and what helps?
//!
//! A lint is advice about a policy that [validates](Policy::validate): the policy runs as it is
//! written. The codes are stable, so that a build can refuse some and accept others.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use crate::duration::nanos;
use crate::policy::Policy;
use crate::schedule::Step;

mod budgets;
mod retries;

use budgets::{concurrency_alone, large_budget, no_budget, unlimited_without_budget};
use retries::{
    attempt_timeout_fills_deadline, hint_beyond_deadline, hints_clamped, hints_ignored,
    jitter_after_cap, long_waits, narrow_jitter, nested_retries, no_bound, no_growth, no_jitter,
    retries_at_once, throttled_sooner, waits_exceed_deadline,
};

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
    pub const CODES: &'static [&'static str] = &{
        let mut codes = [""; RULES.len()];
        let mut index = 0;
        while index < codes.len() {
            codes[index] = RULES[index].0;
            index += 1;
        }
        codes
    };
}

impl fmt::Display for Lint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl Policy {
    /// What is legal but dangerous in this policy. The default policy has none.
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
        if self.attempts < 2 {
            return Vec::new();
        }
        let case = Case {
            policy: self,
            waits: self.schedule().take(PROBED).collect(),
        };
        RULES
            .iter()
            .filter_map(|(code, rule)| rule(&case).map(|message| Lint { code, message }))
            .collect()
    }
}

type Rule = fn(&Case<'_>) -> Option<String>;

/// The dangers, the worst first.
const RULES: [(&str, Rule); 18] = [
    ("no-bound", no_bound),
    ("unlimited-without-budget", unlimited_without_budget),
    ("no-budget", no_budget),
    ("retries-at-once", retries_at_once),
    ("no-jitter", no_jitter),
    ("jitter-after-cap", jitter_after_cap),
    ("narrow-jitter", narrow_jitter),
    ("no-growth", no_growth),
    ("large-budget", large_budget),
    ("concurrency-alone", concurrency_alone),
    ("nested-retries", nested_retries),
    ("hints-ignored", hints_ignored),
    ("hints-clamped", hints_clamped),
    ("hint-beyond-deadline", hint_beyond_deadline),
    ("throttled-sooner", throttled_sooner),
    (
        "attempt-timeout-fills-deadline",
        attempt_timeout_fills_deadline,
    ),
    ("waits-exceed-deadline", waits_exceed_deadline),
    ("long-waits", long_waits),
];

/// A policy that retries, with its first waits.
struct Case<'a> {
    policy: &'a Policy,
    waits: Vec<Step>,
}

/// As many waits as are looked at one by one; by then an exponential has long met any cap.
const PROBED: usize = 256;

impl Case<'_> {
    fn is_unlimited(&self) -> bool {
        self.policy.attempts == Policy::UNLIMITED
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
        (more < self.policy.attempts - last.retry).then(|| last.retry + more)
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
