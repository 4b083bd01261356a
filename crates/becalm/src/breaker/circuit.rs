//! May this call pass, and what did the last ones say?
//!
//! The closed path is a load to admit, and to record what [`counts`](super::counts) takes. All
//! else is a change of the one [word](super::word) of state.

use core::time::Duration;

use super::config::{Breaker, InvalidBreaker};
use super::counts::{Counts, Tripped};
use super::rules::{Kind, Rules};
use super::word::{Due, Word};
use super::{Outcome, Permit, Refused, Role, State, Transition};
use crate::atomic::{AtomicU64, Ordering};
use crate::duration::nanos;
use crate::time::Instant;
use crate::window::exchange;

/// The circuit breaker that all calls to one dependency share: lock-free, no clock, no IO, no
/// allocation.
///
/// Under any interleaving of threads: a half-open period has at most `probes` probes under way; a
/// result counts only in the state in which its call was admitted; each change of state is told to
/// one caller.
///
/// A permit that never comes back keeps its probe's place for `open_max`, after which the place is
/// given to another. So must a probe that takes longer than that: its result is ignored.
#[derive(Debug)]
#[repr(align(128))] // two cache lines: neighbours must not share the word's line
pub struct CircuitBreaker {
    state: AtomicU64,
    /// When the open time is over, or the probes under way are given up.
    due: AtomicU64,
    rules: Rules,
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
    /// forgotten, and results of calls that are under way are not counted. An open time that would
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
            self.shift(|word| {
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
        self.rules.kind() == Kind::Time || self.rules.slow() != u64::MAX
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

    /// Tells what came of a call that was admitted.
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
        if role != Role::Call {
            return self.record_probe(epoch, failed, now, random);
        }
        let (failed, rules) = (failed?, &self.rules);
        let is_current = || Word::closed_epoch(self.state.load(Ordering::SeqCst)) == Some(epoch);
        let tripped = match rules.kind() {
            Kind::Consecutive => self.counts.in_a_row(rules, epoch, failed, is_current),
            Kind::Calls => self.counts.by_calls(rules, epoch, failed, is_current),
            Kind::Time => {
                let now = now();
                let tripped = self.counts.by_time(rules, epoch, failed, now, is_current)?;
                return self.trip(epoch, tripped, now, random);
            }
        }?;
        self.trip(epoch, tripped, now(), random)
    }

    /// What it lets through at this time: half-open also while an open time is over and nobody
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
        self.open(
            |word| matches!(word.kind, State::Closed | State::HalfOpen),
            now,
            random,
        )
    }

    /// Closes it, out of an isolation too, and forgets how often it has opened. Does nothing while
    /// it is closed.
    pub fn force_close(&self) -> Option<Transition> {
        self.shift(|word| (word.kind != State::Closed).then(|| word.next(State::Closed, 0)))
            .map(|(from, to)| told(from, to, None))
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
        self.shift(|word| {
            (word.kind != State::Isolated).then(|| word.next(State::Isolated, word.level))
        })
        .map(|(from, to)| told(from, to, None))
    }

    /// Ends an isolation: half-open, so that probes decide. Does nothing while it is not isolated.
    pub fn end_isolation(&self) -> Option<Transition> {
        self.shift(|word| {
            (word.kind == State::Isolated).then(|| word.next(State::HalfOpen, word.level))
        })
        .map(|(from, to)| told(from, to, None))
    }
}

/// What an admission does to the state.
enum Passage {
    Call,
    Probe,
    FirstProbe,
    /// Takes the place of a probe that is given up.
    NextProbes,
}

impl CircuitBreaker {
    /// How a call passes at this time, in this state.
    fn passes(&self, word: Word, now: Instant) -> Result<Passage, Refused> {
        let refused = |until| Err(Refused { until });
        let due = || Due(self.due.load(Ordering::SeqCst)).of(word.epoch);
        let pause = || now.after(Duration::from_nanos(self.rules.open()));
        match word.kind {
            State::Closed => Ok(Passage::Call),
            State::Isolated => refused(None),
            State::HalfOpen if u64::from(word.probing) < self.rules.probes() => Ok(Passage::Probe),
            State::HalfOpen => match due() {
                Some(due) if due <= now => Ok(Passage::NextProbes),
                due => refused(Some(due.unwrap_or(Instant::NEVER).min(pause()))),
            },
            State::Open => match due() {
                Some(due) if due <= now => Ok(Passage::FirstProbe),
                // It has just opened, and its end is about to be told.
                due => refused(Some(due.unwrap_or_else(pause))),
            },
        }
    }

    #[cold]
    #[inline(never)] // keeps the closed path of every caller small
    fn admit_unless_closed(&self, now: Instant) -> Result<Permit, Refused> {
        let given_up = now.after(Duration::from_nanos(self.rules.open_max()));
        let mut seen = self.state.load(Ordering::Acquire);
        loop {
            let word = Word::unpack(seen);
            let (next, role) = match self.passes(word, now)? {
                Passage::Call => (word, Role::Call),
                Passage::Probe => {
                    // Told before the place is taken: who finds no place must know this time.
                    self.tell(word.epoch, given_up);
                    (word, Role::Probe)
                }
                Passage::FirstProbe => (word.next(State::HalfOpen, word.level), Role::FirstProbe),
                Passage::NextProbes => {
                    let next = word.next(State::HalfOpen, word.level);
                    let succeeded = word.succeeded;
                    (Word { succeeded, ..next }, Role::Probe)
                }
            };
            let epoch = next.epoch;
            if role == Role::Call {
                return Ok(Permit { epoch, role });
            }
            let next = Word {
                probing: next.probing + 1,
                ..next
            };
            match exchange(&self.state, seen, next.pack()) {
                Ok(()) => {
                    self.tell(epoch, given_up);
                    return Ok(Permit { epoch, role });
                }
                Err(now) => seen = now,
            }
        }
    }

