//! How does a loop written by hand retry? `while let Some(attempt) = call.next().await`.

use core::fmt::Display;
use core::future::Future;

use super::core::Core;
use super::engine::{Engine, EngineBuilder};
use super::first_attempt::{Settings, plain};
use super::gave_up::{GaveUp, Stopped};
use super::options::call_options;
use crate::attempt::Attempt;
use crate::call::{FirstTry, TIMED_OUT};
use crate::classify::{Classify, Failure};
use crate::scope::Scope;

/// A call that your own loop drives: for mutable captures, early exits, several operations.
///
/// Tell it of every attempt: [`success`](Self::success) ends the call, [`failure`](Self::failure)
/// leads to the next attempt. An attempt of which nothing was told counts as a transient failure.
/// Dropping it returns what it holds.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # use becalm::{GaveUp, Policy, Retrier};
/// # use std::io;
/// async fn send(buffer: &mut Vec<u8>) -> io::Result<usize> {
///     Ok(buffer.len())
/// }
///
/// async fn flush(orders: &Retrier, buffer: &mut Vec<u8>) -> Result<usize, GaveUp<io::Error>> {
///     let mut call = orders.call();
///     while let Some(_attempt) = call.next().await {
///         match send(buffer).await {
///             Ok(sent) => return Ok(call.success(sent)),
///             Err(error) => call.failure(error),
///         }
///     }
///     Err(call.gave_up())
/// }
/// # let orders = Policy::default().retrier().expect("a valid policy");
/// # assert_eq!(flush(&orders, &mut vec![0; 3]).await.ok(), Some(3));
/// # }
/// ```
///
/// The deadline refuses further attempts; hand [`Attempt::timeout`] to what the body calls, which is
/// the lesser of the attempt timeout and of what is left. Nothing runs beside an attempt: no
/// [hedge](crate::Hedge) is made. A retry inside the loop's body knows of this one, and is heard by
/// it, only if it runs in [`CallLoop::wrap`] or [`CallLoop::enter`].
#[must_use = "a call makes its attempts in `next`"]
pub struct CallLoop<H: AsRef<Core> + Clone, E: Display> {
    stage: Stage<H>,
    /// The attempt that runs.
    attempt: Option<Attempt>,
    /// What was told of it: its failure, with its error but for a time-out.
    told: Option<(Failure, Option<E>)>,
    /// The last error before.
    error: Option<E>,
}

// A box would be an allocation of every call that is not plain.
#[expect(clippy::large_enum_variant)]
enum Stage<H: AsRef<Core>> {
    New(EngineBuilder<H>),
    /// The first attempt of a plain call runs.
    Plain(H),
    Driven(Engine<H>),
    Stopped(Stopped),
    Over,
}

impl<H: AsRef<Core> + Clone, E: Display> CallLoop<H, E> {
    pub(super) fn new(builder: EngineBuilder<H>) -> Self {
        Self {
            stage: Stage::New(builder),
            attempt: None,
            told: None,
            error: None,
        }
    }

    call_options!();

    fn set(&mut self, change: impl FnOnce(&mut Settings)) {
        if let Stage::New(builder) = &mut self.stage {
            builder.set(change);
        }
    }

    /// Waits for the next attempt; `None` when the call has stopped.
    ///
    /// Dropped in the wait, it can be called again: the wait goes on where it was.
    pub async fn next(&mut self) -> Option<Attempt> {
        if self.begin_plain() {
            return self.attempt;
        }
        let engine = self.decide()?;
        let next = core::future::poll_fn(|context| engine.poll_attempt(context, &mut |_| ()));
        let started = next.await;
        self.started(started)
    }

    /// Waits on this thread for the next attempt; `None` when the call has stopped.
    pub fn next_blocking(&mut self) -> Option<Attempt> {
        if self.begin_plain() {
            return self.attempt;
        }
        let started = self.decide()?.block_attempt();
        self.started(started)
    }

    /// Says that the attempt succeeded: the call is over, and the value is handed through.
    pub fn success<T>(mut self, value: T) -> T {
        match (&mut self.stage, self.attempt.take()) {
            (Stage::Driven(engine), Some(attempt)) => engine.succeeded(attempt.number()),
            (Stage::Plain(core), Some(_)) => {
                Scope::handled();
                plain::succeeded(core.as_ref());
                self.stage = Stage::Over;
            }
            _ => (),
        }
        value
    }

