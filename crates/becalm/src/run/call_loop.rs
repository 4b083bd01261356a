//! How does a loop written by hand retry? `while let Some(attempt) = call.next().await`.

use core::future::Future;
use core::ops::ControlFlow;
use core::task::{Context, Poll, ready};

use super::blocking::start_blocking;
use super::gave_up::{GaveUp, Outcome};
use super::progress::Progress;
use crate::call::{Attempt, Start, TIMED_OUT};
use crate::classify::{Classify, Failure};
use crate::scope::Scope;
use crate::stop::StopReason;
use crate::time::Instant;

/// A call driven by your own loop: mutable captures, early exits, several operations.
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
/// The deadline refuses further attempts and is handed to each in
/// [`Attempt::remaining`]; attempt timeouts are the loop's own, and so is what runs beside an
/// attempt: no [hedge](crate::Hedge) is made. A retry inside the loop's body
/// knows of this one, and is heard by it, only if it runs in [`CallLoop::wrap`] or
/// [`CallLoop::enter`].
#[must_use = "a call makes its attempts in `next`"]
pub struct CallLoop<'r, E> {
    progress: Progress<'r, E, ()>,
    phase: Phase<E>,
}

enum Phase<E> {
    Created,
    /// An attempt is under way, and perhaps told of.
    Running {
        told: Option<(Failure, Outcome<E, ()>)>,
    },
    /// The next attempt is decided, and waited for.
    Waiting,
    /// The wait is over, but for what a guard asks.
    Starting,
    GaveUp(GaveUp<E>),
}

impl<'r, E> CallLoop<'r, E> {
    pub(super) fn new(progress: Progress<'r, E, ()>) -> Self {
        Self {
            progress,
            phase: Phase::Created,
        }
    }

    /// The next attempt, after its wait; `None` when the call has stopped.
    ///
    /// Dropped in the wait, it can be called again: the wait goes on where it was.
    pub async fn next(&mut self) -> Option<Attempt> {
        match self.phase {
            Phase::Created => {
                if let ControlFlow::Break(first) = self.first() {
                    return first;
                }
            }
            Phase::Starting => (),
            _ => {
                let waits = self.decide()?;
                if waits {
                    let ends = self.progress.course().wait_ends();
                    self.progress.parts().engine.sleeper.sleep_until(ends).await;
                } else {
                    yield_once().await;
                }
                self.phase = Phase::Starting;
            }
        }
        let started = core::future::poll_fn(|context| self.poll_start(context)).await;
        self.started(started)
    }

    /// The next attempt, after its wait on this thread; `None` when the call has stopped.
    pub fn next_blocking(&mut self) -> Option<Attempt> {
        if let Phase::Created = self.phase {
            if let ControlFlow::Break(first) = self.first() {
                return first;
            }
        } else if !matches!(self.phase, Phase::Starting) && self.decide()? {
            let engine = &self.progress.parts().engine;
            engine.warn_if_in_runtime();
            engine
                .sleeper
                .block_until(self.progress.course().wait_ends(), None);
        }
        self.phase = Phase::Starting;
        let started = start_blocking(&mut self.progress, None);
        self.started(started)
    }

    /// The attempt succeeded: the call is over, and the value is handed through.
    pub fn success<T>(mut self, value: T) -> T {
        self.phase = Phase::Created;
        self.progress.succeeded();
        value
    }

    /// The attempt failed with this error.
    pub fn failure(&mut self, error: E)
    where
        E: Classify,
    {
        self.failure_as(error.classify(), error);
    }

    /// The attempt failed with this error of another crate, which means this.
    pub fn failure_as(&mut self, failure: Failure, error: E) {
        self.tell(failure, Outcome::Error(error));
    }

    /// The attempt was cut by a time-out of the loop's own.
    pub fn timed_out(&mut self) {
        self.tell(TIMED_OUT, Outcome::TimedOut);
    }

    /// A layer below the attempt under way has said that more attempts harm: if the attempt fails,
    /// the call stops with [`DoNotRetry`](StopReason::DoNotRetry).
    ///
    /// The engines hear it by themselves, and so does a loop from what runs in [`wrap`](Self::wrap)
    /// or [`enter`](Self::enter). Elsewhere it hears it where the layer's own [`GaveUp`] is the error;
    /// where the body has mapped that into an error of its own, it says so here.
    pub fn forbid_retry(&mut self) {
        if let Phase::Running { .. } = self.phase {
            self.progress.forbid_retry();
        }
    }

    /// Hears what was said in the scope of the attempt under way: for one that was carried
    /// elsewhere, and brought back by [`Wrapped::with_scope`](crate::scope::Wrapped::with_scope).
    pub fn hear(&mut self, scope: Scope) {
        if scope.is_retry_forbidden() {
            self.forbid_retry();
        }
    }

    /// The future in the scope of the attempt under way: layers in it know of this call, and it
    /// hears what they say, even if the future is dropped before its end.
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

