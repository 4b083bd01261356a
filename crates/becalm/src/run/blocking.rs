//! How is a blocking operation retried? On the caller's thread, over the same call.

use core::task::Waker;
use std::sync::Arc;

use super::gave_up::{GaveUp, Outcome};
use super::options::call_options;
use super::progress::Progress;
use crate::call::{Attempt, Start};
use crate::classify::{Classifier, Verdict};
use crate::scope::{Entered, Scope};
use crate::stop::StopReason;
use crate::time::{Cancel, Unpark};

/// A blocking call whose options are being set: see
/// [`Retrier::blocking`](super::Retrier::blocking).
#[must_use = "a blocking call does nothing until `call`"]
pub struct Blocking<'r, F, T, E, C> {
    operation: F,
    classifier: C,
    cancel: Option<&'r Cancel>,
    progress: Progress<'r, E, T>,
}

impl<'r, F, T, E, C> Blocking<'r, F, T, E, C> {
    #[inline]
    pub(super) fn new(progress: Progress<'r, E, T>, operation: F, classifier: C) -> Self {
        Self {
            operation,
            classifier,
            cancel: None,
            progress,
        }
    }

    call_options!();

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
            operation,
            cancel,
            progress,
            ..
        } = self;
        Blocking {
            operation,
            classifier,
            cancel,
            progress,
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
        if self.is_cancelled() {
            return Err(self.progress.stop(StopReason::Cancelled));
        }
        let (mut entered, mut attempt) = match self.progress.begin() {
            Ok(begun) => begun,
            Err(Some(gave_up)) => return Err(gave_up),
            Err(None) => {
                let attempt = self.start()?;
                (Entered::new(self.progress.scope()), attempt)
            }
        };
        loop {
            let result = (self.operation)(attempt);
            let inside = entered.leave();
            attempt = match (self.classifier.verdict(result.as_ref()), result) {
                (Verdict::Success, Ok(value)) => {
                    self.progress.succeeded();
                    return Ok(value);
                }
                (verdict, result) => self.next(inside, verdict, result)?,
            };
            entered = Entered::new(self.progress.scope());
        }
    }

    /// The next attempt, after its wait.
    #[cold]
    fn next(
        &mut self,
        inside: Scope,
        verdict: Verdict,
        result: Result<T, E>,
    ) -> Result<Attempt, GaveUp<E, T>> {
        let outcome = result.map_or_else(Outcome::Error, Outcome::Value);
        let delay = self
            .progress
            .failed(inside, verdict.into_failure(), outcome)?;
        if !delay.is_zero() {
            let engine = &self.progress.parts().engine;
            engine.warn_if_in_runtime();
            let ends = self.progress.course().wait_ends();
            engine.sleeper.block_until(ends, self.cancel);
        }
        self.start()
    }

    /// Starts the attempt that was decided, when the guards let it.
    #[cold]
    fn start(&mut self) -> Result<Attempt, GaveUp<E, T>> {
        let cancel = self.cancel;
        start_blocking(&mut self.progress, cancel)
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.is_some_and(Cancel::is_cancelled)
    }
}

/// Starts the attempt that was decided; while a guard makes it wait, so does this thread.
pub(super) fn start_blocking<E, T>(
    progress: &mut Progress<'_, E, T>,
    cancel: Option<&Cancel>,
) -> Result<Attempt, GaveUp<E, T>> {
    let is_cancelled = || cancel.is_some_and(Cancel::is_cancelled);
    if is_cancelled() {
        return Err(progress.stop(StopReason::Cancelled));
    }
    // Asked with a waker of this thread only where it has to wait, for that is an allocation.
    if let Start::Go(attempt) = progress.poll_start(Waker::noop())? {
        return Ok(attempt);
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let _listening = cancel.map(|cancel| cancel.listen(&waker));
    loop {
        if is_cancelled() {
            return Err(progress.stop(StopReason::Cancelled));
        }
        match progress.poll_start(&waker)? {
            Start::Go(attempt) => return Ok(attempt),
            Start::Wait(until) => {
                let engine = &progress.parts().engine;
                engine.warn_if_in_runtime();
                // Not on the async timer, which may be this thread's to turn.
                engine.sleeper.park_until(until);
            }
        }
    }
}
