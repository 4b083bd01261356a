//! Where does a call under an engine stand? The same for all three engines.

use core::time::Duration;

use super::course::Course;
use super::gave_up::{Details, GaveUp, Outcome};
use super::retrier::Parts;
use super::watch::Watch;
use crate::call::{Attempt, CallOptions, FirstTry, TIMED_OUT};
use crate::classify::Failure;
use crate::observe::Event;
use crate::scope::{Entered, Scope};
use crate::stop::StopReason;
use crate::time::Instant;

/// A call under an engine. A [plain](FirstTry) one that succeeds leaves it untouched.
pub(super) struct Progress<'r, E, T> {
    parts: &'r Parts,
    /// The box is made at the first failure, or when an attempt waits with a time limit.
    details: Option<Box<Details<E, T>>>,
    // Last, so that it drops last: observers run after what was held is returned.
    kind: Kind<'r>,
}

/// What there is to know of a call from its beginning. One word for all of it, so that a plain
/// call pays for nothing else.
enum Kind<'r> {
    /// Nothing, or not begun yet.
    Plain,
    /// It sets something for itself, and is not begun yet.
    Set(CallOptions),
    /// It is not plain, and is begun.
    Begun {
        options: CallOptions,
        first: FirstTry,
        watch: Option<Watch<'r>>,
    },
}

impl<'r, E, T> Progress<'r, E, T> {
    #[inline]
    pub fn new(parts: &'r Parts) -> Self {
        Self {
            parts,
            details: None,
            kind: Kind::Plain,
        }
    }

    pub fn with_options(parts: &'r Parts, options: CallOptions) -> Self {
        Self {
            parts,
            details: None,
            kind: Kind::Set(options),
        }
    }

    pub fn parts(&self) -> &'r Parts {
        self.parts
    }

    /// Changes what the call sets for itself, before it begins.
    pub fn set(&mut self, change: impl FnOnce(&mut CallOptions)) {
        let mut options = self.options();
        change(&mut options);
        self.kind = Kind::Set(options);
    }

    fn options(&self) -> CallOptions {
        match &self.kind {
            Kind::Plain => CallOptions::new(),
            Kind::Set(options) | Kind::Begun { options, .. } => *options,
        }
    }

    /// Begins: enters the scope of the first attempt, and hands it out.
    #[inline]
    pub fn begin(&mut self) -> Result<(Entered, Attempt), GaveUp<E, T>> {
        if let Kind::Plain = self.kind {
            if let Some(inside) = FirstTry::begin_plain(&self.parts.shared, Scope::current()) {
                return Ok((Entered::from_top(inside), FirstTry::plain_attempt()));
            }
        }
        self.begin_in_full()
    }

    #[cold]
    fn begin_in_full(&mut self) -> Result<(Entered, Attempt), GaveUp<E, T>> {
        let Parts { shared, engine } = self.parts;
        let options = self.options();
        let first = FirstTry::begin(shared, &options, Scope::current(), || engine.sleeper.now());
        self.kind = Kind::Begun {
            options,
            first,
            watch: None,
        };
        let attempt = first
            .attempt(&options)
            .map_err(|reason| self.stop(reason))?;
        let watch = Watch::first_attempt(engine, first.started);
        self.kind = Kind::Begun {
            options,
            first,
            watch,
        };
        Ok((Entered::new(first.inside(shared, 1)), attempt))
    }

    fn first(&self) -> FirstTry {
        match &self.kind {
            Kind::Begun { first, .. } => *first,
            Kind::Plain | Kind::Set(_) => FirstTry::plain(&self.parts.shared),
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
        matches!(self.kind, Kind::Plain) || self.first().is_untimed()
    }

    fn details(&mut self) -> &mut Details<E, T> {
        let (shared, first) = (&self.parts.shared, self.first());
        let options = self.options();
        self.details
            .get_or_insert_with(|| Details::new(Course::new(shared, options, first), first.started))
    }

    pub fn course(&mut self) -> &mut Course {
        let (shared, first) = (&self.parts.shared, self.first());
        let options = self.options();
        self.details()
            .course
            .get_or_insert_with(|| Course::new(shared, options, first))
    }

    /// The call has succeeded.
    #[inline]
    pub fn succeeded(&mut self) {
        if !matches!(self.kind, Kind::Plain) {
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
        match &mut self.kind {
            Kind::Begun { watch, .. } => watch.as_mut(),
            Kind::Plain | Kind::Set(_) => None,
        }
    }

    fn disarm(&mut self) {
        if let Kind::Begun { watch, .. } = &mut self.kind {
            if let Some(watch) = watch.take() {
                watch.disarm();
            }
        }
    }
}
