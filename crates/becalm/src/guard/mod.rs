//! What may refuse an attempt before it starts, and what does the attempt hold while it runs?
//!
//! In the order of protection: the adaptive throttle before a first try, then the adaptive rate,
//! the bulkhead and the breaker before every attempt, hedges among them. Retriers that configure
//! none of these never come here.

mod landing;
mod observing;
mod pass;
mod slot;

pub(crate) use pass::{Ended, Pass};

#[cfg(any(feature = "std", becalm_loom))]
use core::task::Poll;
use core::task::Waker;

#[cfg(feature = "std")]
use crate::breaker::State;
use crate::breaker::{Breaker, CircuitBreaker};
use crate::bulkhead::Semaphore;
#[cfg(any(feature = "std", becalm_loom))]
use crate::bulkhead::Waiter;
use crate::hedge::Hedging;
use crate::policy::Policy;
use crate::rate::{Place, RateLimiter};
use crate::rng::Random;
use crate::stop::StopReason;
use crate::sync::{AtomicU64, Ordering};
use crate::throttle::{AdaptiveThrottle, Priority};
use crate::time::Instant;
use slot::Slot;

/// The guards of one dependency. Each is made when a policy first asks for it, and stays: a reload
/// that takes it out and puts it back finds it where it was.
#[derive(Debug)]
pub(crate) struct Guards {
    throttle: Slot<AdaptiveThrottle>,
    rate: Slot<RateLimiter>,
    hedging: Slot<Hedging>,
    bulkhead: Slot<Semaphore>,
    breaker: Slot<CircuitBreaker>,
    /// Which of them the policy in force asks for, and whether they measure time.
    active: AtomicU64,
}

const THROTTLE: u64 = 1;
const RATE: u64 = 2;
const HEDGING: u64 = 4;
const BULKHEAD: u64 = 8;
const BREAKER: u64 = 16;
/// The start of an attempt is to be known.
const TIMED_START: u64 = 32;
/// The end of an attempt is to be known.
const TIMED_END: u64 = 64;

/// Why an attempt may not start, and when the breaker lets a probe through, if it is that.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Refused {
    pub reason: StopReason,
    pub until: Option<Instant>,
}

impl From<StopReason> for Refused {
    fn from(reason: StopReason) -> Self {
        Self {
            reason,
            until: None,
        }
    }
}

/// What the guards say to an attempt.
#[derive(Debug)]
pub(crate) enum Gate {
    Open(Pass),
    /// Not before this instant, or before the waker is woken.
    Wait(Instant),
    /// Not before this instant, at which the adaptive rate has a token: it has no queue of its own
    /// that would bound how many wait.
    Paced(Instant),
}

/// Who asks to start an attempt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asking<'w> {
    pub priority: Priority,
    /// Whether it is the call's first try, the only one that is shed.
    pub is_first_try: bool,
    /// The end of the call, past which nothing is waited for.
    pub deadline: Instant,
    /// Whom to wake; without, nobody waits.
    pub waker: Option<&'w Waker>,
}

/// Where an attempt stands before the guards. What it holds there is returned by
/// [`Guards::leave`].
#[derive(Debug, Default)]
pub(crate) struct Admission {
    /// Whether a guard was asked that may leave something here.
    is_touched: bool,
    is_past_throttle: bool,
    /// The token of the adaptive rate, or the turn at which it comes.
    turn: Option<Place>,
    #[cfg(any(feature = "std", becalm_loom))]
    waiter: Option<Waiter>,
    gives_up_at: Option<Instant>,
    has_place: bool,
}

impl Guards {
    pub fn new(policy: &Policy) -> Self {
        let new = Self {
            throttle: Slot::new(policy.throttle.map(AdaptiveThrottle::new)),
            rate: Slot::new(policy.rate.map(RateLimiter::new)),
            hedging: Slot::new(policy.hedge.map(Hedging::new)),
            bulkhead: Slot::new(policy.bulkhead.map(Semaphore::new)),
            breaker: Slot::new(policy.breaker.and_then(breaker)),
            active: AtomicU64::new(0),
        };
        new.activate(policy);
        new
    }

    /// Takes over another policy. Calls that are running return what they hold to where they
    /// have it from.
    #[cfg(feature = "std")]
    pub fn reconfigure(&self, policy: &Policy, now: Instant) {
        let hedge = |old: &Hedging, new| old.reconfigure(Some(new));
        self.throttle.set(
            policy.throttle,
            AdaptiveThrottle::new,
            AdaptiveThrottle::reconfigure,
        );
        self.rate
            .set(policy.rate, RateLimiter::new, RateLimiter::reconfigure);
        self.hedging.set(policy.hedge, Hedging::new, hedge);
        self.bulkhead
            .set(policy.bulkhead, Semaphore::new, Semaphore::take_over);
        // Validated with the policy, so that nothing is refused here.
        self.breaker.set(policy.breaker, breaker, |old, new| {
            let _ = old.reconfigure(new, now);
        });
        self.activate(policy);
    }

