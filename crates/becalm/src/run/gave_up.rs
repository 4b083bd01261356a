//! What is left when a call gives up? The last outcome, the reason, the record.

use core::fmt;
use core::time::Duration;

use super::course::Course;
use crate::classify::{Class, Classify, Effect, Failure};
use crate::duration::Human;
use crate::hint::Hint;
use crate::stop::StopReason;
use crate::time::Instant;

/// A call ended without success: why, after what, and with which last outcome.
///
/// One box, made at the first failure. `Display` is one sentence and needs only `E: Display`.
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
/// # Ok::<(), becalm::InvalidPolicy>(())
/// ```
pub struct GaveUp<E, T = ()> {
    details: Box<Details<E, T>>,
}

/// How the last attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Last<E, T = ()> {
    /// With an error.
    Error(E),
    /// With an `Ok` value that means failure.
    Value(T),
    /// Cut by the attempt timeout or the deadline.
    AttemptTimeout,
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

/// Records kept from the start, and from the end.
const KEPT: usize = 8;

/// The first eight and the last eight records: a call of a million attempts keeps its story short.
#[derive(Debug, Clone)]
pub(super) struct Log {
    first: [Option<Record>; KEPT],
    last: [Option<Record>; KEPT],
    count: u32,
}

impl Log {
    const fn new() -> Self {
        Self {
            first: [None; KEPT],
            last: [None; KEPT],
            count: 0,
        }
    }

    fn push(&mut self, record: Record) {
        let at = self.count as usize;
        if at < KEPT {
            self.first[at] = Some(record);
        } else {
            self.last[at % KEPT] = Some(record);
        }
        self.count = self.count.saturating_add(1);
    }

    fn iter(&self) -> impl Iterator<Item = &Record> {
        let oldest = self.count as usize % KEPT;
        let (newer, older) = self.last.split_at(oldest);
        self.first.iter().chain(older).chain(newer).flatten()
    }
}

pub(super) struct Details<E, T> {
    reason: StopReason,
    attempts: u32,
    log: Log,
    /// The last error there was, even if a later attempt timed out.
    error: Option<E>,
    last: Last<(), T>,
    failure: Failure,
    started: Option<Instant>,
    from_start: bool,
    elapsed: Duration,
    /// When the breaker that stopped the call lets a probe through.
    pub(super) next_probe: Option<Instant>,
    probe_in: Option<Duration>,
    /// Here so that a failing call needs one allocation; gone when it gives up.
    pub(super) course: Option<Course>,
}

/// How an attempt failed, with what it left.
pub(super) enum Outcome<E, T> {
    Error(E),
    Value(T),
    TimedOut,
}

impl<E, T> Details<E, T> {
    pub fn new(course: Course, started: Option<Instant>) -> Box<Self> {
        let mut details = Self::not_started(started);
        details.course = Some(course);
        details
    }

    /// Of a call that was refused before its first attempt.
    pub fn not_started(started: Option<Instant>) -> Box<Self> {
        Box::new(Self {
            reason: StopReason::Cancelled,
            attempts: 0,
            log: Log::new(),
            error: None,
            last: Last::NotStarted,
            failure: Failure::transient().unsent(),
            started,
            from_start: started.is_some(),
            elapsed: Duration::ZERO,
            next_probe: None,
            probe_in: None,
            course: None,
        })
    }

    /// Notes a failed attempt.
    pub fn note(&mut self, record: Record, failure: Failure, outcome: Outcome<E, T>, now: Instant) {
        self.started.get_or_insert(now);
        // What an earlier attempt may have done, a later proof that nothing was sent does not undo.
        let perhaps_done = self.attempts > 0 && self.failure.effect == Effect::Unknown;
        self.attempts = self.attempts.max(record.number);
        self.failure = failure;
        if perhaps_done {
            self.failure.effect = Effect::Unknown;
        }
        self.log.push(record);
        self.last = match outcome {
            Outcome::Error(error) => {
                self.error = Some(error);
                Last::Error(())
            }
            Outcome::Value(value) => Last::Value(value),
            Outcome::TimedOut => Last::AttemptTimeout,
        };
    }

    /// Notes another copy that ended in the same way as the attempt noted last.
    pub fn note_beside(&mut self, record: Record) {
        self.log.push(record);
    }

    /// What all copies of the attempt said about a retry, in place of what the last one did.
    pub fn join(&mut self, failure: Failure) {
        self.failure.class = failure.class;
        self.failure.hint = failure.hint;
    }

    /// Since the start where the clock was read there, otherwise since the first failure.
    pub fn elapsed(&self, now: Instant) -> Duration {
        self.started
            .map_or(Duration::ZERO, |started| now.since(started))
    }

    pub fn stop(mut self: Box<Self>, reason: StopReason, now: Instant) -> GaveUp<E, T> {
        if let Some(course) = self.course.take() {
            // Hedges that were under way left no record.
            self.attempts = self.attempts.max(course.call.attempt_number());
        }
        self.reason = reason;
        self.elapsed = self.elapsed(now);
        self.probe_in = self.next_probe.map(|at| at.since(now));
        GaveUp { details: self }
    }
}

impl<E, T> GaveUp<E, T> {
    /// Why no further attempt was made.
    pub fn reason(&self) -> StopReason {
        self.details.reason
    }

    /// How many attempts were made.
    pub fn attempts(&self) -> u32 {
        self.details.attempts
    }

