//! How is a blocking operation retried? On the caller's thread.

use super::core::Core;
use super::engine::Engine;
use super::first_attempt::{Executing, Settings, plain, quick};
use super::gave_up::GaveUp;
use super::options::call_options;
use crate::attempt::Attempt;
use crate::call::FirstTry;
use crate::classify::{ByError, Failure, Judge};
use crate::scope::Scope;

/// A blocking call whose options are being set: see
/// [`Retrier::blocking`](super::Retrier::blocking).
#[must_use = "a blocking call does nothing until `call`"]
pub struct Blocking<'r, F, C> {
    operation: F,
    classifier: C,
    core: &'r Core,
    settings: Option<Settings>,
}

impl<'r, F, C> Blocking<'r, F, C> {
    #[inline]
    pub(super) fn new(core: &'r Core, operation: F, classifier: C) -> Self {
        Self {
            operation,
            classifier,
            core,
            settings: None,
        }
    }

    call_options!();

    fn set(&mut self, change: impl FnOnce(&mut Settings)) {
        change(self.settings.get_or_insert_default());
    }

    /// Sets a named classifier for this call: for errors of other crates.
    pub fn classify_by<D>(self, classifier: D) -> Blocking<'r, F, D> {
        Blocking {
            operation: self.operation,
            classifier,
            core: self.core,
            settings: self.settings,
        }
    }

    /// Sets the classifier of this call: the closure says what each error means for a retry.
    pub fn classify_with<T, E, D>(self, classifier: D) -> Blocking<'r, F, ByError<D>>
    where
        F: FnMut(Attempt) -> Result<T, E>,
        D: Fn(Attempt, &E) -> Failure,
    {
        self.classify_by(ByError(classifier))
    }
}

impl<F, C> Blocking<'_, F, C> {
    /// Runs the call.
    ///
    /// # Errors
    ///
    /// [`GaveUp`] keeps the last error, the reason and the record of the attempts; the reason is
    /// [`Cancelled`](crate::StopReason::Cancelled) if the handle ended it.
    #[inline]
    pub fn call<T, E>(self) -> Result<T, GaveUp<C::Error>>
    where
        F: FnMut(Attempt) -> Result<T, E>,
        C: Judge<E>,
    {
        let Self {
            mut operation,
            classifier,
            core,
            settings,
        } = self;
        if let (None, Some(entered)) = (&settings, plain::enter(core)) {
            let attempt = FirstTry::plain_attempt();
            let result = operation(attempt);
            let inside = entered.leave();
            if let Ok(value) = result {
                plain::succeeded(core);
                return Ok(value);
            }
            return plain_failed(core, result, inside, &mut operation, &classifier);
        }
        if let Some((entered, first)) = quick::enter(core, settings.as_ref()) {
            let attempt = first.attempt(settings.as_ref().map(|settings| &settings.options));
            let result = operation(attempt);
            let inside = entered.leave();
            if let Ok(value) = result {
                plain::succeeded(core);
                return Ok(value);
            }
            let engine = quick::hand_over(core, first, settings, inside);
            return first_ended(engine, attempt, result, &mut operation, &classifier);
        }
        let mut first = Executing::new(core, settings);
        if let Some(engine) = first.begin() {
            return drive(engine, None, &mut operation, &classifier);
        }
        let attempt = first.attempt();
        let entered = first.enter();
        let result = operation(attempt);
        let inside = entered.leave();
        if let Ok(value) = result {
            first.succeeded();
            return Ok(value);
        }
        let engine = first.hand_over(inside);
        first_ended(engine, attempt, result, &mut operation, &classifier)
    }
}

/// Goes on after a failure, which comes as the whole result: a success then stays in registers.
#[cold]
#[inline(never)]
fn plain_failed<F, T, E, C>(
    core: &Core,
    result: Result<T, E>,
    inside: Scope,
    operation: &mut F,
    classifier: &C,
) -> Result<T, GaveUp<C::Error>>
where
    F: FnMut(Attempt) -> Result<T, E>,
    C: Judge<E>,
{
    let error = match result {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let attempt = FirstTry::plain_attempt();
    let (failure, shown) = classifier.judge(attempt, &error);
    if let Some(stopped) = plain::stopped(core, &failure, inside) {
        return Err(stopped.keep(classifier, Some(error)));
    }
    let mut engine = plain::hand_over(core);
    engine.returned(inside);
    engine.failed(attempt.number(), failure, Some(shown));
    drive(engine, Some(error), operation, classifier)
}

/// Goes on likewise, where the engine knows of the attempt already.
#[cold]
#[inline(never)]
fn first_ended<F, T, E, C>(
    mut engine: Engine<&Core>,
    attempt: Attempt,
    result: Result<T, E>,
    operation: &mut F,
    classifier: &C,
) -> Result<T, GaveUp<C::Error>>
where
    F: FnMut(Attempt) -> Result<T, E>,
    C: Judge<E>,
{
    let error = match result {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    engine.failed_with(attempt, classifier, &error);
    drive(engine, Some(error), operation, classifier)
}

/// Runs attempts as the engine says, and tells it what came of them.
fn drive<F, T, E, C>(
    mut engine: Engine<&Core>,
    mut last: Option<E>,
    operation: &mut F,
    classifier: &C,
) -> Result<T, GaveUp<C::Error>>
where
    F: FnMut(Attempt) -> Result<T, E>,
    C: Judge<E>,
{
    loop {
        let attempt = match engine.block_attempt() {
            Ok(attempt) => attempt,
            Err(stopped) => return Err(stopped.keep(classifier, last)),
        };
        match engine.inside(attempt.number(), || operation(attempt)) {
            Ok(value) => {
                engine.succeeded(attempt.number());
                return Ok(value);
            }
            Err(error) => {
                engine.failed_with(attempt, classifier, &error);
                last = Some(error);
            }
        }
    }
}
