//! Where does one call stand, and what does it hold?
//!
//! The sans-IO state of one call: every driver, from the async engine to the simulator, drives
//! this one. It reads no clock, sleeps nowhere and allocates nothing; what it holds, a token and a
//! place in the waiting room, it returns when it is dropped.

use alloc::sync::Arc;
use core::time::Duration;

use crate::budget::Withdrawal;
#[cfg(feature = "std")]
use crate::classify::{Class, Effect};
use crate::classify::{Failure, Verdict};
use crate::decide::{Decision, Rules, Standing, decide};
use crate::duration::nanos;
use crate::idempotency::{IdempotencyKey, Operation};
use crate::rng::Random;
use crate::scope::{ClockId, Nested, Scope};
use crate::shared::Shared;
use crate::stop::StopReason;
use crate::time::Instant;

/// What one call sets for itself; the rest is its policy's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CallOptions {
    /// What repeating the operation would do. Default [`Operation::Idempotent`].
    pub operation: Operation,
    /// All attempts of this call; `None` (the default) means the policy's. 0 is read as 1.
    pub attempts: Option<u32>,
    /// The longest time of this call; `None` (the default) means the policy's.
    pub deadline: Option<Duration>,
}

impl CallOptions {
    /// Nothing but the policy.
    pub const fn new() -> Self {
        Self {
            operation: Operation::Idempotent,
            attempts: None,
            deadline: None,
        }
    }
}

/// One execution of the operation, as the operation sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    number: u32,
    remaining: u64,
    key: Option<IdempotencyKey>,
}

impl Attempt {
    /// The number of this attempt, from 1.
    #[inline]
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// The time that was left before the deadline when this attempt started, after its wait;
    /// `None` without a deadline. Hand it to the transport as its time-out.
    #[inline]
    pub const fn remaining(&self) -> Option<Duration> {
        match self.remaining {
            u64::MAX => None,
            nanos => Some(Duration::from_nanos(nanos)),
        }
    }

    /// The idempotency key of a [keyed](Operation::Keyed) call: the same on every attempt.
    #[inline]
    pub const fn key(&self) -> Option<IdempotencyKey> {
        self.key
    }
}

/// The first try, before anything has failed: all that a successful call ever needs.
///
/// A *plain* call is at the top and has nothing to look after but the ratio budget: no time limit,
/// no options, no observer, no other budget. For it there is nothing to note but one word, and it
/// is begun in a handful of instructions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FirstTry {
    pub above: Scope,
    /// The end of the whole call; `NEVER` without one.
    pub deadline: Instant,
    /// When it started, if the clock was read.
    pub started: Option<Instant>,
    /// Nanoseconds; `u64::MAX` for none. Fixed here, since a limit that comes with a reload has no
    /// start from which to measure an attempt under way.
    attempt_timeout: u64,
    may_repeat: bool,
}

impl FirstTry {
    /// Fixes the deadline, and deposits. The clock is read at most once, and only if the call has
    /// a deadline or an attempt timeout, or the budget wants it.
    pub fn begin(
        shared: &Shared,
        options: &CallOptions,
        above: Scope,
        now: impl FnOnce() -> Instant,
    ) -> Self {
        let own = options.deadline.map_or_else(|| shared.deadline(), nanos);
        let outer = above.deadline(shared.clock());
        let attempt_timeout = shared.attempt_timeout();
        let timed = own != u64::MAX || attempt_timeout != u64::MAX || outer.is_some();
        let pays_in = above.is_first_try();
        let reads_clock = timed || pays_in && shared.deposit_reads_clock();
        let started = reads_clock.then(now);
        let start = started.unwrap_or(Instant::ZERO);
        let mut deadline = outer.unwrap_or(Instant::NEVER);
        if own != u64::MAX {
            deadline = deadline.min(start.after(Duration::from_nanos(own)));
        }
        // A call that will be refused reaches nobody, so it earns nothing.
        if pays_in && remaining(deadline, start).is_ok() {
            shared.deposit(start);
        }
        let may_repeat = shared.repeats(options.attempts) && options.operation.is_repeatable();
        Self {
            above,
            deadline,
            started,
            attempt_timeout,
            may_repeat,
        }
    }

    /// The scope of what runs inside this attempt.
    pub fn inside(&self, shared: &Shared, attempt: u32) -> Scope {
        let (payer, clock) = (shared.payer(self.above), shared.clock());
        self.above
            .inside(payer, clock, self.deadline, self.may_repeat, attempt)
    }
}

/// What the engines of the standard library ask of a first try.
#[cfg(feature = "std")]
impl FirstTry {
    /// Begins a call without options of its own, if it is plain: deposits, and tells the scope
    /// inside. There is nothing to note of it: [`FirstTry::plain`] tells it again.
    #[inline]
    pub fn begin_plain(shared: &Shared, above: Scope) -> Option<Scope> {
        if !above.is_none() {
            return None;
        }
        let inside = shared.plain()?;
        shared.deposit_plain();
        Some(inside)
    }

