//! What is left when a call gives up? The reason and the record, and the last error.

mod sentence;

use core::fmt;
use core::time::Duration;

use crate::causes::causes;
use crate::classify::{Cause, Class, Classify, Effect, Failure, FailureKind, Judge, Rejected};
use crate::hint::Hint;
use crate::stop::StopReason;
use crate::time::Instant;

/// The error of a call that ended without success: the reason, the attempts, and the last error.
///
/// `E` is the operation's error, or [`Rejected`](crate::classify::Rejected) where an `Ok` may mean failure.
/// `Display` is one sentence. `source` goes on where that ends: it is the first cause below the last error that the sentence
/// does not say, so that a chain such as `{:#}` of anyhow says each once. [`with_causes`](Self::with_causes) puts all of them
/// into the sentence, as becalm's drivers do; the last error itself is [`error`](Self::error).
///
/// ```
/// use becalm::{Policy, time::FakeSleeper};
/// let orders = Policy::default().builder().sleeper(FakeSleeper::auto()).build()?;
/// let gave_up = orders
///     .retry_blocking(|_| Err::<(), _>(std::io::Error::from(std::io::ErrorKind::NotFound)))
///     .unwrap_err();
/// assert_eq!(
///     gave_up.to_string(),
///     "gave up after 1 attempt because the failure is permanent: entity not found"
/// );
/// # Ok::<(), becalm::policy::InvalidPolicy>(())
/// ```
#[derive(Debug)]
pub struct GaveUp<E> {
    stopped: Stopped,
    error: Option<E>,
}

/// How a call ended without success, all but its error: what an [`Engine`](super::Engine) hands
/// out at the end, and what a driver may attach to the answer that it gives back.
#[derive(Debug, Clone)]
pub struct Stopped {
    story: Box<Story>,
}

/// How the last attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Last<E> {
    /// It failed with this error.
    Error(E),
    /// The attempt timeout or the deadline cut it.
    AttemptTimeout,
    /// It ran when the call was cancelled.
    Cancelled,
    /// There was no attempt.
    NotStarted,
}

/// One failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Record {
    /// The number of the attempt, from 1.
    pub number: u32,
    /// The delay that was waited before it; zero before the first.
    pub delay: Duration,
    /// What its failure said about trying again.
    pub class: Class,
    /// Whether it may have taken effect.
    pub effect: Effect,
}

/// Records kept after the first: the seven that follow it and the last eight.
const LATER: usize = 15;

/// What an engine notes of a call from its first failure on. It lies in the engine, and in a box of the give-up's.
#[derive(Debug, Clone)]
pub(super) struct Story {
    reason: StopReason,
    attempts: u32,
    first: Option<Record>,
    later: Vec<Record>,
    last: Last<()>,
    failure: Failure,
    /// When the call started, or else when it first failed.
    since: Option<Instant>,
    is_from_start: bool,
    elapsed: Duration,
    next_probe: Option<Duration>,
    pub for_tokens: Duration,
    /// How many attempts have timed out.
    pub timeouts: u32,
    /// What lies below the error, where the sentence says it.
    causes: Option<Box<str>>,
}

impl Story {
    /// Of a call in which nothing has failed yet; `started` where the clock was read at its start.
    pub fn new(started: Option<Instant>) -> Self {
        Self {
            reason: StopReason::Cancelled,
            attempts: 0,
            first: None,
            later: Vec::new(),
            last: Last::NotStarted,
            failure: Failure::transient().unsent(),
            since: started,
            is_from_start: started.is_some(),
            elapsed: Duration::ZERO,
            next_probe: None,
            for_tokens: Duration::ZERO,
            timeouts: 0,
            causes: None,
        }
    }

    /// Of a call whose first attempt has failed so.
    pub fn of_first(failure: Failure, now: Instant) -> Self {
        let record = Record {
            number: 1,
            delay: Duration::ZERO,
            class: failure.class,
            effect: failure.effect,
        };
        let mut story = Self::new(None);
        story.note(record, failure, Last::Error(()), now);
        story
    }

