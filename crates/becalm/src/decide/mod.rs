//! Again, and when? Or not, and why? The pure decision after a failed attempt.
//!
//! In: the rules, where the call stands, the failure, random bits. Out: a wait or a reason. It
//! reads no clock and touches no shared state; the call asks the waiting room and the budget
//! afterwards, so that no other stop withdraws a token.

mod wait;

pub(crate) use wait::{Wait, asks_again};

use core::time::Duration;

use crate::classify::{Class, Effect, Failure};
use crate::delay::DelayRule;
use crate::duration::nanos;
use crate::hint::Hint;
use crate::idempotency::Operation;
use crate::policy::Policy;
use crate::rng::Random;
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
    /// Another copy of the operation is running: its outcome decides.
    AwaitOthers,
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

    /// The class of a failure by the lists of the policy, if it has any.
    #[inline]
    pub fn class_of(&self, failure: &Failure) -> Class {
        let lists = self.policy.retry_on.as_ref();
        lists.map_or(failure.class, |lists| lists.class_of(failure))
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
    /// A layer below has heard from the server that more attempts harm.
    pub forbidden_below: bool,
    /// A layer above repeats, so this one runs once: see [`Nested`](crate::scope::Nested).
    pub repeated_above: bool,
    /// Retries since the start, or since an exact hint: the step of the backoff.
    pub step: u32,
    pub previous: Option<u64>,
}

/// The decision, but for what is shared: waiting room and budget.
#[inline(always)]
#[allow(clippy::inline_always, reason = "see `call::landing::follow`")]
pub(crate) fn decide<R: Random + ?Sized>(
    rules: &Rules,
    at: &Standing,
    failure: &Failure,
    random: &mut R,
) -> Result<Wait, StopReason> {
    if rules.class_of(failure) == Class::Permanent {
        return Err(match failure.class {
            Class::Permanent => StopReason::Permanent,
            _ => StopReason::NotListed,
        });
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
    if at.repeated_above {
        return Err(StopReason::NestedRetry);
    }
    if at.attempt >= at.attempts && at.attempts != Policy::UNLIMITED {
        return Err(StopReason::AttemptsExhausted);
    }
    wait::wait(rules, at, failure, random)
}
