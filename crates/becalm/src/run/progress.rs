//! Where does a call under an engine stand? The same for all three engines.

use core::mem::ManuallyDrop;
use core::task::Waker;
use core::time::Duration;
use std::sync::Arc;

use super::course::{Alarm, Course, Next};
use super::first_flight::{FirstFlight, Halt, admit};
use super::gave_up::{Details, GaveUp, Outcome};
use super::retrier::Parts;
use super::watch::Watch;
use crate::call::{Attempt, Call, CallOptions, FirstTry, Start, TIMED_OUT};
use crate::classify::Failure;
use crate::guard::{Admission, Pass, Refused};
use crate::observe::Event;
use crate::scope::{Entered, Scope};
use crate::stop::StopReason;
use crate::time::Instant;

/// A call under an engine. A [plain](FirstTry) one that succeeds leaves it untouched.
pub(super) struct Progress<'r, E, T> {
    parts: &'r Parts,
    /// The box is made at the first failure, or when an attempt waits with a time limit.
    details: ManuallyDrop<Option<Box<Details<E, T>>>>,
    kind: ManuallyDrop<Kind<'r>>,
}

/// By hand, so that dropping a plain call that has succeeded is two comparisons in its caller.
impl<E, T> Drop for Progress<'_, E, T> {
    #[inline]
    fn drop(&mut self) {
        if !self.is_plain() {
            self.drop_all();
        }
    }
}

/// What there is to know of a call from its beginning. One word for all of it, so that a plain
/// call pays for nothing else.
enum Kind<'r> {
    /// Nothing, or not begun yet.
    Plain,
    /// It sets something for itself, and is not begun yet.
    Set(CallOptions),
    /// It is not plain, and is begun.
    Begun(Begun<'r>),
}

/// A call that is not plain. Its fields drop in this order: observers run last.
struct Begun<'r> {
    options: CallOptions,
    first: FirstTry,
    flight: FirstFlight<'r>,
    watch: Option<Watch<'r>>,
}

impl<'r, E, T> Progress<'r, E, T> {
    #[inline]
    pub fn new(parts: &'r Parts) -> Self {
        Self {
            parts,
            details: ManuallyDrop::new(None),
            kind: ManuallyDrop::new(Kind::Plain),
        }
    }

    pub fn with_options(parts: &'r Parts, options: CallOptions) -> Self {
        Self {
            parts,
            details: ManuallyDrop::new(None),
            kind: ManuallyDrop::new(Kind::Set(options)),
        }
    }

    /// Nothing but a plain call that has not failed.
    #[inline]
    fn is_plain(&self) -> bool {
        self.details.is_none() && matches!(*self.kind, Kind::Plain)
    }

    #[inline(never)]
    fn drop_all(&mut self) {
        *self.details = None;
        // Last: observers run after what was held is returned.
        *self.kind = Kind::Plain;
    }

