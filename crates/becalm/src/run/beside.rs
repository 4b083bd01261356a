//! What happens beside an attempt that is pending? Time limits, hedges, their outcomes.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use super::course::{Alarm, Next};
use super::gave_up::{GaveUp, Outcome};
use super::hedges::{Ended, Hedges};
use super::progress::Progress;
use super::retry::Stage;
use crate::call::{Attempt, TIMED_OUT};
use crate::classify::{Classifier, Failure, Verdict};
use crate::scope::{Entered, Scope};

/// What follows the attempts under way.
pub(super) enum Followed<E, T> {
    Success(T),
    GaveUp(GaveUp<E, T>),
    /// Another attempt, after a wait.
    Retry,
}

/// A failed attempt.
pub(super) struct Failed<E, T> {
    /// `None` for the attempt that the last decision started.
    pub number: Option<u32>,
    /// What its scope has become.
    pub inside: Scope,
    pub failure: Failure,
    pub outcome: Outcome<E, T>,
}

impl<E, T> Failed<E, T> {
    /// The attempt that the last decision started has failed with this.
    #[inline]
    pub fn primary(inside: Scope, verdict: Verdict, result: Result<T, E>) -> Self {
        Self {
            number: None,
            inside,
            failure: verdict.into_failure(),
            outcome: result.map_or_else(Outcome::Error, Outcome::Value),
        }
    }
}

/// Polls what is beside the attempt, up to what follows.
#[cold]
pub(super) fn poll<F, Fut, T, E, C>(
    progress: &mut Progress<'_, E, T>,
    operation: &mut F,
    classifier: &C,
    mut stage: Pin<&mut Stage<Fut>>,
    hedges: &mut Hedges<Fut>,
    context: &mut Context<'_>,
) -> Poll<Followed<E, T>>
where
    F: FnMut(Attempt) -> Fut,
    Fut: Future<Output = Result<T, E>>,
    C: Classifier<T, E>,
{
    loop {
        if let Some(ended) = poll_hedges(progress, hedges, context) {
            let Ended {
                number,
                inside,
                output,
            } = ended;
            let followed = match (classifier.verdict(output.as_ref()), output) {
                (Verdict::Success, Ok(value)) => {
                    // The losers are cancelled before anybody is told.
                    end(stage.as_mut(), hedges);
                    progress.won(number);
                    return Poll::Ready(Followed::Success(value));
                }
                (verdict, output) => settle(
                    progress,
                    stage.as_mut(),
                    hedges,
                    Failed {
                        number: Some(number),
                        inside,
                        failure: verdict.into_failure(),
                        outcome: output.map_or_else(Outcome::Error, Outcome::Value),
                    },
                ),
            };
            match followed {
                Some(followed) => return Poll::Ready(followed),
                None => continue,
            }
        }
        let Some((at, alarm)) = progress.alarm() else {
            return Poll::Pending;
        };
        ready!(progress.course().poll_timer(at, context));
        match alarm {
            Alarm::Deadline => {
                // What the attempts hold is returned before anybody is told.
                end(stage.as_mut(), hedges);
                return Poll::Ready(Followed::GaveUp(progress.cut()));
            }
            Alarm::Timeout(number) => {
                let timed_out = Failed {
                    number: Some(number),
                    inside: progress.scope_of(number),
                    failure: TIMED_OUT,
                    outcome: Outcome::TimedOut,
                };
                if let Some(followed) = settle(progress, stage.as_mut(), hedges, timed_out) {
                    return Poll::Ready(followed);
                }
            }
            Alarm::Hedge => start_hedge(progress, operation, hedges),
        }
    }
}

/// Ends a failed attempt, and the others with it where nothing can follow but a decision. `None`
/// where another copy may still bring the success.
#[cold]
pub(super) fn settle<Fut, T, E>(
    progress: &mut Progress<'_, E, T>,
    mut stage: Pin<&mut Stage<Fut>>,
    hedges: &mut Hedges<Fut>,
    failed: Failed<E, T>,
) -> Option<Followed<E, T>> {
    let primary = progress.course().primary();
    let number = failed.number.unwrap_or(primary);
    let Failed {
        inside,
        failure,
        outcome,
        ..
    } = failed;
    if progress.is_final(number, inside, &failure) {
        end(stage, hedges);
    } else {
        hedges.remove(number);
        if number == primary {
            stage.set(Stage::Hedged);
        }
    }
    match progress.failed_of(number, inside, failure, outcome) {
        Ok(Next::Retry(_)) => Some(Followed::Retry),
        Ok(Next::AwaitOthers) => None,
        Err(gave_up) => Some(Followed::GaveUp(gave_up)),
    }
}

/// Drops all attempts that are under way.
fn end<Fut>(mut stage: Pin<&mut Stage<Fut>>, hedges: &mut Hedges<Fut>) {
    stage.set(Stage::Over);
    hedges.clear();
}

fn poll_hedges<Fut, T, E>(
    progress: &mut Progress<'_, E, T>,
    hedges: &mut Hedges<Fut>,
    context: &mut Context<'_>,
) -> Option<Ended<Result<T, E>>>
where
    Fut: Future<Output = Result<T, E>>,
{
    if hedges.are_none() {
        return None;
    }
    // What one copy has heard holds for all.
    let mut heard: Option<Scope> = None;
    let ended = hedges.poll(
        |number| {
            progress.is_running_hedge(number);
            progress.scope_of(number)
        },
        |inside| {
            if !heard.is_some_and(Scope::is_retry_forbidden) {
                heard = Some(inside);
            }
        },
        context,
    );
    progress.is_running(false);
    if let Some(heard) = heard {
        progress.hear(heard);
    }
    ended
}

/// Starts the hedge that is due; it is polled right after.
fn start_hedge<F, Fut, T, E>(
    progress: &mut Progress<'_, E, T>,
    operation: &mut F,
    hedges: &mut Hedges<Fut>,
) where
    F: FnMut(Attempt) -> Fut,
{
    let Some(attempt) = progress.start_hedge() else {
        return;
    };
    let entered = Entered::new(progress.scope_of(attempt.number()));
    progress.is_running_hedge(attempt.number());
    let future = operation(attempt);
    progress.is_running(false);
    // The closure itself may have heard from a layer below.
    progress.hear(entered.leave());
    hedges.push(attempt.number(), future);
}
