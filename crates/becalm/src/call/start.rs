//! May the attempt that was decided start now? It is spent from here on.

use core::task::Waker;

use super::Call;
use crate::attempt::{Attempt, remaining};
use crate::guard::{Asking, Gate};
use crate::rng::Random;
use crate::shared::Shared;
use crate::stop::StopReason;
use crate::time::Instant;

/// Whether an attempt starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Start {
    /// Now.
    Go(Attempt),
    /// Not yet: ask again at this instant ([`Instant::NEVER`] for no time of its own), or when the
    /// waker is woken.
    Wait(Instant),
}

impl<H: AsRef<Shared>> Call<H> {
    /// Starts the first attempt, or the one that was decided: its token is spent, its place in the
    /// waiting room is free again. Does not wait for anybody; see [`poll_start`](Self::poll_start).
    ///
    /// `random` decides only what an adaptive throttle sheds.
    ///
    /// # Errors
    ///
    /// [`StopReason::DeadlineExceeded`] if the deadline has passed,
    /// [`StopReason::AttemptsExhausted`] if retries were switched off in the wait,
    /// [`StopReason::TooManyWaiting`] if it would wait for the adaptive rate and the waiting room is
    /// full, [`StopReason::BudgetExhausted`] if the call waits for a token and there is none, and the word of the guard that refused it; then nothing was spent. An attempt that nobody decided is refused
    /// as [`StopReason::Cancelled`]: after a stop, after a success, or while another is running.
    pub fn start<R: Random + ?Sized>(
        &mut self,
        now: Instant,
        random: &mut R,
    ) -> Result<Attempt, StopReason> {
        let Start::Go(attempt) = self.begin_attempt(&|| now, None, random)? else {
            // Nobody is there to be woken, so nobody was told to wait.
            return Err(StopReason::Cancelled);
        };
        self.spend();
        Ok(attempt)
    }

    /// Starts the attempt, and waits where the policy says so: for a token, for a place in the bulkhead, for the
    /// adaptive rate.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start), also in a later poll.
    pub fn poll_start<R: Random + ?Sized>(
        &mut self,
        now: Instant,
        waker: &Waker,
        random: &mut R,
    ) -> Result<Start, StopReason> {
        let started = self.begin_attempt(&|| now, Some(waker), random)?;
        if let Start::Go(_) = started {
            self.spend();
        }
        Ok(started)
    }

    /// Starts the attempt, whose token comes back with the call until it is [spent](Self::spend).
    ///
    /// The clock is read only where a limit, a guard or a hedge wants to know.
    pub(crate) fn begin_attempt<R: Random + ?Sized>(
        &mut self,
        now: &impl Fn() -> Instant,
        waker: Option<&Waker>,
        random: &mut R,
    ) -> Result<Start, StopReason> {
        let is_decided = if self.attempt == 0 {
            !self.is_over
        } else {
            self.has_place
        };
        if !is_decided {
            return Err(StopReason::Cancelled);
        }
        if self.first.observes {
            return Ok(Start::Go(self.begin_observed(now(), waker, random)));
        }
        let started = self.admit(now, waker, random);
        let (remaining, gate) = started.map_err(|reason| self.refused(reason))?;
        let pass = match gate {
            Gate::Open(pass) => pass,
            Gate::Paced(_) if !self.enter_waiting_room() => {
                return Err(self.refused(StopReason::TooManyWaiting));
            }
            Gate::Wait(until) | Gate::Paced(until) => {
                return Ok(Start::Wait(until.min(self.first.deadline)));
            }
        };
        let (is_first, is_probe) = (self.attempt == 0, pass.is_probe());
        self.leave_waiting_room();
        self.told_below = None;
        let started = self.first.is_timed().then(now);
        let flight = self.next_flight(pass, started);
        self.flights.start(flight);
        let shared = self.handle.as_ref();
        if is_first {
            self.is_enrolled = shared.first_attempt(is_probe, now());
        } else {
            shared.count_attempt(false);
        }
        Ok(Start::Go(self.attempt(remaining)))
    }

    /// The time that is left, and what the guards say.
    #[inline]
    fn admit<R: Random + ?Sized>(
        &mut self,
        now: &impl Fn() -> Instant,
        waker: Option<&Waker>,
        random: &mut R,
    ) -> Result<(u64, Gate), StopReason> {
        let is_first = self.attempt == 0;
        let shared = self.handle.as_ref();
        if !is_first && shared.retries_are_disabled() {
            return Err(StopReason::AttemptsExhausted);
        }
        let remaining = match self.first.deadline {
            Instant::NEVER => u64::MAX,
            deadline => remaining(deadline, now())?,
        };
        if self.waits_for_token() {
            if let Some(asks_at) = self.ask_for_token(now(), waker.is_some(), random)? {
                return Ok((remaining, Gate::Wait(asks_at)));
            }
        }
        let shared = self.handle.as_ref();
        let asking = Asking {
            priority: self.options.priority,
            is_first_try: is_first,
            deadline: self.first.deadline,
            waker,
        };
        let gate = shared
            .guards()
            .admit(&mut self.admission, asking, now, random);
        match gate {
            Ok(gate) => Ok((remaining, gate)),
            Err(refused) => {
                self.next_probe = refused.until;
                Err(refused.reason)
            }
        }
    }

    /// The call is over before this attempt.
    fn refused(&mut self, reason: StopReason) -> StopReason {
        self.close();
        self.handle.as_ref().count_stop(reason);
        reason
    }
}
