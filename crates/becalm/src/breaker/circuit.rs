//! May this call pass, and what did the last ones say?
//!
//! The closed path is a load to admit, and to record what [`counts`](super::counts) takes. All
//! else is a [change](super::change) of the one [word](super::word) of state.

use core::time::Duration;

use super::config::{Breaker, InvalidBreaker};
use super::counts::{Closed, Counts, Opening};
use super::rules::{Figure, Kind, Rules};
use super::word::Word;
use super::{Outcome, Permit, Refused, Role, State, Transition};
use crate::duration::nanos;
use crate::sync::{AtomicU64, Ordering};
use crate::time::Instant;

/// The circuit breaker that all calls to one dependency share: lock-free, no clock, no IO, no
/// allocation.
///
/// Under any interleaving of threads: a half-open period has at most `probes` running probes; a
/// result counts only in the state in which its call was admitted; each change of state is told to
/// one caller.
///
/// A permit that never comes back keeps its probe's place for `open_max`, after which the place is
/// given to another. So must a probe that takes longer than that: its result is ignored.
#[derive(Debug)]
#[repr(align(128))] // two cache lines: neighbours must not share the word's line
pub struct CircuitBreaker {
    pub(super) state: AtomicU64,
    /// When the open time is over, or the running probes are given up.
    pub(super) due: AtomicU64,
    pub(super) rules: Rules,
    counts: Counts,
}

impl CircuitBreaker {
    /// A closed breaker of this configuration.
    ///
    /// # Errors
    ///
    /// An invalid configuration is refused, naming the field.
    pub fn new(breaker: Breaker) -> Result<Self, InvalidBreaker> {
        breaker.validate()?;
        let rules = Rules::of(&breaker);
        Ok(Self {
            state: AtomicU64::new(Word::START.pack()),
            due: AtomicU64::new(0),
            counts: Counts::new(&rules),
            rules,
        })
    }

    /// Takes over another configuration and keeps the state; what was counted while closed is
    /// forgotten, and results of calls that are running are not counted. An open time that would
    /// last longer than the new `open_max` is cut to it.
    ///
    /// Safe beside running calls. Two reloads at once must be kept apart by the caller.
    ///
    /// # Errors
    ///
    /// An invalid configuration is refused, and the old one stays in force.
    pub fn reconfigure(&self, breaker: Breaker, now: Instant) -> Result<(), InvalidBreaker> {
        breaker.validate()?;
        self.rules.change(&breaker, || {
            self.counts.follow(&self.rules);
            self.shift(&|word| {
                (word.kind == State::Closed).then(|| word.next(State::Closed, word.level))
            });
        });
        self.cut_open_time(now);
        Ok(())
    }

    /// Whether [`record`](Self::record) looks at `now` and `took` for a call that succeeds while
    /// closed: where there is a time window or a slow threshold. Elsewhere its caller need not
    /// measure, and hands in zero for `took`.
    #[inline]
    pub fn reads_clock(&self) -> bool {
        self.rules.kind() == Kind::Time || self.rules.get(Figure::Slow) != u64::MAX
    }

    /// Asks to let a call pass; `now` is called unless the breaker is closed.
    ///
    /// # Errors
    ///
    /// The call must not be made; [`Refused::until`] says when to ask again.
    #[inline]
    pub fn admit(&self, now: impl FnOnce() -> Instant) -> Result<Permit, Refused> {
        match Word::closed_epoch(self.state.load(Ordering::Acquire)) {
            Some(epoch) => Ok(Permit {
                epoch,
                role: Role::Call,
            }),
            None => self.admit_unless_closed(now()),
        }
    }

    /// Whether this refusal is for retries and hedges alone: the first try of a call is made all the
    /// same, and nothing of it is recorded.
    pub fn spares_first_tries(&self, refused: Refused) -> bool {
        refused.until.is_some() && self.rules.get(Figure::Refuses) == 1
    }

    /// Whether a call would pass at this time, as far as is known now. Changes nothing: it is asked
    /// before a wait that ends then.
    ///
    /// # Errors
    ///
    /// It would not, and not before [`Refused::until`].
    pub fn would_admit(&self, at: Instant) -> Result<(), Refused> {
        self.passes(Word::unpack(self.state.load(Ordering::Acquire)), at)
            .map(|_| ())
    }

