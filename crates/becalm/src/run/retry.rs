//! How is an async operation retried? A future that polls it, and waits.

use core::future::Future;
use core::marker::PhantomData;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;
use std::sync::Arc;

use super::course::{Course, not_started};
use super::gave_up::{Details, GaveUp, Outcome};
use super::retrier::Engine;
use super::watch::Watch;
use crate::call::{Attempt, CallOptions, FirstTry, TIMED_OUT};
use crate::classify::{Classifier, Failure, Verdict};
use crate::idempotency::{IdempotencyKey, Operation};
use crate::observe::Event;
use crate::scope::{Entered, Scope};
use crate::shared::Shared;
use crate::stop::StopReason;
use crate::time::Instant;

pin_project_lite::pin_project! {
    /// The future of [`Retrier::retry`](super::Retrier::retry): set options, then await it.
    #[must_use = "futures do nothing unless polled"]
    pub struct Retry<'r, F, Fut, T, E, C> {
        shared: &'r Arc<Shared>,
        engine: &'r Arc<Engine>,
        operation: F,
        classifier: C,
        options: CallOptions,
        #[pin]
        stage: Stage<Fut>,
        details: Option<Box<Details<E, T>>>,
        result: PhantomData<fn() -> Result<T, E>>,
        // Last, so that it drops last: observers run after what was held is returned.
        watch: Option<Watch<'r>>,
    }
}

pin_project_lite::pin_project! {
    #[project = StageProjection]
    enum Stage<Fut> {
        Created,
        Running { #[pin] attempt: Fut, first: FirstTry },
        Waiting { first: FirstTry, yielded: bool },
        Over,
    }
}

impl<'r, F, Fut, T, E, C> Retry<'r, F, Fut, T, E, C> {
    #[inline]
    pub(super) fn new(
        shared: &'r Arc<Shared>,
        engine: &'r Arc<Engine>,
        operation: F,
        classifier: C,
    ) -> Self {
        Self {
            shared,
            engine,
            operation,
            classifier,
            options: CallOptions::new(),
            stage: Stage::Created,
            details: None,
            result: PhantomData,
            watch: None,
        }
    }

    /// Gives every attempt the same new idempotency key ([`Attempt::key`]), by which the server
    /// recognises a repetition.
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

    /// The classifier of this call: for errors of other crates, and for `Ok` values that mean
    /// failure.
    pub fn classify_with<D>(self, classifier: D) -> Retry<'r, F, Fut, T, E, D>
    where
        D: Fn(Result<&T, &E>) -> Verdict,
        F: FnMut(Attempt) -> Fut,
    {
        let Self {
            shared,
            engine,
            operation,
            options,
            ..
        } = self;
        let mut retry = Retry::new(shared, engine, operation, classifier);
        retry.options = options;
        retry
    }
}

impl<F, Fut, T, E, C> Future for Retry<'_, F, Fut, T, E, C>
where
    F: FnMut(Attempt) -> Fut,
    Fut: Future<Output = Result<T, E>>,
    C: Classifier<T, E>,
{
    type Output = Result<T, GaveUp<E, T>>;

    /// The success path is all in here, so that it inlines into the caller; what follows a failure
    /// is out of line.
    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if let StageProjection::Created = this.stage.as_mut().project() {
            let now = || this.engine.sleeper.now();
            let first = FirstTry::begin(this.shared, this.options, Scope::current(), now);
            let attempt = match first.attempt(this.options) {
                Ok(attempt) => attempt,
                Err(reason) => {
                    this.stage.set(Stage::Over);
                    return Poll::Ready(Err(not_started(this.engine, reason, &first)));
                }
            };
            *this.watch = Watch::first_attempt(this.engine, first.started);
            let entered = Entered::new(first.inside);
            let attempt = (this.operation)(attempt);
            drop(entered);
            this.stage.set(Stage::Running { attempt, first });
        }
        let mut slow = Slow {
            shared: this.shared,
            engine: this.engine,
            options: this.options,
            details: this.details,
            watch: this.watch,
        };
        loop {
            let (first, next) = match this.stage.as_mut().project() {
                StageProjection::Running { attempt, first } => {
                    let entered = Entered::new(slow.scope(first));
                    let polled = attempt.poll(context);
                    let inside = entered.leave();
                    let next = match polled {
                        Poll::Pending => ready!(slow.poll_time_limit(first, context)),
                        Poll::Ready(result) => {
                            let verdict = this.classifier.verdict(result.as_ref());
                            match (verdict, result) {
                                (Verdict::Success, Ok(value)) => {
                                    this.stage.set(Stage::Over);
                                    slow.succeeded();
                                    return Poll::Ready(Ok(value));
                                }
                                (verdict, result) => slow.failed(first, inside, verdict, result),
                            }
                        }
                    };
                    (*first, next)
                }
                StageProjection::Waiting { first, yielded } => {
                    (*first, ready!(slow.poll_wait(first, yielded, context)))
                }
                // Polled after it was ready, which a future may answer as it likes.
                StageProjection::Created | StageProjection::Over => return Poll::Pending,
            };
            match next {
                Ok(Next::Wait) => this.stage.set(Stage::Waiting {
                    first,
                    yielded: false,
                }),
                Ok(Next::Start(attempt)) => {
                    let entered = Entered::new(slow.scope(&first));
                    let attempt = (this.operation)(attempt);
                    drop(entered);
                    this.stage.set(Stage::Running { attempt, first });
                }
                Err(gave_up) => {
                    this.stage.set(Stage::Over);
                    return Poll::Ready(Err(gave_up));
                }
            }
        }
    }
}

