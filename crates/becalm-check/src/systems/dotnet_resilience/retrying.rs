//! How often does the standard handler repeat, and how long does it wait?
//!
//! `RetryHelper.GetRetryDelay`: jitter of a quarter on constant and linear delays, `DecorrelatedJitterBackoffV2` on exponential
//! ones, and then `MaxDelay`.

use std::time::Duration;

use becalm::backoff::Backoff;
use becalm::hint::HintMode;
use becalm::{Jitter, Policy};

use super::options::Options;
use super::{Draft, Origin, Reading};
use crate::list::list;
use crate::told::Told;

/// The keys of `Retry`, that of the number first.
pub const KNOWN: &[&str] =
    list!("MaxRetryAttempts BackoffType UseJitter Delay MaxDelay ShouldRetryAfterHeader");

const BACKOFFS: [(&str, Backoff); 3] = [
    ("Constant", Backoff::Fixed),
    ("Linear", Backoff::Linear),
    ("Exponential", Backoff::Exponential),
];

pub fn retrying(reading: &mut Reading<'_>, draft: &mut Draft, section: Options<'_>) {
    let mut after_header = Told::Absent;
    let mut has_cap = None;
    if let Some((key, retry)) = section.strategy(&["Retry"]) {
        retry.check(reading, "`Retry`", KNOWN);
        attempts(reading, draft, retry);
        let delay = retry.time(reading, "Delay", Duration::ZERO);
        let most = retry.time(reading, "MaxDelay", Duration::ZERO);
        draft.set("base", delay, |policy, it| policy.base = it);
        if let Told::Is(_, span) = most {
            has_cap = Some(span);
        }
        draft.set("cap", most, |policy, it| {
            policy.base = policy.base.min(it);
            policy.cap = it.max(Duration::from_nanos(1));
        });
        let backoff = reading.told(
            retry.get("BackoffType"),
            "Constant, Linear or Exponential",
            |it| {
                let named = BACKOFFS
                    .iter()
                    .find(|(name, _)| name.eq_ignore_ascii_case(it));
                let numbered = || BACKOFFS.get(it.parse::<usize>().ok()?);
                named.or_else(numbered).map(|(_, it)| it.clone())
            },
        );
        draft.set("backoff", backoff, |policy, it| policy.backoff = it);
        let spreads = reading.flag(retry.get("UseJitter"), "true or false");
        let jitter = jitter(&draft.policy);
        draft.policy.jitter = jitter;
        draft.set("jitter", spreads, |policy, it| {
            policy.jitter = if it { jitter } else { Jitter::None };
        });
        after_header = reading.flag(retry.get("ShouldRetryAfterHeader"), "true or false");
        if let (Some(span), true) = (has_cap, draft.policy.jitter != Jitter::None) {
            let why =
                "it cuts what was drawn, so that delays pile up on it; a policy draws below it";
            draft.lose("MaxDelay", why, Some(span));
        }
        if draft.policy.jitter == Jitter::Full {
            lose_decorrelated(draft, Some(key.span));
        }
    } else {
        lose_decorrelated(draft, None);
    }
    draft.set("hint", after_header, |policy, it| {
        policy.hint = if it {
            HintMode::Honor
        } else {
            HintMode::Ignore
        };
    });
    if draft.policy.hint == HintMode::Honor {
        let why = "it takes the place of the delay: nothing is drawn on top, `MaxDelay` does not bound it, and a time that is past is no delay";
        draft.lose("Retry-After", why, None);
    }
}

fn lose_decorrelated(draft: &mut Draft, span: Option<crate::document::Span>) {
    let why = "DecorrelatedJitterBackoffV2: its delays have means of about 0.9, 1.2 and 2.1 times `Delay`, where full jitter, which stands for it, has 0.5, 1 and 2";
    draft.lose("UseJitter", why, span);
}

/// `int.MaxValue` is no bound.
fn attempts(reading: &mut Reading<'_>, draft: &mut Draft, retry: Options<'_>) {
    let most = i32::MAX.unsigned_abs();
    match retry.whole(reading, "MaxRetryAttempts", 1, most) {
        Told::Is(retries, span) if retries == most => {
            draft.policy.attempts = Policy::UNLIMITED;
            draft.origin("attempts", Origin::Derived(span, "without a bound".into()));
        }
        Told::Is(retries, span) => {
            reading.attempts_are_retries(draft, "MaxRetryAttempts", retries, span);
        }
        told => draft.set("attempts", told, |_, _| {}),
    }
}

/// What `UseJitter` does to delays that grow so.
const fn jitter(policy: &Policy) -> Jitter {
    match policy.backoff {
        Backoff::Fixed | Backoff::Linear => Jitter::Proportional(0.25),
        _ => Jitter::Full,
    }
}
