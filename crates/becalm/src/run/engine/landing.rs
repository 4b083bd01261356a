//! How does an attempt end, and the call?

use core::fmt::Display;
use core::time::Duration;

use super::super::core::Core;
use super::super::gave_up::{Last, Record, Story};
use super::{Engine, Stage};
use crate::call::TIMED_OUT;
use crate::classify::Failure;
use crate::hedge::joined;
use crate::hint::Hint;
use crate::observe::{Event, Shown};
use crate::scope::tell_current;
use crate::stop::StopReason;
use crate::time::Instant;

impl<H: AsRef<Core>> Engine<H> {
    /// Tells that the attempt of this number has failed, and decides what follows, which the next
    /// [`poll_attempt`](Self::poll_attempt) tells. Drop the attempt first.
    ///
    /// Observers see `error`; without one, a time-out has cut the attempt. The attempts beside it go on, whatever it
    /// was: one of them may succeed.
    #[cold]
    pub fn failed(&mut self, number: u32, failure: Failure, error: Option<&dyn Display>) {
        let is_outranked = self.call.outranks(&failure);
        let now = self.now();
        // It measured the attempt that is over, and must not measure the wait.
        (self.timer, self.hedge_due) = (None, None);
        let last = match &self.story {
            Some(story) if is_outranked => story.last(),
            _ => Last::of(error),
        };
        self.keeps_earlier_error = is_outranked && last == Last::Error(());
        self.note(number, failure, last, now);
        let decided =
            self.on_call(|call, _, random| call.on_failure_of(number, now, &failure, random));
        let joined = self.call.joined_failure();
        if let Some(joined) = joined {
            self.story().join(joined);
        }
        match decided {
            Ok(Some(delay)) => {
                (self.delay, self.wait_began) = (delay, Some(now));
                let until = now.after(delay);
                self.stage = Stage::Waiting {
                    until,
                    asked: false,
                };
                let Failure { class, effect, .. } = joined.unwrap_or(failure);
                self.observe(Event::Retry {
                    next: self.call.attempt_number().saturating_add(1),
                    delay,
                    class,
                    effect,
                    error: error.map(Shown),
                });
                if self.call.waits_for_token() {
                    let next = self.call.attempt_number().saturating_add(1);
                    self.observe(Event::WaitsForToken { next, delay });
                }
            }
            // Another copy may still bring the success.
            Ok(None) => (),
            Err(reason) => {
                // That of the copy that decided is the driver's, and gone from here.
                let error = error.filter(|_| !is_outranked);
                self.stop(reason, Some(now), error);
            }
        }
    }

    /// Ends the call as cancelled, whatever runs.
    pub(super) fn end_cancelled(&mut self) {
        let counts = self.started.is_some() || self.story.is_some() || self.call.is_under_way();
        let now = counts.then(|| self.now());
        if let Some(now) = now {
            self.note_running(Last::Cancelled, now);
            self.cancel_at(now);
        } else {
            self.call.release();
        }
        self.shared().count_stop(StopReason::Cancelled);
        self.stop(StopReason::Cancelled, now, None);
    }

    /// What copies of the attempt that was cut have failed with holds for the layers above, too.
    pub(super) fn heed_failed_copies(&mut self, before: Option<Failure>) {
        let Some(before) = before else { return };
        let shared = self.shared();
        let all = joined(before, Duration::ZERO, TIMED_OUT, |failure| {
            shared.class_of(failure)
        });
        self.story().join(all);
        if all.hint == Some(Hint::Stop) {
            tell_current(StopReason::DoNotRetry);
        }
    }

    /// Notes the attempts that run, where nothing will follow them: what they did is not known.
    pub(super) fn note_running(&mut self, last: Last<()>, now: Instant) {
        let flights: Vec<u32> = self.call.flights().map(|flight| flight.number).collect();
        for (at, number) in flights.into_iter().enumerate() {
            if at == 0 {
                self.note(number, TIMED_OUT, last, now);
            } else {
                let record = self.record(number, &TIMED_OUT);
                self.story().note_beside(record);
            }
        }
    }

    /// What the call holds is returned, and the guards learn how long what runs had lasted.
    pub(super) fn cancel_at(&mut self, now: Instant) {
        let executing = self.executing.take();
        self.on_call(|call, _, random| match executing {
            Some(number) => call.panicked(number, now, random),
            None => call.cancel(now, random),
        });
    }

    /// Notes that the attempt of this number has failed.
    pub(super) fn note(&mut self, number: u32, failure: Failure, last: Last<()>, now: Instant) {
        let record = self.record(number, &failure);
        self.story().note(record, failure, last, now);
    }

    fn story(&mut self) -> &mut Story {
        let started = self.started;
        self.story.get_or_insert_with(|| Story::new(started))
    }

    fn record(&self, number: u32, failure: &Failure) -> Record {
        Record {
            number,
            delay: self.delay,
            class: failure.class,
            effect: failure.effect,
        }
    }

    /// The call is over. First the state is settled, then the layer above is told, then the
    /// observer.
    #[cold]
    pub(super) fn stop(
        &mut self,
        reason: StopReason,
        now: Option<Instant>,
        error: Option<&dyn Display>,
    ) {
        self.timer = None;
        let (attempts, next_probe) = (self.call.attempt_number(), self.call.next_probe());
        let story = self.story.take();
        let mut story = story.unwrap_or_else(|| Story::new(self.started));
        // What is said about time counts from now.
        let timed = self.started.is_some() || next_probe.is_some();
        let now = now.or_else(|| timed.then(|| self.now()));
        story.for_tokens = now.map_or(Duration::ZERO, |now| self.call.waited_for_tokens(now));
        let stopped = story.end(reason, attempts, next_probe, now);
        let (attempts, elapsed) = (stopped.attempts(), stopped.elapsed_since_first_failure());
        self.stage = Stage::Stopped(stopped);
        tell_current(reason);
        self.observe(Event::Stopped {
            reason,
            attempts,
            elapsed,
            error: error.map(Shown),
        });
    }

    /// The copies that lose to the attempt of this number, and how long they had run: for an
    /// observer.
    pub(super) fn beaten(&self, winner: u32) -> Vec<(u32, Duration)> {
        if self.identity.is_none() || self.call.flights().nth(1).is_none() {
            return Vec::new();
        }
        let now = self.now();
        let mut losers = Vec::new();
        for flight in self.call.flights() {
            match flight.started {
                Some(started) if flight.number != winner => {
                    losers.push((flight.number, now.since(started)));
                }
                _ => (),
            }
        }
        losers
    }

    /// The body of the attempt of this number unwinds.
    pub(in crate::run) fn unwinds(&mut self, number: u32) {
        self.executing = Some(number);
    }
}