    /// Says that the attempt failed with this error.
    pub fn failure(&mut self, error: E)
    where
        E: Classify,
    {
        self.failure_as(error.classify(), error);
    }

    /// Says that the attempt failed with this error of another crate, and what that means for a retry.
    pub fn failure_as(&mut self, failure: Failure, error: E) {
        if self.attempt.is_some() {
            self.told = Some((failure, Some(error)));
        }
    }

    /// Says that a time-out of the loop's own has cut the attempt. An attempt of which nothing was told
    /// counts as this.
    pub fn timed_out(&mut self) {
        if self.attempt.is_some() {
            self.told = Some((TIMED_OUT, None));
        }
    }

    /// Says that the attempt has proved good though it goes on, as a session does that has lived: the
    /// call up to here has succeeded, and this attempt is the first of what follows.
    ///
    /// Attempts, delays, records and the deadline begin anew, the budget earns as from a call that
    /// succeeds, and the breaker hears of a success; the attempt keeps its place in the bulkhead. So a
    /// loop that connects again for years does not run out of attempts, if its sessions last. Say it when a
    /// session has proved its worth, not when it opens: against a server that accepts and closes, no wait
    /// would grow. Nothing happens where no attempt runs.
    pub fn count_anew(&mut self) {
        if self.told.is_some() || self.attempt.is_none() {
            return;
        }
        self.error = None;
        match &mut self.stage {
            Stage::Driven(engine) => self.attempt = Some(engine.count_anew()),
            Stage::Plain(core) => {
                Scope::handled();
                plain::succeeded((*core).as_ref());
            }
            _ => (),
        }
    }

    /// Says that the request's body is gone: no further attempt can send it again.
    pub fn body_is_consumed(&mut self) {
        if let Some(engine) = self.stage.engine() {
            engine.body_is_consumed();
        }
    }

    /// Passes on that a layer below the attempt has said that more attempts harm: if the attempt fails, the call
    /// stops with [`DoNotRetry`](crate::StopReason::DoNotRetry).
    ///
    /// The engines hear it by themselves, and so does a loop from what runs in [`wrap`](Self::wrap)
    /// or [`enter`](Self::enter). Elsewhere it hears it where the layer's own [`GaveUp`] is the error;
    /// where the body has mapped that into an error of its own, it says so here.
    pub fn forbid_retry(&mut self) {
        if let (Some(engine), Some(_)) = (self.stage.engine(), self.attempt) {
            engine.forbid_retry();
        }
    }

    /// Hears what was said in the scope of the attempt: for one that was carried elsewhere, and
    /// brought back by [`Wrapped::with_scope`](crate::scope::Wrapped::with_scope).
    pub fn hear(&mut self, scope: Scope) {
        if scope.is_retry_forbidden() {
            self.forbid_retry();
        }
    }

    /// The future in the scope of the attempt: layers in it know of this call, and it hears what
    /// they say, even if the future is dropped before its end.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # use becalm::{GaveUp, Policy, Retrier};
    /// # use std::io;
    /// # async fn layers_below() -> io::Result<u32> { Ok(17) }
    /// # async fn run(orders: &Retrier) -> Result<u32, GaveUp<io::Error>> {
    /// let mut call = orders.call();
    /// while let Some(_attempt) = call.next().await {
    ///     match call.wrap(layers_below()).await {
    ///         Ok(value) => return Ok(call.success(value)),
    ///         Err(error) => call.failure(error),
    ///     }
    /// }
    /// Err(call.gave_up())
    /// # }
    /// # let orders = Policy::default().retrier().expect("a valid policy");
    /// # assert_eq!(run(&orders).await.ok(), Some(17));
    /// # }
    /// ```
    pub async fn wrap<F: Future>(&mut self, future: F) -> F::Output {
        let mut wrapped = core::pin::pin!(self.scope().wrap(future));
        core::future::poll_fn(|context| {
            let polled = wrapped.as_mut().poll(context);
            self.has_run_in(wrapped.scope());
            polled
        })
        .await
    }

