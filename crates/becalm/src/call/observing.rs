//! What would enforcing have done to this call, where the policy only observes?
//!
//! The call runs once; nothing of it is refused, cut or hedged. What all calls share moves as if it had been
//! enforced up to its first decision, and not further: an attempt that would have been refused teaches the
//! guards nothing, one that would have been cut ends for them where it would have been, and a retry that
//! would have begun is paid for.

use alloc::vec::Vec;
use core::task::Waker;

use super::Call;
use super::first_try::FirstTry;
use super::flight::Flight;
use super::landing::TIMED_OUT;
use crate::attempt::{Attempt, remaining};
use crate::classify::Failure;
use crate::decide::{Standing, decide};
use crate::duration::nanos;
use crate::guard::{Asking, Ended, Pass};
use crate::observe::Would;
use crate::rng::Random;
use crate::shared::Shared;
use crate::stop::StopReason;
use crate::time::Instant;

/// Where enforcing would be, while an observed call runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Course {
    /// At the same attempt, in a driver that has not asked for limits yet: it cuts and hedges nothing.
    Unlimited,
    /// At the same attempt.
    Same,
    /// At the same attempt, beside a hedge: how that would end is not known.
    Hedged,
    /// At a retry: an observed call makes none, so nothing is known of it.
    Elsewhere,
    /// At its end, without success.
    Over,
}

/// What there is to tell of an observed call.
#[derive(Debug, Default)]
pub(super) struct Untold {
    told: Vec<Would>,
    /// When a hedge would start.
    hedge_due: Option<Instant>,
}

impl<H: AsRef<Shared>> Call<H> {
    /// What enforcing would have done, if the policy only [observes](crate::policy::Mode::Observe): one thing
    /// after the other, up to the end of the call, for observers.
    pub fn take_would(&mut self) -> Option<Would> {
        let told = &mut self.untold.as_mut()?.told;
        (!told.is_empty()).then(|| told.remove(0))
    }

    fn tell(&mut self, would: Would) {
        self.handle.as_ref().count_observed(would);
        self.untold.get_or_insert_default().told.push(would);
    }

    /// The end of the call by its policy, also where that is only told. One that began before a reload asked
    /// for it has none.
    pub(super) fn decided_deadline(&self) -> Instant {
        let FirstTry {
            deadline, started, ..
        } = self.first;
        if !self.first.observes {
            return deadline;
        }
        let own = self.options.deadline.map(nanos);
        let own = own.unwrap_or_else(|| self.handle.as_ref().deadline());
        match started {
            Some(started) if own != u64::MAX => deadline.min(started.after_nanos(own)),
            _ => deadline,
        }
    }

    /// Starts the one attempt, and tells what the guards say of it.
    pub(super) fn begin_observed<R: Random + ?Sized>(
        &mut self,
        now: Instant,
        waker: Option<&Waker>,
        random: &mut R,
    ) -> Attempt {
        let deadline = self.decided_deadline();
        let asking = Asking {
            priority: self.options.priority,
            is_first_try: true,
            deadline,
            waker: waker.map(|_| Waker::noop()), // it does not wait
        };
        let guards = self.handle.as_ref().guards();
        let (pass, would) = match remaining(deadline, now) {
            Ok(_) => guards.let_through(&mut self.admission, asking, || now, random),
            Err(reason) => (Pass::default(), Some(Would::Refuse(reason))),
        };
        let is_probe = pass.is_probe();
        let flight = self.next_flight(pass, Some(now));
        self.flights.start(flight);
        let shared = self.handle.as_ref();
        if let Some(Would::Refuse(_)) = would {
            self.course = Course::Over;
            shared.count_attempt(true);
        } else {
            self.is_enrolled = shared.first_attempt(is_probe, now);
        }
        if let Some(would) = would {
            self.tell(would);
        }
        self.attempt(remaining(self.first.deadline, now).unwrap_or(0))
    }

    /// The driver asks what would end the attempt that runs, or join it: notes when a hedge would start.
    pub(super) fn note_limits(&mut self, now: impl FnOnce() -> Instant) {
        if self.course == Course::Unlimited {
            self.course = Course::Same;
        }
        let is_noted = self
            .untold
            .as_ref()
            .is_some_and(|it| it.hedge_due.is_some());
        if is_noted || self.course != Course::Same {
            return;
        }
        if let Some(due) = self.hedge_due(now) {
            self.untold.get_or_insert_default().hedge_due = Some(due);
        }
    }

    /// The attempt that runs ends now: tells what would have ended it before, or joined it. What it holds goes
    /// back where enforcing would be elsewhere by now.
    pub(super) fn watch_end<R: Random + ?Sized>(&mut self, now: Instant, random: &mut R) {
        if !self.first.observes || self.course == Course::Unlimited {
            return;
        }
        let Some(Flight {
            number, started, ..
        }) = self.flights.primary
        else {
            return;
        };
        if self.course == Course::Over {
            self.flights.primary = None; // refused, it holds nothing
            return;
        }
        let Some(started) = started else {
            return;
        };
        let cut = self.cut_at(started).filter(|(at, _)| *at < now);
        let ends = cut.map_or(now, |(at, _)| at);
        if self.would_hedge(started, ends, random) {
            self.course = Course::Hedged;
        }
        let Some((at, by_deadline)) = cut else {
            return;
        };
        let after = at.since(started);
        self.tell(Would::Cut { after });
        if by_deadline {
            self.land_all(Ended::Cut, at, random);
            self.would_stop(StopReason::DeadlineExceeded);
            return;
        }
        let was_alone = self.course == Course::Same;
        self.course = Course::Elsewhere;
        self.land_failed(number, at, &TIMED_OUT, random);
        if was_alone {
            self.judge(at, &TIMED_OUT, None, random);
        }
    }

