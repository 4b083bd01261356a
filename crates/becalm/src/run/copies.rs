//! Which futures of one call run? One in its place, and hedges beside it.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use super::core::Core;
use super::engine::Engine;
use super::gave_up::GaveUp;
use crate::attempt::Attempt;
use crate::call::FirstTry;
use crate::classify::Judge;
use crate::rare::Rare;

pin_project_lite::pin_project! {
    /// The futures of the attempts of one call: the first lies here, hedges in boxes. No allocation
    /// without a hedge.
    #[project = CopiesProjection]
    #[derive(Debug)]
    pub struct Copies<Fut> {
        #[pin]
        place: Place<Fut>,
        // Of the future in its place: `None` is the first attempt of a plain call. Beside the place, so
        // that a future moves there by itself: what is moved with it costs each success.
        attempt: Option<Attempt>,
        // One word, for the calls without a hedge.
        hedges: Rare<Box<Hedges<Fut>>>,
    }
}

type Hedges<Fut> = Vec<(Attempt, Pin<Box<Fut>>)>;

pin_project_lite::pin_project! {
    #[project = PlaceProjection]
    #[derive(Debug)]
    enum Place<Fut> {
        Free,
        Taken { #[pin] future: Fut },
    }
}

impl<Fut> Copies<Fut> {
    /// None yet.
    #[inline]
    pub const fn none() -> Self {
        Self {
            place: Place::Free,
            attempt: None,
            hedges: Rare::NONE,
        }
    }

    /// Adds the future of this attempt.
    #[inline]
    pub fn start(self: Pin<&mut Self>, attempt: Attempt, future: Fut) {
        let mut this = self.project();
        if let Place::Free = *this.place {
            *this.attempt = Some(attempt);
            this.place.set(Place::Taken { future });
        } else {
            this.add_hedge(attempt, future);
        }
    }

    /// Adds the future of the only attempt that runs: `None` is the first of a plain call.
    #[inline]
    pub(super) fn start_first(
        self: Pin<&mut Self>,
        attempt: Option<Attempt>,
        start: impl FnOnce() -> Fut,
    ) {
        let mut this = self.project();
        *this.attempt = attempt;
        let future = start();
        this.place.set(Place::Taken { future });
    }

    /// Whether no future is in its place.
    #[inline]
    pub(super) const fn are_none(&self) -> bool {
        matches!(self.place, Place::Free)
    }

    /// Notes which attempt the first one is, where that is asked no more than once: a success does without.
    #[inline]
    pub(super) fn note_first(self: Pin<&mut Self>, attempt: Attempt) {
        *self.project().attempt = Some(attempt);
    }

    /// Drops the future of the attempt of this number.
    pub fn cut(self: Pin<&mut Self>, number: u32) {
        let mut this = self.project();
        let is_taken = matches!(*this.place, Place::Taken { .. });
        if is_taken && or_plain(*this.attempt).number() == number {
            this.place.set(Place::Free);
            return;
        }
        if let Some(hedges) = this.hedges.as_mut() {
            hedges.retain(|(attempt, _)| attempt.number() != number);
        }
    }

    /// Drops all of them.
    #[inline]
    pub fn clear(self: Pin<&mut Self>) {
        let mut this = self.project();
        this.place.set(Place::Free);
        // Looked at first: what drops hedges is out of line and saves registers, for each success.
        if this.hedges.is_some() {
            *this.hedges = Rare::NONE;
        }
    }
}

fn or_plain(attempt: Option<Attempt>) -> Attempt {
    attempt.unwrap_or(FirstTry::plain_attempt())
}

impl<Fut> CopiesProjection<'_, Fut> {
    #[cold]
    #[inline(never)]
    fn add_hedge(&mut self, attempt: Attempt, future: Fut) {
        let hedges = self.hedges.get_or_insert_default();
        hedges.push((attempt, Box::pin(future)));
    }
}

