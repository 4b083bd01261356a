//! Where does one call stand, and what does it hold?
//!
//! The sans-IO state of one call: every driver, from the async engine to the simulator, drives
//! this one. It reads no clock, sleeps nowhere and allocates nothing (but for hedges, and to wait for a token); what it
//! holds, tokens, passes and a place in the waiting room, it returns when it is dropped.

mod first_try;
mod flight;
mod hedging;
mod landing;
mod observing;
mod options;
mod patience;
#[cfg(feature = "std")]
mod repeated;
mod start;
#[cfg(feature = "std")]
pub(crate) mod unheld;

pub use crate::attempt::Attempt;
pub use crate::decide::Decision;
pub(crate) use first_try::FirstTry;
#[cfg(feature = "std")]
pub(crate) use landing::TIMED_OUT;
pub use options::CallOptions;
#[cfg(feature = "std")]
pub(crate) use repeated::Repeated;
pub use start::Start;

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::time::Duration;

use crate::attempt::limit;
use crate::breaker::Transition;
use crate::decide::Rules;
use crate::guard::{Admission, Guards, Pass};
use crate::scope::{Nested, Scope};
use crate::shared::{HeldRules, Shared};
use crate::stop::StopReason;
use crate::time::{ClockId, Instant};
use flight::{Flight, Flights};
use observing::{Course, Untold};
use patience::Patience;

/// The state of one call.
///
/// `H` is how it holds the shared state: `&Shared`, `&Retrier`, a `Retrier` of its own.
///
/// ```
/// use becalm::{Failure, Policy, Scope};
/// use becalm::call::{Call, CallOptions, Decision};
/// use becalm::shared::Shared;
/// use becalm::time::Instant;
/// use core::time::Duration;
///
/// let shared = Shared::new(Policy::default(), Duration::ZERO)?;
/// let mut now = Instant::ZERO; // a simulator's
/// let mut random = becalm::rng::SplitMix64::new(7);
///
/// let mut call = Call::begin(&shared, CallOptions::new(), Scope::NONE, now);
/// assert_eq!(call.start(now, &mut random).unwrap().number(), 1);
/// assert!(call.is_under_way());
/// match call.on_outcome(now, Failure::transient().into(), &mut random) {
///     Decision::RetryIn(delay) => now = now.after(delay),
///     other => panic!("{other:?}"),
/// }
/// assert!(!call.is_under_way());
/// assert_eq!(call.start(now, &mut random).unwrap().number(), 2);
/// # Ok::<(), becalm::policy::InvalidPolicy>(())
/// ```
#[derive(Debug)]
// First what every attempt asks, then what few do: a driver of very many calls spends most of its
// time in waiting for their cache lines.
#[repr(C)]
pub struct Call<H: AsRef<Shared>> {
    attempt: u32,
    step: u32,
    /// The budget has been told of its beginning, and is to be told of its end.
    is_enrolled: bool,
    body_replayable: bool,
    /// What a layer below has told in the running attempt.
    told_below: Option<StopReason>,
    /// Refused before its first attempt, or cancelled.
    is_over: bool,
    /// It has a place in the waiting room.
    has_place: bool,
    /// Where enforcing would be, if the call is observed.
    course: Course,
    handle: H,
    /// The policy from the first failure on: a reload does not change a call in its middle.
    rules: Option<HeldRules>,
    previous: Option<u64>,
    first: FirstTry,
    /// The running attempts: one, and its hedges.
    flights: Flights,
    options: CallOptions,
    next_probe: Option<Instant>,
    /// What the attempt to come has gained of the guards.
    admission: Admission,
    transition: Option<Transition>,
    /// What there is to tell of a call that is observed.
    untold: Option<Box<Untold>>,
    /// Made when it finds no token and waits for one.
    patience: Option<Box<Patience>>,
}