    /// When the attempt would be cut, and whether by the deadline.
    fn cut_at(&self, started: Instant) -> Option<(Instant, bool)> {
        let deadline = self.decided_deadline();
        let longest = self.handle.as_ref().attempt_timeout();
        let timeout = match longest {
            u64::MAX => Instant::NEVER,
            longest => started.after_nanos(longest),
        };
        let at = deadline.min(timeout);
        (at != Instant::NEVER).then_some((at, deadline <= timeout))
    }

    /// Tells of the hedge that would have started before the attempt ended, if budget and guards let it.
    fn would_hedge<R: Random + ?Sized>(
        &mut self,
        started: Instant,
        ends: Instant,
        random: &mut R,
    ) -> bool {
        let due = self.untold.as_ref().and_then(|it| it.hedge_due);
        let Some(due) = due.filter(|due| *due < ends) else {
            return false;
        };
        let Some((pass, paid)) = self.admit_hedge(due, random) else {
            return false;
        };
        let shared = self.handle.as_ref();
        shared.guards().release(pass);
        paid.observed(shared);
        let after = due.since(started);
        self.tell(Would::Hedge { after });
        true
    }

    /// Takes the decision that enforcing takes after this failure, and tells it where it is not the `known`
    /// end of the call.
    fn judge<R: Random + ?Sized>(
        &mut self,
        now: Instant,
        failure: &Failure,
        known: Option<StopReason>,
        random: &mut R,
    ) {
        match self.decide(now, failure, random) {
            Ok(delay) => {
                self.course = Course::Elsewhere;
                self.leave_waiting_room();
                if let Some(paid) = self.flights.paid.take() {
                    paid.observed(self.handle.as_ref());
                }
                self.tell(Would::Retry { delay });
            }
            Err(reason) if Some(reason) != known => self.would_stop(reason),
            Err(_) => self.course = Course::Over,
        }
        self.next_probe = None; // it has not stopped for the breaker
    }

    fn would_stop(&mut self, reason: StopReason) {
        self.course = Course::Over;
        self.tell(Would::Stop(reason));
    }

    /// The one attempt has failed, and the call ends as one that may make no other.
    pub(super) fn fail_observed<R: Random + ?Sized>(
        &mut self,
        number: u32,
        now: Instant,
        failure: &Failure,
        random: &mut R,
    ) -> StopReason {
        let reason = self.end_of_one_attempt(now, failure, random);
        self.watch_end(now, random);
        if self.flights.are_under_way() {
            self.land_failed(number, now, failure, random);
            if self.course != Course::Hedged {
                self.judge(now, failure, Some(reason), random);
            }
        }
        self.close();
        self.handle.as_ref().count_stop(reason);
        reason
    }

    /// Why a call of one attempt ends after this failure.
    fn end_of_one_attempt<R: Random + ?Sized>(
        &mut self,
        now: Instant,
        failure: &Failure,
        random: &mut R,
    ) -> StopReason {
        let shared = self.handle.as_ref();
        let forbidden_below = self.is_forbidden_below();
        let rules = self.rules.get_or_insert_with(|| shared.hold_rules());
        let rules = shared.rules_of(rules);
        let standing = Standing {
            now,
            deadline: Instant::NEVER,
            attempt: 1,
            attempts: 1,
            operation: self.options.operation,
            body_replayable: self.body_replayable,
            forbidden_below,
            repeated_above: rules.policy.nested.runs_once_in(self.first.above),
            step: 0,
            previous: None,
        };
        let ended = decide(rules, &standing, failure, random);
        ended.err().unwrap_or(StopReason::AttemptsExhausted)
    }

    /// The one attempt has succeeded: whether enforcing would be elsewhere by now, so that it earns nothing.
    pub(super) fn succeed_observed<R: Random + ?Sized>(
        &mut self,
        now: impl Fn() -> Instant,
        random: &mut R,
    ) -> bool {
        if self.course != Course::Unlimited {
            self.watch_end(now(), random);
        }
        let is_elsewhere = matches!(self.course, Course::Elsewhere | Course::Over);
        if self.course == Course::Over {
            self.tell(Would::Fail);
        }
        if is_elsewhere {
            self.leave();
        }
        is_elsewhere
    }

    /// What runs has proved good, but enforcing would not run it any more: it goes on, and what follows counts
    /// anew.
    #[cfg(feature = "std")]
    pub(super) fn go_on_observed(&mut self, now: Instant) -> Attempt {
        self.flights.primary = Some(Flight {
            number: 1,
            started: Some(now),
            pass: Pass::default(),
        });
        self.counts_anew(false, now)
    }

    /// What follows is at its beginning.
    #[cfg(feature = "std")]
    pub(super) fn begin_course(&mut self) {
        self.course = Course::Unlimited;
        if let Some(untold) = &mut self.untold {
            untold.hedge_due = None;
        }
    }
}

#[cfg(test)]
mod tests;