    /// Wakes whom a reload lets go on. Not under its lock: a waker may run anything.
    #[cfg(feature = "std")]
    pub fn let_go(&self) {
        if let Some(places) = self.bulkhead.get() {
            places.let_go(self.places().is_some());
        }
    }

    fn activate(&self, policy: &Policy) {
        let mut active = 0;
        let mut add = |is_configured: bool, bit| active |= if is_configured { bit } else { 0 };
        add(policy.throttle.is_some(), THROTTLE);
        add(policy.rate.is_some(), RATE);
        add(policy.hedge.is_some(), HEDGING);
        add(policy.bulkhead.is_some(), BULKHEAD);
        add(policy.breaker.is_some(), BREAKER);
        let hedging = self.hedging.get().is_some_and(Hedging::reads_clock);
        let places = self.bulkhead.get().is_some_and(Semaphore::reads_clock);
        let breaker = self.breaker.get().filter(|_| policy.breaker.is_some());
        let latency = policy.hedge.is_some() && hedging
            || policy.bulkhead.is_some() && places
            || policy.breaker.is_some_and(|breaker| breaker.slow.is_some());
        let ends = policy.throttle.is_some() || policy.rate.is_some();
        add(latency || ends, TIMED_START);
        let opens = breaker.is_some_and(CircuitBreaker::reads_clock);
        add(latency || ends || opens, TIMED_END);
        self.active.store(active, Ordering::Release);
    }

    /// Whether the policy in force asks for none of them.
    #[inline]
    pub fn are_idle(&self) -> bool {
        self.active.load(Ordering::Relaxed) == 0
    }

    /// Whether new guards would behave no differently: nothing is running, and nothing that was
    /// learnt would be forgotten.
    #[cfg(feature = "std")]
    pub fn are_as_new(&self, now: Instant) -> bool {
        let (places, breaker) = (self.bulkhead.get(), self.breaker.get());
        !self.learns()
            && places.is_none_or(|places| places.in_flight() == 0 && !places.reads_clock())
            && breaker.is_none_or(|breaker| breaker.is_as_new(now))
    }

    /// Whether somebody has isolated the breaker, and expects it to stay so.
    #[cfg(feature = "std")]
    pub fn are_isolated(&self) -> bool {
        let state = |breaker: &CircuitBreaker| breaker.state(Instant::ZERO);
        self.breaker().map(state) == Some(State::Isolated)
    }

    /// Whether calls are to tell when an attempt started.
    pub fn reads_clock_at_start(&self) -> bool {
        self.active.load(Ordering::Relaxed) & TIMED_START != 0
    }

    /// Whether calls are to tell when an attempt ended.
    pub fn reads_clock_at_end(&self) -> bool {
        self.active.load(Ordering::Relaxed) & TIMED_END != 0
    }

    /// Whether throttle, rate or hedging is to hear of the end of an attempt.
    #[inline]
    fn learns(&self) -> bool {
        self.active.load(Ordering::Relaxed) & (THROTTLE | RATE | HEDGING) != 0
    }

