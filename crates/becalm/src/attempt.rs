//! What does the operation know of the attempt that it is?

use core::fmt;
use core::time::Duration;

use crate::idempotency::IdempotencyKey;
use crate::stop::StopReason;
use crate::time::Instant;

/// One execution of the operation, as the operation sees it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// The number, plus [`HEDGE`] for a hedge, plus how many have timed out. One word: two smaller ones, written apart and copied
    /// in one piece, cost every call a stall of the processor's store buffer.
    label: u64,
    remaining: u64,
    timeout: u64,
    key: Option<IdempotencyKey>,
}

const HEDGE: u64 = 1 << 32;
/// Above it are the time-outs, in eight bits.
const TIMEOUTS: u32 = 40;

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
            label: number as u64,
            remaining,
            timeout: if longest < remaining {
                longest
            } else {
                remaining
            },
            key,
        }
    }

    #[cfg(feature = "std")]
    #[inline]
    pub(crate) fn after_timeouts(mut self, timeouts: u32) -> Self {
        self.label |= u64::from(timeouts.min(255)) << TIMEOUTS;
        self
    }

    pub(crate) const fn hedge(mut self) -> Self {
        self.label |= HEDGE;
        self
    }

    /// The number of this attempt, from 1. A hedge has a number of its own.
    #[inline]
    #[allow(
        clippy::cast_possible_truncation,
        reason = "what is above is the mark of a hedge"
    )]
    pub const fn number(&self) -> u32 {
        self.label as u32
    }

    /// Whether this is a second copy beside a slow attempt: send it to another replica if there is
    /// one.
    #[inline]
    pub const fn is_hedge(&self) -> bool {
        self.label & HEDGE != 0
    }

    /// How many attempts of this call have ended by a time-out, the policy's or the client's own, or with gRPC's
    /// `DEADLINE_EXCEEDED`; 255 is that many or more. If any has, the connection may be dead without a word: send this one on another, if your client would not. Hedges say 0.
    #[inline]
    pub const fn timeouts(&self) -> u32 {
        (self.label >> TIMEOUTS) as u32
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

#[allow(
    clippy::missing_fields_in_debug,
    reason = "the label is shown as what it says"
)]
impl fmt::Debug for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempt")
            .field("number", &self.number())
            .field("is_hedge", &self.is_hedge())
            .field("remaining", &self.remaining())
            .field("timeout", &self.timeout())
            .field("key", &self.key)
            .finish()
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