    /// The failed attempts in order: the first eight and the last eight.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.details.log.iter()
    }

    /// The time from the start of the call to its end, if the clock was read at its start (it is
    /// for a call with a deadline or an attempt timeout).
    pub fn elapsed(&self) -> Option<Duration> {
        self.details.from_start.then_some(self.details.elapsed)
    }

    /// The time from the first failure, or from the start where [`elapsed`](Self::elapsed) is
    /// known, to the end.
    pub fn elapsed_since_first_failure(&self) -> Duration {
        self.details.elapsed
    }

    /// How long the breaker stays open that stopped this call
    /// ([`StopReason::BreakerOpen`]), counted from the end of the call; then it lets a probe
    /// through. `None` after any other reason, and while the breaker is isolated.
    pub fn next_probe(&self) -> Option<Duration> {
        self.details.probe_in
    }

    /// The last error there was, even if a later attempt timed out.
    pub fn error(&self) -> Option<&E> {
        self.details.error.as_ref()
    }

    /// How the last attempt ended.
    pub fn last(&self) -> Last<&E, &T> {
        match &self.details.last {
            Last::Error(()) => self.error().map_or(Last::NotStarted, Last::Error),
            Last::Value(value) => Last::Value(value),
            Last::AttemptTimeout => Last::AttemptTimeout,
            Last::NotStarted => Last::NotStarted,
        }
    }

    /// The last outcome itself, for a caller that wants its own error back.
    pub fn into_last(self) -> Last<E, T> {
        let Details { last, error, .. } = *self.details;
        match last {
            Last::Error(()) => error.map_or(Last::NotStarted, Last::Error),
            Last::Value(value) => Last::Value(value),
            Last::AttemptTimeout => Last::AttemptTimeout,
            Last::NotStarted => Last::NotStarted,
        }
    }

    /// The last error there was, by value.
    pub fn into_error(self) -> Option<E> {
        self.details.error
    }

    /// The sentence without the error: "gave up after 4 attempts in 1.2s because ...", with what
    /// was last if that was no error.
    fn sentence(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details {
            reason,
            attempts,
            elapsed,
            from_start,
            ..
        } = &*self.details;
        match attempts {
            0 => f.write_str("gave up before the first attempt")?,
            1 => f.write_str("gave up after 1 attempt")?,
            more => write!(f, "gave up after {more} attempts")?,
        }
        if !elapsed.is_zero() {
            let rounded =
                Duration::from_millis(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX));
            let shown = Human(if rounded.is_zero() { *elapsed } else { rounded });
            if *from_start {
                write!(f, " in {shown}")?;
            } else {
                write!(f, ", {shown} after the first failure,")?;
            }
        }
        write!(f, " because {reason}")?;
        if let Some(probe_in) = self.next_probe() {
            // Up: who comes when it says must not come too early.
            let millis = u64::try_from(probe_in.as_nanos().div_ceil(1_000_000));
            let shown = Duration::from_millis(millis.unwrap_or(u64::MAX));
            write!(f, " for another {}", Human(shown))?;
        }
        f.write_str(match self.details.last {
            Last::AttemptTimeout => ": the attempt timed out",
            Last::Value(_) => ": the answer meant failure",
            Last::Error(()) | Last::NotStarted => "",
        })
    }
}

impl<E: fmt::Display, T> fmt::Display for GaveUp<E, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sentence(f)?;
        match (&self.details.last, self.error()) {
            (Last::Error(()), Some(error)) => write!(f, ": {error}"),
            (_, Some(error)) => write!(f, "; the error before: {error}"),
            (_, None) => Ok(()),
        }
    }
}

impl<E: fmt::Debug, T> fmt::Debug for GaveUp<E, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let records: Vec<_> = self.records().collect();
        f.debug_struct("GaveUp")
            .field("reason", &self.reason())
            .field("attempts", &self.attempts())
            .field("elapsed", &self.details.elapsed)
            .field("error", &self.error())
            .field("records", &records)
            .finish()
    }
}

/// The last error is the source.
impl<E: std::error::Error + 'static, T> std::error::Error for GaveUp<E, T> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error().map(|error| error as _)
    }
}

/// For a retry around this one: a call counts as its last error, of unknown effect if any of its
/// attempts was. Where the server forbade it, the call was cancelled, or it must not be done twice,
/// nobody above may retry. A spent budget and an open breaker are [told](Hint::Below), unless the
/// error names a delay, which comes first.
impl<E, T> Classify for GaveUp<E, T> {
    fn classify(&self) -> Failure {
        let mut failure = self.details.failure;
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

#[cfg(feature = "anyhow")]
impl<E, T> GaveUp<E, T>
where
    E: Into<anyhow::Error>,
{
    /// The last error as an [`anyhow::Error`], under the sentence as its context.
    ///
    /// For operations whose error is `anyhow::Error` itself, which is no `std::error::Error`.
    pub fn into_anyhow(self) -> anyhow::Error {
        struct Sentence<'a, E, T>(&'a GaveUp<E, T>);
        impl<E, T> fmt::Display for Sentence<'_, E, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.sentence(f)
            }
        }
        let sentence = Sentence(&self).to_string();
        match self.into_error() {
            Some(error) => error.into().context(sentence),
            None => anyhow::Error::msg(sentence),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_keeps_the_first_and_the_last_eight_in_order() {
        for count in [0_u32, 1, 8, 9, 15, 16, 17, 100] {
            let mut log = Log::new();
            for number in 1..=count {
                let (class, effect) = (Class::Transient, Effect::Unknown);
                log.push(Record {
                    number,
                    delay: Duration::ZERO,
                    class,
                    effect,
                });
            }
            let kept: Vec<u32> = log.iter().map(|record| record.number).collect();
            let expected: Vec<u32> = (1..=count).filter(|n| *n <= 8 || *n + 8 > count).collect();
            assert_eq!(kept, expected, "{count} attempts");
        }
    }
}