    /// Notes a failed attempt.
    pub fn note(&mut self, record: Record, failure: Failure, last: Last<()>, now: Instant) {
        self.since.get_or_insert(now);
        if is_timeout(&failure) || last == Last::AttemptTimeout {
            self.timeouts = self.timeouts.saturating_add(1);
        }
        // What an earlier attempt may have done, a later proof that nothing was sent does not undo.
        let perhaps_done = self.attempts > 0 && self.failure.effect == Effect::Unknown;
        self.failure = failure;
        if perhaps_done {
            self.failure.effect = Effect::Unknown;
        }
        self.last = last;
        self.note_beside(record);
    }

    /// Notes another copy, which ended as the attempt noted last did.
    pub fn note_beside(&mut self, record: Record) {
        self.attempts = self.attempts.max(record.number);
        if self.first.is_none() {
            self.first = Some(record);
            return;
        }
        if self.later.len() == LATER {
            self.later.remove(LATER / 2);
        }
        self.later.push(record);
    }

    /// What all copies of the attempt said about a retry, in place of what the last one did.
    pub fn join(&mut self, failure: Failure) {
        self.failure.class = failure.class;
        self.failure.hint = failure.hint;
        self.failure.cause = failure.cause;
    }

    /// How the attempt noted last ended.
    pub fn last(&self) -> Last<()> {
        self.last
    }

    /// Since the start where the clock was read there, otherwise since the first failure.
    pub fn elapsed(&self, now: Instant) -> Duration {
        self.since.map_or(Duration::ZERO, |since| now.since(since))
    }

    /// The end: why, after how many attempts, and when the breaker lets a probe through. Without a
    /// time from which to count, nobody asks what time it is.
    pub fn end(
        mut self,
        reason: StopReason,
        attempts: u32,
        next_probe: Option<Instant>,
        now: Option<Instant>,
    ) -> Stopped {
        self.reason = reason;
        // Hedges that were cancelled left no record.
        self.attempts = self.attempts.max(attempts);
        self.elapsed = now.map_or(Duration::ZERO, |now| self.elapsed(now));
        self.next_probe = next_probe.zip(now).map(|(at, now)| at.since(now));
        Stopped {
            story: Box::new(self),
        }
    }
}

/// Whether an attempt that has failed so has timed out, by a limit of its client's.
pub(super) fn is_timeout(failure: &Failure) -> bool {
    // Clients of gRPC have time-outs of their own, by the limit that they tell the server: DEADLINE_EXCEEDED.
    let timed_out = Cause::Kind(FailureKind::TimedOut);
    [Some(timed_out), Some(Cause::Code(4))].contains(&failure.cause)
}

impl Stopped {
    /// Of a call that never began.
    pub(super) fn not_begun() -> Self {
        Story::new(None).end(StopReason::Cancelled, 0, None, None)
    }

    /// The give-up with the last error, if there was one.
    pub fn with_error<E>(mut self, error: Option<E>) -> GaveUp<E> {
        self.story.causes = None;
        GaveUp {
            stopped: self,
            error,
        }
    }

    /// The give-up with what this classifier keeps of the last error, and knows of its causes.
    pub(super) fn keep<E, C: Judge<E>>(self, by: &C, error: Option<E>) -> GaveUp<C::Error> {
        let known = error.as_ref().and_then(|error| by.as_error(error));
        let causes = known.and_then(|error| causes(&format_args!("{error:#}"), error));
        let mut gave_up = self.with_error(error.map(|error| by.keep(error)));
        gave_up.stopped.story.causes = causes;
        gave_up
    }

    /// Why no further attempt was made.
    pub fn reason(&self) -> StopReason {
        self.story.reason
    }

    /// How many attempts were made.
    pub fn attempts(&self) -> u32 {
        self.story.attempts
    }

