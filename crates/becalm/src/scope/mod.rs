//! Is there a retry around this one, and what has it decided?
//!
//! A [`Scope`] is an explicit value. The sans-IO [`Call`](crate::call::Call) takes it as an argument;
//! only the engines keep the current one per thread while they run or poll the operation, so that
//! a retry inside a retry is seen across `.await` points and joined futures of one task, and does
//! not leak to other tasks.
//!
//! Between processes it travels as one header field of the request ([`ScopeHeader`]), and "do not
//! retry" comes back as one of the response ([`Told`]). Any transport that carries text can
//! carry them; the feature `http` reads and writes them in header maps.

mod answer;
#[cfg(feature = "std")]
mod current;
mod header;
mod heed;
mod nested;

pub use answer::Told;
#[cfg(feature = "std")]
pub(crate) use current::{Entered, tell_current};
#[cfg(feature = "std")]
pub use current::{WithScope, Wrapped, body_is_consumed, detached};
pub use header::ScopeHeader;
pub(crate) use heed::Heard;
pub use nested::Nested;

use crate::stop::StopReason;
use crate::time::{ClockId, Instant};

/// What a call knows of the retries around it.
///
/// Two words, so that entering and leaving one costs an operation nothing that can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope {
    deadline: Instant,
    /// From the top: the number of the retrier that pays (32 bits), the deadline's clock (16), the
    /// attempt (8), flags and why more attempts harm (8). 0 means nothing above.
    meta: u64,
}

/// A layer above may repeat this work.
const REPEATED: u64 = 1;
/// Some layer above is past its first attempt.
const RETRYING: u64 = 2;
/// The layer above is in another process: nothing else need be known of it to have it told.
const REMOTE: u64 = 4;
/// The body of the request is gone: the attempt cannot be repeated.
const CONSUMED: u64 = 8;

const REASON_AT: u32 = 4;
const REASON: u64 = 0x7 << REASON_AT;
/// A layer above the one whose attempt this is may repeat it, too.
const REPEATED_FURTHER_UP: u64 = 0x80;
const ATTEMPT_AT: u32 = 8;
const CLOCK_AT: u32 = 16;
const PAYER_AT: u32 = 32;

impl Scope {
    /// Nothing above: what a call at the top has.
    pub const NONE: Self = Self {
        deadline: Instant::NEVER,
        meta: 0,
    };

    /// The number of the attempt right above, from 1; 255 stands for that and more. 0 where there
    /// is none, or where another process did not say.
    pub const fn attempt(self) -> u32 {
        (self.meta >> ATTEMPT_AT & 0xff) as u32
    }

    /// Whether a layer above may repeat this work, as far as was known before its first attempt.
    pub const fn is_repeated_above(self) -> bool {
        self.meta & REPEATED != 0
    }

    /// Whether every layer above is at its first attempt.
    pub const fn is_first_try(self) -> bool {
        self.meta & RETRYING == 0
    }

    /// Whether a layer below has heard from the server that more attempts harm: no layer above
    /// retries.
    pub const fn is_retry_forbidden(self) -> bool {
        matches!(self.told_below(), Some(StopReason::DoNotRetry))
    }

    /// Whether the attempt has said that its request's body is [gone](body_is_consumed).
    pub const fn is_body_consumed(self) -> bool {
        self.meta & CONSUMED != 0
    }

    /// Whether anything was said in it that the call around it must hear.
    #[cfg(feature = "std")]
    pub(crate) const fn has_news(self) -> bool {
        self.meta & (REASON | CONSUMED) != 0
    }

    /// Why a layer below could not retry, if it told: [`DoNotRetry`](StopReason::DoNotRetry) forbids,
    /// a spent budget or an open breaker is heeded where many calls hear of it. An answer passes it on
    /// to the caller in [`Told`].
    pub const fn told_below(self) -> Option<StopReason> {
        match (self.meta & REASON) >> REASON_AT {
            0 => None,
            2 => Some(StopReason::BudgetExhausted),
            3 => Some(StopReason::BreakerOpen),
            _ => Some(StopReason::DoNotRetry),
        }
    }

