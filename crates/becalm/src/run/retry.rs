//! How is an async operation retried? A future that polls it, and waits.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use super::beside::{self, Failed, Followed};
use super::gave_up::{GaveUp, Outcome};
use super::hedges::Hedges;
use super::options::call_options;
use super::progress::Progress;
use crate::call::{Attempt, Start};
use crate::classify::{Classifier, Verdict};
use crate::scope::{Entered, Scope};
use crate::time::Instant;

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
    pub(super) enum Stage<Fut> {
        Created,
        // The attempt that was decided, and the hedges beside it.
        Running { #[pin] attempt: Fut, hedges: Hedges<Fut> },
        // The attempt that was decided has failed; a hedge may still bring the success.
        Hedges { hedges: Hedges<Fut> },
        // The delay before the next attempt.
        Waiting { yielded: bool },
        // The guards before the next attempt.
        Starting,
        Over,
    }
}

impl<Fut> Stage<Fut> {
    #[inline]
    fn running(attempt: Fut) -> Self {
        Self::Running {
            attempt,
            hedges: Hedges::none(),
        }
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
        let entered = match this.stage.as_mut().project() {
            StageProjection::Created => match this.progress.begin() {
                Ok((entered, attempt)) => {
                    let attempt = (this.operation)(attempt);
                    this.stage.set(Stage::running(attempt));
                    Some(entered)
                }
                Err(Some(gave_up)) => {
                    this.stage.set(Stage::Over);
                    return Poll::Ready(Err(gave_up));
                }
                Err(None) => {
                    this.stage.set(Stage::Starting);
                    None
                }
            },
            StageProjection::Running { .. } => {
                this.progress.is_running(true);
                Some(Entered::new(this.progress.scope()))
            }
            StageProjection::Hedges { .. } => Some(Entered::new(Scope::NONE)),
            StageProjection::Waiting { .. } | StageProjection::Starting => None,
            // Polled after it was ready, which a future may answer as it likes.
            StageProjection::Over => return Poll::Pending,
        };
        let mut entered = match entered {
            Some(entered) => entered,
            None => match ready!(wait(
                this.progress,
                this.operation,
                this.stage.as_mut(),
                context
            )) {
                Ok(entered) => entered,
                Err(gave_up) => return Poll::Ready(Err(gave_up)),
            },
        };
        loop {
            let polled = match this.stage.as_mut().project() {
                StageProjection::Running { attempt, .. } => attempt.poll(context),
                _ => Poll::Pending,
            };
            let inside = entered.leave();
            let followed = match polled {
                Poll::Ready(result) => match (this.classifier.verdict(result.as_ref()), result) {
                    (Verdict::Success, Ok(value)) => {
                        this.stage.set(Stage::Over);
                        this.progress.succeeded();
                        return Poll::Ready(Ok(value));
                    }
                    (verdict, result) => {
                        let outcome = result.map_or_else(Outcome::Error, Outcome::Value);
                        let failed = Failed {
                            number: None,
                            inside,
                            failure: verdict.into_failure(),
                            outcome,
                        };
                        beside::settle(this.progress, this.stage.as_mut(), failed)
                    }
                },
                Poll::Pending => {
                    this.progress.is_running(false);
                    if inside.is_retry_forbidden() {
                        this.progress.forbid_retry();
                    }
                    if this.progress.is_untimed() {
                        return Poll::Pending;
                    }
                    None
                }
            };
            let followed = match followed {
                Some(followed) => followed,
                None => ready!(beside::poll(
                    this.progress,
                    this.operation,
                    this.classifier,
                    this.stage.as_mut(),
                    context
                )),
            };
            match followed {
                Followed::Success(value) => return Poll::Ready(Ok(value)),
                Followed::GaveUp(gave_up) => return Poll::Ready(Err(gave_up)),
                Followed::Retry => this.stage.set(Stage::Waiting { yielded: false }),
            }
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
    if let StageProjection::Waiting { yielded } = stage.as_mut().project() {
        let course = progress.course();
        if !course.delay().is_zero() {
            let ends = course.wait_ends();
            ready!(course.poll_timer(ends, context));
        } else if !core::mem::replace(yielded, true) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        stage.set(Stage::Starting);
    }
    loop {
        match progress.poll_start(context.waker()) {
            Ok(Start::Go(attempt)) => {
                let entered = Entered::new(progress.scope());
                let attempt = operation(attempt);
                stage.set(Stage::running(attempt));
                return Poll::Ready(Ok(entered));
            }
            Ok(Start::Wait(Instant::NEVER)) => return Poll::Pending,
            Ok(Start::Wait(until)) => ready!(progress.course().poll_timer(until, context)),
            Err(gave_up) => {
                stage.set(Stage::Over);
                return Poll::Ready(Err(gave_up));
            }
        }
    }
}
