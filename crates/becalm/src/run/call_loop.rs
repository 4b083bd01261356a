//! How does a loop written by hand retry? `while let Some(attempt) = call.next().await`.

use core::task::Poll;
use core::time::Duration;
use std::sync::Arc;

use super::course::{Course, not_started};
use super::gave_up::{Details, GaveUp, Outcome};
use super::retrier::Engine;
use super::watch::Watch;
use crate::call::{Attempt, CallOptions, FirstTry, TIMED_OUT};
use crate::classify::{Classify, Failure};
use crate::observe::Event;
use crate::scope::Scope;
use crate::shared::Shared;
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
/// [`Attempt::remaining`]; attempt timeouts are the loop's own. A retry inside the loop's body
/// knows of this one only if it runs in [`CallLoop::scope`].
#[must_use = "a call makes its attempts in `next`"]
pub struct CallLoop<'r, E> {
    shared: &'r Arc<Shared>,
    engine: &'r Engine,
    options: CallOptions,
    progress: Progress<E>,
    // Last, so that it drops last: observers run after what was held is returned.
    watch: Option<Watch<'r>>,
}

enum Progress<E> {
    Created,
    Running(Box<Running<E>>),
    GaveUp(GaveUp<E>),
    Succeeded,
}

struct Running<E> {
    course: Course,
    details: Box<Details<E, ()>>,
    told: Option<(Failure, Outcome<E, ()>)>,
}

impl<'r, E> CallLoop<'r, E> {
    pub(super) fn new(shared: &'r Arc<Shared>, engine: &'r Engine, options: CallOptions) -> Self {
        Self {
            shared,
            engine,
            options,
            progress: Progress::Created,
            watch: None,
        }
    }

    /// The next attempt, after its wait; `None` when the call has stopped.
    pub async fn next(&mut self) -> Option<Attempt> {
        if matches!(self.progress, Progress::Created) {
            return self.first();
        }
        let (delay, ends) = self.decide()?;
        if delay.is_zero() {
            yield_once().await;
        } else {
            self.engine.sleeper.sleep_until(ends).await;
        }
        self.start()
    }

    /// The next attempt, after its wait on this thread; `None` when the call has stopped.
    pub fn next_blocking(&mut self) -> Option<Attempt> {
        if matches!(self.progress, Progress::Created) {
            return self.first();
        }
        let (delay, ends) = self.decide()?;
        if !delay.is_zero() {
            self.engine.warn_if_in_runtime();
            self.engine.sleeper.block_until(ends, None);
        }
        self.start()
    }

    /// The attempt succeeded: the call is over, and the value is handed through.
    pub fn success<T>(mut self, value: T) -> T {
        if let Some(watch) = self.watch.take() {
            watch.disarm();
        }
        let progress = std::mem::replace(&mut self.progress, Progress::Succeeded);
        if let Progress::Running(running) = progress {
            let Running {
                course, details, ..
            } = *running;
            let attempts = course.call.attempt_number();
            drop(course);
            if attempts > 1 {
                let elapsed = details.elapsed(self.engine.sleeper.now());
                self.engine.observe(|retrier| Event::Recovered {
                    retrier,
                    attempts,
                    elapsed,
                });
            }
        }
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

    /// The scope of the attempt under way: what runs in it knows of this call.
    pub fn scope(&self) -> Scope {
        match &self.progress {
            Progress::Running(running) => running.course.call.scope(),
            _ => Scope::current(),
        }
    }

    /// The end of the call: why it stopped, after what. If it has not stopped yet, it does now, as
    /// [`Cancelled`](StopReason::Cancelled).
    pub fn gave_up(mut self) -> GaveUp<E> {
        let progress = std::mem::replace(&mut self.progress, Progress::Succeeded);
        match progress {
            Progress::GaveUp(gave_up) => gave_up,
            Progress::Running(running) => self.stop(*running, StopReason::Cancelled),
            Progress::Created | Progress::Succeeded => {
                Details::new(None, None).give_up(self.engine, StopReason::Cancelled, Instant::ZERO)
            }
        }
    }

    fn first(&mut self) -> Option<Attempt> {
        let now = || self.engine.sleeper.now();
        let first = FirstTry::begin(self.shared, &self.options, Scope::current(), now);
        match first.attempt(&self.options) {
            Ok(attempt) => {
                self.watch = Watch::first_attempt(self.engine, first.started);
                let course = Course::new(self.shared, self.options, first);
                let details = Details::new(None, first.started);
                self.progress = Progress::Running(Box::new(Running {
                    course,
                    details,
                    told: None,
                }));
                Some(attempt)
            }
            Err(reason) => {
                self.progress = Progress::GaveUp(not_started(self.engine, reason, &first));
                None
            }
        }
    }

    /// Decides after the attempt under way: the wait and its end, or nothing when it is over.
    fn decide(&mut self) -> Option<(Duration, Instant)> {
        let Progress::Running(running) = &mut self.progress else {
            return None;
        };
        let now = self.engine.sleeper.now();
        let (failure, outcome) = running
            .told
            .take()
            .unwrap_or((TIMED_OUT, Outcome::TimedOut));
        let Running {
            course, details, ..
        } = &mut **running;
        details.note(course.record(failure), failure, outcome, now);
        if let Some(watch) = &mut self.watch {
            watch.progressed(course.call.attempt_number(), now);
        }
        match course.decide(self.engine, now, failure) {
            Ok(delay) => Some((delay, course.wait_ends())),
            Err(reason) => self.stop_with(reason),
        }
    }

    fn start(&mut self) -> Option<Attempt> {
        let Progress::Running(running) = &mut self.progress else {
            return None;
        };
        match running.course.start(self.engine) {
            Ok(attempt) => Some(attempt),
            Err(reason) => self.stop_with(reason),
        }
    }

    fn tell(&mut self, failure: Failure, outcome: Outcome<E, ()>) {
        if let Progress::Running(running) = &mut self.progress {
            running.told = Some((failure, outcome));
        }
    }

    fn stop_with<N>(&mut self, reason: StopReason) -> Option<N> {
        let progress = std::mem::replace(&mut self.progress, Progress::Succeeded);
        if let Progress::Running(running) = progress {
            self.progress = Progress::GaveUp(self.stop(*running, reason));
        }
        None
    }

    fn stop(&mut self, running: Running<E>, reason: StopReason) -> GaveUp<E> {
        if let Some(watch) = self.watch.take() {
            watch.disarm();
        }
        let Running {
            course, details, ..
        } = running;
        drop(course);
        details.give_up(self.engine, reason, self.engine.sleeper.now())
    }
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
