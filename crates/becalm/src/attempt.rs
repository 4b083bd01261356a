//! What does the operation know of the attempt that it is?

use core::time::Duration;

use crate::idempotency::IdempotencyKey;
use crate::stop::StopReason;
use crate::time::Instant;

/// One execution of the operation, as the operation sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    number: u32,
    is_hedge: bool,
    remaining: u64,
    timeout: u64,
    key: Option<IdempotencyKey>,
}

impl Attempt {
    /// An attempt with this many nanoseconds left, and of at most this length; `u64::MAX` for no
    /// limit.
    #[inline]
    pub(crate) const fn new(
        number: u32,
        remaining: u64,
        longest: u64,
        key: Option<IdempotencyKey>,
    ) -> Self {
        Self {
            number,
            is_hedge: false,
            remaining,
            timeout: if longest < remaining {
                longest
            } else {
                remaining
            },
            key,
        }
    }

    pub(crate) const fn hedge(mut self) -> Self {
        self.is_hedge = true;
        self
    }

    /// The number of this attempt, from 1. A hedge has a number of its own.
    #[inline]
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// Whether this is a second copy beside a slow attempt: send it to another replica if there is
    /// one.
    #[inline]
    pub const fn is_hedge(&self) -> bool {
        self.is_hedge
    }

    /// The time that was left before the deadline when this attempt started, after its wait;
    /// `None` without a deadline.
    #[inline]
    pub const fn remaining(&self) -> Option<Duration> {
        limit(self.remaining)
    }

    /// How long this attempt may take: the attempt timeout, or [what is left](Self::remaining) before the
    /// deadline if that is less. `None` if the policy has neither. Hand it to the client that makes the
    /// attempt, as its time-out.
    #[inline]
    pub const fn timeout(&self) -> Option<Duration> {
        limit(self.timeout)
    }

    /// The idempotency key of a [keyed](crate::Operation::Keyed) call: the same on every attempt.
    #[inline]
    pub const fn key(&self) -> Option<IdempotencyKey> {
        self.key
    }
}

/// Nanoseconds as a limit; `u64::MAX` for none.
#[inline]
pub(crate) const fn limit(nanos: u64) -> Option<Duration> {
    match nanos {
        u64::MAX => None,
        nanos => Some(Duration::from_nanos(nanos)),
    }
}

/// Nanoseconds up to the deadline; `u64::MAX` without one.
#[inline]
pub(crate) fn remaining(deadline: Instant, now: Instant) -> Result<u64, StopReason> {
    if deadline == Instant::NEVER {
        return Ok(u64::MAX);
    }
    match deadline.as_nanos().saturating_sub(now.as_nanos()) {
        0 => Err(StopReason::DeadlineExceeded),
        left => Ok(left),
    }
}