    /// The failed attempts in order: the first eight and the last eight.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.story.first.iter().chain(&self.story.later)
    }

    /// How the last attempt ended.
    pub fn last(&self) -> Last<()> {
        self.story.last
    }

    /// The time from the start of the call to its end, if the clock was read at its start (it is
    /// for a call with a deadline or an attempt timeout).
    pub fn elapsed(&self) -> Option<Duration> {
        self.story.is_from_start.then_some(self.story.elapsed)
    }

    /// The time from the first failure, or from the start where [`elapsed`](Self::elapsed) is
    /// known, to the end.
    pub fn elapsed_since_first_failure(&self) -> Duration {
        self.story.elapsed
    }

    /// How long of it the call has waited for tokens of the budget, beyond the delays of its retries:
    /// [`WhenSpent::Wait`](crate::budget::WhenSpent::Wait).
    pub fn waited_for_tokens(&self) -> Duration {
        self.story.for_tokens
    }

    /// How long the breaker that stopped this call stays open
    /// ([`StopReason::BreakerOpen`]), counted from the end of the call; then it lets a probe
    /// through. `None` after any other reason, and while the breaker is isolated.
    pub fn next_probe(&self) -> Option<Duration> {
        self.story.next_probe
    }
}

impl<E> GaveUp<E> {
    /// Why no further attempt was made.
    pub fn reason(&self) -> StopReason {
        self.stopped.reason()
    }

    /// How many attempts were made.
    pub fn attempts(&self) -> u32 {
        self.stopped.attempts()
    }

    /// The failed attempts in order: the first eight and the last eight.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.stopped.records()
    }

    /// The time from start to end, where the clock was read at the start: see
    /// [`Stopped::elapsed`].
    pub fn elapsed(&self) -> Option<Duration> {
        self.stopped.elapsed()
    }

    /// The time from the first failure to the end: see
    /// [`Stopped::elapsed_since_first_failure`].
    pub fn elapsed_since_first_failure(&self) -> Duration {
        self.stopped.elapsed_since_first_failure()
    }

    /// How long of it the call has waited for tokens: see [`Stopped::waited_for_tokens`].
    pub fn waited_for_tokens(&self) -> Duration {
        self.stopped.waited_for_tokens()
    }

    /// How long the breaker that stopped this call stays open: see [`Stopped::next_probe`].
    pub fn next_probe(&self) -> Option<Duration> {
        self.stopped.next_probe()
    }

    /// Everything but the error: cheap to keep beside an answer.
    pub fn stopped(&self) -> &Stopped {
        &self.stopped
    }

    /// The last error, even if a later attempt timed out.
    pub fn error(&self) -> Option<&E> {
        self.error.as_ref()
    }

    /// How the last attempt ended.
    pub fn last(&self) -> Last<&E> {
        self.stopped.last().with(self.error())
    }

    /// How the last attempt ended, for a caller that wants its own error back.
    pub fn into_last(self) -> Last<E> {
        self.stopped.last().with(self.error)
    }

    /// The last error by value, even if a later attempt timed out.
    pub fn into_error(self) -> Option<E> {
        self.error
    }

    /// How the call ended, and the last error: what [`Stopped::with_error`] puts together.
    ///
    /// ```
    /// # use becalm::{Policy, time::FakeSleeper};
    /// # let orders = Policy::default().builder().sleeper(FakeSleeper::auto()).build()?;
    /// # let failed = || Err::<(), _>(std::io::Error::from(std::io::ErrorKind::NotFound));
    /// let (stopped, error) = orders.retry_blocking(|_| failed()).unwrap_err().into_parts();
    /// assert_eq!((stopped.attempts(), error.is_some()), (1, true));
    /// # Ok::<(), becalm::policy::InvalidPolicy>(())
    /// ```
    pub fn into_parts(self) -> (Stopped, Option<E>) {
        (self.stopped, self.error)
    }

    /// Turns the error into another; everything else stays.
    ///
    /// ```
    /// # use becalm::{GaveUp, Policy, time::FakeSleeper};
    /// enum ShopError { Io(std::io::Error) }
    /// # let orders = Policy::default().builder().sleeper(FakeSleeper::auto()).build()?;
    /// # let failed = || Err::<(), _>(std::io::Error::from(std::io::ErrorKind::NotFound));
    /// let gave_up: GaveUp<ShopError> = orders
    ///     .retry_blocking(|_| failed())
    ///     .map_err(|gave_up| gave_up.map_error(ShopError::Io))
    ///     .unwrap_err();
    /// # assert_eq!(gave_up.attempts(), 1);
    /// # Ok::<(), becalm::policy::InvalidPolicy>(())
    /// ```
    pub fn map_error<F>(self, convert: impl FnOnce(E) -> F) -> GaveUp<F> {
        self.stopped.with_error(self.error.map(convert))
    }
}

