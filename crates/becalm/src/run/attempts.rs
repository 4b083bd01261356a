//! What does a driver of futures hold that owns its retrier? The attempts of one call, and an engine only where the first
//! of them is no success at once.

use core::fmt;
use core::mem;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::Mutex;

use super::copies::Copies;
use super::core::Core;
use super::engine::{Engine, EngineBuilder};
use super::gave_up::GaveUp;
use super::sans_io::FirstAttempt;
use crate::attempt::Attempt;
use crate::classify::Judge;
use crate::scope::{Entered, Scope};
use crate::time::{Instant, Sleep};

pin_project_lite::pin_project! {
    /// The attempts of one call, for a driver such as a layer: see [`poll_call`](Self::poll_call).
    ///
    /// `Fut` is what runs as an attempt, and `E` what a failed one ends with. A call that succeeds at its first attempt makes
    /// no engine, unless a guard makes it wait, or something else than its time limits may want to wake it: a hedge, a cancellation, news
    /// of a layer below. All of what is rare is in one box.
    pub struct Attempts<H, Fut, E>
    where
        H: AsRef<Core>,
        H: Clone,
    {
        // Dropped first: what attempts hold is back before anybody is told.
        #[pin]
        copies: Copies<Fut>,
        stage: Stage<H, E>,
        // What cuts the first attempt, once that has been pending.
        timer: Option<Sleep>,
    }
}

enum Stage<H: AsRef<Core> + Clone, E> {
    New(EngineBuilder<H>),
    /// The first attempt pends, and nothing can happen but its end.
    First(FirstAttempt<H>),
    Driven(Box<Driven<H, E>>),
    Over,
}

struct Driven<H: AsRef<Core>, E> {
    engine: Engine<H>,
    last: Option<E>,
}

impl<H: AsRef<Core> + Clone, E> Stage<H, E> {
    fn driven(engine: Engine<H>, last: Option<E>) -> Self {
        Self::Driven(Box::new(Driven { engine, last }))
    }
}

impl<H: AsRef<Core> + Clone, Fut, E> Attempts<H, Fut, E> {
    /// Of the call that this builds. It begins with the first poll.
    pub const fn new(builder: EngineBuilder<H>) -> Self {
        Self {
            copies: Copies::none(),
            stage: Stage::New(builder),
            timer: None,
        }
    }

    /// The engine, if there is one.
    pub fn engine(&self) -> Option<&Engine<H>> {
        match &self.stage {
            Stage::Driven(driven) => Some(&driven.engine),
            _ => None,
        }
    }

    /// The error of the attempt that has failed, while another follows or runs.
    pub fn last(self: Pin<&mut Self>) -> Option<&mut E> {
        match self.project().stage {
            Stage::Driven(driven) => driven.last.as_mut(),
            _ => None,
        }
    }

