//! What happens to one call from its first attempt to its end? The step that every driver repeats.
//!
//! A driver asks [`Engine::poll_attempt`] (or [`step`](Engine::step), or
//! [`block_attempt`](Engine::block_attempt)) for the next attempt, runs it [`inside`](Engine::inside)
//! the engine, and tells it the outcome. The engine does everything else: the decision, waits and
//! guards, time limits, hedges, events, records, the scope. It knows neither the operation's type nor
//! its error's.

use core::fmt::Display;
use core::task::{Context, Poll, Waker, ready};
use core::time::Duration;
use std::sync::Arc;

use super::alarm::Alarm;
use super::core::{Attached, Core, Host, Identity, Stream};
use super::first_attempt::{Begun, Halted, Settings, plain};
use super::gave_up::{Last, Record, Stopped, Story};
use crate::call::{Attempt, Call, CallOptions, Flight, Start, TIMED_OUT};
use crate::classify::Failure;
use crate::guard::Admission;
use crate::observe::{Event, Shown};
use crate::rng::SplitMix64;
use crate::scope::{Entered, Scope, tell_current};
use crate::shared::Shared;
use crate::stop::StopReason;
use crate::time::{Cancel, Instant, Sleep, Unpark};

/// One call with its clock, its observer, its alarms and its records: the step that every driver
/// repeats.
///
/// `H` is how it holds the retrier: `&Retrier`, or a `Retrier` of its own, which makes it `'static`.
/// Dropped, it returns what it holds and tells the observer that the call was cancelled; drop what
/// the attempts hold before.
///
/// ```
/// use becalm::{Classify, Policy};
/// use becalm::run::Engine;
///
/// // A driver: here, of a blocking operation.
/// fn drive(retrier: &becalm::Retrier, operation: fn() -> std::io::Result<u32>) -> Option<u32> {
///     let mut engine = Engine::builder(retrier).begin();
///     loop {
///         let Ok(attempt) = engine.block_attempt() else {
///             return None; // the error says why: `Stopped`
///         };
///         match engine.inside(attempt.number(), operation) {
///             Ok(value) => {
///                 engine.succeeded(attempt.number());
///                 return Some(value);
///             }
///             Err(error) => {
///                 engine.failed(attempt.number(), error.classify(), Some(&error), &mut |_| ());
///             }
///         }
///     }
/// }
/// # let retrier = Policy::default().retrier()?;
/// # assert_eq!(drive(&retrier, || Ok(17)), Some(17));
/// # Ok::<(), becalm::InvalidPolicy>(())
/// ```
pub struct Engine<H: AsRef<Core>> {
    call: Call<Held<H>>,
    core: H,
    stage: Stage,
    /// The call's own stream, seeded at its first draw.
    random: Option<SplitMix64>,
    /// The decided delay before the attempt that runs, and when that wait began.
    delay: Duration,
    wait_began: Option<Instant>,
    /// When the call started, if the clock was read there.
    started: Option<Instant>,
    /// When the next hedge is due, once that has been asked; `NEVER` for none.
    hedge_due: Option<Instant>,
    /// The attempt that is being executed: if that unwinds, it has panicked.
    executing: Option<u32>,
    timer: Option<(Instant, Sleep)>,
    /// Made at the first failure.
    story: Option<Box<Story>>,
    identity: Option<Identity>,
    attached: Option<Box<Attached>>,
}

/// Where a call stands.
enum Stage {
    /// The first attempt has begun and is to be handed out.
    Begun(Attempt),
    /// The next attempt is decided. `asked` once the driver has been told until when to wait.
    Waiting { until: Instant, asked: bool },
    /// The wait is over, but for what a guard asks.
    Starting,
    /// Attempts run.
    Running,
    /// Without success, which is to be handed out.
    Stopped(Stopped),
    /// The driver knows how it ended.
    Over,
}

/// What a driver is to do next.
#[derive(Debug)]
pub enum Step {
    /// Run this attempt, beside those that run already.
    Start(Attempt),
    /// Ask again at this instant ([`Instant::NEVER`] for no time of its own), or when the waker is
    /// woken, or when an attempt has ended.
    Wait(Instant),
    /// The call is over. No attempt runs any more.
    Stopped(Stopped),
}

/// How a driver drops an attempt that the engine gives up, by its number.
pub type Cut<'a> = dyn FnMut(u32) + 'a;

