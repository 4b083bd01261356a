//! What goes on between two attempts of a failing call? The same for every engine.

use core::task::{Context, Poll, Waker, ready};
use core::time::Duration;
use std::sync::{Arc, Mutex, PoisonError};

use super::gave_up::{Details, GaveUp, Outcome, Record};
use super::retrier::{Engine, Parts};
use crate::call::{Attempt, Call, Start};
use crate::classify::{Failure, Verdict};
use crate::decide::Decision;
use crate::observe::Event;
use crate::rng::{Draws, Random, SplitMix64};
use crate::scope::{Scope, tell_current};
use crate::shared::Shared;
use crate::stop::StopReason;
use crate::time::{Instant, Sleep};

/// A call in the slow path: it has failed once, or waits with a time limit.
pub(super) struct Course {
    pub call: Call<Arc<Shared>>,
    engine: Arc<Engine>,
    random: Option<SplitMix64>,
    /// The decided delay before the attempt under way.
    delay: Duration,
    wait_began: Instant,
    /// When the next hedge is due, once that has been asked; `NEVER` for none.
    hedge_due: Option<Instant>,
    /// The number of the attempt that is being executed: if that unwinds, it has panicked.
    pub running: Option<u32>,
    /// A mutex for `Sync` alone: a give-up, which shares the box, must be `Sync`, and timers need
    /// not be. Never locked.
    timer: Mutex<Option<(Instant, Sleep)>>,
}

/// What is to happen next while attempts are under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alarm {
    /// The deadline ends the call.
    Deadline,
    /// The attempt of this number has taken too long.
    Timeout(u32),
    /// A hedge is due.
    Hedge,
}

/// What follows a failed attempt, if the call goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Another attempt, after this delay.
    Retry(Duration),
    /// The outcome of the copies that are still under way.
    AwaitOthers,
}

impl Course {
    pub fn new(parts: &Parts, call: Call<Arc<Shared>>, began: Instant) -> Self {
        Self {
            call,
            engine: Arc::clone(&parts.engine),
            random: None,
            delay: Duration::ZERO,
            wait_began: began,
            hedge_due: None,
            running: None,
            timer: Mutex::new(None),
        }
    }

    fn random<'a>(random: &'a mut Option<SplitMix64>, engine: &'a Engine) -> Draws<'a> {
        engine.seed.draws(random)
    }

    /// Polls the timer that ends at `at`; it is made anew where it was to end at another time.
    pub fn poll_timer(&mut self, at: Instant, context: &mut Context<'_>) -> Poll<()> {
        let sleeper = &self.engine.sleeper;
        let timer = self.timer.get_mut().unwrap_or_else(PoisonError::into_inner);
        if timer.as_ref().is_none_or(|(ends, _)| *ends != at) {
            *timer = Some((at, sleeper.sleep_until(at)));
        }
        if let Some((_, sleep)) = timer {
            ready!(sleep.as_mut().poll(context));
        }
        *timer = None;
        Poll::Ready(())
    }

