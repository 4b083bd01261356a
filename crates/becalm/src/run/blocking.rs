//! How is a blocking operation retried? On the caller's thread, over the same call.

use core::marker::PhantomData;
use core::time::Duration;
use std::sync::Arc;

use super::course::{Course, not_started};
use super::gave_up::{Details, GaveUp, Outcome};
use super::retrier::Engine;
use crate::call::{Attempt, CallOptions, FirstTry};
use crate::classify::{Classifier, Verdict};
use crate::idempotency::{IdempotencyKey, Operation};
use crate::observe::Event;
use crate::scope::{Entered, Scope};
use crate::shared::Shared;
use crate::stop::StopReason;
use crate::time::Cancel;

/// A blocking call whose options are being set: see
/// [`Retrier::blocking`](super::Retrier::blocking).
#[must_use = "a blocking call does nothing until `call`"]
pub struct Blocking<'r, F, T, E, C> {
    shared: &'r Arc<Shared>,
    engine: &'r Arc<Engine>,
    operation: F,
    classifier: C,
    options: CallOptions,
    cancel: Option<&'r Cancel>,
    result: PhantomData<fn() -> Result<T, E>>,
}

impl<'r, F, T, E, C> Blocking<'r, F, T, E, C> {
    #[inline]
    pub(super) fn new(
        shared: &'r Arc<Shared>,
        engine: &'r Arc<Engine>,
        operation: F,
        classifier: C,
    ) -> Self {
        let options = CallOptions::new();
        Self {
            shared,
            engine,
            operation,
            classifier,
            options,
            cancel: None,
            result: PhantomData,
        }
    }

    /// Gives every attempt the same new idempotency key ([`Attempt::key`]).
    pub fn keyed(self) -> Self {
        self.keyed_with(IdempotencyKey::random())
    }

    /// Gives every attempt this idempotency key.
    pub fn keyed_with(self, key: IdempotencyKey) -> Self {
        self.operation(Operation::Keyed(key))
    }

    /// Declares that repeating the operation may do it twice: it is repeated only when an attempt
    /// proved [`Unsent`](crate::Effect::Unsent).
    pub fn not_idempotent(self) -> Self {
        self.operation(Operation::NotIdempotent)
    }

    /// Declares what repeating the operation would do.
    pub fn operation(mut self, operation: Operation) -> Self {
        self.options.operation = operation;
        self
    }

    /// The longest time of this call, in place of the policy's.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.options.deadline = Some(deadline);
        self
    }

    /// All attempts of this call, in place of the policy's.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.options.attempts = Some(attempts);
        self
    }

    /// The handle by which another thread may end the waits.
    pub fn cancel(mut self, cancel: &'r Cancel) -> Self {
        self.cancel = Some(cancel);
        self
    }

    /// The classifier of this call: for errors of other crates, and for `Ok` values that mean
    /// failure.
    pub fn classify_with<D>(self, classifier: D) -> Blocking<'r, F, T, E, D>
    where
        D: Fn(Result<&T, &E>) -> Verdict,
    {
        let Self {
            shared,
            engine,
            operation,
            options,
            cancel,
            result,
            ..
        } = self;
        Blocking {
            shared,
            engine,
            operation,
            classifier,
            options,
            cancel,
            result,
        }
    }
}

impl<F, T, E, C> Blocking<'_, F, T, E, C>
where
    F: FnMut(Attempt) -> Result<T, E>,
    C: Classifier<T, E>,
{
    /// Runs the call.
    ///
    /// # Errors
    ///
    /// [`GaveUp`] keeps the last error, the reason and the record of the attempts; the reason is
    /// [`Cancelled`](StopReason::Cancelled) if the handle ended it.
    #[inline]
    pub fn call(mut self) -> Result<T, GaveUp<E, T>> {
        let engine = &**self.engine;
        let now = || engine.sleeper.now();
        let first = FirstTry::begin(self.shared, &self.options, Scope::current(), now);
        let refused = self
            .cancel
            .is_some_and(Cancel::is_cancelled)
            .then_some(StopReason::Cancelled);
        let attempt = match refused.map_or_else(|| first.attempt(&self.options), Err) {
            Ok(attempt) => attempt,
            Err(reason) => return Err(not_started(engine, reason, &first)),
        };
        engine.observe(|retrier| Event::Attempt {
            retrier,
            number: 1,
            waited: Duration::ZERO,
        });
        let entered = Entered::new(first.inside);
        let result = (self.operation)(attempt);
        let inside = entered.leave();
        match (self.classifier.verdict(result.as_ref()), result) {
            (Verdict::Success, Ok(value)) => Ok(value),
            (verdict, result) => self.after_first_failure(first, inside, verdict, result),
        }
    }

    #[cold]
    fn after_first_failure(
        mut self,
        first: FirstTry,
        mut inside: Scope,
        mut verdict: Verdict,
        mut result: Result<T, E>,
    ) -> Result<T, GaveUp<E, T>> {
        let engine = &**self.engine;
        let mut course = Course::new(self.shared, self.options, first);
        let mut details = Details::new(None, first.started);
        loop {
            let now = engine.sleeper.now();
            if inside.is_retry_forbidden() {
                course.call.forbid_retry();
            }
            let failure = verdict.into_failure();
            let outcome = result.map_or_else(Outcome::Error, Outcome::Value);
            details.note(course.record(failure), failure, outcome, now);
            let started = match course.decide(engine, now, failure) {
                Ok(delay) => self
                    .wait(&course, delay)
                    .and_then(|()| course.start(engine)),
                Err(reason) => Err(reason),
            };
            let attempt = match started {
                Ok(attempt) => attempt,
                Err(reason) => {
                    drop(course);
                    return Err(details.give_up(engine, reason, engine.sleeper.now()));
                }
            };
            let entered = Entered::new(course.call.scope());
            result = (self.operation)(attempt);
            inside = entered.leave();
            verdict = self.classifier.verdict(result.as_ref());
            result = match (verdict, result) {
                (Verdict::Success, Ok(value)) => {
                    let attempts = course.call.attempt_number();
                    drop(course);
                    let elapsed = details.elapsed(engine.sleeper.now());
                    engine.observe(|retrier| Event::Recovered {
                        retrier,
                        attempts,
                        elapsed,
                    });
                    return Ok(value);
                }
                (_, result) => result,
            };
        }
    }

    /// Waits on this thread, until the delay has passed or the handle is cancelled.
    fn wait(&self, course: &Course, delay: Duration) -> Result<(), StopReason> {
        if !delay.is_zero() {
            self.engine.warn_if_in_runtime();
            self.engine
                .sleeper
                .block_until(course.wait_ends(), self.cancel);
        }
        match self.cancel {
            Some(cancel) if cancel.is_cancelled() => Err(StopReason::Cancelled),
            _ => Ok(()),
        }
    }
}