    /// Tells how a call ended that was admitted.
    ///
    /// `took` is how long it took, and counts only where there is a slow threshold. `now` is called
    /// when the window is one of time or the state changes; `random`, 64 uniform bits, when it
    /// opens. Returns the change of state that this result made, if it made one.
    #[inline]
    #[expect(clippy::needless_pass_by_value, reason = "a permit counts once")]
    pub fn record(
        &self,
        permit: Permit,
        outcome: Outcome,
        now: impl FnOnce() -> Instant,
        took: Duration,
        random: impl FnOnce() -> u64,
    ) -> Option<Transition> {
        let failed = match (outcome, self.is_slow(took)) {
            (Outcome::Success, false) => Some(false),
            (Outcome::Cancelled, false) => None,
            (Outcome::Failure, _) | (_, true) => Some(true),
        };
        let Permit { epoch, role } = permit;
        let (cause, now) = if role == Role::Call {
            let (failed, rules, state) = (failed?, &self.rules, &self.state);
            let of = Closed {
                rules,
                state,
                epoch,
            };
            let (tripped, now) = match rules.kind() {
                Kind::Consecutive => (self.counts.in_a_row(of, failed)?, now()),
                Kind::Calls => (self.counts.by_calls(of, failed)?, now()),
                Kind::Time => {
                    let now = now();
                    (self.counts.by_time(of, failed, now)?, now)
                }
            };
            (Opening::Tripped { epoch, tripped }, now)
        } else if failed == Some(true) {
            (Opening::ProbeFailed { epoch }, now())
        } else {
            return self.return_probe(epoch, failed.is_some());
        };
        let opens = self.would_open(cause);
        opens.then(|| self.open(cause, now, random())).flatten()
    }

    /// Takes back the permit of a call whose end nobody will tell: a probe's
    /// place is free again, and nothing is counted.
    #[expect(clippy::needless_pass_by_value, reason = "a permit counts once")]
    pub fn release(&self, permit: Permit) {
        if permit.role != Role::Call {
            self.return_probe(permit.epoch, false);
        }
    }

    /// The state at this time, and so what it lets through: half-open also while an open time is over and nobody
    /// has asked yet.
    pub fn state(&self, now: Instant) -> State {
        let word = Word::unpack(self.state.load(Ordering::Acquire));
        if word.kind == State::Open && self.passes(word, now).is_ok() {
            return State::HalfOpen;
        }
        word.kind
    }

    /// Opens it as if it had tripped. Does nothing while it is open or isolated.
    pub fn force_open(&self, now: Instant, random: impl FnOnce() -> u64) -> Option<Transition> {
        let opens = self.would_open(Opening::Forced);
        let open = || self.open(Opening::Forced, now, random());
        opens.then(open).flatten()
    }

    /// Closes it, out of an isolation too, and forgets how often it has opened. Does nothing while
    /// it is closed.
    pub fn force_close(&self) -> Option<Transition> {
        self.go(State::Closed, |word| {
            (word.kind != State::Closed).then_some(0)
        })
    }

    /// Whether a new one would behave no differently: closed, without a failure in its window, and
    /// so long after the last opening that the next would not last longer for it.
    #[cfg(feature = "std")]
    pub(crate) fn is_as_new(&self, now: Instant) -> bool {
        let word = Word::unpack(self.state.load(Ordering::Acquire));
        word.kind == State::Closed
            && (word.level == 0 || self.level_of_opening(word, now) == 1)
            && !self.counts.has_failures(&self.rules, word.epoch, now)
    }

    /// Lets nothing pass until [`end_isolation`](Self::end_isolation) or
    /// [`force_close`](Self::force_close).
    pub fn isolate(&self) -> Option<Transition> {
        self.go(State::Isolated, |word| {
            (word.kind != State::Isolated).then_some(word.level)
        })
    }

    /// Ends an isolation: half-open, so that probes decide. Does nothing while it is not isolated.
    pub fn end_isolation(&self) -> Option<Transition> {
        self.go(State::HalfOpen, |word| {
            (word.kind == State::Isolated).then_some(word.level)
        })
    }

    #[inline]
    fn is_slow(&self, took: Duration) -> bool {
        let slow = self.rules.get(Figure::Slow);
        slow != u64::MAX && nanos(took) >= slow
    }
}