impl<E> GaveUp<GaveUp<E>> {
    /// One give-up of two layers: the outer one's reason, attempts and times with the inner one's error,
    /// and how the inner one's last attempt ended if the outer one's ended with that.
    ///
    /// ```
    /// # use becalm::{GaveUp, Policy, time::FakeSleeper};
    /// # let retrier = || Policy::default().builder().sleeper(FakeSleeper::auto()).build();
    /// # let (outer, inner) = (retrier()?, retrier()?);
    /// # let failed = || Err::<(), _>(std::io::Error::from(std::io::ErrorKind::NotFound));
    /// let gave_up: GaveUp<std::io::Error> = outer
    ///     .retry_blocking(|_| inner.retry_blocking(|_| failed()))
    ///     .map_err(GaveUp::flatten)
    ///     .unwrap_err();
    /// # assert!(gave_up.into_error().is_some());
    /// # Ok::<(), becalm::policy::InvalidPolicy>(())
    /// ```
    pub fn flatten(mut self) -> GaveUp<E> {
        if let (Last::Error(()), Some(inner)) = (self.stopped.last(), &self.error) {
            self.stopped.story.last = inner.stopped.last();
        }
        let error = self.error.and_then(GaveUp::into_error);
        self.stopped.with_error(error)
    }
}

impl<T, E> GaveUp<Rejected<T, E>> {
    /// The answer as it came, where the last attempt had one that means failure; otherwise the
    /// give-up with the operation's own error.
    ///
    /// # Errors
    ///
    /// The last attempt brought no answer.
    pub fn into_answer(self) -> Result<T, GaveUp<E>> {
        let is_last = matches!(self.stopped.last(), Last::Error(()));
        match self.error {
            Some(Rejected::Value(answer)) if is_last => Ok(answer),
            Some(Rejected::Error(error)) => Err(self.stopped.with_error(Some(error))),
            _ => Err(self.stopped.with_error(None)),
        }
    }
}

impl Last<()> {
    /// Of an attempt that has failed with this error, or else was cut by a time-out.
    pub(super) fn of(error: Option<&dyn fmt::Display>) -> Self {
        error.map_or(Self::AttemptTimeout, |_| Self::Error(()))
    }

    /// An error that a driver did not hand over is as one that never was.
    fn with<E>(self, error: Option<E>) -> Last<E> {
        match self {
            Last::Error(()) => error.map_or(Last::NotStarted, Last::Error),
            Last::AttemptTimeout => Last::AttemptTimeout,
            Last::Cancelled => Last::Cancelled,
            Last::NotStarted => Last::NotStarted,
        }
    }
}

/// For a retry around this one: a call counts as its last error, of unknown effect if any of its
/// attempts was. Where the server forbade it, the call was cancelled, or it must not be done twice,
/// nobody above may retry. A spent budget and an open breaker are [told](Hint::Below), unless the
/// error names a delay, which comes first.
impl<E> Classify for GaveUp<E> {
    fn classify(&self) -> Failure {
        let mut failure = self.stopped.story.failure;
        match self.reason() {
            StopReason::Cancelled | StopReason::NotIdempotent | StopReason::DoNotRetry => {
                failure.hint = Some(Hint::Stop);
            }
            reason @ (StopReason::BudgetExhausted | StopReason::BreakerOpen) => {
                failure.hint = failure.hint.or(Some(Hint::Below(reason)));
            }
            _ => (),
        }
        failure
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_story_keeps_the_first_and_the_last_eight_in_order() {
        for count in [0_u32, 1, 8, 9, 15, 16, 17, 100] {
            let mut story = Story::new(None);
            for number in 1..=count {
                let (class, effect) = (Class::Transient, Effect::Unknown);
                story.note_beside(Record {
                    number,
                    delay: Duration::ZERO,
                    class,
                    effect,
                });
            }
            let stopped = story.end(StopReason::AttemptsExhausted, count, None, None);
            let kept: Vec<u32> = stopped.records().map(|record| record.number).collect();
            let expected: Vec<u32> = (1..=count).filter(|n| *n <= 8 || *n + 8 > count).collect();
            assert_eq!(kept, expected, "{count} attempts");
        }
    }
}