/// Builds an engine: see [`Engine::builder`].
#[must_use = "a builder does nothing until `begin`"]
pub struct EngineBuilder<H> {
    core: H,
    settings: Option<Settings>,
}

impl<H: AsRef<Core> + Clone> EngineBuilder<H> {
    /// Sets the options of the call. Default: those of its policy.
    pub fn options(mut self, options: CallOptions) -> Self {
        self.settings().options = options;
        self
    }

    /// Attaches a value that observers see with each event of this call, such as its host. Default:
    /// nothing.
    pub fn context<T: Send + Sync + 'static>(mut self, context: T) -> Self {
        self.settings().attached().context = Some(Arc::new(context));
        self
    }

    /// Lets another thread or task end the call through this handle.
    pub fn cancel(mut self, cancel: &Cancel) -> Self {
        self.settings().attached().cancel = Some(cancel.clone());
        self
    }

    /// Begins the call: its deadline starts, in the scope that is current here.
    pub fn begin(self) -> Engine<H> {
        let Self { core, settings } = self;
        let mut begun = Begun::new(core.as_ref(), settings.unwrap_or_default());
        match begun.begin(core.as_ref()) {
            Ok(attempt) => {
                // Made first: should an observer panic, it returns what the attempt holds.
                let transition = begun.pass.transition();
                let mut engine = Engine::of_begun(core, begun);
                if let Some(transition) = transition {
                    let host = &engine.core.as_ref().host;
                    host.tell_transition(engine.identity.as_ref(), transition);
                }
                engine.observe(Event::Attempt {
                    number: attempt.number(),
                    waited: Duration::ZERO,
                });
                engine.stage = Stage::Begun(attempt);
                engine
            }
            Err(halted) => Engine::of_halted(core, begun, halted),
        }
    }

    /// What its [plain] call stands on, if that is what would begin here.
    #[inline]
    pub(super) fn plain(&self) -> Option<&H> {
        (self.settings.is_none() && plain::begins(self.core.as_ref())).then_some(&self.core)
    }

    fn settings(&mut self) -> &mut Settings {
        self.settings.get_or_insert_default()
    }
}

/// A handle through which a call finds the shared state.
#[derive(Debug, Clone)]
pub(super) struct Held<H>(H);

impl<H: AsRef<Core>> AsRef<Shared> for Held<H> {
    #[inline]
    fn as_ref(&self) -> &Shared {
        &self.0.as_ref().shared
    }
}

impl<H: AsRef<Core> + Clone> Engine<H> {
    /// An engine of this retrier; set what this call sets for itself, then
    /// [`begin`](EngineBuilder::begin).
    pub fn builder(core: H) -> EngineBuilder<H> {
        EngineBuilder {
            core,
            settings: None,
        }
    }

    /// The first attempt has begun.
    pub(super) fn of_begun(core: H, begun: Begun) -> Self {
        let Begun {
            settings,
            first,
            pass,
            is_enrolled,
            identity,
            is_running,
        } = begun;
        let held = Held(core.clone());
        let flight = Flight::first(first.started, pass);
        let call = Call::of_flight(held, settings.options, first, flight, is_enrolled);
        let mut engine = Self::of(core, call, first.started, identity, settings.attached);
        engine.executing = is_running.then_some(1);
        engine
    }

    /// The first attempt has to wait, or may not be.
    #[cold]
    pub(super) fn of_halted(core: H, begun: Begun, halted: Halted) -> Self {
        let Begun {
            settings,
            first,
            identity,
            ..
        } = begun;
        let held = Held(core.clone());
        let (admission, refused) = match halted {
            Halted::Waits(admission) => (admission, None),
            Halted::Refused(refused) => (Admission::default(), Some(refused)),
        };
        let call = Call::of_admission(held, settings.options, first, admission);
        let mut engine = Self::of(core, call, first.started, identity, settings.attached);
        engine.stage = Stage::Starting;
        engine.wait_began = first.started;
        if let Some(refused) = refused {
            engine.call.refused_at_once(refused.until);
            engine.shared().count_stop(refused.reason);
            engine.stop(refused.reason, None, None);
        }
        engine
    }