impl<H: AsRef<Shared>> Call<H> {
    /// Begins a call, and fixes its deadline.
    #[inline]
    pub fn begin(handle: H, options: CallOptions, above: Scope, now: Instant) -> Self {
        let mut first = FirstTry::begin(handle.as_ref(), &options, above, || now);
        first.started = Some(now);
        let mut call = Self::of_first_try(handle, options, first, Admission::default());
        call.course = Course::Same;
        call
    }

    /// A call whose first try is about to start, with what it has gained of the guards.
    #[inline]
    pub(crate) fn of_first_try(
        handle: H,
        options: CallOptions,
        first: FirstTry,
        admission: Admission,
    ) -> Self {
        Self {
            attempt: 0,
            step: 0,
            is_enrolled: false,
            body_replayable: true,
            told_below: None,
            is_over: false,
            has_place: false,
            course: Course::Unlimited,
            handle,
            rules: None,
            previous: None,
            flights: Flights::default(),
            first,
            options,
            next_probe: None,
            admission,
            transition: None,
            untold: None,
            patience: None,
        }
    }

    /// A call whose first try is running already.
    #[cfg(feature = "std")]
    #[inline]
    pub(crate) fn of_flight(
        handle: H,
        options: CallOptions,
        first: FirstTry,
        pass: Pass,
        is_enrolled: bool,
    ) -> Self {
        let mut call = Self::of_first_try(handle, options, first, Admission::default());
        call.attempt = 1;
        call.flights.primary = Some(Flight {
            number: 1,
            started: first.started,
            pass,
        });
        call.is_enrolled = is_enrolled;
        call
    }

    /// A guard has refused the first attempt; until when, if the breaker did and knows.
    #[cfg(feature = "std")]
    pub(crate) fn refused_at_once(&mut self, until: Option<Instant>) {
        self.is_over = true;
        self.next_probe = until;
    }

    /// The next attempt, which the guards have let pass.
    fn next_flight(&mut self, pass: Pass, started: Option<Instant>) -> Flight {
        self.attempt = self.attempt.saturating_add(1);
        self.transition = pass.transition().or(self.transition);
        Flight {
            number: self.attempt,
            started,
            pass,
        }
    }

    /// The running attempt as the operation sees it, with this many nanoseconds left.
    fn attempt(&self, remaining: u64) -> Attempt {
        let key = self.options.operation.key();
        Attempt::new(self.attempt, remaining, self.first.attempt_timeout, key)
    }

    /// Says that the operation is about to be invoked: what was paid for the attempt that starts, or
    /// the hedge, is spent. Up to here it comes back with the call.
    #[inline]
    pub(crate) fn spend(&mut self) {
        self.flights.spend();
        Guards::forget(&mut self.admission);
    }

    /// Takes a place in the waiting room, if it has none and one is free.
    fn enter_waiting_room(&mut self) -> bool {
        if !self.has_place {
            let shared = self.handle.as_ref();
            let rules = shared.hold_rules();
            let places = shared.rules_of(&rules).policy.max_waiting;
            self.has_place = shared.start_waiting(places);
        }
        self.has_place
    }

    /// A layer below has heard from the server that more attempts harm.
    fn is_forbidden_below(&self) -> bool {
        self.told_below == Some(StopReason::DoNotRetry)
    }

    /// Returns the place in the waiting room.
    fn leave_waiting_room(&mut self) {
        if core::mem::take(&mut self.has_place) {
            self.handle.as_ref().stop_waiting();
        }
    }

    /// Returns what is held for the attempt to come.
    #[inline]
    fn give_back(&mut self) {
        self.leave_waiting_room();
        let shared = self.handle.as_ref();
        shared.guards().leave(&mut self.admission);
        if self.flights.paid.is_some() || self.flights.may_hold_unstarted() {
            let (paid, unstarted) = (self.flights.paid.take(), self.flights.take_unstarted());
            for paid in paid.into_iter().chain(unstarted) {
                paid.refund(shared);
            }
        }
    }

