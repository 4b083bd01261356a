//! What happens to one call from its first attempt to its end? The step that every driver repeats.
//!
//! A driver asks [`Engine::poll_attempt`] (or [`step`](Engine::step), or
//! [`block_attempt`](Engine::block_attempt)) for the next attempt, runs it [`inside`](Engine::inside)
//! the engine, and tells it the outcome. The engine does everything else: the decision, waits and
//! guards, time limits, hedges, events, records, the scope. It knows neither the operation's type nor
//! its error's.

mod advance;
mod alarm;
mod builder;
mod landing;

pub use builder::EngineBuilder;

use core::fmt::Display;
use core::task::{Context, Poll, Waker, ready};
use core::time::Duration;
use std::sync::{Arc, Mutex};

use super::core::{Attached, Core, Host, Identity, Stream};
use super::gave_up::{Last, Stopped, Story};
use crate::attempt::Attempt;
use crate::call::{Call, TIMED_OUT};
use crate::classify::{Failure, Judge};
use crate::observe::Event;
use crate::rng::SplitMix64;
use crate::scope::{Entered, Scope};
use crate::shared::Shared;
use crate::stop::StopReason;
use crate::time::{Cancel, Instant, Sleep, Unpark};

/// One call with its clock, its observer, its alarms and its records: the step that every driver
/// repeats.
///
/// `H` is how it holds the retrier: `&Retrier`, or a `Retrier` of its own, which makes it `'static`.
/// It is `Send` and `Sync` if `H` is: a binding may keep it in an object of another language.
/// Dropped, it returns what it holds and tells the observer that the call was cancelled; drop what
/// the attempts hold before.
///
/// ```
/// use becalm::Policy;
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
///             Err(error) => engine.failed_with(attempt, retrier.classifier(), &error),
///         }
///     }
/// }
/// # let retrier = Policy::default().retrier()?;
/// # assert_eq!(drive(&retrier, || Ok(17)), Some(17));
/// # Ok::<(), becalm::policy::InvalidPolicy>(())
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
    /// Up to this number, the attempts were polled in this turn before there was an engine.
    pub(super) polled: u32,
    /// An error that was told before the last one says more against a retry.
    keeps_earlier_error: bool,
    /// The attempt that is being executed: if that unwinds, it has panicked.
    executing: Option<u32>,
    /// Never locked: it makes an engine `Sync`, which a timer is not.
    pub(super) timer: Option<(Instant, Mutex<Sleep>)>,
    /// Made at the first failure.
    story: Option<Story>,
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

/// A handle through which a call finds the shared state.
#[derive(Debug, Clone)]
pub(super) struct Held<H>(H);

impl<H: AsRef<Core>> AsRef<Shared> for Held<H> {
    #[inline]
    fn as_ref(&self) -> &Shared {
        &self.0.as_ref().shared
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
        cut: &mut dyn FnMut(u32),
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
        let (mut woken, mut reached) = (None, None);
        loop {
            let waker = woken.as_ref().map_or(Waker::noop(), |(waker, _)| waker);
            let until = match self.advance(waker, reached, &mut |_| ()) {
                Step::Start(attempt) => return Ok(attempt),
                Step::Stopped(stopped) => return Err(stopped),
                Step::Wait(until) => until,
            };
            if woken.is_none() {
                // Only where it has to wait, for that is an allocation. Then it asks again.
                let own = Waker::from(Arc::new(Unpark(std::thread::current())));
                let listening = self.cancel_handle().map(|cancel| cancel.listen(&own));
                woken = Some((own, listening));
            } else if !self.yields() {
                self.host().warn_if_in_runtime();
                let has_come = self.host().sleeper.park_until(until);
                reached = has_come.then_some(until);
            }
        }
    }