/// What follows an attempt or a wait that is over.
enum Next {
    Wait,
    Start(Attempt),
}

/// The call after its first failure, or with a time limit that an attempt waits for.
struct Slow<'a, 'r, T, E> {
    shared: &'r Arc<Shared>,
    engine: &'r Engine,
    options: &'a CallOptions,
    details: &'a mut Option<Box<Details<E, T>>>,
    watch: &'a mut Option<Watch<'r>>,
}

type Step<T, E> = Result<Next, GaveUp<E, T>>;

impl<T, E> Slow<'_, '_, T, E> {
    /// The scope in which the attempt under way runs.
    #[inline]
    fn scope(&self, first: &FirstTry) -> Scope {
        match self
            .details
            .as_ref()
            .and_then(|details| details.course.as_ref())
        {
            None => first.inside,
            Some(course) => course.call.scope(),
        }
    }

    fn details(&mut self, first: &FirstTry) -> &mut Details<E, T> {
        self.details.get_or_insert_with(|| {
            Details::new(
                Some(Course::new(self.shared, *self.options, *first)),
                first.started,
            )
        })
    }

    fn course(&mut self, first: &FirstTry) -> &mut Course {
        let (shared, options) = (self.shared, *self.options);
        self.details(first)
            .course
            .get_or_insert_with(|| Course::new(shared, options, *first))
    }

    #[inline]
    fn succeeded(&mut self) {
        if let Some(watch) = self.watch.take() {
            watch.disarm();
            self.recovered();
        }
    }

    #[cold]
    fn recovered(&mut self) {
        let Some(details) = self.details.take() else {
            return;
        };
        let attempts = details.attempts_begun();
        if attempts > 1 {
            let elapsed = details.elapsed(self.engine.sleeper.now());
            drop(details);
            self.engine.observe(|retrier| Event::Recovered {
                retrier,
                attempts,
                elapsed,
            });
        }
    }

    #[cold]
    fn failed(
        &mut self,
        first: &FirstTry,
        inside: Scope,
        verdict: Verdict,
        result: Result<T, E>,
    ) -> Step<T, E> {
        let outcome = result.map_or_else(Outcome::Error, Outcome::Value);
        if inside.is_retry_forbidden() {
            self.course(first).call.forbid_retry();
        }
        self.ended(first, verdict.into_failure(), outcome)
    }

    /// An attempt has ended without success: wait, or give up.
    fn ended(&mut self, first: &FirstTry, failure: Failure, outcome: Outcome<E, T>) -> Step<T, E> {
        let (engine, now) = (self.engine, self.engine.sleeper.now());
        self.course(first);
        let details = self.details(first);
        let decided = details.after_failure(engine, now, failure, outcome);
        let attempts = details.attempts_begun();
        if let Some(watch) = self.watch {
            watch.progressed(attempts, now);
        }
        match decided {
            Ok(_delay) => Ok(Next::Wait),
            Err(reason) => Err(self.give_up(first, reason, now)),
        }
    }

    fn give_up(&mut self, first: &FirstTry, reason: StopReason, now: Instant) -> GaveUp<E, T> {
        if let Some(watch) = self.watch.take() {
            watch.disarm();
        }
        let details = self.details.take();
        let details = details.unwrap_or_else(|| Details::new(None, first.started));
        details.give_up(self.engine, reason, now)
    }

    /// The attempt under way is pending: is its time over?
    #[inline]
    fn poll_time_limit(&mut self, first: &FirstTry, context: &mut Context<'_>) -> Poll<Step<T, E>> {
        if first.deadline == Instant::NEVER && self.shared.attempt_timeout() == u64::MAX {
            return Poll::Pending;
        }
        self.poll_armed_limit(first, context)
    }

    #[cold]
    fn poll_armed_limit(
        &mut self,
        first: &FirstTry,
        context: &mut Context<'_>,
    ) -> Poll<Step<T, E>> {
        let engine = self.engine;
        let course = self.course(first);
        let Some((ends, is_deadline)) = course.attempt_ends() else {
            return Poll::Pending;
        };
        let timer = course
            .timer()
            .get_or_insert_with(|| engine.sleeper.sleep_until(ends));
        ready!(timer.as_mut().poll(context));
        if is_deadline {
            let now = engine.sleeper.now();
            self.details(first).cut(now);
            return Poll::Ready(Err(self.give_up(first, StopReason::DeadlineExceeded, now)));
        }
        Poll::Ready(self.ended(first, TIMED_OUT, Outcome::TimedOut))
    }

    /// Waits; then the next attempt starts. A zero delay yields to the executor once and touches no
    /// timer.
    #[cold]
    fn poll_wait(
        &mut self,
        first: &FirstTry,
        yielded: &mut bool,
        context: &mut Context<'_>,
    ) -> Poll<Step<T, E>> {
        let engine = self.engine;
        let course = self.course(first);
        if course.delay().is_zero() {
            if !core::mem::replace(yielded, true) {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
        } else {
            let ends = course.wait_ends();
            let timer = course
                .timer()
                .get_or_insert_with(|| engine.sleeper.sleep_until(ends));
            ready!(timer.as_mut().poll(context));
        }
        let started = course.start(engine);
        Poll::Ready(match started {
            Ok(attempt) => Ok(Next::Start(attempt)),
            Err(reason) => Err(self.give_up(first, reason, engine.sleeper.now())),
        })
    }
}
