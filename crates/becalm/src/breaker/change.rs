//! How does a breaker go from one state to the next, once for each cause?
//!
//! Every change is one exchange of the state word, so of all that want it one makes it, and tells
//! the time that belongs to it.

use core::time::Duration;

use super::counts::Opening;
use super::rules::Figure;
use super::word::{Due, Word};
use super::{CircuitBreaker, Permit, Refused, Role, State, Transition};
use crate::sync::{Ordering, change};
use crate::time::Instant;

impl CircuitBreaker {
    /// How a call passes at this time, in this state, and the state with it.
    pub(super) fn passes(&self, word: Word, now: Instant) -> Result<(Word, Role), Refused> {
        let refused = |until| Err(Refused { until });
        let due = || Due(self.due.load(Ordering::SeqCst)).of(word.epoch);
        let pause = || now.after(self.rules.time(Figure::Open));
        let is_free = || u64::from(word.probing) < self.rules.get(Figure::Probes);
        let anew = word.next(State::HalfOpen, word.level);
        let (mut next, role) = match word.kind {
            State::Closed => return Ok((word, Role::Call)),
            State::Isolated => return refused(None),
            State::HalfOpen if is_free() => (word, Role::Probe),
            State::HalfOpen => match due() {
                // Takes the place of a probe that is given up.
                Some(due) if due <= now => {
                    let succeeded = word.succeeded;
                    (Word { succeeded, ..anew }, Role::Probe)
                }
                due => return refused(Some(due.unwrap_or(Instant::NEVER).min(pause()))),
            },
            State::Open => match due() {
                Some(due) if due <= now => (anew, Role::FirstProbe),
                // It has just opened, and its end is about to be told.
                due => return refused(Some(due.unwrap_or_else(pause))),
            },
        };
        next.probing += 1;
        Ok((next, role))
    }

    #[cold]
    #[inline(never)] // keeps the closed path of every caller small
    pub(super) fn admit_unless_closed(&self, now: Instant) -> Result<Permit, Refused> {
        let given_up = now.after(self.rules.time(Figure::OpenMax));
        let mut answer = Err(Refused { until: None });
        change(&self.state, |seen| {
            let word = Word::unpack(seen);
            answer = self.passes(word, now);
            let (next, _) = answer.ok().filter(|(_, role)| *role != Role::Call)?;
            if next.epoch == word.epoch {
                // Told before the place is taken: who finds no place must know this time.
                self.tell(word.epoch, given_up);
            }
            Some(next.pack())
        });
        let (Word { epoch, .. }, role) = answer?;
        if role != Role::Call {
            self.tell(epoch, given_up);
        }
        Ok(Permit { epoch, role })
    }

    /// A probe gives its place back, after a success or without a result.
    #[cold]
    pub(super) fn return_probe(&self, epoch: u32, has_succeeded: bool) -> Option<Transition> {
        let is_ours = |word: Word| word.kind == State::HalfOpen && word.epoch == epoch;
        let needed = self.rules.get(Figure::Successes);
        let (from, to) = self.shift(&|word| {
            let succeeded = word.succeeded + u16::from(has_succeeded);
            if !is_ours(word) {
                None
            } else if has_succeeded && u64::from(succeeded) >= needed {
                Some(word.next(State::Closed, word.level))
            } else {
                let probing = word.probing.saturating_sub(1);
                Some(Word {
                    probing,
                    succeeded,
                    ..word
                })
            }
        })?;
        (to.kind == State::Closed).then(|| told(from, to, None))
    }

    /// Whether it opens for this in this state.
    fn opens(&self, cause: Opening, word: Word) -> bool {
        match cause {
            Opening::Tripped { epoch, tripped } => {
                word.kind == State::Closed && word.epoch == epoch && self.rules.is(tripped.version)
            }
            Opening::ProbeFailed { epoch } => word.kind == State::HalfOpen && word.epoch == epoch,
            Opening::Forced => matches!(word.kind, State::Closed | State::HalfOpen),
        }
    }

    /// Asked before [`open`](Self::open), so that a late failure draws nothing.
    #[cold]
    pub(super) fn would_open(&self, cause: Opening) -> bool {
        self.opens(cause, Word::unpack(self.state.load(Ordering::SeqCst)))
    }

    /// Opens it, with these random bits.
    #[cold]
    pub(super) fn open(&self, cause: Opening, now: Instant, bits: u64) -> Option<Transition> {
        let (from, to) = self.shift(&|word| {
            let level = || self.level_of_opening(word, now);
            self.opens(cause, word)
                .then(|| word.next(State::Open, level()))
        })?;
        let open_for = Duration::from_nanos(self.rules.open_time(to.level, bits));
        let until = Due::new(to.epoch, now.after(open_for)).any();
        self.tell(to.epoch, until);
        Some(told(from, to, Some(until.since(now))))
    }

    /// The how-manieth opening in a row it would be. While closed, the last ones are remembered
    /// until the time that was told last: `open_max` after the last probe began.
    pub(super) fn level_of_opening(&self, word: Word, now: Instant) -> u8 {
        let remembered =
            word.kind != State::Closed || now < Due(self.due.load(Ordering::SeqCst)).any();
        if remembered { word.level + 1 } else { 1 }
    }

    /// Changes the state as `next` says, or not at all.
    pub(super) fn shift(&self, next: &dyn Fn(Word) -> Option<Word>) -> Option<(Word, Word)> {
        let shifted = change(&self.state, |seen| next(Word::unpack(seen)).map(Word::pack));
        shifted.map(|(from, to)| (Word::unpack(from), Word::unpack(to)))
    }

    /// Changes to this state with the level that `level` says, or not at all.
    pub(super) fn go(&self, to: State, level: fn(Word) -> Option<u8>) -> Option<Transition> {
        let (from, to) = self.shift(&|word| level(word).map(|level| word.next(to, level)))?;
        Some(told(from, to, None))
    }

    /// Tells what is due in this epoch, unless that is over or a later time is told already.
    fn tell(&self, epoch: u32, at: Instant) {
        let due = Due::new(epoch, at);
        change(&self.due, |seen| {
            // Looked at behind the time: one of a later epoch is then never overwritten.
            let state = Word::unpack(self.state.load(Ordering::SeqCst));
            let is_known = Due(seen).of(epoch).is_some_and(|known| known >= due.any());
            (state.epoch == epoch && !is_known).then_some(due.0)
        });
    }

    pub(super) fn cut_open_time(&self, now: Instant) {
        let longest = now.after(self.rules.time(Figure::OpenMax));
        change(&self.due, |seen| {
            let word = Word::unpack(self.state.load(Ordering::SeqCst));
            let cut = Due::new(word.epoch, longest);
            let is_longer = Due(seen)
                .of(word.epoch)
                .is_some_and(|told| told > cut.any());
            (word.kind == State::Open && is_longer).then_some(cut.0)
        });
    }
}

/// What its maker is told of a change.
fn told(from: Word, to: Word, open_for: Option<Duration>) -> Transition {
    Transition {
        from: from.kind,
        to: to.kind,
        open_for,
    }
}
