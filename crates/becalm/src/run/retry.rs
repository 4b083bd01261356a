//! How is an async operation retried? A future that polls it, and waits.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use super::again::Again;
use super::copies::Copies;
use super::core::Core;
use super::engine::Engine;
use super::first_attempt::{Executing, Settings, plain, quick};
use super::gave_up::GaveUp;
use super::options::call_options;
use crate::attempt::Attempt;
use crate::call::FirstTry;
use crate::classify::{ByError, Failure, Judge};
use crate::rare::Rare;
use crate::scope::{Entered, Scope};

pin_project_lite::pin_project! {
    /// The future of [`Retrier::retry`](super::Retrier::retry): set options, then await it.
    #[must_use = "futures do nothing unless polled"]
    pub struct Retry<'r, F, Fut, E, C> {
        operation: F,
        classifier: C,
        // Dropped first: what attempts hold is back before anybody is told.
        #[pin]
        copies: Copies<Fut>,
        error: Option<E>,
        core: &'r Core,
        stage: Stage<'r>,
    }
}

enum Stage<'r> {
    New(Option<Settings>),
    /// The first attempt of a plain call pends.
    Plain,
    Driven(Rare<Driven<'r>>),
    Over,
}

/// What drives a call that has not succeeded at once.
enum Driven<'r> {
    /// The first attempt of a plain call has failed, and another follows.
    Again(Box<Again<'r>>),
    Engine(Box<Engine<&'r Core>>),
}

impl<'r> Stage<'r> {
    fn driven(&mut self) -> Option<&mut Driven<'r>> {
        match self {
            Self::Driven(driven) => driven.as_mut(),
            _ => None,
        }
    }
}

impl<'r, F, Fut, E, C> Retry<'r, F, Fut, E, C> {
    #[inline]
    pub(super) fn new(core: &'r Core, operation: F, classifier: C) -> Self {
        Self::with(core, None, operation, classifier)
    }

    #[inline]
    fn with(core: &'r Core, settings: Option<Settings>, operation: F, classifier: C) -> Self {
        Self {
            operation,
            classifier,
            copies: Copies::none(),
            error: None,
            core,
            stage: Stage::New(settings),
        }
    }

    call_options!();

    fn set(&mut self, change: impl FnOnce(&mut Settings)) {
        if let Stage::New(settings) = &mut self.stage {
            change(settings.get_or_insert_default());
        }
    }

    /// Sets a named classifier for this call: for errors of other crates.
    pub fn classify_by<D>(self, classifier: D) -> Retry<'r, F, Fut, E, D> {
        let settings = match self.stage {
            Stage::New(settings) => settings,
            _ => None,
        };
        Retry::with(self.core, settings, self.operation, classifier)
    }

    /// Sets the classifier of this call: the closure says what each error means for a retry.
    pub fn classify_with<D>(self, classifier: D) -> Retry<'r, F, Fut, E, ByError<D>>
    where
        D: Fn(Attempt, &E) -> Failure,
    {
        self.classify_by(ByError(classifier))
    }
}

impl<F, Fut, T, E, C> Future for Retry<'_, F, Fut, E, C>
where
    F: FnMut(Attempt) -> Fut,
    Fut: Future<Output = Result<T, E>>,
    C: Judge<E>,
{
    type Output = Result<T, GaveUp<C::Error>>;

    /// A plain call that succeeds at once is all in here, so that it inlines into the caller;
    /// everything else is out of line.
    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.as_mut().project();
        if let Stage::New(None) = this.stage {
            if let Some(entered) = plain::enter(this.core) {
                // It held nothing, which saves looking what there is to drop.
                core::mem::forget(core::mem::replace(this.stage, Stage::Over));
                let start = || (this.operation)(FirstTry::plain_attempt());
                this.copies.as_mut().start_first(None, start);
                return self.run_plain(entered, context);
            }
            if let Some(polled) = self.as_mut().run_quick(context) {
                return polled;
            }
        }
        self.proceed(context)
    }
}

