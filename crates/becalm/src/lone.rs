//! What does a client decide that shares nothing with anybody?
//!
//! A [`Call`](crate::call::Call) holds tokens, passes and a place in a waiting room: half a kilobyte. A
//! fleet of ten million clients on paper or in a simulator, or a table of pending reconnects, needs
//! the same decision on a few bytes each. Here the rules stand once, and a client is a
//! [`Position`] of 16 bytes. Both ask the same function, so both decide alike.

use core::time::Duration;

use crate::classify::Failure;
use crate::decide::{Decision, Rules, Standing, decide};
use crate::idempotency::Operation;
use crate::policy::{InvalidPolicy, Policy};
use crate::rng::Random;
use crate::stop::StopReason;
use crate::time::Instant;

/// The decisions of clients that share nothing: attempts, backoff, jitter, hints and deadline of a
/// policy, and nothing else.
///
/// What a policy says about shared state plays no part: its budget, its waiting room, its guards
/// (throttle, rate, bulkhead, breaker) and hedges. A client that makes its one call at a time with a
/// budget of its own and a burst above the number of its retries decides the same. The operation is
/// idempotent, its body can be sent again, and no layer lies above or below.
///
/// ```
/// use becalm::support::{Lone, Position};
/// use becalm::{Failure, Policy, call::Decision, time::Instant};
/// use core::time::Duration;
///
/// let lone = Lone::new(Policy::default(), Duration::ZERO)?;
/// let mut random = becalm::rng::SplitMix64::new(7);
/// let mut now = Instant::ZERO;
/// let deadline = lone.deadline(now);
///
/// let mut position = Position::FIRST_TRY; // 16 bytes for each client
/// match lone.on_failure(&mut position, now, deadline, &Failure::transient(), &mut random) {
///     Decision::RetryIn(delay) => now = now.after(delay),
///     other => panic!("{other:?}"),
/// }
/// assert_eq!(position.attempt(), 2);
/// # Ok::<(), becalm::policy::InvalidPolicy>(())
/// ```
#[derive(Debug)]
pub struct Lone {
    rules: Rules,
}

/// Where a client stands: the running attempt, the step of its backoff, its last delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    attempt: u32,
    step: u32,
    /// Nanoseconds; 0 for none, which a draw takes for the base as it does any delay below that.
    previous: u64,
}

impl Position {
    /// The first attempt is running.
    pub const FIRST_TRY: Self = Self::new(1, 0);

    /// This attempt is running, and so many delays of the backoff are over.
    pub const fn new(attempt: u32, step: u32) -> Self {
        Self {
            attempt,
            step,
            previous: 0,
        }
    }

    /// The last delay, if it was drawn; `None` after one that a server has asked for.
    pub fn drawn(self) -> Option<Duration> {
        (self.previous > 0).then(|| Duration::from_nanos(self.previous))
    }

    /// As [`drawn`](Self::drawn), in nanoseconds; 0 for none.
    pub const fn drawn_nanos(self) -> u64 {
        self.previous
    }

    /// At this place, with that as the last delay that was drawn, in nanoseconds; 0 for none.
    #[must_use]
    pub const fn after_drawn(mut self, nanos: u64) -> Self {
        self.previous = nanos;
        self
    }

    /// Retries since the start, or since the server said exactly when to come: the step of the backoff.
    pub const fn step(self) -> u32 {
        self.step
    }

    /// The number of the attempt that runs or is waited for, from 1.
    pub const fn attempt(self) -> u32 {
        self.attempt
    }
}

impl Default for Position {
    fn default() -> Self {
        Self::FIRST_TRY
    }
}

impl Lone {
    /// The decisions of a policy on a timer of this tick (zero where the timer is exact).
    ///
    /// # Errors
    ///
    /// An invalid policy is refused, naming the field, and so is one that only observes: what does not
    /// go on by itself would end at its first failure.
    pub fn new(policy: Policy, tick: Duration) -> Result<Self, InvalidPolicy> {
        policy.validate_alone()?;
        Ok(Self {
            rules: Rules::of(policy, tick),
        })
    }

    /// The policy, with the parts that play no part.
    pub const fn policy(&self) -> &Policy {
        &self.rules.policy
    }

    /// When a call that starts at this instant must have ended; [`Instant::NEVER`] without a
    /// deadline.
    pub fn deadline(&self, started: Instant) -> Instant {
        let deadline = self.rules.policy.deadline;
        deadline.map_or(Instant::NEVER, |length| started.after(length))
    }

    /// Decides what follows the running attempt, which has just failed.
    ///
    /// After [`Decision::RetryIn`] the position is that of the next attempt; it is the owner who
    /// starts that when the wait is over. After a stop it has not moved. `random` should be a
    /// stream of this client's own: two clients that share one retry in step.
    #[inline]
    pub fn on_failure<R: Random + ?Sized>(
        &self,
        position: &mut Position,
        now: Instant,
        deadline: Instant,
        failure: &Failure,
        random: &mut R,
    ) -> Decision {
        match self.delay(position, now, deadline, failure, random) {
            Ok(delay) => Decision::RetryIn(delay),
            Err(reason) => Decision::Stop(reason),
        }
    }

    /// As [`on_failure`](Self::on_failure): the delay before the next attempt, or why there is none.
    #[inline]
    pub fn delay<R: Random + ?Sized>(
        &self,
        position: &mut Position,
        now: Instant,
        deadline: Instant,
        failure: &Failure,
        random: &mut R,
    ) -> Result<Duration, StopReason> {
        let nanos = self.delay_nanos(position, now, deadline, failure, random)?;
        Ok(Duration::from_nanos(nanos))
    }

    /// As [`delay`](Self::delay), in nanoseconds.
    #[inline]
    pub fn delay_nanos<R: Random + ?Sized>(
        &self,
        position: &mut Position,
        now: Instant,
        deadline: Instant,
        failure: &Failure,
        random: &mut R,
    ) -> Result<u64, StopReason> {
        let standing = Standing {
            now,
            deadline,
            attempt: position.attempt,
            attempts: self.rules.policy.attempts,
            operation: Operation::Idempotent,
            body_replayable: true,
            forbidden_below: false,
            repeated_above: false,
            step: position.step,
            previous: (position.previous > 0).then_some(position.previous),
        };
        let wait = decide(&self.rules, &standing, failure, random)?;
        *position = Position {
            attempt: position.attempt.saturating_add(1),
            step: wait.step,
            previous: wait.previous.unwrap_or(0),
        };
        Ok(wait.delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_takes_sixteen_bytes() {
        assert_eq!(size_of::<Position>(), 16);
    }
}