    #[inline]
    fn active<'a, T>(&self, bit: u64, slot: &'a Slot<T>) -> Option<&'a T> {
        if self.active.load(Ordering::Acquire) & bit == 0 {
            return None;
        }
        slot.get()
    }

    /// When copies start, if the policy in force hedges.
    #[inline]
    pub fn hedging(&self) -> Option<&Hedging> {
        self.active(HEDGING, &self.hedging)
    }

    /// The breaker, if the policy in force has one.
    pub fn breaker(&self) -> Option<&CircuitBreaker> {
        self.active(BREAKER, &self.breaker)
    }

    /// The bulkhead's places, if the policy in force has one.
    pub fn places(&self) -> Option<&Semaphore> {
        self.active(BULKHEAD, &self.bulkhead)
    }

    /// The adaptive rate, if the policy in force has one.
    pub fn rate(&self) -> Option<&RateLimiter> {
        self.active(RATE, &self.rate)
    }

    /// The adaptive throttle, if the policy in force has one.
    pub fn throttle(&self) -> Option<&AdaptiveThrottle> {
        self.active(THROTTLE, &self.throttle)
    }

    /// May this attempt start? What was gained on the way stays in `admission`, so that it can ask
    /// again.
    #[inline]
    pub fn admit<R: Random + ?Sized>(
        &self,
        admission: &mut Admission,
        asking: Asking<'_>,
        now: impl Fn() -> Instant,
        random: &mut R,
    ) -> Result<Gate, Refused> {
        let active = self.active.load(Ordering::Acquire);
        if active & (THROTTLE | RATE | BULKHEAD) != 0 {
            admission.is_touched = true;
            if let Some(wait) = self.queue(admission, asking, &now, random)? {
                return Ok(wait);
            }
        }
        let pass = self.pass(active, admission, asking, now)?;
        Ok(Gate::Open(pass))
    }

    /// The breaker's word, and what the attempt holds from here on.
    #[inline]
    fn pass(
        &self,
        active: u64,
        admission: &mut Admission,
        asking: Asking<'_>,
        now: impl Fn() -> Instant,
    ) -> Result<Pass, Refused> {
        let breaker = (active & BREAKER != 0).then(|| self.breaker.get());
        let permit = match breaker.flatten() {
            None => None,
            Some(breaker) => match breaker.admit(&now) {
                Ok(permit) => Some(permit),
                Err(refused) if asking.is_first_try && breaker.spares_first_tries(refused) => None,
                Err(refused) => {
                    self.leave(admission);
                    return Err(Refused {
                        reason: StopReason::BreakerOpen,
                        until: refused.until,
                    });
                }
            },
        };
        let started = (active & TIMED_START != 0).then(&now);
        // The token is spent; the place goes on as the pass's.
        admission.turn = None;
        let has_place = core::mem::take(&mut admission.has_place);
        Ok(Pass {
            permit,
            has_place,
            is_hedge: false,
            priority: asking.priority,
            started,
        })
    }

    /// When the attempt that is decided now would start: will the breaker let it?
    #[inline]
    pub fn would_admit(&self, at: Instant) -> Result<(), Refused> {
        match self.breaker() {
            None => Ok(()),
            Some(breaker) => breaker.would_admit(at).map_err(|refused| Refused {
                reason: StopReason::BreakerOpen,
                until: refused.until,
            }),
        }
    }

    /// Forgets an admission whose attempt has started: nothing of it is held.
    #[inline]
    pub fn forget(admission: &mut Admission) {
        if admission.is_touched {
            *admission = Admission::default();
        }
    }

    /// The attempt does not start: what it has gained goes back.
    #[inline]
    pub fn leave(&self, admission: &mut Admission) {
        if admission.is_touched {
            self.leave_touched(admission);
        }
    }

    #[cold]
    fn leave_touched(&self, admission: &mut Admission) {
        if let (Some(turn), Some(rate)) = (admission.turn.take(), self.rate.get()) {
            rate.cancel(turn);
        }
        #[cfg(any(feature = "std", becalm_loom))]
        drop(admission.waiter.take());
        admission.gives_up_at = None;
        if core::mem::take(&mut admission.has_place) {
            if let Some(places) = self.bulkhead.get() {
                places.release(None);
            }
        }
    }

    /// Throttle, rate and bulkhead; the wait, if there is one.
    fn queue<R: Random + ?Sized>(
        &self,
        admission: &mut Admission,
        asking: Asking<'_>,
        now: &dyn Fn() -> Instant,
        random: &mut R,
    ) -> Result<Option<Gate>, Refused> {
        if let Some(throttle) = self.throttle() {
            if asking.is_first_try && !admission.is_past_throttle {
                throttle
                    .admit(now(), asking.priority, || random.next_u64())
                    .map_err(|_| Refused::from(StopReason::Shed))?;
                admission.is_past_throttle = true;
            }
        }
        if let Some(rate) = self.rate() {
            let now = now();
            let turn = if let Some(turn) = &admission.turn {
                turn
            } else {
                let turn = rate
                    .acquire(now)
                    .map_err(|_| Refused::from(StopReason::RateLimited))?;
                admission.turn.insert(turn)
            };
            if let Err(until) = rate.ready(turn, now) {
                let refused = match asking.waker {
                    None => StopReason::RateLimited,
                    Some(_) if until >= asking.deadline => StopReason::DeadlineExceeded,
                    Some(_) => return Ok(Some(Gate::Paced(until))),
                };
                self.leave(admission);
                return Err(refused.into());
            }
        }
        match self.places() {
            Some(places) if !admission.has_place => acquire(places, admission, asking, now),
            _ => Ok(None),
        }
        // Who enters the queue as a reload empties it is not woken.
        .map(|until| until.filter(|_| self.places().is_some()).map(Gate::Wait))
        .inspect_err(|_| self.leave(admission))
    }
}

/// A breaker of this configuration, which was validated with its policy.
fn breaker(config: Breaker) -> Option<CircuitBreaker> {
    CircuitBreaker::new(config).ok()
}

/// A place in the bulkhead; until when to wait for one, if so.
fn acquire(
    places: &Semaphore,
    admission: &mut Admission,
    asking: Asking<'_>,
    now: &dyn Fn() -> Instant,
) -> Result<Option<Instant>, Refused> {
    #[cfg(any(feature = "std", becalm_loom))]
    if let Some(waker) = asking.waker {
        let waiter = admission.waiter.get_or_insert_default();
        let until = match places.poll_acquire(waiter, waker) {
            Poll::Ready(true) => None,
            Poll::Ready(false) => return Err(StopReason::BulkheadFull.into()),
            Poll::Pending => {
                let (longest, now) = (places.max_wait(), now());
                let gives_up_at = *admission
                    .gives_up_at
                    .get_or_insert_with(|| longest.map_or(Instant::NEVER, |wait| now.after(wait)));
                if now >= gives_up_at {
                    return Err(StopReason::BulkheadFull.into());
                }
                Some(gives_up_at)
            }
        };
        admission.has_place = until.is_none();
        return Ok(until);
    }
    #[cfg(not(any(feature = "std", becalm_loom)))]
    let _ = (asking, now);
    admission.has_place = places.try_acquire();
    if admission.has_place {
        Ok(None)
    } else {
        Err(StopReason::BulkheadFull.into())
    }
}