    #[inline]
    fn of(
        core: H,
        call: Call<Held<H>>,
        started: Option<Instant>,
        identity: Option<Identity>,
        attached: Option<Box<Attached>>,
    ) -> Self {
        Self {
            call,
            core,
            stage: Stage::Running,
            random: None,
            delay: Duration::ZERO,
            wait_began: None,
            started,
            hedge_due: None,
            executing: None,
            timer: None,
            story: None,
            identity,
            attached,
        }
    }
}

/// What a driver asks and tells.
impl<H: AsRef<Core>> Engine<H> {
    /// Asks for the next attempt: it comes once it may start, or the end of the call comes. Pending while attempts run
    /// or a wait does.
    ///
    /// `cut` drops the attempt of a number: its time is up, or another outcome decided the call.
    ///
    /// # Errors
    ///
    /// The call is over, without success; asked again, it stays pending.
    pub fn poll_attempt(
        &mut self,
        context: &mut Context<'_>,
        cut: &mut Cut<'_>,
    ) -> Poll<Result<Attempt, Stopped>> {
        let mut reached = None;
        loop {
            match self.advance(context.waker(), reached, cut) {
                Step::Start(attempt) => return Poll::Ready(Ok(attempt)),
                Step::Stopped(stopped) => return Poll::Ready(Err(stopped)),
                Step::Wait(until) => {
                    self.listen(context.waker());
                    if self.yields() {
                        context.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                    if until == Instant::NEVER {
                        return Poll::Pending;
                    }
                    ready!(self.poll_timer(until, context));
                    reached = Some(until);
                }
            }
        }
    }

    /// The next attempt, once it may start; until then this thread waits, on the process's own
    /// clock. Call it while no attempt runs.
    ///
    /// # Errors
    ///
    /// The call is over, without success.
    pub fn block_attempt(&mut self) -> Result<Attempt, Stopped> {
        // A waker of this thread only where it has to wait, for that is an allocation.
        let mut reached = None;
        match self.advance(Waker::noop(), None, &mut |_| ()) {
            Step::Start(attempt) => return Ok(attempt),
            Step::Stopped(stopped) => return Err(stopped),
            Step::Wait(_) => (),
        }
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        let _listening = self.cancel_handle().map(|cancel| cancel.listen(&waker));
        loop {
            match self.advance(&waker, reached, &mut |_| ()) {
                Step::Start(attempt) => return Ok(attempt),
                Step::Stopped(stopped) => return Err(stopped),
                Step::Wait(until) => {
                    if !self.yields() {
                        self.host().warn_if_in_runtime();
                        let has_come = self.host().sleeper.park_until(until);
                        reached = has_come.then_some(until);
                    }
                }
            }
        }
    }

    /// What to do next, for a driver that waits in its own way.
    pub fn step(&mut self, waker: &Waker, cut: &mut Cut<'_>) -> Step {
        let now = self.host().sleeper.now();
        self.advance(waker, Some(now), cut)
    }

    /// Runs a part of the attempt of this number (makes its future, polls it, calls it): in its
    /// scope, so that layers below know of this call, and are heard.
    #[inline]
    pub fn inside<R>(&mut self, number: u32, run: impl FnOnce() -> R) -> R {
        self.executing = Some(number);
        let entered = Entered::new(self.call.scope_of(number));
        let result = run();
        self.returned(entered.leave());
        result
    }

    /// What was executed has returned, and its scope has become this.
    pub(super) fn returned(&mut self, inside: Scope) {
        self.executing = None;
        self.hear(inside);
    }

    /// Tells that the attempt of this number has succeeded, and with it the call. Drop the attempts beside it
    /// first.
    pub fn succeeded(&mut self, number: u32) {
        let beaten = self.beaten(number);
        let Host { sleeper, seed, .. } = &*self.core.as_ref().host;
        let mut random = Stream {
            seed,
            stream: &mut self.random,
        };
        self.stage = Stage::Over;
        Scope::handled();
        self.call
            .succeed_lazily(number, || sleeper.now(), &mut random);
        self.tell_transition();
        for (number, elapsed) in beaten {
            self.observe(Event::Beaten { number, elapsed });
        }
        let attempts = self.call.attempt_number();
        if attempts > 1 && self.identity.is_some() {
            let elapsed = self.elapsed(self.host().sleeper.now());
            self.observe(Event::Recovered { attempts, elapsed });
        }
    }

    /// Tells that the attempt of this number has failed, and decides what follows, which the next
    /// [`poll_attempt`](Self::poll_attempt) tells. Drop the attempt first.
    ///
    /// Observers see `error`. `cut` drops the attempts beside it, where this failure decides the
    /// call.
    #[cold]
    pub fn failed(
        &mut self,
        number: u32,
        failure: Failure,
        error: Option<&dyn Display>,
        cut: &mut Cut<'_>,
    ) {
        self.land(number, failure, Last::Error(()), error, cut);
    }

    /// Tells that the attempt of this number has failed, and that the driver wants no other: the call ends as
    /// cancelled.
    pub fn failed_finally(&mut self, number: u32, failure: Failure, error: Option<&dyn Display>) {
        self.end_after(number, failure, Last::Error(()), error);
    }

    /// Tells that a driver's own time-out has cut the attempt of this number.
    pub fn timed_out(&mut self, number: u32, cut: &mut Cut<'_>) {
        self.land(number, TIMED_OUT, Last::AttemptTimeout, None, cut);
    }

    /// Ends the call as cancelled, because the driver wants no further attempt. Drop what runs first.
    pub fn cancel(&mut self) -> Stopped {
        if !matches!(self.stage, Stage::Stopped(_)) {
            self.end_cancelled();
        }
        self.take_stopped().unwrap_or_else(Stopped::not_begun)
    }

    /// The end without success, if there is one that was not handed out yet.
    pub fn take_stopped(&mut self) -> Option<Stopped> {
        if !matches!(self.stage, Stage::Stopped(_)) {
            return None;
        }
        match core::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Stopped(stopped) => Some(stopped),
            _ => None,
        }
    }