impl<'r, F, Fut, T, E, C> Retry<'r, F, Fut, E, C>
where
    F: FnMut(Attempt) -> Fut,
    Fut: Future<Output = Result<T, E>>,
    C: Judge<E>,
{
    /// Polls the first attempt of a plain call, whose stage is over unless this goes on.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "out of line, what is entered goes through memory: a success takes 20 ns more"
    )]
    fn run_plain(
        mut self: Pin<&mut Self>,
        entered: Entered,
        context: &mut Context<'_>,
    ) -> Poll<<Self as Future>::Output> {
        let mut this = self.as_mut().project();
        let polled = this.copies.as_mut().poll_first(context);
        let inside = entered.leave();
        match polled {
            Poll::Ready(Ok(value)) => {
                this.copies.clear();
                plain::succeeded(this.core);
                Poll::Ready(Ok(value))
            }
            Poll::Ready(Err(error)) => self.plain_failed(error, inside, context),
            Poll::Pending => self.plain_pends(inside, context),
        }
    }

    /// Polls the first attempt of a quick call that sets nothing for itself.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "out of line, what it begins with goes through memory: a tenth of a success with a deadline"
    )]
    fn run_quick(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Option<Poll<<Self as Future>::Output>> {
        let (entered, first) = quick::enter(self.core, None)?;
        Some(self.run_entered(entered, first, None, context))
    }

    /// Polls the first attempt of a quick call, whose stage is over unless this goes on.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "see `run_plain`")]
    fn run_entered(
        mut self: Pin<&mut Self>,
        entered: Entered,
        first: FirstTry,
        settings: Option<Settings>,
        context: &mut Context<'_>,
    ) -> Poll<<Self as Future>::Output> {
        let mut this = self.as_mut().project();
        core::mem::forget(core::mem::replace(this.stage, Stage::Over));
        let attempt = first.attempt(settings.as_ref().map(|settings| &settings.options));
        let start = || (this.operation)(attempt);
        this.copies.as_mut().start_first(None, start);
        let polled = this.copies.as_mut().poll_first(context);
        let inside = entered.leave();
        if let Poll::Ready(Ok(value)) = polled {
            this.copies.clear();
            plain::succeeded(this.core);
            return Poll::Ready(Ok(value));
        }
        this.copies.note_first(attempt);
        let engine = quick::hand_over(this.core, first, settings, inside);
        self.first_ended(engine, attempt, polled, context)
    }

    #[cold]
    #[inline(never)]
    fn plain_pends(
        mut self: Pin<&mut Self>,
        inside: Scope,
        context: &mut Context<'_>,
    ) -> Poll<<Self as Future>::Output> {
        let this = self.as_mut().project();
        if !inside.has_news() {
            *this.stage = Stage::Plain;
            return Poll::Pending;
        }
        let mut engine = plain::hand_over(*this.core);
        engine.returned(inside);
        self.first_pends(engine, FirstTry::plain_attempt(), context)
    }

    #[cold]
    #[inline(never)]
    fn plain_failed(
        mut self: Pin<&mut Self>,
        error: E,
        inside: Scope,
        context: &mut Context<'_>,
    ) -> Poll<<Self as Future>::Output> {
        let mut this = self.as_mut().project();
        this.copies.as_mut().clear();
        let attempt = FirstTry::plain_attempt();
        let (failure, shown) = this.classifier.judge(attempt, &error);
        match Again::decide(this.core, &failure, inside) {
            Some(Ok(again)) => {
                *this.error = Some(error);
                *this.stage = Stage::Driven(Rare::some(Driven::Again(again)));
                return self.run_again(context);
            }
            Some(Err(stopped)) => {
                return Poll::Ready(Err(stopped.keep(this.classifier, Some(error))));
            }
            None => (),
        }
        let mut engine = plain::hand_over(*this.core);
        engine.returned(inside);
        engine.failed(attempt.number(), failure, Some(shown));
        self.first_failed(engine, error, context)
    }

    #[inline(never)]
    fn proceed(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<<Self as Future>::Output> {
        let this = self.as_mut().project();
        match this.stage {
            Stage::New(settings) => {
                let settings = settings.take();
                *this.stage = Stage::Over;
                self.begin(settings, context)
            }
            Stage::Plain => {
                *this.stage = Stage::Over;
                let entered = plain::enter_again(this.core);
                self.run_plain(entered, context)
            }
            Stage::Driven(_) => match this.stage.driven() {
                Some(Driven::Again(_)) => self.run_again(context),
                _ => self.drive(context),
            },
            // Polled after it was ready, which a future may answer as it likes.
            Stage::Over => Poll::Pending,
        }
    }

    /// Goes on with a plain call whose first attempt has failed.
    fn run_again(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<<Self as Future>::Output> {
        let mut this = self.as_mut().project();
        let Some(Driven::Again(again)) = this.stage.driven() else {
            return Poll::Pending;
        };
        let begins = !again.is_running();
        let entered = ready!(again.poll_enter(context));
        let Some(entered) = entered else {
            let engine = again.engine();
            return engine.map_or(Poll::Pending, |engine| self.go_on(engine, context));
        };
        let attempt = again.attempt();
        // Not where there is no future: its drop may have panicked, and the operation runs once.
        if begins {
            let start = || (this.operation)(attempt);
            this.copies.as_mut().start_first(Some(attempt), start);
        }
        let polled = this.copies.as_mut().poll_first(context);
        let inside = again.leave(entered);
        match polled {
            Poll::Ready(Ok(value)) => {
                this.copies.clear();
                again.succeeded();
                *this.stage = Stage::Over;
                Poll::Ready(Ok(value))
            }
            Poll::Pending if !inside.has_news() => Poll::Pending,
            polled => {
                let Some(mut engine) = again.engine() else {
                    return Poll::Pending;
                };
                engine.returned(inside);
                self.first_ended(engine, attempt, polled, context)
            }
        }
    }

    /// Begins a call that is not plain.
    fn begin(
        mut self: Pin<&mut Self>,
        settings: Option<Settings>,
        context: &mut Context<'_>,
    ) -> Poll<<Self as Future>::Output> {
        let mut this = self.as_mut().project();
        if settings.is_some() {
            if let Some((entered, first)) = quick::enter(this.core, settings.as_ref()) {
                return self.run_entered(entered, first, settings, context);
            }
        }
        let mut first = Executing::new(this.core, settings);
        if let Some(engine) = first.begin() {
            return self.go_on(engine, context);
        }
        let attempt = first.attempt();
        let entered = first.enter();
        let start = || (this.operation)(attempt);
        this.copies.as_mut().start_first(Some(attempt), start);
        let polled = this.copies.as_mut().poll_first(context);
        let inside = entered.leave();
        if let Poll::Ready(Ok(value)) = polled {
            this.copies.clear();
            first.succeeded();
            return Poll::Ready(Ok(value));
        }
        let engine = first.hand_over(inside);
        self.first_ended(engine, attempt, polled, context)
    }

    /// The only attempt that runs has not succeeded at once.
    #[cold]
    #[inline(never)]
    fn first_ended(
        mut self: Pin<&mut Self>,
        mut engine: Engine<&'r Core>,
        attempt: Attempt,
        polled: Poll<Result<T, E>>,
        context: &mut Context<'_>,
    ) -> Poll<<Self as Future>::Output> {
        let Poll::Ready(Err(error)) = polled else {
            return self.first_pends(engine, attempt, context);
        };
        let mut this = self.as_mut().project();
        this.copies.as_mut().clear();
        engine.failed_with(attempt, this.classifier, &error);
        self.first_failed(engine, error, context)
    }

    /// The only attempt that runs pends beside what an engine looks after.
    fn first_pends(
        self: Pin<&mut Self>,
        mut engine: Engine<&'r Core>,
        attempt: Attempt,
        context: &mut Context<'_>,
    ) -> Poll<<Self as Future>::Output> {
        engine.polled = attempt.number();
        self.go_on(engine, context)
    }

    /// The only attempt that ran has failed, and the engine knows. It is boxed only where it goes on.
    #[cold]
    #[inline(never)]
    fn first_failed(
        mut self: Pin<&mut Self>,
        mut engine: Engine<&'r Core>,
        error: E,
        context: &mut Context<'_>,
    ) -> Poll<<Self as Future>::Output> {
        let this = self.as_mut().project();
        if let Some(stopped) = engine.take_stopped() {
            *this.stage = Stage::Over;
            return Poll::Ready(Err(stopped.keep(this.classifier, Some(error))));
        }
        *this.error = Some(error);
        self.go_on(engine, context)
    }

    /// This engine drives what follows.
    fn go_on(
        mut self: Pin<&mut Self>,
        engine: Engine<&'r Core>,
        context: &mut Context<'_>,
    ) -> Poll<<Self as Future>::Output> {
        let engine = Driven::Engine(Box::new(engine));
        *self.as_mut().project().stage = Stage::Driven(Rare::some(engine));
        self.drive(context)
    }

    /// Runs attempts as the engine says.
    fn drive(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<<Self as Future>::Output> {
        let this = self.project();
        let Some(Driven::Engine(engine)) = this.stage.driven() else {
            return Poll::Pending;
        };
        let (copies, last) = (this.copies, this.error);
        let ended = copies.poll_call(engine, this.classifier, last, context, this.operation);
        if ended.is_ready() {
            *this.stage = Stage::Over;
        }
        ended
    }
}
