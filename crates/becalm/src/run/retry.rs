//! How is an async operation retried? A future that polls it, and waits.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use super::beside::{self, Failed, Followed};
use super::gave_up::GaveUp;
use super::hedges::Hedges;
use super::options::call_options;
use super::progress::Progress;
use crate::call::{Attempt, Start};
use crate::classify::{Classifier, Verdict};
use crate::scope::{Entered, Scope};
use crate::time::Instant;

pin_project_lite::pin_project! {
    #[project = RetryProjection]
    /// The future of [`Retrier::retry`](super::Retrier::retry): set options, then await it.
    #[must_use = "futures do nothing unless polled"]
    pub struct Retry<'r, F, Fut, T, E, C> {
        operation: F,
        classifier: C,
        #[pin]
        stage: Stage<Fut>,
        // The copies beside the attempt under way.
        hedges: Hedges<Fut>,
        progress: Progress<'r, E, T>,
    }
}

pin_project_lite::pin_project! {
    #[project = StageProjection]
    pub(super) enum Stage<Fut> {
        Created,
        // The attempt that was decided.
        Running { #[pin] attempt: Fut },
        // That one has failed; a hedge may still bring the success.
        Hedged,
        // The delay before the next attempt.
        Waiting { yielded: bool },
        // The guards before the next attempt.
        Starting,
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
            hedges: Hedges::none(),
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

    /// A first attempt that succeeds at once is all in here, so that it inlines into the caller;
    /// everything else is out of line.
    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.as_mut().project();
        let StageProjection::Created = this.stage.as_mut().project() else {
            return self.proceed(Turn::Polled, context);
        };
        let (entered, attempt) = match this.progress.begin() {
            Ok(begun) => begun,
            Err(halt) => return self.proceed(Turn::Halted(halt), context),
        };
        let attempt = (this.operation)(attempt);
        this.stage.set(Stage::Running { attempt });
        let StageProjection::Running { attempt } = this.stage.as_mut().project() else {
            return Poll::Pending;
        };
        let polled = attempt.poll(context);
        let inside = entered.leave();
        let Poll::Ready(result) = polled else {
            return self.proceed(Turn::Pending(inside), context);
        };
        match (this.classifier.verdict(result.as_ref()), result) {
            (Verdict::Success, Ok(value)) => {
                this.stage.set(Stage::Over);
                this.progress.succeeded_at_once();
                Poll::Ready(Ok(value))
            }
            (verdict, result) => {
                let failed = Failed::primary(inside, verdict, result);
                self.proceed(Turn::Failed(failed), context)
            }
        }
    }
}

/// Where a call goes on.
enum Turn<E, T> {
    /// At its stage, which is to be polled.
    Polled,
    /// The first attempt has to wait, or may not be.
    Halted(Option<GaveUp<E, T>>),
    /// The attempt is pending, and its scope has become this.
    Pending(Scope),
    Failed(Failed<E, T>),
    Success(T),
}

impl<F, Fut, T, E, C> Retry<'_, F, Fut, T, E, C>
where
    F: FnMut(Attempt) -> Fut,
    Fut: Future<Output = Result<T, E>>,
    C: Classifier<T, E>,
{
    #[cold]
    #[inline(never)]
    fn proceed(
        self: Pin<&mut Self>,
        mut turn: Turn<E, T>,
        context: &mut Context<'_>,
    ) -> Poll<Result<T, GaveUp<E, T>>> {
        let mut this = self.project();
        loop {
            let followed = match turn {
                Turn::Polled => {
                    turn = ready!(this.poll_stage(context));
                    continue;
                }
                Turn::Halted(None) => {
                    this.stage.set(Stage::Starting);
                    turn = Turn::Polled;
                    continue;
                }
                Turn::Halted(Some(gave_up)) => Some(Followed::GaveUp(gave_up)),
                Turn::Failed(failed) => {
                    beside::settle(this.progress, this.stage.as_mut(), this.hedges, failed)
                }
                Turn::Success(value) => {
                    this.stage.set(Stage::Over);
                    this.hedges.clear();
                    this.progress.succeeded();
                    Some(Followed::Success(value))
                }
                Turn::Pending(inside) => {
                    this.progress.is_running(false);
                    this.progress.hear(inside);
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
                    this.hedges,
                    context
                )),
            };
            match followed {
                Followed::Success(value) => return Poll::Ready(Ok(value)),
                Followed::GaveUp(gave_up) => {
                    this.stage.set(Stage::Over);
                    return Poll::Ready(Err(gave_up));
                }
                Followed::Retry => {
                    this.stage.set(Stage::Waiting { yielded: false });
                    turn = Turn::Polled;
                }
            }
        }
    }
}