    /// Tells the budget that the call is over.
    fn leave(&mut self) {
        if core::mem::take(&mut self.is_enrolled) {
            self.handle.as_ref().call_ended();
        }
    }

    /// Says that the body of the request is gone: a further attempt stops with
    /// [`StopReason::BodyNotReplayable`], and layers below that [`scope`](Self::scope) is handed to
    /// from here on may retry, since this one will not.
    pub fn body_is_consumed(&mut self) {
        self.body_replayable = false;
        self.first.will_not_repeat();
    }

    /// Says that a layer below forbids more attempts: this failure stops with
    /// [`StopReason::DoNotRetry`].
    pub fn forbid_retry(&mut self) {
        self.told_below = Some(StopReason::DoNotRetry);
    }

    /// Takes over what the [`scope`](Self::scope) of the attempt has become, whenever the attempt
    /// has run in it: a layer below has told something, or a later success took that back.
    pub fn hear(&mut self, inside: Scope) {
        self.told_below = inside.told_below();
    }

    /// The number of the running attempt, or of the last one; 0 before the first.
    pub fn attempt_number(&self) -> u32 {
        self.attempt
    }

    /// Whether an attempt is running: the one that was decided last, or a hedge beside it.
    pub fn is_under_way(&self) -> bool {
        self.flights.are_under_way()
    }

    /// The running attempts, the one that the decision started first.
    #[cfg(feature = "std")]
    pub(crate) fn flights(&self) -> impl Iterator<Item = &Flight> {
        self.flights.iter()
    }

    /// The end of the whole call, the earlier of its own and the one above; `None` where it is
    /// [observed](crate::policy::Mode::Observe), as then this call cuts nothing.
    pub fn deadline(&self) -> Option<Instant> {
        let is_kept = self.first.deadline != Instant::NEVER && !self.first.observes;
        is_kept.then_some(self.first.deadline)
    }

    /// The longest time of one attempt, as the policy had it when the call began; `None` where that is
    /// [observed](crate::policy::Mode::Observe).
    pub fn attempt_timeout(&self) -> Option<Duration> {
        limit(self.first.attempt_timeout)
    }

    /// When the breaker that stopped this call will let a probe through, if it knows.
    pub fn next_probe(&self) -> Option<Instant> {
        self.next_probe
    }

    /// The change of the breaker's state that the last step of this call brought about, once: for
    /// observers.
    pub fn take_transition(&mut self) -> Option<Transition> {
        self.transition.take()
    }

    /// The scope of what runs inside the attempt that started last, for layers below.
    pub fn scope(&self) -> Scope {
        self.scope_of(self.attempt)
    }

    /// The scope of what runs inside the attempt of this number, where hedges are running.
    ///
    /// A hedge is no repetition: what runs inside it hears of the attempt that it stands beside.
    pub fn scope_of(&self, number: u32) -> Scope {
        let beside = self.attempt.saturating_sub(self.flights.hedged());
        let inside = self.first.inside(self.handle.as_ref(), number.min(beside));
        self.told_below.map_or(inside, |told| inside.telling(told))
    }
}

/// How many attempts a call may make in all.
#[inline]
fn attempts_allowed(shared: &Shared, options: &CallOptions, rules: &Rules) -> u32 {
    if shared.retries_are_disabled() {
        1
    } else {
        options.attempts.unwrap_or(rules.policy.attempts)
    }
}

/// Whose budget pays for a nested retry, if not its own: that of the retrier above (of the outermost
/// of those that share one), if there is one on the same clock (a budget with a floor reads the
/// time).
#[cfg_attr(not(feature = "std"), expect(unused_variables))]
#[inline]
fn payer(nested: Nested, above: Scope, clock: ClockId) -> Option<Arc<Shared>> {
    match nested {
        #[cfg(feature = "std")]
        Nested::ShareBudget => {
            crate::shared::registry::above(above).filter(|outer| outer.clock().agrees(clock))
        }
        _ => None,
    }
}