impl<Fut, T, E> Copies<Fut>
where
    Fut: Future<Output = Result<T, E>>,
{
    /// Does what every driver of futures does, up to the end of the call: runs the attempts as the
    /// engine says, each made by `start`, and tells it what came of them.
    ///
    /// `last` keeps the last error from one poll to the next: `None` at first.
    ///
    /// # Errors
    ///
    /// The call is over, without success.
    pub fn poll_call<H: AsRef<Core> + Clone, C: Judge<E>>(
        self: Pin<&mut Self>,
        engine: &mut Engine<H>,
        classifier: &C,
        last: &mut Option<E>,
        context: &mut Context<'_>,
        start: impl FnMut(Attempt) -> Fut,
    ) -> Poll<Result<T, GaveUp<C::Error>>> {
        let poll = |_, future: Pin<&mut Fut>, context: &mut Context<'_>| future.poll(context);
        self.poll_call_by(engine, classifier, last, context, start, poll)
    }
}

impl<Fut> Copies<Fut> {
    /// As [`poll_call`](Self::poll_call), where the driver polls what runs as an attempt.
    pub(super) fn poll_call_by<T, E, H: AsRef<Core> + Clone, C: Judge<E>>(
        mut self: Pin<&mut Self>,
        engine: &mut Engine<H>,
        classifier: &C,
        last: &mut Option<E>,
        context: &mut Context<'_>,
        mut start: impl FnMut(Attempt) -> Fut,
        mut poll: impl FnMut(Attempt, Pin<&mut Fut>, &mut Context<'_>) -> Poll<Result<T, E>>,
    ) -> Poll<Result<T, GaveUp<C::Error>>> {
        let mut polled = core::mem::take(&mut engine.polled);
        loop {
            match self.as_mut().poll_after(polled, engine, context, &mut poll) {
                Some((attempt, Ok(value))) => {
                    self.clear();
                    engine.succeeded(attempt.number());
                    return Poll::Ready(Ok(value));
                }
                Some((attempt, Err(error))) => {
                    polled = 0;
                    engine.failed_with(attempt, classifier, &error);
                    if !engine.keeps_earlier_error() {
                        *last = Some(error);
                    }
                    continue;
                }
                None => (),
            }
            let cut = &mut |number| self.as_mut().cut(number);
            match ready!(engine.poll_attempt(context, cut)) {
                Ok(attempt) => {
                    let future = engine.inside(attempt.number(), || start(attempt));
                    self.as_mut().start(attempt, future);
                    polled = attempt.number() - 1;
                }
                Err(stopped) => {
                    return Poll::Ready(Err(stopped.keep(classifier, last.take())));
                }
            }
        }
    }

    /// Polls those alone that began after the attempt of this number.
    fn poll_after<R, H: AsRef<Core> + Clone>(
        self: Pin<&mut Self>,
        polled: u32,
        engine: &mut Engine<H>,
        context: &mut Context<'_>,
        poll: &mut impl FnMut(Attempt, Pin<&mut Fut>, &mut Context<'_>) -> Poll<R>,
    ) -> Option<(Attempt, R)> {
        let mut this = self.project();
        if let PlaceProjection::Taken { future } = this.place.as_mut().project() {
            let attempt = or_plain(*this.attempt);
            if attempt.number() > polled {
                let ended = engine.inside(attempt.number(), || poll(attempt, future, context));
                if let Poll::Ready(output) = ended {
                    this.place.set(Place::Free);
                    return Some((attempt, output));
                }
            }
        }
        let hedges = this.hedges.as_mut()?;
        for at in 0..hedges.len() {
            let (attempt, future) = &mut hedges[at];
            let attempt = *attempt;
            if attempt.number() <= polled {
                continue;
            }
            let run = || poll(attempt, future.as_mut(), context);
            let polled = engine.inside(attempt.number(), run);
            if let Poll::Ready(output) = polled {
                hedges.swap_remove(at);
                return Some((attempt, output));
            }
        }
        None
    }

    /// Polls the one in its place, whose scope is entered already.
    #[inline]
    pub(super) fn poll_first(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Fut::Output>
    where
        Fut: Future,
    {
        match self.project().place.project() {
            PlaceProjection::Taken { future } => future.poll(context),
            PlaceProjection::Free => Poll::Pending,
        }
    }

    /// Polls the first future by the driver's own function.
    #[inline]
    pub(super) fn poll_first_by<R>(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        poll: &mut impl FnMut(Attempt, Pin<&mut Fut>, &mut Context<'_>) -> Poll<R>,
    ) -> Poll<R> {
        let this = self.project();
        match this.place.project() {
            PlaceProjection::Taken { future } => poll(or_plain(*this.attempt), future, context),
            PlaceProjection::Free => Poll::Pending,
        }
    }
}
