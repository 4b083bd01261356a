//! Which legal policies are dangerous, why, and what helps?
//!
//! A lint is advice about a policy that [validates](Policy::validate): the policy runs as it is
//! written. The codes are stable, so that a build can refuse some and accept others.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use crate::backoff::Backoff;
use crate::budget::Budget;
use crate::duration::{Human, nanos};
use crate::hint::HintMode;
use crate::jitter::Jitter;
use crate::policy::Policy;
use crate::schedule::Step;
use crate::scope::Nested;

mod budgets;

use budgets::{concurrency_alone, large_budget};

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

fn no_bound(case: &Case<'_>) -> Option<String> {
    (case.is_unlimited() && case.policy.deadline.is_none()).then(|| {
        "neither attempts nor a deadline bounds a call, which may retry for ever; set one".into()
    })
}

fn unlimited_without_budget(case: &Case<'_>) -> Option<String> {
    (case.is_unlimited() && case.policy.budget == Budget::None).then(|| {
        "attempts are unlimited and no budget bounds them, so every failing call keeps on \
         loading a server that is down; set attempts or budget ratio:0.1"
            .into()
    })
}

fn no_budget(case: &Case<'_>) -> Option<String> {
    let Policy {
        attempts, budget, ..
    } = case.policy;
    (*budget == Budget::None).then(|| match *attempts {
        Policy::UNLIMITED => "without a budget an outage multiplies the load without limit; set \
                              budget ratio:0.1"
            .into(),
        attempts => format!(
            "without a budget an outage multiplies the load by up to {attempts}; set budget \
             ratio:0.1"
        ),
    })
}

/// Below this, waits cannot be told from none: it is less than a round trip takes.
const AT_ONCE: Duration = Duration::from_millis(1);

fn retries_at_once(case: &Case<'_>) -> Option<String> {
    let longest = case.longest();
    (longest < AT_ONCE).then(|| {
        format!(
            "no wait is longer than {}, so all attempts fall into the same moment of trouble; set \
             a base of 10ms or more",
            Human(longest)
        )
    })
}

fn no_jitter(case: &Case<'_>) -> Option<String> {
    (case.policy.jitter == Jitter::None && case.longest() >= AT_ONCE).then(|| {
        "without jitter clients that failed together retry together; set jitter full".into()
    })
}

fn jitter_after_cap(case: &Case<'_>) -> Option<String> {
    (case.policy.jitter == Jitter::DecorrelatedClamped).then(|| {
        "decorrelated-clamped draws first and clamps to the cap afterwards, so clients at the cap \
         retry together; set jitter decorrelated"
            .into()
    })
}

/// A window below a sixth of the delay. At the cap, `proportional:0.2` still has a fifth.
const NARROW: u32 = 6;

fn narrow_jitter(case: &Case<'_>) -> Option<String> {
    if case.policy.jitter == Jitter::None || case.longest() < AT_ONCE {
        return None;
    }
    let wait = case
        .waits
        .iter()
        .find(|wait| wait.most.saturating_sub(wait.least).saturating_mul(NARROW) < wait.most)?;
    Some(format!(
        "retry {} comes after {} to {}, too narrow a window to spread clients that failed \
         together; set jitter full, a wider jitter or a lower floor",
        wait.retry,
        Human(wait.least),
        Human(wait.most),
    ))
}

/// With so many attempts a ceiling that stays low is a lasting load.
const MANY: u32 = 10;

fn no_growth(case: &Case<'_>) -> Option<String> {
    let Policy {
        backoff,
        base,
        cap,
        multiplier,
        attempts,
        jitter,
        ..
    } = case.policy;
    let decorrelated = matches!(jitter, Jitter::Decorrelated | Jitter::DecorrelatedClamped);
    #[expect(clippy::float_cmp)] // exactly 1 does not grow; anything above does
    let still = *multiplier == 1.0 || base == cap;
    match backoff {
        Backoff::Exponential if still && *attempts > 2 && !decorrelated => Some(
            "the ceiling does not grow from one retry to the next; set a multiplier of 2 and a \
             cap above the base, or say backoff fixed"
                .into(),
        ),
        Backoff::Fixed if *attempts > MANY && !decorrelated => Some(
            "a fixed backoff with this many attempts loads a server that is down as much in the \
             tenth minute as in the first; set backoff exponential"
                .into(),
        ),
        _ => None,
    }
}