    /// Does what every driver of futures does, up to the end of the call: runs the attempts, each made by `start` and
    /// polled by `poll`, as the policy says. Both run in the scope of the attempt.
    ///
    /// # Errors
    ///
    /// The call is over, without success.
    #[inline]
    pub fn poll_call<T, C: Judge<E>>(
        mut self: Pin<&mut Self>,
        classifier: &C,
        context: &mut Context<'_>,
        mut start: impl FnMut(Attempt) -> Fut,
        mut poll: impl FnMut(Attempt, Pin<&mut Fut>, &mut Context<'_>) -> Poll<Result<T, E>>,
    ) -> Poll<Result<T, GaveUp<C::Error>>> {
        let mut this = self.as_mut().project();
        let mut first = match mem::replace(this.stage, Stage::Over) {
            Stage::New(builder) => match builder.first_attempt() {
                Ok(first) => first,
                Err(engine) => {
                    *this.stage = Stage::driven(*engine, None);
                    return self.drive(classifier, context, start, poll);
                }
            },
            Stage::First(first) => first.resumed(),
            driven @ Stage::Driven(_) => {
                *this.stage = driven;
                return self.drive(classifier, context, start, poll);
            }
            // Polled after it was ready, which a future may answer as it likes.
            Stage::Over => return Poll::Pending,
        };
        let entered = Entered::new(first.scope());
        if this.copies.are_none() {
            let attempt = first.attempt();
            let copies = this.copies.as_mut();
            copies.start_first(Some(attempt), || start(attempt));
        }
        let polled = this.copies.as_mut().poll_first_by(context, &mut poll);
        let inside = entered.leave();
        first.is_parked = true;
        // Before the value is moved, which is the dearest of a success: so it is moved once.
        if let Poll::Ready(Ok(_)) = polled {
            this.copies.as_mut().clear();
            first.succeed();
        }
        let driven = match polled {
            Poll::Ready(Ok(value)) => return Poll::Ready(Ok(value)),
            Poll::Pending => {
                let ends = first.ends();
                if !first.is_watched(inside) && !rings(this.timer, ends, &first, context) {
                    *this.stage = Stage::First(first);
                    return Poll::Pending;
                }
                let mut engine = first.into_engine(inside);
                engine.polled = 1;
                engine.timer = this.timer.take().map(|timer| (ends, Mutex::new(timer)));
                Stage::driven(engine, None)
            }
            Poll::Ready(Err(error)) => {
                this.copies.as_mut().clear();
                match failed(first, inside, classifier, error) {
                    Ok(driven) => driven,
                    Err(gave_up) => return Poll::Ready(Err(gave_up)),
                }
            }
        };
        *this.stage = driven;
        self.drive(classifier, context, start, poll)
    }

    /// Runs attempts as the engine says.
    #[inline(never)]
    fn drive<T, C: Judge<E>>(
        self: Pin<&mut Self>,
        classifier: &C,
        context: &mut Context<'_>,
        start: impl FnMut(Attempt) -> Fut,
        poll: impl FnMut(Attempt, Pin<&mut Fut>, &mut Context<'_>) -> Poll<Result<T, E>>,
    ) -> Poll<Result<T, GaveUp<C::Error>>> {
        let this = self.project();
        let Stage::Driven(driven) = this.stage else {
            return Poll::Pending;
        };
        let Driven { engine, last } = &mut **driven;
        let copies = this.copies;
        let ended = copies.poll_call_by(engine, classifier, last, context, start, poll);
        if ended.is_ready() {
            *this.stage = Stage::Over;
        }
        ended
    }
}

/// Whether the time of a first attempt that pends is up.
fn rings<H: AsRef<Core> + Clone>(
    timer: &mut Option<Sleep>,
    ends: Instant,
    first: &FirstAttempt<H>,
    context: &mut Context<'_>,
) -> bool {
    if ends == Instant::NEVER {
        return false;
    }
    let sleep = timer.get_or_insert_with(|| first.sleeper().sleep_until(ends));
    let has_come = sleep.as_mut().poll(context).is_ready();
    if has_come {
        // The engine asks it again, which not every timer likes.
        *timer = Some(Box::pin(core::future::ready(())));
    }
    has_come
}

/// The first attempt has failed: the engine of what follows, or the end.
#[cold]
#[inline(never)]
fn failed<H: AsRef<Core> + Clone, E, C: Judge<E>>(
    mut first: FirstAttempt<H>,
    inside: Scope,
    classifier: &C,
    error: E,
) -> Result<Stage<H, E>, GaveUp<C::Error>> {
    let (failure, shown) = classifier.judge(first.attempt(), &error);
    if let Some(stopped) = first.stops(&failure, inside) {
        return Err(stopped.keep(classifier, Some(error)));
    }
    let mut engine = first.into_engine(inside);
    engine.failed(1, failure, Some(shown));
    if let Some(stopped) = engine.take_stopped() {
        return Err(stopped.keep(classifier, Some(error)));
    }
    Ok(Stage::driven(engine, Some(error)))
}

/// What it was made of is private: only where it stands is shown.
impl<H: AsRef<Core> + Clone, Fut, E> fmt::Debug for Attempts<H, Fut, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let engine = self.engine();
        f.debug_struct("Attempts")
            .field("engine", &engine)
            .finish_non_exhaustive()
    }
}
