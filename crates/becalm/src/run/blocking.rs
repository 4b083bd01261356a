//! How is a blocking operation retried? On the caller's thread.

use super::core::Core;
use super::engine::Engine;
use super::first_attempt::{FirstAttempt, Settings, plain};
use super::gave_up::GaveUp;
use super::options::call_options;
use crate::attempt::Attempt;
use crate::call::FirstTry;
use crate::classify::{ByError, Failure, Judge};

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
            let mut engine = plain::hand_over(core);
            engine.returned(inside);
            return go_on(engine, attempt, result, &mut operation, &classifier);
        }
        let settings = settings.unwrap_or_default();
        let mut first = FirstAttempt::new(core, settings);
        let attempt = match first.begin() {
            Ok(attempt) => attempt,
            Err(engine) => return drive(*engine, None, &mut operation, &classifier),
        };
        let entered = first.enter();
        let result = operation(attempt);
        let inside = entered.leave();
        if let Ok(value) = result {
            first.succeeded();
            return Ok(value);
        }
        go_on(
            first.hand_over(inside),
            attempt,
            result,
            &mut operation,
            &classifier,
        )
    }
}

/// Goes on after a first attempt that has failed.
#[cold]
#[inline(never)]
fn go_on<F, T, E, C>(
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
    if let Err(error) = &result {
        engine.failed_with(attempt, classifier, error, &mut |_| ());
    }
    drive(engine, result.err(), operation, classifier)
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
            Err(stopped) => {
                let error = last.map(|last| classifier.keep(last));
                return Err(stopped.with_error(error));
            }
        };
        let number = attempt.number();
        let result = engine.inside(number, || operation(attempt));
        match result {
            Ok(value) => {
                engine.succeeded(number);
                return Ok(value);
            }
            Err(error) => {
                engine.failed_with(attempt, classifier, &error, &mut |_| ());
                last = Some(error);
            }
        }
    }
}
