//! Again, and when? Or not, and why? The pure decision after a failed attempt.
//!
//! In: the rules, where the call stands, the failure, random bits. Out: a wait or a reason. It
//! reads no clock and touches no shared state; the call asks the waiting room and the budget
//! afterwards, so that no other stop withdraws a token.

use core::time::Duration;

use crate::classify::{Class, Effect, Failure};
use crate::delay::{DelayRule, round_to_tick};
use crate::duration::nanos;
use crate::hint::{Hint, HintMode};
use crate::idempotency::Operation;
use crate::policy::Policy;
use crate::rng::{Random, uniform};
use crate::scope::Nested;
use crate::stop::StopReason;
use crate::time::Instant;

/// What follows an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decision {
    /// The attempt succeeded; the call is done.
    Done,
    /// Wait this long, then start the next attempt. Already rounded to the timer's tick.
    RetryIn(Duration),
    /// The call is over.
    Stop(StopReason),
}

/// A policy made ready for decisions.
#[derive(Debug)]
pub(crate) struct Rules {
    pub policy: Policy,
    pub delay: DelayRule,
    max_hint: u64,
    tick: u64,
}

impl Rules {
    pub fn of(policy: Policy, tick: Duration) -> Self {
        Self {
            delay: DelayRule::of(&policy),
            max_hint: nanos(policy.max_hint),
            tick: nanos(tick),
            policy,
        }
    }
}

/// Where a call stands when an attempt has failed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Standing {
    pub now: Instant,
    pub deadline: Instant,
    /// The attempts made so far, the failed one included.
    pub attempt: u32,
    /// The attempts that this call may make in all.
    pub attempts: u32,
    pub operation: Operation,
    pub body_replayable: bool,
    /// A layer below has learnt that more attempts harm.
    pub forbidden_below: bool,
    /// A retry around this one will repeat it.
    pub repeated_above: bool,
    /// Retries since the start, or since an exact hint: the step of the backoff.
    pub step: u32,
    pub previous: Option<u64>,
}

/// A wait, and where the backoff stands after it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wait {
    pub delay: u64,
    pub step: u32,
    pub previous: Option<u64>,
}

/// The decision, but for what is shared: waiting room and budget.
#[inline]
pub(crate) fn decide<R: Random + ?Sized>(
    rules: &Rules,
    at: &Standing,
    failure: &Failure,
    random: &mut R,
) -> Result<Wait, StopReason> {
    if failure.class == Class::Permanent {
        return Err(StopReason::Permanent);
    }
    if failure.hint == Some(Hint::Stop) || at.forbidden_below {
        return Err(StopReason::DoNotRetry);
    }
    if !at.operation.is_repeatable() && failure.effect != Effect::Unsent {
        return Err(StopReason::NotIdempotent);
    }
    if !at.body_replayable {
        return Err(StopReason::BodyNotReplayable);
    }
    if at.repeated_above && rules.policy.nested == Nested::Suppress {
        return Err(StopReason::NestedRetry);
    }
    if at.attempt >= at.attempts && at.attempts != Policy::UNLIMITED {
        return Err(StopReason::AttemptsExhausted);
    }
    wait(rules, at, failure, random)
}

/// The longest wait that still ends before the deadline; `None` where none does.
fn longest_before_deadline(at: &Standing) -> Option<u64> {
    if at.deadline == Instant::NEVER {
        return Some(u64::MAX);
    }
    at.deadline
        .as_nanos()
        .checked_sub(at.now.as_nanos())?
        .checked_sub(1)
}

fn wait<R: Random + ?Sized>(
    rules: &Rules,
    at: &Standing,
    failure: &Failure,
    random: &mut R,
) -> Result<Wait, StopReason> {
    let room = longest_before_deadline(at);
    match hint(rules, failure) {
        Some(Hint::Exactly(delay)) => {
            let delay = nanos(delay);
            let room = fitting(rules, delay, room)?;
            let delay = round_to_tick(delay, delay, room, rules.tick, random);
            Ok(Wait {
                delay,
                step: 0,
                previous: None,
            })
        }
        Some(Hint::AtLeast(hint)) => {
            let hint = nanos(hint);
            let room = fitting(rules, hint, room)?;
            let ceiling = rules
                .delay
                .ceiling(at.step, failure.class == Class::Throttled);
            let high = room.min(hint.saturating_add(ceiling.max(hint / 10)));
            let drawn = uniform(random, hint, high);
            let delay = round_to_tick(drawn, hint, room, rules.tick, random);
            Ok(Wait {
                delay,
                step: at.step.saturating_add(1),
                previous: at.previous,
            })
        }
        Some(Hint::Stop) | None => {
            let throttled = failure.class == Class::Throttled;
            let drawn = rules.delay.draw(at.step, throttled, at.previous, random);
            let (floor, cap) = (rules.delay.floor, rules.delay.cap);
            let delay = round_to_tick(drawn, floor, cap, rules.tick, random);
            if room.is_none_or(|room| delay > room) {
                return Err(StopReason::DeadlineExceeded);
            }
            Ok(Wait {
                delay,
                step: at.step.saturating_add(1),
                previous: Some(drawn),
            })
        }
    }
}

/// The hint as the policy's mode leaves it.
fn hint(rules: &Rules, failure: &Failure) -> Option<Hint> {
    let cap = rules.policy.cap;
    match (rules.policy.hint, failure.hint?) {
        (HintMode::Honor, hint) => Some(hint),
        (HintMode::Clamp, Hint::AtLeast(delay)) => Some(Hint::AtLeast(delay.min(cap))),
        (HintMode::Clamp, Hint::Exactly(delay)) => Some(Hint::Exactly(delay.min(cap))),
        (HintMode::Clamp, Hint::Stop) | (HintMode::Ignore, _) => None,
    }
}

/// The room for a hint that fits: at most the longest accepted one, and over before the deadline.
fn fitting(rules: &Rules, hint: u64, room: Option<u64>) -> Result<u64, StopReason> {
    match room {
        Some(room) if hint <= rules.max_hint && hint <= room => Ok(room),
        _ => Err(StopReason::HintTooLong),
    }
}
