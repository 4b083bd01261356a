//! Which retries are dangerous by themselves?

use alloc::format;
use alloc::string::String;
use core::time::Duration;

use super::budgets::smallest_burst;
use super::{Case, Count};
use crate::backoff::Backoff;
use crate::hint::HintMode;
use crate::human::Human;
use crate::jitter::Jitter;
use crate::policy::Policy;
use crate::scope::Nested;

pub(super) fn no_bound(case: &Case<'_>) -> Option<String> {
    if !case.is_unlimited() || case.deadline.is_some() {
        return None;
    }
    Some(match smallest_burst(&case.budget) {
        Some(burst) => format!(
            "the budget alone ends a call: after about {} attempts where all calls fail, and later \
             where others succeed; set attempts or a deadline",
            burst - burst % 1.0 + 1.0 // `floor` is in std alone
        ),
        None => "neither attempts nor a deadline bounds a call, which may retry for ever; set one"
            .into(),
    })
}

/// Below this, waits cannot be told from none: it is less than a round trip takes.
const AT_ONCE: Duration = Duration::from_millis(1);

pub(super) fn retries_at_once(case: &Case<'_>) -> Option<String> {
    let longest = case.longest();
    (longest < AT_ONCE).then(|| {
        format!(
            "no wait is longer than {}, so all attempts fall into the same moment of trouble; set \
             a base of 10ms or more",
            Human(longest)
        )
    })
}

pub(super) fn no_jitter(case: &Case<'_>) -> Option<String> {
    (case.jitter == Jitter::None && case.longest() >= AT_ONCE).then(|| {
        "without jitter clients that failed together retry together; set jitter full".into()
    })
}

pub(super) fn jitter_after_cap(case: &Case<'_>) -> Option<String> {
    (case.jitter == Jitter::DecorrelatedClamped).then(|| {
        "decorrelated-clamped draws first and clamps to the cap afterwards, so clients at the cap \
         retry together; set jitter decorrelated"
            .into()
    })
}

/// A window below a sixth of the delay. At the cap, `proportional:0.2` still has a fifth.
const NARROW: u32 = 6;

pub(super) fn narrow_jitter(case: &Case<'_>) -> Option<String> {
    if case.jitter == Jitter::None || case.longest() < AT_ONCE {
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

pub(super) fn no_growth(case: &Case<'_>) -> Option<String> {
    #[expect(clippy::float_cmp)] // exactly 1 does not grow; anything above does
    let still = case.multiplier == 1.0 || case.base == case.cap;
    match case.backoff {
        _ if case.jitter.is_decorrelated() => None,
        Backoff::Exponential if still && case.attempts > 2 => Some(
            "the ceiling does not grow from one retry to the next; set a multiplier of 2 and a \
             cap above the base, or say backoff fixed"
                .into(),
        ),
        Backoff::Fixed if case.attempts > MANY => Some(
            "a fixed backoff with this many attempts loads a server that is down as much in the \
             tenth minute as in the first; set backoff exponential"
                .into(),
        ),
        _ => None,
    }
}

pub(super) fn nested_retries(case: &Case<'_>) -> Option<String> {
    (case.nested == Nested::Allow).then(|| {
        format!(
            "a retry inside another one multiplies its attempts ({0} x {0} for two layers like \
             this); set nested nearest or share-budget",
            Count(case.attempts)
        )
    })
}

pub(super) fn hints_ignored(case: &Case<'_>) -> Option<String> {
    (case.hint == HintMode::Ignore).then(|| {
        "retries come sooner than a server asks for when it names a delay; set hint honor".into()
    })
}

pub(super) fn hints_clamped(case: &Case<'_>) -> Option<String> {
    (case.hint == HintMode::Clamp).then(|| {
        format!(
            "a server that asks for more than the cap of {} is retried sooner; set hint honor, \
             which stops instead",
            Human(case.cap)
        )
    })
}

const A_YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

pub(super) fn hint_beyond_deadline(case: &Case<'_>) -> Option<String> {
    let max_hint = case.max_hint;
    // One that was left alone, or that means "any", says nothing of what the author expects.
    let expected = Policy::DEFAULT.max_hint < max_hint && max_hint < A_YEAR;
    let raised = expected && case.hint == HintMode::Honor;
    let deadline = case
        .deadline
        .filter(|deadline| raised && max_hint > *deadline)?;
    Some(format!(
        "hints of up to {} are accepted, but the deadline of {} stops the call for any that \
         reaches it; raise the deadline or lower max_hint",
        Human(max_hint),
        Human(deadline)
    ))
}

pub(super) fn throttled_sooner(case: &Case<'_>) -> Option<String> {
    let throttled = case
        .throttled_base
        .filter(|throttled| *throttled < case.base)?;
    Some(format!(
        "a server that asks for less load is retried sooner (base {}) than one that failed (base \
         {}); set throttled_base above base",
        Human(throttled),
        Human(case.base)
    ))
}

pub(super) fn attempt_timeout_fills_deadline(case: &Case<'_>) -> Option<String> {
    let (timeout, deadline) = (case.attempt_timeout?, case.deadline?);
    let never = case.first_beyond(deadline, |wait| wait.least.saturating_add(timeout));
    // The first retry comes as soon as its wait allows.
    let seldom = || {
        let retry = case.first_beyond(deadline, |wait| wait.mean.saturating_add(timeout));
        retry.filter(|it| *it > 1)
    };
    let (retry, mostly) = match never {
        Some(retry) => (retry, ""),
        None => (seldom()?, ", with the waits between them, mostly"),
    };
    let what = match retry {
        1 => format!("an attempt that times out after {} leaves", Human(timeout)),
        // Attempts without limit are meant to end at the deadline; and one reason is enough.
        _ if case.is_unlimited() || waits_exceed_deadline(case).is_some() => return None,
        _ => format!(
            "{retry} attempts that time out after {}{mostly} leave",
            Human(timeout)
        ),
    };
    let which = match retry {
        1 => "a retry".into(),
        _ => format!("attempt {} of {}", Count(retry + 1), Count(case.attempts)),
    };
    Some(format!(
        "{what} no room for {which} before the deadline of {}; lower attempt_timeout or raise the deadline",
        Human(deadline)
    ))
}

pub(super) fn waits_exceed_deadline(case: &Case<'_>) -> Option<String> {
    let deadline = case.deadline?;
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

/// Proxies in front wait no longer by themselves (nginx's `proxy_read_timeout`, an AWS load balancer's idle time-out).
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) fn no_deadline(case: &Case<'_>) -> Option<String> {
    let timeout = case.attempt_timeout?;
    if case.deadline.is_some() || case.is_unlimited() {
        return None;
    }
    // Of a wait that was not looked at only the attempt counts.
    let waits = case.waits.iter().map(|wait| wait.most);
    let attempts = timeout.saturating_mul(case.attempts);
    let longest = waits.fold(attempts, Duration::saturating_add);
    (longest > PATIENCE).then(|| {
        format!(
            "nothing bounds a call but its attempts: {} that time out after {} take up to {}, with their waits; set a \
             deadline",
            case.attempts,
            Human(timeout),
            Human(longest)
        )
    })
}

/// A call that waits for longer does not notice that the server has come back.
const LONG: Duration = Duration::from_secs(10 * 60);

pub(super) fn long_waits(case: &Case<'_>) -> Option<String> {
    let longest = case.longest();
    let longest = longest.min(case.deadline.unwrap_or(longest));
    (longest > LONG).then(|| {
        format!(
            "a single wait may take {}, in which a server that has come back goes unnoticed; set \
             a cap of 20s to 60s",
            Human(longest)
        )
    })
}