    /// Tells that the request's body is gone: no attempt can follow that sends it again.
    pub fn body_is_consumed(&mut self) {
        self.call.body_is_consumed();
    }

    /// Tells that a layer below has said that more attempts harm.
    pub fn forbid_retry(&mut self) {
        self.call.forbid_retry();
    }

    /// Takes over what the scope of an attempt has become, whenever a part of the attempt has run in
    /// it elsewhere.
    pub fn hear(&mut self, inside: Scope) {
        self.call.hear(inside);
        if inside.is_body_consumed() {
            self.call.body_is_consumed();
        }
    }

    /// The scope of what runs inside the attempt of this number.
    pub fn scope_of(&self, number: u32) -> Scope {
        self.call.scope_of(number)
    }

    /// The end of the whole call.
    pub fn deadline(&self) -> Option<Instant> {
        self.call.deadline()
    }

    /// The delay that was decided last, before the next attempt.
    pub fn delay(&self) -> Duration {
        self.delay
    }

    /// How many attempts have begun.
    pub fn attempts(&self) -> u32 {
        self.call.attempt_number()
    }
}

impl<H: AsRef<Core>> Engine<H> {
    fn host(&self) -> &Host {
        &self.core.as_ref().host
    }

    fn shared(&self) -> &Shared {
        &self.core.as_ref().shared
    }

    fn observe(&self, event: Event<'_>) {
        if let Some(identity) = &self.identity {
            self.host().observe(Some(identity), event);
        }
    }

    fn tell_transition(&mut self) {
        if let Some(transition) = self.call.take_transition() {
            let host = &self.core.as_ref().host;
            host.tell_transition(self.identity.as_ref(), transition);
        }
    }

    fn cancel_handle(&self) -> Option<&Cancel> {
        self.attached.as_ref()?.cancel.as_ref()
    }

    fn elapsed(&self, now: Instant) -> Duration {
        match &self.story {
            Some(story) => story.elapsed(now),
            None => self
                .started
                .map_or(Duration::ZERO, |started| now.since(started)),
        }
    }

    /// A wait of no length gives others a turn, and needs no timer.
    fn yields(&self) -> bool {
        self.delay.is_zero() && matches!(self.stage, Stage::Waiting { .. })
    }

    /// Wakes this task when the call is cancelled from outside.
    fn listen(&mut self, waker: &Waker) {
        if let Some(attached) = &mut self.attached {
            attached.listen(waker);
        }
    }

    fn poll_timer(&mut self, at: Instant, context: &mut Context<'_>) -> Poll<()> {
        if self.timer.as_ref().is_none_or(|(ends, _)| *ends != at) {
            let timer = self.host().sleeper.sleep_until(at);
            self.timer = Some((at, timer));
        }
        if let Some((_, sleep)) = &mut self.timer {
            ready!(sleep.as_mut().poll(context));
        }
        self.timer = None;
        Poll::Ready(())
    }