    /// The first try of a plain call.
    pub fn plain(shared: &Shared) -> Self {
        let may_repeat = shared.repeats(None);
        Self {
            above: Scope::NONE,
            deadline: Instant::NEVER,
            started: None,
            attempt_timeout: u64::MAX,
            may_repeat,
        }
    }

    /// Whether no attempt of the call needs a timer.
    #[inline]
    pub fn is_untimed(&self) -> bool {
        self.deadline == Instant::NEVER && self.attempt_timeout == u64::MAX
    }

    /// The first attempt, unless the deadline has passed already.
    #[inline]
    pub fn attempt(&self, options: &CallOptions) -> Result<Attempt, StopReason> {
        let remaining = remaining(self.deadline, self.started.unwrap_or(Instant::ZERO))?;
        Ok(Attempt {
            number: 1,
            remaining,
            key: options.operation.key(),
        })
    }

    /// The first attempt of a plain call.
    #[inline]
    pub const fn plain_attempt() -> Attempt {
        Attempt {
            number: 1,
            remaining: u64::MAX,
            key: None,
        }
    }
}

/// Nanoseconds up to the deadline; `u64::MAX` without one.
#[inline]
fn remaining(deadline: Instant, now: Instant) -> Result<u64, StopReason> {
    if deadline == Instant::NEVER {
        return Ok(u64::MAX);
    }
    match deadline.as_nanos().saturating_sub(now.as_nanos()) {
        0 => Err(StopReason::DeadlineExceeded),
        left => Ok(left),
    }
}

/// The state of one call.
///
/// `H` is how it holds the shared state: `&Shared`, `&Retrier`, a `Retrier` of its own.
///
/// ```
/// use becalm::{Call, CallOptions, Decision, Failure, Instant, Policy, Scope, Shared};
/// use core::time::Duration;
///
/// let shared = Shared::new(Policy::default(), Duration::ZERO)?;
/// let mut now = Instant::ZERO; // a simulator's
/// let mut random = becalm::rng::SplitMix64::new(7);
///
/// let mut call = Call::begin(&shared, CallOptions::new(), Scope::NONE, now);
/// assert_eq!(call.start(now).unwrap().number(), 1);
/// match call.on_outcome(now, Failure::transient().into(), &mut random) {
///     Decision::RetryIn(delay) => now = now.after(delay),
///     other => panic!("{other:?}"),
/// }
/// assert_eq!(call.start(now).unwrap().number(), 2);
/// # Ok::<(), becalm::InvalidPolicy>(())
/// ```
#[derive(Debug)]
pub struct Call<H: AsRef<Shared>> {
    handle: H,
    first: FirstTry,
    options: CallOptions,
    /// The policy from the first failure on: a reload does not change a call in its middle.
    rules: Option<Arc<Rules>>,
    attempt: u32,
    step: u32,
    previous: Option<u64>,
    held: Held,
    body_replayable: bool,
    forbidden_below: bool,
}

/// What a waiting call holds.
#[derive(Debug, Default)]
struct Held {
    token: Option<Withdrawal>,
    place: bool,
    /// Whose token it is, if not the call's own retrier's.
    payer: Option<Arc<Shared>>,
}

impl<H: AsRef<Shared>> Call<H> {
    /// Begins a call: fixes the deadline, and deposits if it is a first try that may still start.
    pub fn begin(handle: H, options: CallOptions, above: Scope, now: Instant) -> Self {
        let mut first = FirstTry::begin(handle.as_ref(), &options, above, || now);
        first.started = Some(now);
        Self::after(handle, options, first, 0)
    }

    /// A call whose first try is under way already.
    #[cfg(feature = "std")]
    pub(crate) fn of_first_try(handle: H, options: CallOptions, first: FirstTry) -> Self {
        Self::after(handle, options, first, 1)
    }

    fn after(handle: H, options: CallOptions, first: FirstTry, attempt: u32) -> Self {
        Self {
            handle,
            first,
            options,
            rules: None,
            attempt,
            step: 0,
            previous: None,
            held: Held::default(),
            body_replayable: true,
            forbidden_below: false,
        }
    }

    /// Starts the first attempt, or the one that was decided: its token is spent, its place in the
    /// waiting room is free again.
    ///
    /// # Errors
    ///
    /// [`StopReason::DeadlineExceeded`] if the deadline has passed,
    /// [`StopReason::AttemptsExhausted`] if retries were switched off in the wait; then nothing was
    /// spent. An attempt that nobody decided is refused as [`StopReason::Cancelled`]: after a stop, after a
    /// success, or while another is under way.
    pub fn start(&mut self, now: Instant) -> Result<Attempt, StopReason> {
        self.start_announced(now, |_| ())
    }

    /// The same, with a last word before the operation is invoked: should that panic, the operation
    /// never is, and the token comes back with the call.
    pub(crate) fn start_announced(
        &mut self,
        now: Instant,
        announce: impl FnOnce(Attempt),
    ) -> Result<Attempt, StopReason> {
        if self.attempt > 0 && !self.held.place {
            return Err(StopReason::Cancelled);
        }
        let switched_off = self.attempt > 0 && self.handle.as_ref().retries_are_disabled();
        let remaining = match remaining(self.first.deadline, now) {
            _ if switched_off => Err(StopReason::AttemptsExhausted),
            remaining => remaining,
        };
        let remaining = remaining.inspect_err(|_| self.give_back())?;
        self.leave_waiting_room();
        self.attempt = self.attempt.saturating_add(1);
        self.forbidden_below = false;
        let attempt = Attempt {
            number: self.attempt,
            remaining,
            key: self.options.operation.key(),
        };
        announce(attempt);
        self.held = Held::default();
        Ok(attempt)
    }