    /// Runs the closure in the scope of the attempt: layers in it know of this call, and it hears
    /// what they say.
    pub fn enter<R>(&mut self, inside: impl FnOnce() -> R) -> R {
        let (result, scope) = self.scope().enter_with_scope(inside);
        self.has_run_in(scope);
        result
    }

    fn has_run_in(&mut self, inside: Scope) {
        if matches!(self.stage, Stage::Plain(_)) && !inside.has_news() {
            return;
        }
        if let (Some(engine), Some(_)) = (self.stage.engine(), self.attempt) {
            engine.hear(inside);
        }
    }

    /// The scope of the attempt that runs, or ran last: what runs in it knows of this call.
    pub fn scope(&self) -> Scope {
        match &self.stage {
            Stage::Plain(core) => plain::scope(core.as_ref()),
            Stage::Driven(engine) => engine.scope_of(engine.attempts().max(1)),
            Stage::New(_) | Stage::Stopped(_) | Stage::Over => Scope::current(),
        }
    }

    /// The end of the call: why it stopped, after what. If it has not stopped yet, it does now, as
    /// [`Cancelled`](crate::StopReason::Cancelled).
    pub fn gave_up(mut self) -> GaveUp<E> {
        self.end_attempt();
        let stopped = match core::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Stopped(stopped) => stopped,
            Stage::Driven(mut engine) => engine.cancel(),
            Stage::New(_) | Stage::Plain(_) | Stage::Over => Stopped::not_begun(),
        };
        stopped.with_error(self.error.take())
    }

    /// Begins the call, if it is plain: nothing is made for its first attempt.
    fn begin_plain(&mut self) -> bool {
        let Stage::New(builder) = &self.stage else {
            return false;
        };
        let Some(core) = builder.plain() else {
            return false;
        };
        self.stage = Stage::Plain(core.clone());
        self.attempt = Some(FirstTry::plain_attempt());
        true
    }

    /// The engine, told of the attempt that ran; `None` where the call is over.
    fn decide(&mut self) -> Option<&mut Engine<H>> {
        if let Stage::New(_) = self.stage {
            self.stage.make_engine();
        }
        let engine = self.stage.engine()?;
        if let Some(attempt) = self.attempt.take() {
            let (failure, error) = self.told.take().unwrap_or((TIMED_OUT, None));
            let shown = error.as_ref().map(|error| error as &dyn Display);
            engine.failed(attempt.number(), failure, shown);
            self.error = error.or(self.error.take());
        }
        Some(engine)
    }

    fn started(&mut self, started: Result<Attempt, Stopped>) -> Option<Attempt> {
        match started {
            Ok(attempt) => self.attempt = Some(attempt),
            Err(stopped) => self.stage = Stage::Stopped(stopped),
        }
        self.attempt
    }
}

impl<H: AsRef<Core> + Clone, E: Display> CallLoop<H, E> {
    /// What was told of the attempt counts, though nobody asks what follows.
    fn end_attempt(&mut self) {
        let Some(attempt) = self.attempt.take() else {
            return;
        };
        let Some(engine) = self.stage.engine() else {
            return;
        };
        match self.told.take() {
            Some((failure, error)) => {
                let shown = error.as_ref().map(|error| error as &dyn Display);
                engine.failed_finally(attempt.number(), failure, shown);
                self.error = error.or(self.error.take());
            }
            None if std::thread::panicking() => engine.unwinds(attempt.number()),
            None => (),
        }
    }
}

/// A failure that was told counts, and so does a body that unwinds.
impl<H: AsRef<Core> + Clone, E: Display> Drop for CallLoop<H, E> {
    #[inline]
    fn drop(&mut self) {
        if self.attempt.is_some() {
            self.end_attempt();
        }
    }
}

impl<H: AsRef<Core> + Clone> Stage<H> {
    /// The engine of a call that is begun and not over: from here on it has one.
    fn engine(&mut self) -> Option<&mut Engine<H>> {
        if let Self::Plain(_) = self {
            self.make_engine();
        }
        match self {
            Self::Driven(engine) => Some(engine),
            _ => None,
        }
    }

    fn make_engine(&mut self) {
        *self = match core::mem::replace(self, Self::Over) {
            Self::New(builder) => Self::Driven(builder.begin()),
            Self::Plain(core) => Self::Driven(plain::hand_over(core)),
            begun => begun,
        };
    }
}