    /// The result of a probe: none if it was cancelled.
    #[cold]
    fn record_probe(
        &self,
        epoch: u32,
        failed: Option<bool>,
        now: impl FnOnce() -> Instant,
        random: impl FnOnce() -> u64,
    ) -> Option<Transition> {
        let is_ours = |word: Word| word.kind == State::HalfOpen && word.epoch == epoch;
        if failed == Some(true) {
            return self.open(is_ours, now(), random);
        }
        let needed = self.rules.successes();
        let (from, to) = self.shift(|word| {
            let back = Word {
                probing: word.probing.saturating_sub(1),
                succeeded: word.succeeded + u16::from(failed.is_some()),
                ..word
            };
            let closes = failed.is_some() && u64::from(back.succeeded) >= needed;
            is_ours(word).then(|| {
                if closes {
                    word.next(State::Closed, word.level)
                } else {
                    back
                }
            })
        })?;
        (to.kind == State::Closed).then(|| told(from, to, None))
    }

    #[cold]
    fn trip(
        &self,
        epoch: u32,
        tripped: Tripped,
        now: Instant,
        random: impl FnOnce() -> u64,
    ) -> Option<Transition> {
        let is_ours = |word: Word| {
            word.kind == State::Closed && word.epoch == epoch && self.rules.is(tripped.version)
        };
        self.open(is_ours, now, random)
    }

    fn open(
        &self,
        may_open: impl Fn(Word) -> bool,
        now: Instant,
        random: impl FnOnce() -> u64,
    ) -> Option<Transition> {
        // Asked first, so that a late failure draws nothing.
        if !may_open(Word::unpack(self.state.load(Ordering::SeqCst))) {
            return None;
        }
        let bits = random();
        let (from, to) = self.shift(|word| {
            may_open(word).then(|| word.next(State::Open, self.level_of_opening(word, now)))
        })?;
        let open_for = Duration::from_nanos(self.rules.open_time(to.level, bits));
        let until = Due::new(to.epoch, now.after(open_for)).any();
        self.tell(to.epoch, until);
        Some(told(from, to, Some(until.since(now))))
    }

    /// The how-manieth opening in a row it would be. While closed, the last ones are remembered
    /// until the time that was told last: `open_max` after the last probe began.
    fn level_of_opening(&self, word: Word, now: Instant) -> u8 {
        let remembered =
            word.kind != State::Closed || now < Due(self.due.load(Ordering::SeqCst)).any();
        if remembered { word.level + 1 } else { 1 }
    }

    /// Changes the state as `next` says, or not at all.
    fn shift(&self, next: impl Fn(Word) -> Option<Word>) -> Option<(Word, Word)> {
        let mut seen = self.state.load(Ordering::SeqCst);
        loop {
            let from = Word::unpack(seen);
            let to = next(from)?;
            match exchange(&self.state, seen, to.pack()) {
                Ok(()) => return Some((from, to)),
                Err(now) => seen = now,
            }
        }
    }

    /// Tells what is due in this epoch, unless that is over or a later time is told already.
    fn tell(&self, epoch: u32, at: Instant) {
        let due = Due::new(epoch, at);
        let mut seen = self.due.load(Ordering::SeqCst);
        loop {
            // Looked at behind the time: one of a later epoch is then never overwritten.
            let state = Word::unpack(self.state.load(Ordering::SeqCst));
            let known = Due(seen).of(epoch).is_some_and(|known| known >= due.any());
            if state.epoch != epoch || known {
                return;
            }
            match exchange(&self.due, seen, due.0) {
                Ok(()) => return,
                Err(now) => seen = now,
            }
        }
    }

    fn cut_open_time(&self, now: Instant) {
        let longest = now.after(Duration::from_nanos(self.rules.open_max()));
        let mut seen = self.due.load(Ordering::SeqCst);
        loop {
            let word = Word::unpack(self.state.load(Ordering::SeqCst));
            let told = Due(seen).of(word.epoch);
            let cut = Due::new(word.epoch, longest);
            if word.kind != State::Open || told.is_none_or(|told| told <= cut.any()) {
                return;
            }
            match exchange(&self.due, seen, cut.0) {
                Ok(()) => return,
                Err(now) => seen = now,
            }
        }
    }

    #[inline]
    fn is_slow(&self, took: Duration) -> bool {
        let slow = self.rules.slow();
        slow != u64::MAX && nanos(took) >= slow
    }
}

fn told(from: Word, to: Word, open_for: Option<Duration>) -> Transition {
    Transition {
        from: from.kind,
        to: to.kind,
        open_for,
    }
}
