//! What comes next in a call: a wait, an attempt, an alarm?

use core::cell::Cell;
use core::task::{Context, Poll, Waker, ready};
use core::time::Duration;
use std::sync::{Mutex, PoisonError};

use super::super::core::Core;
use super::super::gave_up::Last;
use super::alarm::Alarm;
use super::{Engine, Stage, Step};
use crate::attempt::Attempt;
use crate::call::Start;
use crate::observe::Event;
use crate::stop::StopReason;
use crate::time::{Cancel, Instant};

impl<H: AsRef<Core>> Engine<H> {
    pub(super) fn poll_timer(&mut self, at: Instant, context: &mut Context<'_>) -> Poll<()> {
        if self.timer.as_ref().is_none_or(|(ends, _)| *ends != at) {
            let timer = self.host().sleeper.sleep_until(at);
            self.timer = Some((at, Mutex::new(timer)));
        }
        if let Some((_, timer)) = &mut self.timer {
            let sleep = timer.get_mut().unwrap_or_else(PoisonError::into_inner);
            ready!(sleep.as_mut().poll(context));
        }
        self.timer = None;
        Poll::Ready(())
    }

    /// Goes on as far as possible. The time is known to have come to `reached`.
    pub(super) fn advance(
        &mut self,
        waker: &Waker,
        reached: Option<Instant>,
        cut: &mut dyn FnMut(u32),
    ) -> Step {
        if self.cancel_handle().is_some_and(Cancel::is_cancelled) && !self.is_over() {
            self.cut_all(cut);
            self.end_cancelled();
        }
        loop {
            match self.stage {
                Stage::Begun(attempt) => {
                    self.stage = Stage::Running;
                    return Step::Start(attempt);
                }
                Stage::Waiting { until, asked } => {
                    // A wait of no length is over with the turn that it gave to others.
                    let is_ahead =
                        !self.delay.is_zero() && reached.is_none_or(|reached| reached < until);
                    if !asked || is_ahead {
                        self.stage = Stage::Waiting { until, asked: true };
                        return Step::Wait(until);
                    }
                    self.stage = Stage::Starting;
                }
                Stage::Starting => return self.start(waker),
                Stage::Running => {
                    let Some((at, alarm)) = self.alarm() else {
                        return Step::Wait(Instant::NEVER);
                    };
                    if reached.is_none_or(|reached| reached < at) {
                        return Step::Wait(at);
                    }
                    if let Some(hedge) = self.ring(alarm, cut) {
                        return Step::Start(hedge);
                    }
                }
                Stage::Stopped(_) | Stage::Over => {
                    let stopped = self.take_stopped();
                    return stopped.map_or(Step::Wait(Instant::NEVER), Step::Stopped);
                }
            }
        }
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Stopped(_) | Stage::Over)
    }

    /// Starts the attempt that was decided, if the guards let it.
    pub(super) fn start(&mut self, waker: &Waker) -> Step {
        self.hedge_due = None;
        let is_told = self.identity.is_some() || self.wait_began.is_none();
        let read = Cell::new(is_told.then(|| self.now()));
        let waited = read.get().map_or(Duration::ZERO, |now| {
            now.since(*self.wait_began.get_or_insert(now))
        });
        let begun = self.on_call(|call, host, random| {
            let now = || {
                let now = read.get().unwrap_or_else(|| host.sleeper.now());
                read.set(Some(now));
                now
            };
            call.begin_attempt(&now, Some(waker), random)
        });
        match begun {
            Ok(Start::Go(attempt)) => {
                let number = attempt.number();
                self.observe(Event::Attempt { number, waited });
                self.call.spend();
                self.timer = None;
                self.stage = Stage::Running;
                let timeouts = self.story.as_ref().map_or(0, |story| story.timeouts);
                Step::Start(attempt.after_timeouts(timeouts))
            }
            Ok(Start::Wait(until)) => Step::Wait(until),
            Err(reason) => {
                let now = read.get().unwrap_or_else(|| self.now());
                self.stop(reason, Some(now), None);
                self.advance(waker, None, &mut |_| ())
            }
        }
    }

    /// What happens next while attempts run, and when.
    pub(super) fn alarm(&mut self) -> Option<(Instant, Alarm)> {
        let (call, host) = (&mut self.call, &self.core.as_ref().host);
        let hedge_due = *self.hedge_due.get_or_insert_with(|| {
            let due = call.hedge_at_lazily(|| host.sleeper.now());
            due.unwrap_or(Instant::NEVER)
        });
        Alarm::next(call, hedge_due)
    }

    /// An alarm has gone off. Returns the hedge that starts, if it was that.
    pub(super) fn ring(&mut self, alarm: Alarm, cut: &mut dyn FnMut(u32)) -> Option<Attempt> {
        match alarm {
            Alarm::Hedge => return self.start_hedge(),
            Alarm::Timeout(number) => {
                cut(number);
                self.timed_out(number);
            }
            Alarm::Deadline => {
                self.cut_all(cut);
                let now = self.now();
                let before = self.call.joined_failure();
                self.note_running(Last::AttemptTimeout, now);
                self.heed_failed_copies(before);
                self.on_call(|call, _, random| call.cut(now, random));
                self.shared().count_stop(StopReason::DeadlineExceeded);
                self.stop(StopReason::DeadlineExceeded, Some(now), None);
            }
        }
        None
    }

    /// Starts the hedge that is due, if budget and guards let it.
    pub(super) fn start_hedge(&mut self) -> Option<Attempt> {
        let now = self.now();
        self.hedge_due = None;
        let primary = self.call.flights().next().and_then(|first| first.started);
        let after = primary.map_or(Duration::ZERO, |started| now.since(started));
        let hedge = self.on_call(|call, _, random| call.begin_hedge(now, random))?;
        let number = hedge.number();
        self.observe(Event::Hedge { number, after });
        self.call.spend();
        Some(hedge)
    }

    pub(super) fn cut_all(&self, cut: &mut dyn FnMut(u32)) {
        self.call.flights().for_each(|flight| cut(flight.number));
    }
}