    fn drop_timer(&mut self) {
        *self.timer.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// What is to happen next while attempts are under way, and when. Hedges only where the engine
    /// can run them.
    pub fn alarm(&mut self) -> Option<(Instant, Alarm)> {
        let hedge = Some(self.hedge_due()).filter(|at| *at != Instant::NEVER);
        let deadline = self.call.deadline().map(|at| (at, Alarm::Deadline));
        let timeout = self.call.attempt_timeout().and_then(|limit| {
            let flights = self.call.flights();
            flights
                .map(|flight| (flight.started.after(limit), Alarm::Timeout(flight.number)))
                .min_by_key(|(at, _)| *at)
        });
        let hedge = hedge.map(|at| (at, Alarm::Hedge));
        // Of several at one instant the first ends the most.
        [deadline, timeout, hedge]
            .into_iter()
            .flatten()
            .min_by_key(|(at, _)| *at)
    }

    fn hedge_due(&mut self) -> Instant {
        let (call, engine) = (&mut self.call, &self.engine);
        *self.hedge_due.get_or_insert_with(|| {
            let due = call.hedge_at_lazily(|| engine.sleeper.now());
            due.unwrap_or(Instant::NEVER)
        })
    }

    /// Starts the hedge that is due, if budget and guards let it.
    pub fn start_hedge(&mut self) -> Option<Attempt> {
        let now = self.engine.sleeper.now();
        self.hedge_due = None;
        let after = now.since(self.primary_started());
        let engine = &*self.engine;
        let mut random = Self::random(&mut self.random, engine);
        self.call
            .start_hedge_announced(now, &mut random, |attempt, transition| {
                engine.tell_taken(transition);
                engine.observe(|retrier| Event::Hedge {
                    retrier,
                    number: attempt.number(),
                    after,
                });
            })
    }

    fn primary_started(&self) -> Instant {
        let mut flights = self.call.flights();
        flights
            .next()
            .map_or(Instant::ZERO, |flight| flight.started)
    }

    /// The number of the attempt that the last decision started.
    pub fn primary(&self) -> u32 {
        let mut flights = self.call.flights();
        flights
            .next()
            .map_or(self.call.attempt_number(), |flight| flight.number)
    }

    /// The scope of that attempt.
    pub fn scope(&self) -> Scope {
        self.call.scope_of(self.primary())
    }

    /// The wait that was just decided.
    pub fn delay(&self) -> Duration {
        self.delay
    }

    /// When that wait ends.
    pub fn wait_ends(&self) -> Instant {
        self.wait_began.after(self.delay)
    }

    /// The attempt of this number has succeeded; tells of the copies that were beaten.
    pub fn succeeded(&mut self, number: u32) {
        let now = self.engine.sleeper.now();
        let is_hedged = self.call.flights().nth(1).is_some();
        let beaten: Vec<_> = if is_hedged && self.engine.observer.is_some() {
            let flights = self.call.flights();
            flights
                .filter(|flight| flight.number != number)
                .map(|flight| (flight.number, now.since(flight.started)))
                .collect()
        } else {
            Vec::new()
        };
        let (call, engine) = (&mut self.call, &self.engine);
        let mut draw = || Self::random(&mut self.random, engine).next_u64();
        call.on_outcome_of(number, now, Verdict::Success, &mut draw);
        self.running = None;
        self.tell_transition();
        for (number, elapsed) in beaten {
            self.engine.observe(|retrier| Event::Beaten {
                retrier,
                number,
                elapsed,
            });
        }
    }

    /// Decides after a failure; on a retry, the wait begins at `now`.
    pub fn decide(
        &mut self,
        number: u32,
        now: Instant,
        failure: Failure,
    ) -> Result<Next, StopReason> {
        // It measured the attempt that is over, and must not measure the wait.
        self.drop_timer();
        self.hedge_due = None;
        let mut random = Self::random(&mut self.random, &self.engine);
        let decision = self
            .call
            .on_outcome_of(number, now, failure.into(), &mut random);
        self.running = None;
        self.tell_transition();
        match decision {
            Decision::RetryIn(delay) => {
                let failure = self.call.joined_failure().unwrap_or(failure);
                (self.delay, self.wait_began) = (delay, now);
                self.engine.observe(|retrier| Event::Retry {
                    retrier,
                    next: self.call.attempt_number().saturating_add(1),
                    delay,
                    class: failure.class,
                    effect: failure.effect,
                });
                Ok(Next::Retry(delay))
            }
            Decision::AwaitOthers => Ok(Next::AwaitOthers),
            Decision::Stop(reason) => Err(reason),
            Decision::Done => Err(StopReason::Cancelled),
        }
    }

    /// The attempt under way has failed, and nobody asks what follows.
    pub fn ends_with(&mut self, failure: &Failure) {
        let (number, now) = (self.primary(), self.engine.sleeper.now());
        let mut random = Self::random(&mut self.random, &self.engine);
        self.call.ends_with(number, now, failure, &mut random);
        self.running = None;
        // An observer that panics while another panic unwinds would abort the process.
        if !std::thread::panicking() {
            self.tell_transition();
        }
    }

    /// Starts the attempt that was decided, after its wait.
    pub fn start(&mut self, waker: &Waker) -> Result<Start, StopReason> {
        self.hedge_due = None;
        let engine = &*self.engine;
        let now = engine.sleeper.now();
        let waited = now.since(self.wait_began);
        let random = &mut self.random;
        let mut draw = || Self::random(random, engine).next_u64();
        let started =
            self.call
                .start_announced(now, Some(waker), &mut draw, |attempt, transition| {
                    engine.tell_taken(transition);
                    engine.observe(|retrier| Event::Attempt {
                        retrier,
                        number: attempt.number(),
                        waited,
                    });
                });
        if !matches!(started, Ok(Start::Wait(_))) {
            self.drop_timer();
        }
        self.running = match started {
            Ok(Start::Go(attempt)) => Some(attempt.number()),
            _ => None,
        };
        started
    }

    fn tell_transition(&mut self) {
        if let Some(transition) = self.call.take_transition() {
            self.engine.tell_transition(transition);
        }
    }

    /// The record of an attempt that failed.
    pub fn record(&self, number: u32, failure: Failure) -> Record {
        Record {
            number,
            delay: self.delay,
            class: failure.class,
            effect: failure.effect,
        }
    }
}

/// Dropped in mid-attempt, the breaker learns how long that had lasted.
impl Drop for Course {
    fn drop(&mut self) {
        if self.call.flights().next().is_none() {
            return;
        }
        let now = self.engine.sleeper.now();
        let (call, engine) = (&mut self.call, &self.engine);
        let mut draw = || Self::random(&mut self.random, engine).next_u64();
        match self.running {
            Some(number) => call.panicked_of(number, now, &mut draw),
            None => call.cancel(now, &mut draw),
        }
        // An observer that panics while another panic unwinds would abort the process.
        if !std::thread::panicking() {
            self.tell_transition();
        }
    }
}

impl<E, T> Details<E, T> {
    /// The attempts that were begun, those under way included.
    pub fn attempts_begun(&self) -> u32 {
        self.course
            .as_ref()
            .map_or(1, |course| course.call.attempt_number())
    }