    pub fn parts(&self) -> &'r Parts {
        self.parts
    }

    /// Changes what the call sets for itself, before it begins.
    pub fn set(&mut self, change: impl FnOnce(&mut CallOptions)) {
        let mut options = self.options();
        change(&mut options);
        *self.kind = Kind::Set(options);
    }

    fn options(&self) -> CallOptions {
        match &*self.kind {
            Kind::Plain => CallOptions::new(),
            Kind::Set(options) | Kind::Begun(Begun { options, .. }) => *options,
        }
    }

    /// Begins: enters the scope of the first attempt, and hands it out. The error is `None` where
    /// the attempt has to wait: see [`poll_start`](Self::poll_start).
    #[inline]
    pub fn begin(&mut self) -> Result<(Entered, Attempt), Option<GaveUp<E, T>>> {
        if let Kind::Plain = *self.kind {
            if let Some(inside) = FirstTry::begin_plain(&self.parts.shared, Scope::current()) {
                return Ok((Entered::from_top(inside), FirstTry::plain_attempt()));
            }
        }
        self.begin_in_full()
    }

    #[inline(never)] // keeps a plain call small
    fn begin_in_full(&mut self) -> Result<(Entered, Attempt), Option<GaveUp<E, T>>> {
        let Parts { shared, engine } = self.parts;
        let options = self.options();
        let first = FirstTry::begin(shared, &options, Scope::current(), || engine.sleeper.now());
        let attempt = match first.attempt(&options) {
            Ok(attempt) => attempt,
            Err(reason) => return Err(self.halted(first, Halt::Refused(reason.into()))),
        };
        let pass = if shared.guards().are_idle() {
            None
        } else {
            match admit(self.parts, options.priority, &first) {
                Ok(pass) => Some(pass),
                Err(halt) => return Err(self.halted(first, halt)),
            }
        };
        let is_probe = pass.as_ref().is_some_and(Pass::is_probe);
        let is_enrolled = shared.first_attempt(is_probe, first.start());
        let inside = first.inside(shared, 1);
        *self.kind = Kind::Begun(Begun {
            options,
            first,
            flight: FirstFlight::new(self.parts, pass, is_enrolled),
            watch: None,
        });
        if is_probe {
            self.tell_probe();
        }
        self.under_way();
        Ok((Entered::new(inside), attempt))
    }

    /// The first attempt is a probe, with which the breaker may have become half-open.
    #[cold]
    fn tell_probe(&self) {
        if let Kind::Begun(begun) = &*self.kind {
            if let Some(transition) = begun.flight.transition() {
                self.parts.engine.tell_transition(transition);
            }
        }
    }

    /// The operation is about to be invoked for the first time: the observer is told first.
    #[inline]
    fn under_way(&mut self) {
        if let Kind::Begun(begun) = &mut *self.kind {
            if self.parts.engine.observer.is_some() {
                let watch = Watch::new(&self.parts.engine, begun.first.started);
                begun.watch.insert(watch).first_attempt();
            }
            begun.flight.is_running = true;
        }
    }

    /// The first attempt may not be, or has to wait, which is `None`.
    #[cold]
    fn halted(&mut self, first: FirstTry, halt: Halt) -> Option<GaveUp<E, T>> {
        let engine = &self.parts.engine;
        let is_observed = engine.observer.is_some();
        *self.kind = Kind::Begun(Begun {
            options: self.options(),
            first,
            flight: FirstFlight::new(self.parts, None, false),
            watch: is_observed.then(|| Watch::new(engine, first.started)),
        });
        match halt {
            Halt::Refused(refused) => Some(self.refused(refused)),
            Halt::Queued(admission) => {
                self.queue(*admission);
                None
            }
        }
    }

    /// The first attempt has to wait for a guard.
    #[cold]
    fn queue(&mut self, admission: Admission) {
        let (options, first) = (self.options(), self.first());
        let shared = Arc::clone(&self.parts.shared);
        let call = Call::of_admission(shared, options, first, admission);
        let began = first
            .started
            .unwrap_or_else(|| self.parts.engine.sleeper.now());
        let course = Course::new(self.parts, call, began);
        *self.details = Some(Details::new(course, first.started));
    }

    fn first(&self) -> FirstTry {
        match &*self.kind {
            Kind::Begun(begun) => begun.first,
            Kind::Plain | Kind::Set(_) => FirstTry::plain(&self.parts.shared),
        }
    }

    /// The scope of the attempt that the last decision started.
    pub fn scope(&self) -> Scope {
        let details = self.details.as_ref();
        match details.and_then(|details| details.course.as_ref()) {
            None => self.first().inside(&self.parts.shared, 1),
            Some(course) => course.scope(),
        }
    }

    /// The scope of the attempt of this number.
    pub fn scope_of(&mut self, number: u32) -> Scope {
        self.course().call.scope_of(number)
    }

    /// Whether nothing is to happen while an attempt is under way.
    #[inline]
    pub fn is_untimed(&self) -> bool {
        match &*self.kind {
            Kind::Plain => true,
            Kind::Set(_) => false,
            Kind::Begun(begun) => begun.first.is_untimed(),
        }
    }

    /// The operation is about to be executed, or has returned: a panic in between is its own.
    #[inline]
    pub fn is_running(&mut self, is_running: bool) {
        if let Kind::Begun(begun) = &mut *self.kind {
            match &mut *self.details {
                None => begun.flight.is_running = is_running,
                Some(details) => {
                    if let Some(course) = &mut details.course {
                        course.running = is_running.then(|| course.primary());
                    }
                }
            }
        }
    }

    /// The same of a hedge.
    pub fn is_running_hedge(&mut self, number: u32) {
        self.course().running = Some(number);
    }

    fn details(&mut self) -> &mut Details<E, T> {
        let parts = self.parts;
        let (details, kind) = (&mut *self.details, &mut *self.kind);
        details.get_or_insert_with(|| {
            let (call, first) = match kind {
                Kind::Begun(begun) => {
                    let call = begun.flight.take_call(begun.options, begun.first);
                    (call, begun.first)
                }
                Kind::Plain | Kind::Set(_) => {
                    let first = FirstTry::plain(&parts.shared);
                    let mut flight = FirstFlight::new(parts, None, false);
                    (flight.take_call(CallOptions::new(), first), first)
                }
            };
            Details::new(Course::new(parts, call, first.start()), first.started)
        })
    }

    pub fn course(&mut self) -> &mut Course {
        let parts = self.parts;
        let (options, first) = (self.options(), self.first());
        self.details().course.get_or_insert_with(|| {
            let mut flight = FirstFlight::new(parts, None, false);
            Course::new(parts, flight.take_call(options, first), first.start())
        })
    }

    /// The call has succeeded.
    #[inline]
    pub fn succeeded(&mut self) {
        if self.is_plain() {
            self.parts.shared.deposit_plain();
        } else {
            self.succeeded_in_full();
        }
    }

    /// The first attempt has succeeded at its first poll.
    #[inline]
    pub fn succeeded_at_once(&mut self) {
        if matches!(*self.kind, Kind::Plain) {
            self.parts.shared.deposit_plain();
        } else {
            self.succeeded_in_full();
        }
    }

    #[inline(never)] // keeps a plain call small
    fn succeeded_in_full(&mut self) {
        if let (Kind::Begun(begun), None) = (&mut *self.kind, &*self.details) {
            Scope::handled();
            begun.flight.succeeded();
            if let Some(watch) = begun.watch.take() {
                watch.disarm();
            }
        } else {
            let number = self.course().primary();
            self.won(number);
        }
    }

    /// The call has succeeded with the attempt of this number.
    #[cold]
    pub fn won(&mut self, number: u32) {
        Scope::handled();
        self.disarm();
        let engine = &self.parts.engine;
        let Some(mut details) = self.details.take() else {
            return;
        };
        let attempts = details.attempts_begun();
        if let Some(course) = &mut details.course {
            course.succeeded(number);
        }
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
        let number = self.course().primary();
        match self.failed_of(number, inside, failure, outcome)? {
            Next::Retry(delay) => Ok(delay),
            // Only where hedges are under way, which is asked before.
            Next::AwaitOthers => Err(self.stop(StopReason::Cancelled)),
        }
    }

    /// The attempt of this number has failed: how long to wait, or whether for the others, or the
    /// end.
    #[cold]
    pub fn failed_of(
        &mut self,
        number: u32,
        inside: Scope,
        failure: Failure,
        outcome: Outcome<E, T>,
    ) -> Result<Next, GaveUp<E, T>> {
        let now = self.parts.engine.sleeper.now();
        self.hear(inside);
        if let Some(watch) = self.watch() {
            watch.failed(now);
        }
        let decided = self.details().after_failure(number, now, failure, outcome);
        decided.map_err(|reason| self.stop_at(reason, now))
    }

    /// Whether nothing but a decision can follow this failure, whatever else is under way.
    pub fn is_final(&mut self, number: u32, inside: Scope, failure: &Failure) -> bool {
        self.hear(inside);
        self.course().call.is_decided_by(number, failure)
    }

    /// A layer below has learnt, in the attempt under way, that more attempts harm.
    #[cold]
    pub fn forbid_retry(&mut self) {
        self.course().call.forbid_retry();
    }

    /// What the scope of an attempt under way has become.
    pub fn hear(&mut self, inside: Scope) {
        if inside.told_below().is_some() || self.details.is_some() {
            self.course().call.hear(inside);
        }
    }

    /// What is to happen next while attempts are under way.
    pub fn alarm(&mut self) -> Option<(Instant, Alarm)> {
        self.course().alarm()
    }

    /// Starts the hedge that is due, if budget and guards let it.
    pub fn start_hedge(&mut self) -> Option<Attempt> {
        let attempt = self.course().start_hedge()?;
        if let Some(watch) = self.watch() {
            watch.attempt(attempt.number());
        }
        Some(attempt)
    }

    /// The deadline has cut the attempts under way.
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
        self.parts.shared.count_stop(reason);
        self.stop_at(reason, now)
    }

    /// Cancels the call after the attempt under way has failed, which counts.
    pub fn cancel_after(&mut self, failure: Failure, outcome: Outcome<E, T>) -> GaveUp<E, T> {
        let now = self.parts.engine.sleeper.now();
        self.details().note_last(failure, outcome, now);
        self.ends_with(&failure);
        self.parts.shared.count_stop(StopReason::Cancelled);
        self.stop_at(StopReason::Cancelled, now)
    }

    /// The attempt under way has failed, and nobody asks what follows.
    pub fn ends_with(&mut self, failure: &Failure) {
        self.course().ends_with(failure);
    }

    /// The wait is over: the next attempt, or the time until which a guard makes it wait.
    pub fn poll_start(&mut self, waker: &Waker) -> Result<Start, GaveUp<E, T>> {
        let started = self.course().start(waker);
        if let (Ok(Start::Go(attempt)), Some(watch)) = (&started, self.watch()) {
            watch.attempt(attempt.number());
        }
        started.map_err(|reason| {
            let now = self.parts.engine.sleeper.now();
            self.stop_at(reason, now)
        })
    }

    /// A guard has refused the first try.
    #[cold]
    fn refused(&mut self, refused: Refused) -> GaveUp<E, T> {
        let (first, engine) = (self.first(), &self.parts.engine);
        self.parts.shared.count_stop(refused.reason);
        let mut details = Details::not_started(first.started);
        details.next_probe = refused.until;
        *self.details = Some(details);
        // What is said about time counts from now.
        let now = if refused.until.is_some() || first.started.is_some() {
            engine.sleeper.now()
        } else {
            Instant::ZERO
        };
        self.stop_at(refused.reason, now)
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
        self.parts.shared.count_stop(reason);
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
        match &mut *self.kind {
            Kind::Begun(begun) => begun.watch.as_mut(),
            Kind::Plain | Kind::Set(_) => None,
        }
    }

    fn disarm(&mut self) {
        if let Kind::Begun(begun) = &mut *self.kind {
            if let Some(watch) = begun.watch.take() {
                watch.disarm();
            }
        }
    }
}
