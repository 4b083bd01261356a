//! What is there to know of a call before anything has failed?

use super::options::CallOptions;
#[cfg(feature = "std")]
use crate::attempt::{Attempt, remaining};
use crate::duration::nanos;
use crate::scope::Scope;
use crate::shared::Shared;
#[cfg(feature = "std")]
use crate::stop::StopReason;
use crate::time::Instant;

/// The first try, before anything has failed: all that a successful call ever needs.
///
/// A *plain* call is at the top and has nothing to look after but the ratio budget: no time limit,
/// no options, no observer, no guard, no other budget. For it there is nothing to note but one
/// word, and it is begun in a handful of instructions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FirstTry {
    pub above: Scope,
    /// The end of the whole call; `NEVER` without one.
    pub deadline: Instant,
    /// When it started, if the clock was read.
    pub started: Option<Instant>,
    /// Nanoseconds; `u64::MAX` for none. Fixed here, since a limit that comes with a reload has no
    /// start from which to measure a running attempt.
    pub attempt_timeout: u64,
    /// Whether slow attempts may be hedged. Fixed here for the same reason: the delay is measured
    /// from a start, and running copies are polled to their end whatever a reload asks for.
    pub may_hedge: bool,
    pub(super) may_repeat: bool,
    /// The policy is told, and not kept: limits and hedges of the call's own are none.
    pub observes: bool,
}

impl FirstTry {
    /// Fixes the deadline. The clock is read at most once, and only if the call has a deadline or
    /// an attempt timeout, or may be hedged, or the budget or a guard wants it.
    #[inline]
    pub fn begin(
        shared: &Shared,
        options: &CallOptions,
        above: Scope,
        now: impl FnOnce() -> Instant,
    ) -> Self {
        let own = options.deadline.map_or_else(|| shared.deadline(), nanos);
        let outer = above.deadline(shared.clock());
        let attempt_timeout = shared.attempt_timeout();
        let may_hedge = shared.guards().hedging().is_some();
        let timed = own != u64::MAX || attempt_timeout != u64::MAX || outer.is_some();
        let started = (timed || may_hedge || shared.reads_clock_at_start()).then(now);
        let mut deadline = outer.unwrap_or(Instant::NEVER);
        let may_repeat = shared.repeats(options.attempts) && options.operation.is_repeatable();
        if shared.observes() {
            return Self {
                above,
                deadline,
                started,
                observes: true,
                ..Self::UNKNOWN
            };
        }
        if own != u64::MAX {
            let start = started.unwrap_or(Instant::ZERO);
            deadline = deadline.min(start.after_nanos(own));
        }
        Self {
            above,
            deadline,
            started,
            attempt_timeout,
            may_hedge,
            may_repeat,
            observes: false,
        }
    }

    /// Of a call that has not begun.
    pub const UNKNOWN: Self = Self {
        above: Scope::NONE,
        deadline: Instant::NEVER,
        started: None,
        attempt_timeout: u64::MAX,
        may_hedge: false,
        may_repeat: false,
        observes: false,
    };

    /// Whether a limit, a hedge or an observed policy measures from the start of each attempt.
    #[inline]
    pub fn is_timed(&self) -> bool {
        let is_limited = self.deadline != Instant::NEVER || self.attempt_timeout != u64::MAX;
        is_limited || self.may_hedge || self.observes
    }

    /// The call will not repeat its work, whatever its policy allows.
    pub fn will_not_repeat(&mut self) {
        self.may_repeat = false;
    }

    /// The scope of what runs inside this attempt.
    #[inline]
    pub fn inside(&self, shared: &Shared, attempt: u32) -> Scope {
        let (payer, clock) = (shared.payer(self.above), shared.clock());
        self.above
            .inside(payer, clock, self.deadline, self.may_repeat, attempt)
    }
}

/// What the engines of the standard library ask of a first try.
#[cfg(feature = "std")]
impl FirstTry {
    /// Begins a call at the top without options of its own, if it is plain: tells the scope inside.
    /// There is nothing to note of it: [`FirstTry::plain`] tells it again.
    #[inline]
    pub fn begin_plain(shared: &Shared) -> Option<Scope> {
        shared.plain()
    }

    /// Begins a call at the top, if it is *quick*: plain but for time limits and for what it sets for itself. The clock is
    /// read once, and only for a limit. Tells the scope inside.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "see `quick::enter`")]
    pub fn begin_quick(
        shared: &Shared,
        options: Option<&CallOptions>,
        now: impl FnOnce() -> Instant,
    ) -> Option<(Scope, Self)> {
        let inside = shared.quick()?;
        let (mut may_repeat, mut own) = (inside.is_repeated_above(), shared.deadline());
        if let Some(options) = options {
            may_repeat = shared.repeats(options.attempts) && options.operation.is_repeatable();
            own = options.deadline.map_or(own, nanos);
        }
        let mut first = Self {
            may_repeat,
            attempt_timeout: shared.attempt_timeout(),
            ..Self::UNKNOWN
        };
        if own != u64::MAX || first.attempt_timeout != u64::MAX {
            if own == 0 {
                return None; // over before it begins
            }
            let started = now();
            first.deadline = started.after_nanos(own);
            first.started = Some(started);
        }
        Some((
            inside.at_top(first.deadline, shared.clock(), may_repeat),
            first,
        ))
    }

    /// The first try of a plain call.
    #[inline]
    pub fn plain(shared: &Shared) -> Self {
        Self {
            may_repeat: shared.repeats(None),
            observes: shared.observes(),
            ..Self::UNKNOWN
        }
    }

    /// When it started; the clock's zero where nobody wanted to know.
    #[inline]
    pub fn start(&self) -> Instant {
        self.started.unwrap_or(Instant::ZERO)
    }

    /// Whether it is observed and may be told more than how it failed: limits, guards and hedges would have
    /// a say.
    #[inline]
    pub fn is_watched(&self, shared: &Shared) -> bool {
        self.observes && (self.started.is_some() || !shared.guards().are_idle())
    }

    /// The nanoseconds that are left, unless the deadline has passed already.
    #[inline]
    pub fn remaining(&self) -> Result<u64, StopReason> {
        remaining(self.deadline, self.start())
    }

    /// The first attempt, which has time left.
    #[inline]
    pub fn attempt(&self, options: Option<&CallOptions>) -> Attempt {
        let remaining = self.remaining().unwrap_or(0);
        let key = options.and_then(|options| options.operation.key());
        Attempt::new(1, remaining, self.attempt_timeout, key)
    }

    /// The first attempt of a plain call.
    #[inline]
    pub const fn plain_attempt() -> Attempt {
        Attempt::new(1, u64::MAX, u64::MAX, None)
    }
}