impl<F, Fut, T, E, C> RetryProjection<'_, '_, F, Fut, T, E, C>
where
    F: FnMut(Attempt) -> Fut,
    Fut: Future<Output = Result<T, E>>,
    C: Classifier<T, E>,
{
    /// Polls what the call is at.
    fn poll_stage(&mut self, context: &mut Context<'_>) -> Poll<Turn<E, T>> {
        if let StageProjection::Waiting { yielded } = self.stage.as_mut().project() {
            ready!(wait(self.progress, yielded, context));
            self.stage.set(Stage::Starting);
        }
        if let StageProjection::Starting = self.stage.as_mut().project() {
            match ready!(start(self.progress, context)) {
                Ok(attempt) => {
                    let entered = Entered::new(self.progress.scope());
                    let attempt = (self.operation)(attempt);
                    self.stage.set(Stage::Running { attempt });
                    // The closure itself may have heard from a layer below.
                    self.progress.hear(entered.leave());
                }
                Err(gave_up) => return Poll::Ready(Turn::Halted(Some(gave_up))),
            }
        }
        match self.stage.as_mut().project() {
            StageProjection::Running { attempt } => {
                self.progress.is_running(true);
                let entered = Entered::new(self.progress.scope());
                let polled = attempt.poll(context);
                let inside = entered.leave();
                let Poll::Ready(result) = polled else {
                    return Poll::Ready(Turn::Pending(inside));
                };
                Poll::Ready(match (self.classifier.verdict(result.as_ref()), result) {
                    (Verdict::Success, Ok(value)) => Turn::Success(value),
                    (verdict, result) => Turn::Failed(Failed::primary(inside, verdict, result)),
                })
            }
            StageProjection::Hedged => Poll::Ready(Turn::Pending(Scope::NONE)),
            // Polled after it was ready, which a future may answer as it likes.
            _ => Poll::Pending,
        }
    }
}

/// The delay before the next attempt. A zero delay yields to the executor once and touches no
/// timer.
fn wait<E, T>(
    progress: &mut Progress<'_, E, T>,
    yielded: &mut bool,
    context: &mut Context<'_>,
) -> Poll<()> {
    let course = progress.course();
    if !course.delay().is_zero() {
        let ends = course.wait_ends();
        return course.poll_timer(ends, context);
    }
    if core::mem::replace(yielded, true) {
        return Poll::Ready(());
    }
    context.waker().wake_by_ref();
    Poll::Pending
}

/// What the guards say to the next attempt.
fn start<E, T>(
    progress: &mut Progress<'_, E, T>,
    context: &mut Context<'_>,
) -> Poll<Result<Attempt, GaveUp<E, T>>> {
    loop {
        match progress.poll_start(context.waker()) {
            Ok(Start::Go(attempt)) => return Poll::Ready(Ok(attempt)),
            Ok(Start::Wait(Instant::NEVER)) => return Poll::Pending,
            Ok(Start::Wait(until)) => ready!(progress.course().poll_timer(until, context)),
            Err(gave_up) => return Poll::Ready(Err(gave_up)),
        }
    }
}