    /// Runs the closure in the scope of the attempt under way: layers in it know of this call, and
    /// it hears what they say.
    pub fn enter<R>(&mut self, inside: impl FnOnce() -> R) -> R {
        let (result, scope) = self.scope().enter_with_scope(inside);
        self.has_run_in(scope);
        result
    }

    fn has_run_in(&mut self, inside: Scope) {
        if let Phase::Running { .. } = self.phase {
            self.progress.hear(inside);
        }
    }

    /// The scope of the attempt under way: what runs in it knows of this call.
    pub fn scope(&self) -> Scope {
        match self.phase {
            Phase::Running { .. } | Phase::Waiting | Phase::Starting => self.progress.scope(),
            Phase::Created | Phase::GaveUp(_) => Scope::current(),
        }
    }

    /// The end of the call: why it stopped, after what. If it has not stopped yet, it does now, as
    /// [`Cancelled`](StopReason::Cancelled).
    pub fn gave_up(mut self) -> GaveUp<E> {
        match core::mem::replace(&mut self.phase, Phase::Created) {
            Phase::GaveUp(gave_up) => gave_up,
            Phase::Created | Phase::Waiting | Phase::Starting => {
                self.progress.stop(StopReason::Cancelled)
            }
            Phase::Running { told: None } => {
                let (failure, outcome) = untold();
                self.progress
                    .stop_after(StopReason::Cancelled, failure, outcome)
            }
            Phase::Running {
                told: Some((failure, outcome)),
            } => self.progress.cancel_after(failure, outcome),
        }
    }

    /// The first attempt, or the end; goes on where it has to wait for a guard.
    fn first(&mut self) -> ControlFlow<Option<Attempt>> {
        match self.progress.begin() {
            Ok((entered, attempt)) => {
                // The loop's body is not the engine's to run in a scope: see `scope`.
                drop(entered);
                ControlFlow::Break(self.started(Ok(attempt)))
            }
            Err(Some(gave_up)) => ControlFlow::Break(self.stopped(gave_up)),
            Err(None) => {
                self.phase = Phase::Starting;
                ControlFlow::Continue(())
            }
        }
    }

    /// Decides after the attempt under way: whether a timer is needed before the next.
    fn decide(&mut self) -> Option<bool> {
        let told = match &mut self.phase {
            Phase::Running { told } => told,
            Phase::Waiting => return Some(!self.progress.course().delay().is_zero()),
            Phase::Created | Phase::Starting | Phase::GaveUp(_) => return None,
        };
        let (failure, outcome) = told.take().unwrap_or_else(untold);
        match self
            .progress
            .failed(self.progress.scope(), failure, outcome)
        {
            Ok(delay) => {
                self.phase = Phase::Waiting;
                Some(!delay.is_zero())
            }
            Err(gave_up) => self.stopped(gave_up),
        }
    }

    fn poll_start(&mut self, context: &mut Context<'_>) -> Poll<Result<Attempt, GaveUp<E>>> {
        loop {
            match self.progress.poll_start(context.waker()) {
                Ok(Start::Go(attempt)) => return Poll::Ready(Ok(attempt)),
                Ok(Start::Wait(Instant::NEVER)) => return Poll::Pending,
                Ok(Start::Wait(until)) => {
                    ready!(self.progress.course().poll_timer(until, context));
                }
                Err(gave_up) => return Poll::Ready(Err(gave_up)),
            }
        }
    }

    fn started(&mut self, started: Result<Attempt, GaveUp<E>>) -> Option<Attempt> {
        match started {
            Ok(attempt) => {
                // What the body does is not seen: only that it unwinds, when this is dropped.
                self.progress.is_running(false);
                self.phase = Phase::Running { told: None };
                Some(attempt)
            }
            Err(gave_up) => self.stopped(gave_up),
        }
    }

    fn stopped<N>(&mut self, gave_up: GaveUp<E>) -> Option<N> {
        self.phase = Phase::GaveUp(gave_up);
        None
    }

    fn tell(&mut self, failure: Failure, outcome: Outcome<E, ()>) {
        if let Phase::Running { told } = &mut self.phase {
            *told = Some((failure, outcome));
        }
    }
}

/// A failure that was told counts, and so does a body that unwinds.
impl<E> Drop for CallLoop<'_, E> {
    fn drop(&mut self) {
        match &self.phase {
            Phase::Running {
                told: Some((failure, _)),
            } => self.progress.ends_with(failure),
            Phase::Running { told: None } => {
                self.progress.is_running(std::thread::panicking());
            }
            _ => (),
        }
    }
}

/// What an attempt of which nothing was told counts as.
fn untold<E>() -> (Failure, Outcome<E, ()>) {
    (TIMED_OUT, Outcome::TimedOut)
}

/// Gives other tasks a turn.
async fn yield_once() {
    let mut yielded = false;
    core::future::poll_fn(|context| {
        if core::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