    /// Goes on as far as possible. The time is known to have come to `reached`.
    fn advance(&mut self, waker: &Waker, reached: Option<Instant>, cut: &mut Cut<'_>) -> Step {
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

    fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Stopped(_) | Stage::Over)
    }

    /// Starts the attempt that was decided, if the guards let it.
    fn start(&mut self, waker: &Waker) -> Step {
        self.hedge_due = None;
        let host = &*self.core.as_ref().host;
        let now = host.sleeper.now();
        let waited = now.since(*self.wait_began.get_or_insert(now));
        let (identity, stream) = (self.identity.as_ref(), &mut self.random);
        let mut random = Stream {
            seed: &host.seed,
            stream,
        };
        let announce = |attempt: Attempt, transition: &mut Option<_>| {
            if let Some(transition) = transition.take() {
                host.tell_transition(identity, transition);
            }
            let number = attempt.number();
            host.observe(identity, Event::Attempt { number, waited });
        };
        let started = self
            .call
            .start_announced(now, Some(waker), &mut random, announce);
        match started {
            Ok(Start::Go(attempt)) => {
                self.timer = None;
                self.stage = Stage::Running;
                Step::Start(attempt)
            }
            Ok(Start::Wait(until)) => Step::Wait(until),
            Err(reason) => {
                self.stop(reason, Some(now), None);
                self.advance(waker, None, &mut |_| ())
            }
        }
    }

    /// What happens next while attempts run, and when.
    fn alarm(&mut self) -> Option<(Instant, Alarm)> {
        let (call, host) = (&mut self.call, &self.core.as_ref().host);
        let hedge_due = *self.hedge_due.get_or_insert_with(|| {
            let due = call.hedge_at_lazily(|| host.sleeper.now());
            due.unwrap_or(Instant::NEVER)
        });
        Alarm::next(call, hedge_due)
    }

    /// An alarm has gone off. Returns the hedge that starts, if it was that.
    fn ring(&mut self, alarm: Alarm, cut: &mut Cut<'_>) -> Option<Attempt> {
        match alarm {
            Alarm::Hedge => return self.start_hedge(),
            Alarm::Timeout(number) => {
                cut(number);
                self.land(number, TIMED_OUT, Last::AttemptTimeout, None, cut);
            }
            Alarm::Deadline => {
                self.cut_all(cut);
                let now = self.host().sleeper.now();
                let flights: Vec<u32> = self.call.flights().map(|flight| flight.number).collect();
                for (at, number) in flights.into_iter().enumerate() {
                    let record = self.record(number, &TIMED_OUT);
                    if at == 0 {
                        let last = Last::AttemptTimeout;
                        self.story().note(record, TIMED_OUT, last, now);
                    } else {
                        self.story().note_beside(record);
                    }
                }
                let host = &*self.core.as_ref().host;
                let mut random = Stream {
                    seed: &host.seed,
                    stream: &mut self.random,
                };
                self.call.cut(now, &mut random);
                self.tell_transition();
                self.shared().count_stop(StopReason::DeadlineExceeded);
                self.stop(StopReason::DeadlineExceeded, Some(now), None);
            }
        }
        None
    }

    /// Starts the hedge that is due, if budget and guards let it.
    fn start_hedge(&mut self) -> Option<Attempt> {
        let host = &*self.core.as_ref().host;
        let now = host.sleeper.now();
        self.hedge_due = None;
        let primary = self.call.flights().next().and_then(|first| first.started);
        let after = primary.map_or(Duration::ZERO, |started| now.since(started));
        let (identity, stream) = (self.identity.as_ref(), &mut self.random);
        let mut random = Stream {
            seed: &host.seed,
            stream,
        };
        self.call
            .start_hedge_announced(now, &mut random, |attempt, transition| {
                if let Some(transition) = transition.take() {
                    host.tell_transition(identity, transition);
                }
                let number = attempt.number();
                host.observe(identity, Event::Hedge { number, after });
            })
    }

    fn cut_all(&self, cut: &mut Cut<'_>) {
        self.call.flights().for_each(|flight| cut(flight.number));
    }

    /// An attempt has failed; the others are cut where nothing can follow but a decision.
    fn land(
        &mut self,
        number: u32,
        failure: Failure,
        last: Last<()>,
        error: Option<&dyn Display>,
        cut: &mut Cut<'_>,
    ) {
        if self.call.is_decided_by(number, &failure) {
            let flights = self.call.flights().map(|flight| flight.number);
            flights.filter(|other| *other != number).for_each(cut);
        }
        let now = self.host().sleeper.now();
        // It measured the attempt that is over, and must not measure the wait.
        (self.timer, self.hedge_due) = (None, None);
        let record = self.record(number, &failure);
        self.story().note(record, failure, last, now);
        let host = &*self.core.as_ref().host;
        let mut random = Stream {
            seed: &host.seed,
            stream: &mut self.random,
        };
        let decided = self.call.on_failure_of(number, now, &failure, &mut random);
        self.tell_transition();
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
            }
            // Another copy may still bring the success.
            Ok(None) => (),
            Err(reason) => self.stop(reason, Some(now), error),
        }
    }

    /// The attempt of this number has ended so, and nobody asks what follows.
    pub(super) fn end_after(
        &mut self,
        number: u32,
        failure: Failure,
        last: Last<()>,
        error: Option<&dyn Display>,
    ) {
        let now = self.host().sleeper.now();
        let record = self.record(number, &failure);
        self.story().note(record, failure, last, now);
        let host = &*self.core.as_ref().host;
        let mut random = Stream {
            seed: &host.seed,
            stream: &mut self.random,
        };
        self.call.ends_with(number, now, &failure, &mut random);
        self.tell_transition();
        self.shared().count_stop(StopReason::Cancelled);
        self.stop(StopReason::Cancelled, Some(now), error);
    }

    /// Ends the call as cancelled, whatever runs.
    fn end_cancelled(&mut self) {
        let counts = self.started.is_some() || self.story.is_some() || self.call.is_under_way();
        let now = counts.then(|| self.host().sleeper.now());
        if let Some(now) = now {
            self.cancel_at(now);
        } else {
            self.call.release();
        }
        self.shared().count_stop(StopReason::Cancelled);
        self.stop(StopReason::Cancelled, now, None);
    }

    /// What the call holds is returned, and the guards learn how long what runs had lasted.
    fn cancel_at(&mut self, now: Instant) {
        let host = &*self.core.as_ref().host;
        let mut random = Stream {
            seed: &host.seed,
            stream: &mut self.random,
        };
        match self.executing.take() {
            Some(number) => self.call.panicked_of(number, now, &mut random),
            None => self.call.cancel(now, &mut random),
        }
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
    fn stop(&mut self, reason: StopReason, now: Option<Instant>, error: Option<&dyn Display>) {
        self.timer = None;
        let (attempts, next_probe) = (self.call.attempt_number(), self.call.next_probe());
        let story = self.story.take();
        let story = story.unwrap_or_else(|| Story::new(self.started));
        // What is said about time counts from now.
        let timed = self.started.is_some() || next_probe.is_some();
        let now = now.or_else(|| timed.then(|| self.host().sleeper.now()));
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
    fn beaten(&self, winner: u32) -> Vec<(u32, Duration)> {
        if self.identity.is_none() || self.call.flights().nth(1).is_none() {
            return Vec::new();
        }
        let now = self.host().sleeper.now();
        let losers = self.call.flights().filter(|flight| flight.number != winner);
        losers
            .filter_map(|flight| Some((flight.number, now.since(flight.started?))))
            .collect()
    }

    /// The body of the attempt of this number unwinds.
    pub(super) fn unwinds(&mut self, number: u32) {
        self.executing = Some(number);
    }
}

/// Dropped in its middle, a call was cancelled; unwound in its middle, its operation has panicked.
impl<H: AsRef<Core>> Drop for Engine<H> {
    fn drop(&mut self) {
        if self.is_over() {
            return;
        }
        let now = self.host().sleeper.now();
        self.cancel_at(now);
        // An observer that panics while another panic unwinds would abort the process.
        if std::thread::panicking() {
            return;
        }
        self.tell_transition();
        self.observe(Event::Stopped {
            reason: StopReason::Cancelled,
            attempts: self.call.attempt_number(),
            elapsed: self.elapsed(now),
            error: None,
        });
    }
}

/// What it was made of is private: only where it stands is shown.
impl<H: AsRef<Core>> core::fmt::Debug for Engine<H> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Engine")
            .field("attempts", &self.attempts())
            .field("is_over", &self.is_over())
            .finish_non_exhaustive()
    }
}
