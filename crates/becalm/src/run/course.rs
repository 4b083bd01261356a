//! What goes on between two attempts of a failing call? The same for every engine.

use core::time::Duration;
use std::sync::{Arc, Mutex, PoisonError};

use super::gave_up::{Details, GaveUp, Outcome, Record};
use super::retrier::Engine;
use crate::call::{Attempt, Call, CallOptions, FirstTry};
use crate::classify::Failure;
use crate::decide::Decision;
use crate::observe::Event;
use crate::rng::SplitMix64;
use crate::scope::forbid_retry_in_current;
use crate::shared::Shared;
use crate::stop::StopReason;
use crate::time::{Instant, Sleep};

/// A call in the slow path: it has failed once, or waits with a time limit.
pub(super) struct Course {
    pub call: Call<Arc<Shared>>,
    random: Option<SplitMix64>,
    /// The decided delay before the attempt under way.
    delay: Duration,
    wait_began: Instant,
    /// When the attempt under way started.
    pub attempt_started: Instant,
    /// A mutex for `Sync` alone: a give-up, which shares the box, must be `Sync`, and timers need
    /// not be. Never locked.
    timer: Mutex<Option<Sleep>>,
}

impl Course {
    pub fn new(shared: &Arc<Shared>, options: CallOptions, first: FirstTry) -> Self {
        Self {
            call: Call::of_first_try(Arc::clone(shared), options, first),
            random: None,
            delay: Duration::ZERO,
            wait_began: Instant::ZERO,
            attempt_started: first.started.unwrap_or(Instant::ZERO),
            timer: Mutex::new(None),
        }
    }

    pub fn timer(&mut self) -> &mut Option<Sleep> {
        self.timer.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// When the attempt under way must end, and whether that is the deadline.
    pub fn attempt_ends(&self) -> Option<(Instant, bool)> {
        let deadline = self.call.deadline();
        let timeout = self
            .call
            .attempt_timeout()
            .map(|limit| self.attempt_started.after(limit));
        match (deadline, timeout) {
            (Some(deadline), Some(timeout)) if timeout < deadline => Some((timeout, false)),
            (Some(deadline), _) => Some((deadline, true)),
            (None, timeout) => timeout.map(|timeout| (timeout, false)),
        }
    }

    /// The wait that was just decided.
    pub fn delay(&self) -> Duration {
        self.delay
    }

    /// When that wait ends.
    pub fn wait_ends(&self) -> Instant {
        self.wait_began.after(self.delay)
    }

    /// Decides after a failure; on a retry, the wait begins at `now`.
    pub fn decide(
        &mut self,
        engine: &Engine,
        now: Instant,
        failure: Failure,
    ) -> Result<Duration, StopReason> {
        // It measured the attempt that is over, and must not measure the wait.
        *self.timer() = None;
        let random = self.random.get_or_insert_with(|| engine.seed.stream());
        match self.call.on_outcome(now, failure.into(), random) {
            Decision::RetryIn(delay) => {
                (self.delay, self.wait_began) = (delay, now);
                engine.observe(|retrier| Event::Retry {
                    retrier,
                    next: self.call.attempt_number().saturating_add(1),
                    delay,
                    class: failure.class,
                    effect: failure.effect,
                });
                Ok(delay)
            }
            Decision::Stop(reason) => Err(reason),
            Decision::Done => Err(StopReason::Cancelled),
        }
    }

    /// Starts the next attempt after its wait.
    pub fn start(&mut self, engine: &Engine) -> Result<Attempt, StopReason> {
        *self.timer() = None;
        let now = engine.sleeper.now();
        self.attempt_started = now;
        let waited = now.since(self.wait_began);
        self.call.start_announced(now, |attempt| {
            engine.observe(|retrier| Event::Attempt {
                retrier,
                number: attempt.number(),
                waited,
            });
        })
    }

    /// The record of the attempt that just failed.
    pub fn record(&self, failure: Failure) -> Record {
        Record {
            number: self.call.attempt_number(),
            delay: self.delay,
            class: failure.class,
            effect: failure.effect,
        }
    }
}

impl<E, T> Details<E, T> {
    /// The attempts that were begun, the one under way included.
    pub fn attempts_begun(&self) -> u32 {
        self.course
            .as_ref()
            .map_or(1, |course| course.call.attempt_number())
    }

    /// Notes how the attempt under way ended, where nothing will follow it.
    pub fn note_last(&mut self, failure: Failure, outcome: Outcome<E, T>, now: Instant) {
        if let Some(course) = &self.course {
            self.note(course.record(failure), failure, outcome, now);
        }
    }

    /// Notes a failed attempt and decides what follows.
    pub fn after_failure(
        &mut self,
        engine: &Engine,
        now: Instant,
        failure: Failure,
        outcome: Outcome<E, T>,
    ) -> Result<Duration, StopReason> {
        let Some(record) = self.course.as_ref().map(|course| course.record(failure)) else {
            return Err(StopReason::Cancelled);
        };
        self.note(record, failure, outcome, now);
        match &mut self.course {
            Some(course) => course.decide(engine, now, failure),
            None => Err(StopReason::Cancelled),
        }
    }

    /// Ends the call without success. First the state is settled, then the layer above is told,
    /// then the observer.
    pub fn give_up(
        self: Box<Self>,
        engine: &Engine,
        reason: StopReason,
        now: Instant,
    ) -> GaveUp<E, T> {
        let gave_up = self.stop(reason, now);
        if reason.forbids_retry_above() {
            forbid_retry_in_current(reason);
        }
        engine.observe(|retrier| Event::Stopped {
            retrier,
            reason,
            attempts: gave_up.attempts(),
            elapsed: gave_up.elapsed_since_first_failure(),
        });
        gave_up
    }
}
