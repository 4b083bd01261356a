//! What does an attempt hold of the guards, and what do they learn from its end?

use core::time::Duration;

use super::Guards;
use crate::breaker::{Outcome, Permit, Transition};
use crate::bulkhead::{self, Sample};
use crate::classify::{Class, Effect};
use crate::hedge::Hedging;
use crate::rate::RateLimiter;
use crate::throttle::Priority;
use crate::time::Instant;

/// What a running attempt holds of the guards.
#[derive(Debug, Default)]
#[must_use = "what it holds is returned by `finish`"]
pub(crate) struct Pass {
    permit: Option<Permit>,
    has_place: bool,
    is_hedge: bool,
    priority: Priority,
    /// Not known where nobody wanted to know: a reload may ask for it in the middle of a call.
    started: Option<Instant>,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ended {
    Success,
    Failure(Class, Effect),
    /// Its owner lost interest: dropped, beaten by another copy.
    Cancelled,
    /// It did not answer before the deadline of its call.
    Cut,
    /// The operation panicked.
    Panicked,
}

impl Ended {
    /// Whether the dependency gave an answer that it stands by: what cannot be mended by repeating
    /// it speaks for its health.
    fn is_answer(self) -> bool {
        match self {
            Self::Success => true,
            Self::Failure(class, _) => class == Class::Permanent,
            Self::Cancelled | Self::Cut | Self::Panicked => false,
        }
    }

    fn for_breaker(self) -> Outcome {
        match self {
            _ if self.is_answer() => Outcome::Success,
            // How much time a caller has says nothing of the dependency's health: the breaker has a
            // measure of its own for what is slow.
            Self::Cancelled | Self::Cut => Outcome::Cancelled,
            _ => Outcome::Failure,
        }
    }

    /// What it teaches an adaptive limit. A connection that was refused says nothing about how many
    /// calls fit, nor does one whose owner lost interest.
    fn for_limit(self) -> Option<bulkhead::Outcome> {
        match self {
            _ if self.is_answer() => Some(bulkhead::Outcome::Completed),
            Self::Failure(_, Effect::Unknown) | Self::Cut => Some(bulkhead::Outcome::Dropped),
            _ => None,
        }
    }
}

impl Pass {
    #[inline]
    pub(super) fn new(
        permit: Option<Permit>,
        has_place: bool,
        started: Option<Instant>,
        priority: Priority,
    ) -> Self {
        Self {
            permit,
            has_place,
            is_hedge: false,
            priority,
            started,
        }
    }

    /// Whether the attempt decides whether the breaker closes; then it deposits nothing.
    pub fn is_probe(&self) -> bool {
        self.permit.as_ref().is_some_and(Permit::is_probe)
    }

    /// The change of the breaker's state that its admission made.
    pub fn transition(&self) -> Option<Transition> {
        self.permit.as_ref().and_then(Permit::transition)
    }

    /// Marks the pass as a hedge's, whose latency is not one of first copies.
    pub fn of_hedge(mut self) -> Self {
        self.is_hedge = true;
        self
    }
}

impl Guards {
    /// An attempt has ended. Returns the change of the breaker's state that it brought about.
    ///
    /// The clock is read through `now` where something [wants to
    /// know](Self::reads_clock_at_end), and where the breaker opens.
    #[inline]
    pub fn finish(
        &self,
        mut pass: Pass,
        ended: Ended,
        now: impl Fn() -> Instant,
        random: impl FnOnce() -> u64,
    ) -> Option<Transition> {
        self.finish_in_place(&mut pass, ended, now, random)
    }

    /// Takes back what the pass holds, and learns nothing.
    pub fn release(&self, mut pass: Pass) {
        if let (Some(permit), Some(breaker)) = (pass.permit.take(), self.breaker.get()) {
            breaker.release(permit);
        }
        if let (true, Some(places)) = (pass.has_place, self.bulkhead.get()) {
            places.release(None);
        }
    }

    /// Finishes without moving the pass, which holds nothing afterwards.
    #[inline]
    pub fn finish_in_place(
        &self,
        pass: &mut Pass,
        ended: Ended,
        now: impl Fn() -> Instant,
        random: impl FnOnce() -> u64,
    ) -> Option<Transition> {
        // The breaker first: the call that is handed the place asks it next.
        let transition = match (pass.permit.take(), self.breaker.get()) {
            (Some(permit), Some(breaker)) => {
                let took = match pass.started {
                    Some(started) if self.reads_clock_at_start() => now().since(started),
                    _ => Duration::ZERO,
                };
                breaker.record(permit, ended.for_breaker(), &now, took, random)
            }
            _ => None,
        };
        if pass.has_place || self.learns() {
            self.teach(pass, ended, &now);
        }
        transition
    }

    /// Returns the place, and tells throttle, rate and hedging of the end.
    fn teach(&self, pass: &mut Pass, ended: Ended, now: &impl Fn() -> Instant) {
        let has_place = core::mem::take(&mut pass.has_place);
        if let (true, Some(places)) = (has_place, self.bulkhead.get()) {
            let outcome = ended.for_limit().filter(|_| places.reads_clock());
            places.release(outcome.zip(pass.started).map(|(outcome, started)| {
                let now = now();
                Sample {
                    took: now.since(started),
                    now,
                    outcome,
                }
            }));
        }
        if let Some(throttle) = self.throttle() {
            match ended {
                _ if ended.is_answer() => throttle.on_accepted(now(), pass.priority),
                Ended::Failure(..) | Ended::Cut => throttle.on_rejected(now(), pass.priority),
                _ => (),
            }
        }
        if let Some(rate) = self.rate() {
            teach_rate(rate, ended, now());
        }
        match (self.hedging(), pass.started) {
            (Some(hedging), Some(started)) if hedging.reads_clock() && !pass.is_hedge => {
                let now = now();
                teach_hedging(hedging, ended, now, now.since(started));
            }
            _ => (),
        }
    }
}

fn teach_rate(rate: &RateLimiter, ended: Ended, now: Instant) {
    match ended {
        Ended::Failure(Class::Throttled, _) => rate.on_throttle(now),
        Ended::Failure(_, Effect::Unsent) | Ended::Cancelled | Ended::Cut | Ended::Panicked => (),
        Ended::Success | Ended::Failure(..) => rate.on_success(now),
    }
}

fn teach_hedging(hedging: &Hedging, ended: Ended, now: Instant, took: Duration) {
    if ended.is_answer() {
        hedging.record(now, took);
    } else {
        hedging.record_at_least(now, took);
    }
}