    /// Notes how the attempts under way ended, where nothing will follow them.
    pub fn note_last(&mut self, failure: Failure, outcome: Outcome<E, T>, now: Instant) {
        let Some(course) = &self.course else {
            return;
        };
        let record = course.record(course.primary(), failure);
        let beside = course.call.flights().skip(1);
        let beside: Vec<_> = beside
            .map(|flight| course.record(flight.number, failure))
            .collect();
        self.note(record, failure, outcome, now);
        for record in beside {
            self.note_beside(record);
        }
    }

    /// Notes a failed attempt and decides what follows.
    pub fn after_failure(
        &mut self,
        number: u32,
        now: Instant,
        failure: Failure,
        outcome: Outcome<E, T>,
    ) -> Result<Next, StopReason> {
        let record = self
            .course
            .as_ref()
            .map(|course| course.record(number, failure));
        let Some(record) = record else {
            return Err(StopReason::Cancelled);
        };
        self.note(record, failure, outcome, now);
        let Some(course) = &mut self.course else {
            return Err(StopReason::Cancelled);
        };
        let decided = course.decide(number, now, failure);
        if let Some(joined) = course.call.joined_failure() {
            self.join(joined);
        }
        decided
    }

    /// Ends the call without success. First the state is settled, then the layer above is told,
    /// then the observer.
    pub fn give_up(
        mut self: Box<Self>,
        engine: &Engine,
        reason: StopReason,
        now: Instant,
    ) -> GaveUp<E, T> {
        if let Some(course) = &self.course {
            self.next_probe = self.next_probe.or(course.call.next_probe());
        }
        let gave_up = self.stop(reason, now);
        tell_current(reason);
        engine.observe(|retrier| Event::Stopped {
            retrier,
            reason,
            attempts: gave_up.attempts(),
            elapsed: gave_up.elapsed_since_first_failure(),
        });
        gave_up
    }
}
