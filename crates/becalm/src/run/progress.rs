//! Where does a call under an engine stand? The same for all three engines.

use core::time::Duration;

use super::course::Course;
use super::gave_up::{Details, GaveUp, Outcome};
use super::retrier::Parts;
use super::watch::Watch;
use crate::call::{Attempt, CallOptions, FirstTry, TIMED_OUT};
use crate::classify::Failure;
use crate::observe::Event;
use crate::scope::Scope;
use crate::stop::StopReason;
use crate::time::Instant;

/// A call under an engine. A [plain](FirstTry) one that succeeds leaves it untouched.
pub(super) struct Progress<'r, E, T> {
    parts: &'r Parts,
    /// What the call sets for itself, if anything.
    options: Option<CallOptions>,
    /// The box is made at the first failure, or when an attempt waits with a time limit.
    details: Option<Box<Details<E, T>>>,
    // Last, so that it drops last: observers run after what was held is returned.
    begun: Option<Begun<'r>>,
}

/// What is noted of a call that is not plain.
struct Begun<'r> {
    first: FirstTry,
    watch: Option<Watch<'r>>,
}

impl<'r, E, T> Progress<'r, E, T> {
    #[inline]
    pub fn new(parts: &'r Parts, options: Option<CallOptions>) -> Self {
        Self {
            parts,
            options,
            details: None,
            begun: None,
        }
    }

    pub fn parts(&self) -> &'r Parts {
        self.parts
    }

    /// What the call sets for itself.
    pub fn options(&mut self) -> &mut CallOptions {
        self.options.get_or_insert_default()
    }

    /// Begins: the scope of the first attempt, and the attempt.
    #[inline]
    pub fn begin(&mut self) -> Result<(Scope, Attempt), GaveUp<E, T>> {
        let (shared, options) = (&self.parts.shared, self.options.as_ref());
        match FirstTry::begin_plain(shared, options, Scope::current()) {
            Some(inside) => Ok((inside, FirstTry::plain_attempt())),
            None => self.begin_in_full(),
        }
    }

    #[cold]
    fn begin_in_full(&mut self) -> Result<(Scope, Attempt), GaveUp<E, T>> {
        let Parts { shared, engine } = self.parts;
        let options = self.options.unwrap_or_default();
        let first = FirstTry::begin(shared, &options, Scope::current(), || engine.sleeper.now());
        match first.attempt(&options) {
            Ok(attempt) => {
                let watch = Watch::first_attempt(engine, first.started);
                self.begun = Some(Begun { first, watch });
                Ok((first.inside(shared, 1), attempt))
            }
            Err(reason) => {
                self.begun = Some(Begun { first, watch: None });
                Err(self.stop(reason))
            }
        }
    }

    fn first(&self) -> FirstTry {
        match &self.begun {
            None => FirstTry::plain(&self.parts.shared),
            Some(begun) => begun.first,
        }
    }

    /// The scope of the attempt under way.
    pub fn scope(&self) -> Scope {
        match self
            .details
            .as_ref()
            .and_then(|details| details.course.as_ref())
        {
            None => self.first().inside(&self.parts.shared, 1),
            Some(course) => course.call.scope(),
        }
    }

    /// Whether no attempt needs a timer.
    #[inline]
    pub fn is_untimed(&self) -> bool {
        self.begun.is_none() || self.first().is_untimed()
    }

    fn details(&mut self) -> &mut Details<E, T> {
        let (shared, first) = (&self.parts.shared, self.first());
        let options = self.options.unwrap_or_default();
        self.details
            .get_or_insert_with(|| Details::new(Course::new(shared, options, first), first.started))
    }

    pub fn course(&mut self) -> &mut Course {
        let (shared, first) = (&self.parts.shared, self.first());
        let options = self.options.unwrap_or_default();
        self.details()
            .course
            .get_or_insert_with(|| Course::new(shared, options, first))
    }

    /// The call has succeeded.
    #[inline]
    pub fn succeeded(&mut self) {
        if self.begun.is_some() {
            self.tell_recovered();
        }
    }

    #[cold]
    fn tell_recovered(&mut self) {
        self.disarm();
        let engine = &self.parts.engine;
        let Some(details) = self.details.take() else {
            return;
        };
        let attempts = details.attempts_begun();
        if attempts > 1 && engine.observer.is_some() {
            let elapsed = details.elapsed(engine.sleeper.now());
            drop(details);
            engine.observe(|retrier| Event::Recovered {
                retrier,
                attempts,
                elapsed,
            });
        }
    }

    /// The attempt under way has failed: how long to wait, or the end.
    #[cold]
    pub fn failed(
        &mut self,
        inside: Scope,
        failure: Failure,
        outcome: Outcome<E, T>,
    ) -> Result<Duration, GaveUp<E, T>> {
        let (engine, now) = (&*self.parts.engine, self.parts.engine.sleeper.now());
        if inside.is_retry_forbidden() {
            self.forbid_retry();
        }
        if let Some(watch) = self.watch() {
            watch.failed(now);
        }
        let decided = self.details().after_failure(engine, now, failure, outcome);
        decided.map_err(|reason| self.stop_at(reason, now))
    }

    /// A layer below has learnt, in the attempt under way, that more attempts harm.
    #[cold]
    pub fn forbid_retry(&mut self) {
        self.course().call.forbid_retry();
    }

    /// The deadline has cut the attempt under way.
    pub fn cut(&mut self) -> GaveUp<E, T> {
        self.stop_after(StopReason::DeadlineExceeded, TIMED_OUT, Outcome::TimedOut)
    }

    /// Ends the call after the attempt under way, which came to this, whatever might follow.
    pub fn stop_after(
        &mut self,
        reason: StopReason,
        failure: Failure,
        outcome: Outcome<E, T>,
    ) -> GaveUp<E, T> {
        let now = self.parts.engine.sleeper.now();
        self.details().note_last(failure, outcome, now);
        self.stop_at(reason, now)
    }

    /// The attempt timeout has cut the attempt under way.
    pub fn timed_out(&mut self) -> Result<Duration, GaveUp<E, T>> {
        self.failed(Scope::NONE, TIMED_OUT, Outcome::TimedOut)
    }

    /// The wait is over: the next attempt.
    pub fn start(&mut self) -> Result<Attempt, GaveUp<E, T>> {
        let engine = &*self.parts.engine;
        match self.course().start(engine) {
            Ok(attempt) => {
                if let Some(watch) = self.watch() {
                    watch.attempt(attempt.number());
                }
                Ok(attempt)
            }
            Err(reason) => Err(self.stop(reason)),
        }
    }

    /// Ends the call without success.
    pub fn stop(&mut self, reason: StopReason) -> GaveUp<E, T> {
        let started = self.first().started;
        // The clock is read only where there is a time from which to count.
        let timed = started.is_some() || self.details.is_some();
        let now = if timed {
            self.parts.engine.sleeper.now()
        } else {
            Instant::ZERO
        };
        self.stop_at(reason, now)
    }

    fn stop_at(&mut self, reason: StopReason, now: Instant) -> GaveUp<E, T> {
        self.disarm();
        let started = self.first().started;
        let details = self
            .details
            .take()
            .unwrap_or_else(|| Details::not_started(started));
        details.give_up(&self.parts.engine, reason, now)
    }

    fn watch(&mut self) -> Option<&mut Watch<'r>> {
        self.begun.as_mut()?.watch.as_mut()
    }

    fn disarm(&mut self) {
        if let Some(watch) = self.begun.as_mut().and_then(|begun| begun.watch.take()) {
            watch.disarm();
        }
    }
}
