//! How is an async operation retried? A future that polls it, and waits.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use super::gave_up::{GaveUp, Outcome};
use super::options::call_options;
use super::progress::Progress;
use crate::call::Attempt;
use crate::classify::{Classifier, Verdict};
use crate::scope::Entered;

pin_project_lite::pin_project! {
    /// The future of [`Retrier::retry`](super::Retrier::retry): set options, then await it.
    #[must_use = "futures do nothing unless polled"]
    pub struct Retry<'r, F, Fut, T, E, C> {
        operation: F,
        classifier: C,
        #[pin]
        stage: Stage<Fut>,
        progress: Progress<'r, E, T>,
    }
}

pin_project_lite::pin_project! {
    #[project = StageProjection]
    enum Stage<Fut> {
        Created,
        Running { #[pin] attempt: Fut },
        Waiting { yielded: bool },
        Over,
    }
}

impl<'r, F, Fut, T, E, C> Retry<'r, F, Fut, T, E, C> {
    #[inline]
    pub(super) fn new(progress: Progress<'r, E, T>, operation: F, classifier: C) -> Self {
        Self {
            operation,
            classifier,
            stage: Stage::Created,
            progress,
        }
    }

    call_options!();

    /// The classifier of this call: for errors of other crates, and for `Ok` values that mean
    /// failure.
    pub fn classify_with<D>(self, classifier: D) -> Retry<'r, F, Fut, T, E, D>
    where
        D: Fn(Result<&T, &E>) -> Verdict,
        F: FnMut(Attempt) -> Fut,
    {
        Retry::new(self.progress, self.operation, classifier)
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
        let mut entered = match this.stage.as_mut().project() {
            StageProjection::Created => match this.progress.begin() {
                Ok((entered, attempt)) => {
                    let attempt = (this.operation)(attempt);
                    this.stage.set(Stage::Running { attempt });
                    entered
                }
                Err(gave_up) => {
                    this.stage.set(Stage::Over);
                    return Poll::Ready(Err(gave_up));
                }
            },
            StageProjection::Running { .. } => Entered::new(this.progress.scope()),
            StageProjection::Waiting { .. } => {
                match ready!(wait(
                    this.progress,
                    this.operation,
                    this.stage.as_mut(),
                    context
                )) {
                    Ok(entered) => entered,
                    Err(gave_up) => return Poll::Ready(Err(gave_up)),
                }
            }
            // Polled after it was ready, which a future may answer as it likes.
            StageProjection::Over => return Poll::Pending,
        };
        loop {
            let StageProjection::Running { attempt } = this.stage.as_mut().project() else {
                return Poll::Pending;
            };
            let polled = attempt.poll(context);
            let inside = entered.leave();
            let decided = match polled {
                Poll::Pending => {
                    if inside.is_retry_forbidden() {
                        this.progress.forbid_retry();
                    }
                    if this.progress.is_untimed() {
                        return Poll::Pending;
                    }
                    let is_deadline = ready!(poll_time_limit(this.progress, context));
                    // What the attempt holds is returned before anybody is told.
                    this.stage.set(Stage::Over);
                    if is_deadline {
                        Err(this.progress.cut())
                    } else {
                        this.progress.timed_out()
                    }
                }
                Poll::Ready(result) => match (this.classifier.verdict(result.as_ref()), result) {
                    (Verdict::Success, Ok(value)) => {
                        this.stage.set(Stage::Over);
                        this.progress.succeeded();
                        return Poll::Ready(Ok(value));
                    }
                    (verdict, result) => {
                        this.stage.set(Stage::Over);
                        let outcome = result.map_or_else(Outcome::Error, Outcome::Value);
                        this.progress
                            .failed(inside, verdict.into_failure(), outcome)
                    }
                },
            };
            if let Err(gave_up) = decided {
                return Poll::Ready(Err(gave_up));
            }
            this.stage.set(Stage::Waiting { yielded: false });
            entered = match ready!(wait(
                this.progress,
                this.operation,
                this.stage.as_mut(),
                context
            )) {
                Ok(entered) => entered,
                Err(gave_up) => return Poll::Ready(Err(gave_up)),
            };
        }
    }
}

/// The attempt under way is pending: ready when its time is over, with whether that was the
/// deadline.
#[cold]
fn poll_time_limit<E, T>(
    progress: &mut Progress<'_, E, T>,
    context: &mut Context<'_>,
) -> Poll<bool> {
    let sleeper = &progress.parts().engine.sleeper;
    let course = progress.course();
    let Some((ends, is_deadline)) = course.attempt_ends() else {
        return Poll::Pending;
    };
    let timer = course
        .timer()
        .get_or_insert_with(|| sleeper.sleep_until(ends));
    ready!(timer.as_mut().poll(context));
    Poll::Ready(is_deadline)
}

/// Waits; then the next attempt starts, in its scope. A zero delay yields to the executor once and
/// touches no timer.
#[cold]
fn wait<F, Fut, T, E>(
    progress: &mut Progress<'_, E, T>,
    operation: &mut F,
    mut stage: Pin<&mut Stage<Fut>>,
    context: &mut Context<'_>,
) -> Poll<Result<Entered, GaveUp<E, T>>>
where
    F: FnMut(Attempt) -> Fut,
{
    let StageProjection::Waiting { yielded } = stage.as_mut().project() else {
        return Poll::Pending;
    };
    let sleeper = &progress.parts().engine.sleeper;
    let course = progress.course();
    if !course.delay().is_zero() {
        let ends = course.wait_ends();
        let timer = course
            .timer()
            .get_or_insert_with(|| sleeper.sleep_until(ends));
        ready!(timer.as_mut().poll(context));
    } else if !core::mem::replace(yielded, true) {
        context.waker().wake_by_ref();
        return Poll::Pending;
    }
    Poll::Ready(match progress.start() {
        Ok(attempt) => {
            let entered = Entered::new(progress.scope());
            let attempt = operation(attempt);
            stage.set(Stage::Running { attempt });
            Ok(entered)
        }
        Err(gave_up) => {
            stage.set(Stage::Over);
            Err(gave_up)
        }
    })
}