    /// Decides what follows the attempt that just ended.
    ///
    /// `random` should be a stream of this call's own, seeded from entropy at its first failure:
    /// two calls that share one retry in step.
    #[inline]
    pub fn on_outcome<R: Random + ?Sized>(
        &mut self,
        now: Instant,
        verdict: Verdict,
        random: &mut R,
    ) -> Decision {
        let failure = match verdict {
            Verdict::Success => return Decision::Done,
            Verdict::Failure(failure) => failure,
        };
        match self.decide(now, &failure, random) {
            Ok(delay) => Decision::RetryIn(delay),
            Err(reason) => Decision::Stop(reason),
        }
    }

    fn decide<R: Random + ?Sized>(
        &mut self,
        now: Instant,
        failure: &Failure,
        random: &mut R,
    ) -> Result<Duration, StopReason> {
        self.give_back();
        let shared = self.handle.as_ref();
        let rules = self.rules.get_or_insert_with(|| shared.rules());
        let attempts = if shared.retries_are_disabled() {
            1
        } else {
            self.options.attempts.unwrap_or(rules.policy.attempts)
        };
        let standing = Standing {
            now,
            deadline: self.first.deadline,
            attempt: self.attempt,
            attempts,
            operation: self.options.operation,
            body_replayable: self.body_replayable,
            forbidden_below: self.forbidden_below,
            repeated_above: self.first.above.is_repeated_above(),
            step: self.step,
            previous: self.previous,
        };
        let wait = decide(rules, &standing, failure, random)?;
        if !shared.start_waiting(rules.policy.max_waiting) {
            return Err(StopReason::TooManyWaiting);
        }
        self.held.place = true;
        self.held.payer = payer(rules.policy.nested, self.first.above, shared.clock());
        let budget = self.held.payer.as_deref().unwrap_or(shared);
        self.held.token = budget.withdraw(now, failure);
        if self.held.token.is_none() {
            self.give_back();
            return Err(StopReason::BudgetExhausted);
        }
        (self.step, self.previous) = (wait.step, wait.previous);
        Ok(Duration::from_nanos(wait.delay))
    }

    fn leave_waiting_room(&mut self) {
        if core::mem::take(&mut self.held.place) {
            self.handle.as_ref().stop_waiting();
        }
    }

    /// Returns what is held.
    fn give_back(&mut self) {
        self.leave_waiting_room();
        let shared = self.handle.as_ref();
        if let Some(token) = self.held.token.take() {
            self.held.payer.as_deref().unwrap_or(shared).refund(token);
        }
        self.held.payer = None;
    }

    /// Says that the body of the request is gone: a further attempt stops with
    /// [`StopReason::BodyNotReplayable`].
    pub fn body_is_consumed(&mut self) {
        self.body_replayable = false;
    }

    /// Says that a layer below forbids more attempts: this failure stops with
    /// [`StopReason::DoNotRetry`].
    pub fn forbid_retry(&mut self) {
        self.forbidden_below = true;
    }

    /// The number of the attempt under way, or of the last one; 0 before the first.
    pub fn attempt_number(&self) -> u32 {
        self.attempt
    }

    /// The end of the whole call, the earlier of its own and the one above.
    pub fn deadline(&self) -> Option<Instant> {
        (self.first.deadline != Instant::NEVER).then_some(self.first.deadline)
    }

    /// The longest time of one attempt, as the policy had it when the call began.
    pub fn attempt_timeout(&self) -> Option<Duration> {
        match self.first.attempt_timeout {
            u64::MAX => None,
            nanos => Some(Duration::from_nanos(nanos)),
        }
    }

    /// The scope of what runs inside the attempt under way, for layers below.
    pub fn scope(&self) -> Scope {
        self.first.inside(self.handle.as_ref(), self.attempt)
    }
}

/// Dropped in its wait, a call returns its token and its place.
impl<H: AsRef<Shared>> Drop for Call<H> {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// Whose budget pays for a nested retry, if not its own: that of the retrier above (of the outermost
/// of those that share one), if there is one on the same clock (a budget with a floor reads the
/// time).
#[cfg_attr(not(feature = "std"), expect(unused_variables))]
fn payer(nested: Nested, above: Scope, clock: ClockId) -> Option<Arc<Shared>> {
    match nested {
        #[cfg(feature = "std")]
        Nested::ShareBudget => {
            crate::registry::above(above).filter(|outer| outer.clock().agrees(clock))
        }
        _ => None,
    }
}

/// The attempt timed out: transient, and it may have taken effect.
#[cfg(feature = "std")]
pub(crate) const TIMED_OUT: Failure = Failure {
    class: Class::Transient,
    effect: Effect::Unknown,
    hint: None,
};