    /// The earliest deadline above, if it is on this clock, or over on any.
    ///
    /// Tokio's clock and the process's are one clock while they agree; under a paused one they
    /// are two.
    #[inline]
    pub fn deadline(self, clock: ClockId) -> Option<Instant> {
        if self.deadline == Instant::NEVER {
            return None;
        }
        let is_seen = self.deadline == Instant::ZERO || self.clock().agrees(clock);
        is_seen.then_some(self.deadline)
    }

    /// This scope after a layer inside it has told why it stopped: `DoNotRetry` stays, of the others
    /// the first. A reason that is not [told](StopReason::is_told_above) changes nothing.
    #[must_use]
    pub const fn telling(self, reason: StopReason) -> Self {
        let code = match reason {
            StopReason::DoNotRetry => 1,
            StopReason::BudgetExhausted => 2,
            StopReason::BreakerOpen => 3,
            _ => return self,
        };
        if self.meta & REASON != 0 && code != 1 {
            return self;
        }
        let mut told = self.forgetting();
        told.meta |= code << REASON_AT;
        told
    }

    /// This scope without what was told in it.
    const fn forgetting(mut self) -> Self {
        self.meta &= !REASON;
        self
    }

    /// Whether there is nothing above.
    #[cfg(feature = "std")]
    pub(crate) const fn is_none(self) -> bool {
        self.meta == 0
    }

    /// The number of the retrier above whose budget pays for what shares one, 0 where there is
    /// none in this process.
    pub(crate) const fn payer(self) -> u32 {
        (self.meta >> PAYER_AT) as u32
    }

    #[expect(clippy::cast_possible_truncation)] // the middle 16 bits
    const fn clock(self) -> ClockId {
        ClockId::from_bits((self.meta >> CLOCK_AT) as u16)
    }

    /// The scope of what runs inside this attempt of a call; `payer` is the number of the retrier
    /// that pays for what shares a budget there.
    ///
    /// A call without a deadline, or on a clock of which nothing is known, hands on the one above:
    /// somebody further down may share its clock.
    pub(crate) const fn inside(
        self,
        payer: u32,
        clock: ClockId,
        deadline: Instant,
        may_repeat: bool,
        attempt: u32,
    ) -> Self {
        let attempt = if attempt < 255 { attempt } else { 255 };
        let mut meta = (payer as u64) << PAYER_AT | (attempt as u64) << ATTEMPT_AT;
        meta |= self.meta & (REPEATED | RETRYING);
        if self.meta & REPEATED != 0 {
            meta |= REPEATED_FURTHER_UP;
        }
        if may_repeat {
            meta |= REPEATED;
        }
        if attempt > 1 {
            meta |= RETRYING;
        }
        let own = deadline.as_nanos() != Instant::NEVER.as_nanos() && clock.is(clock);
        let (deadline, clock) = if own {
            (deadline, clock)
        } else {
            (self.deadline, self.clock())
        };
        meta |= (clock.to_bits() as u64) << CLOCK_AT;
        Self { deadline, meta }
    }

    /// This scope inside an attempt at the top whose call ends at this deadline, and may repeat it or not.
    #[cfg(feature = "std")]
    #[inline]
    pub(crate) const fn at_top(
        mut self,
        deadline: Instant,
        clock: ClockId,
        may_repeat: bool,
    ) -> Self {
        self.meta = self.meta & !REPEATED | if may_repeat { REPEATED } else { 0 };
        if deadline.as_nanos() != Instant::NEVER.as_nanos() && clock.is(clock) {
            self.meta |= (clock.to_bits() as u64) << CLOCK_AT;
            self.deadline = deadline;
        }
        self
    }

    /// The word that tells scopes without a deadline apart; 0 for [`Scope::NONE`].
    pub(crate) const fn word(self) -> u64 {
        self.meta
    }

    /// The scope without a deadline that has this word.
    #[cfg(feature = "std")]
    pub(crate) const fn of_word(meta: u64) -> Self {
        Self {
            deadline: Instant::NEVER,
            meta,
        }
    }
}