fn nested_retries(case: &Case<'_>) -> Option<String> {
    (case.policy.nested == Nested::Allow).then(|| {
        format!(
            "a retry inside another one multiplies its attempts ({0} x {0} for two layers like \
             this); set nested suppress or share-budget",
            Count(case.policy.attempts)
        )
    })
}

fn hints_ignored(case: &Case<'_>) -> Option<String> {
    (case.policy.hint == HintMode::Ignore).then(|| {
        "retries come sooner than a server asks for when it names a delay; set hint honor".into()
    })
}

fn hints_clamped(case: &Case<'_>) -> Option<String> {
    (case.policy.hint == HintMode::Clamp).then(|| {
        format!(
            "a server that asks for more than the cap of {} is retried sooner; set hint honor, \
             which stops instead",
            Human(case.policy.cap)
        )
    })
}

const A_YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

fn hint_beyond_deadline(case: &Case<'_>) -> Option<String> {
    let Policy {
        deadline,
        max_hint,
        hint,
        ..
    } = case.policy;
    // One that was left alone, or that means "any", says nothing of what the author expects.
    let expected = Policy::default().max_hint < *max_hint && *max_hint < A_YEAR;
    let raised = expected && *hint == HintMode::Honor;
    let deadline = deadline.filter(|deadline| raised && max_hint > deadline)?;
    Some(format!(
        "hints of up to {} are accepted, but the deadline of {} stops the call for any that \
         reaches it; raise the deadline or lower max_hint",
        Human(*max_hint),
        Human(deadline)
    ))
}

fn throttled_sooner(case: &Case<'_>) -> Option<String> {
    let Policy {
        base,
        throttled_base,
        ..
    } = case.policy;
    let throttled = throttled_base.filter(|throttled| throttled < base)?;
    Some(format!(
        "a server that asks for less load is retried sooner (base {}) than one that failed (base \
         {}); set throttled_base above base",
        Human(throttled),
        Human(*base)
    ))
}

fn attempt_timeout_fills_deadline(case: &Case<'_>) -> Option<String> {
    let Policy {
        attempt_timeout,
        deadline,
        ..
    } = case.policy;
    let (timeout, deadline) = ((*attempt_timeout)?, (*deadline)?);
    let wait = case.waits.first()?.least;
    (timeout.saturating_add(wait) >= deadline).then(|| {
        format!(
            "an attempt that times out after {} leaves no room for a retry before the deadline of \
             {}; lower attempt_timeout or raise the deadline",
            Human(timeout),
            Human(deadline)
        )
    })
}

fn waits_exceed_deadline(case: &Case<'_>) -> Option<String> {
    let deadline = case.policy.deadline?;
    let never = case.first_beyond(deadline, |wait| wait.least);
    let seldom = case.first_beyond(deadline, |wait| wait.mean);
    let (retry, often) = match (never, seldom) {
        (Some(retry), _) => (retry, "never"),
        (None, Some(retry)) => (retry, "seldom"),
        (None, None) => return None,
    };
    // Attempts without limit are meant to end at the deadline, unless that is at the first wait.
    (!case.is_unlimited() || retry == 1).then(|| {
        format!(
            "the waits before attempt {} add up to the deadline of {}, so that it {often} starts; \
             lower attempts or base, or raise the deadline",
            Count(retry.saturating_add(1)),
            Human(deadline)
        )
    })
}

/// A call that waits for longer does not notice that the server has come back.
const LONG: Duration = Duration::from_secs(10 * 60);

fn long_waits(case: &Case<'_>) -> Option<String> {
    let longest = case.longest();
    let longest = case
        .policy
        .deadline
        .map_or(longest, |deadline| longest.min(deadline));
    (longest > LONG).then(|| {
        format!(
            "a single wait may take {}, in which a server that has come back goes unnoticed; set \
             a cap of 20s to 60s",
            Human(longest)
        )
    })
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