    /// What to do next, for a driver that waits in its own way.
    pub fn step(&mut self, waker: &Waker, cut: &mut dyn FnMut(u32)) -> Step {
        let now = self.now();
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
        self.stage = Stage::Over;
        Scope::handled();
        self.on_call(|call, host, random| {
            call.succeed_lazily(number, || host.sleeper.now(), random);
        });
        for (number, elapsed) in beaten {
            self.observe(Event::Beaten { number, elapsed });
        }
        self.tell_recovered(self.attempts());
    }

    /// Says that the running attempt has proved good, and goes on: the call up to here has succeeded, and the
    /// attempt is the first of what follows, as which it is returned.
    pub(super) fn count_anew(&mut self) -> Attempt {
        let attempts = self.attempts();
        let now = self.now();
        Scope::handled();
        let attempt = self.on_call(|call, _, random| call.count_anew(now, random));
        self.tell_recovered(attempts);
        self.story = None;
        self.delay = Duration::ZERO;
        self.started = self.started.map(|_| now);
        attempt
    }

    /// Tells that this attempt has failed with this error: what the classifier says of it decides what
    /// follows, as in [`failed`](Self::failed).
    pub fn failed_with<E, C: Judge<E>>(&mut self, attempt: Attempt, classifier: &C, error: &E) {
        let (failure, shown) = classifier.judge(attempt, error);
        self.failed(attempt.number(), failure, Some(shown));
    }

    /// Tells that the attempt of this number has failed, and that the driver wants no other: the call ends as
    /// cancelled. Without an error, a time-out of the driver's own has cut the attempt.
    pub fn failed_finally(&mut self, number: u32, failure: Failure, error: Option<&dyn Display>) {
        let now = self.now();
        self.note(number, failure, Last::of(error), now);
        self.on_call(|call, _, random| call.ends_with(number, now, &failure, random));
        self.shared().count_stop(StopReason::Cancelled);
        self.stop(StopReason::Cancelled, Some(now), error);
    }

    /// Tells that a driver's own time-out has cut the attempt of this number.
    pub fn timed_out(&mut self, number: u32) {
        self.failed(number, TIMED_OUT, None);
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
        match core::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Stopped(stopped) => Some(stopped),
            other => {
                self.stage = other;
                None
            }
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

    /// Whether the next attempt waits for a token of the budget, and not for its delay alone.
    pub fn waits_for_token(&self) -> bool {
        self.call.waits_for_token()
    }

    /// Whether a copy has failed for good (permanently, or the server forbids a retry) while another runs: unless that
    /// one succeeds, the error of the first is the call's. A driver that lets go of what a failed attempt has brought keeps this.
    pub fn has_failed_for_good(&self) -> bool {
        self.call.has_failed_for_good()
    }

    /// Whether the error of another copy, told before the last one, is the call's: it says more against a retry.
    pub fn keeps_earlier_error(&self) -> bool {
        self.keeps_earlier_error
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

    fn now(&self) -> Instant {
        self.host().sleeper.now()
    }

    /// Takes a step of the call, with its random stream, and tells of the breaker's change.
    fn on_call<R>(
        &mut self,
        step: impl FnOnce(&mut Call<Held<H>>, &Host, &mut Stream<'_>) -> R,
    ) -> R {
        let host = &*self.core.as_ref().host;
        let mut random = Stream {
            seed: &host.seed,
            stream: &mut self.random,
        };
        let result = step(&mut self.call, host, &mut random);
        self.tell_transition();
        result
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
        while let Some(would) = self.call.take_would() {
            self.observe(Event::Observed { would });
        }
    }

    fn tell_recovered(&self, attempts: u32) {
        if attempts > 1 && self.identity.is_some() {
            let elapsed = self.elapsed(self.now());
            self.observe(Event::Recovered { attempts, elapsed });
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
}

/// Dropped in its middle, a call was cancelled; unwound in its middle, its operation has panicked.
impl<H: AsRef<Core>> Drop for Engine<H> {
    fn drop(&mut self) {
        if self.is_over() {
            return;
        }
        let now = self.now();
        self.cancel_at(now);
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
