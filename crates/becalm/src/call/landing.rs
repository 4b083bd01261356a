//! How does an attempt end, what follows it, and how does the call end? Passes and tokens go back here,
//! whatever it came to.

use core::time::Duration;

#[cfg(feature = "std")]
use super::first_try::FirstTry;
use super::flight::{Flight, Paid};
use super::patience::{Patience, may_wait};
use super::{Call, attempts_allowed, payer};
#[cfg(feature = "std")]
use crate::attempt::{Attempt, remaining};
use crate::classify::{Cause, Class, Failure, FailureKind, Verdict};
use crate::decide::{Decision, Rules, Standing, Wait, decide};
use crate::guard::{Ended, Refused};
#[cfg(feature = "std")]
use crate::hedge::Against;
use crate::hint::Hint;
use crate::rng::Random;
use crate::shared::Shared;
use crate::stop::StopReason;
use crate::time::Instant;

/// The attempt timed out: transient, and it may have taken effect.
pub(crate) const TIMED_OUT: Failure =
    Failure::transient().because(Cause::Kind(FailureKind::TimedOut));

impl<H: AsRef<Shared>> Call<H> {
    /// Decides what follows the attempt that just ended.
    ///
    /// `random` should be a stream of this call's own, seeded from entropy at its first failure:
    /// two calls that share one retry in step.
    #[inline]
    pub fn on_outcome<R: Random + ?Sized>(
        &mut self,
        now: Instant,
        verdict: Verdict,
        random: &mut R,
    ) -> Decision {
        let primary = self.flights.primary.as_ref();
        self.on_outcome_of(primary.map_or(0, |it| it.number), now, verdict, random)
    }

    /// Decides what follows the attempt of this number, which just ended, where hedges run
    /// beside it.
    ///
    /// The first success ends the call. A failure waits for the copies that are still running
    /// ([`Decision::AwaitOthers`]), be it one that must not be repeated: another copy may still succeed. Once all
    /// have failed, what any of them said against a retry holds.
    pub fn on_outcome_of<R: Random + ?Sized>(
        &mut self,
        number: u32,
        now: Instant,
        verdict: Verdict,
        random: &mut R,
    ) -> Decision {
        let Verdict::Failure(failure) = &verdict else {
            self.succeed_lazily(number, || now, random);
            return Decision::Done;
        };
        match self.on_failure_of(number, now, failure, random) {
            Ok(Some(delay)) => Decision::RetryIn(delay),
            Ok(None) => Decision::AwaitOthers,
            Err(reason) => Decision::Stop(reason),
        }
    }

    /// How long to wait after this failure, why not to, or `None` where another copy may still bring
    /// the success.
    pub(crate) fn on_failure_of<R: Random + ?Sized>(
        &mut self,
        number: u32,
        now: Instant,
        failure: &Failure,
        random: &mut R,
    ) -> Result<Option<Duration>, StopReason> {
        if self.first.observes {
            return Err(self.fail_observed(number, now, failure, random));
        }
        self.land_failed(number, now, failure, random);
        let shared = self.handle.as_ref();
        let rules = self.rules.get_or_insert_with(|| shared.hold_rules());
        let rules = shared.rules_of(rules);
        // What one copy was told holds for all: a hint of the first is not lost with the last.
        let failure = &self.flights.join(failure, now, |one| rules.class_of(one));
        self.flights.no_more = true;
        if self.flights.are_under_way() {
            return Ok(None);
        }
        self.decide(now, failure, random)
            .map(Some)
            .inspect_err(|reason| {
                self.leave();
                self.handle.as_ref().count_stop(*reason);
            })
    }

    /// What follows a failure after which no copy runs: a delay whose place it holds from here on, and its token
    /// unless it waits for one; or why not.
    pub(super) fn decide<R: Random + ?Sized>(
        &mut self,
        now: Instant,
        failure: &Failure,
        random: &mut R,
    ) -> Result<Duration, StopReason> {
        self.give_back();
        let shared = self.handle.as_ref();
        let heeded = heeded(shared, self.told_below, failure);
        let forbidden_below = self.is_forbidden_below();
        let deadline = self.decided_deadline();
        let rules = self.rules.get_or_insert_with(|| shared.hold_rules());
        let rules = shared.rules_of(rules);
        let standing = Standing {
            now,
            deadline,
            attempt: self.attempt,
            attempts: attempts_allowed(shared, &self.options, rules),
            operation: self.options.operation,
            body_replayable: self.body_replayable,
            forbidden_below,
            repeated_above: rules.policy.nested.runs_once_in(self.first.above),
            step: self.step,
            previous: self.previous,
        };
        let followed = follow(shared, rules, &standing, heeded, failure, random);
        let wait = followed.map_err(|refused| {
            self.next_probe = refused.until;
            refused.reason
        })?;
        self.has_place = true;
        let payer = payer(rules.policy.nested, self.first.above, shared.clock());
        self.flights.paid = Paid::withdraw(shared, payer, now, failure);
        self.flights.is_spent = false;
        if self.flights.paid.is_none() {
            // Whether a token would come is not known of a call that is observed.
            if self.first.observes || !may_wait(rules, deadline) {
                self.give_back();
                return Err(StopReason::BudgetExhausted);
            }
            let before = self.patience.take();
            let patience = Patience::begin(before, standing, wait, failure);
            self.patience = Some(patience);
        }
        (self.step, self.previous) = (wait.step, wait.previous);
        Ok(Duration::from_nanos(wait.delay))
    }

    /// What the copies that failed have said together, up to the next attempt; `None` where no hedge
    /// was started.
    #[cfg(feature = "std")]
    pub(crate) fn joined_failure(&self) -> Option<Failure> {
        self.flights.joined()
    }

    /// Whether a copy has failed with what ends the call, unless one that runs succeeds.
    #[cfg(feature = "std")]
    pub(crate) fn has_failed_for_good(&self) -> bool {
        self.flights.are_under_way() && self.flights.against() != Against::Nothing
    }

    /// Whether a copy that failed before has said more against a retry than this failure does.
    #[cfg(feature = "std")]
    pub(crate) fn outranks(&self, failure: &Failure) -> bool {
        let class = self.handle.as_ref().class_of(failure);
        self.flights.against() > Against::of(class, failure)
    }

    /// The attempt of this number has brought the success: the others are not wanted any more.
    ///
    /// The clock is read only where budget or guards want to know.
    pub(crate) fn succeed_lazily<R: Random + ?Sized>(
        &mut self,
        number: u32,
        now: impl Fn() -> Instant,
        random: &mut R,
    ) {
        if self.first.observes && self.succeed_observed(&now, random) {
            return;
        }
        let known = self.handle.as_ref().reads_clock_at_end().then(&now);
        let now = || known.unwrap_or_else(&now);
        let wins_as_probe = |flight: &Flight| flight.number == number && flight.pass.is_probe();
        let is_probe = self.flights.iter().any(wins_as_probe);
        let mut last = self.land(number, Ended::Success, &now, random);
        while let Some((flight, paid)) = self.flights.take_any() {
            self.land_flight(flight, Ended::Cancelled, &now, random);
            // What a call has paid last is what its winner did, or else a hedge.
            if last.is_some() {
                Paid::spent(paid, self.handle.as_ref());
            } else {
                last = paid;
            }
        }
        self.earn(last, is_probe, known, now);
    }

    /// The call has succeeded, and this is what it had paid last.
    fn earn(
        &mut self,
        last: Option<Paid>,
        is_probe: bool,
        known: Option<Instant>,
        now: impl FnOnce() -> Instant,
    ) {
        let shared = self.handle.as_ref();
        match last {
            Some(paid) => {
                shared.earn(is_probe, known);
                paid.succeeded(shared, now);
            }
            None => shared.succeeded(is_probe, known),
        }
        self.leave();
    }

    /// The running attempt has proved good, and goes on: the call up to here has succeeded, and the
    /// attempt is the first of what follows, which has its attempts, its delays and its deadline anew.
    /// It keeps its place in the bulkhead.
    #[cfg(feature = "std")]
    pub(crate) fn count_anew<R: Random + ?Sized>(
        &mut self,
        now: Instant,
        random: &mut R,
    ) -> Attempt {
        if self.first.observes && self.succeed_observed(|| now, random) {
            return self.go_on_observed(now);
        }
        let shared = self.handle.as_ref();
        let mut is_probe = false;
        if let Some(flight) = &mut self.flights.primary {
            is_probe = flight.pass.is_probe();
            let draw = || random.next_u64();
            let transition = shared.guards().prove(&mut flight.pass, || now, draw);
            self.transition = transition.or(self.transition);
            (flight.number, flight.started) = (1, Some(now));
        }
        let paid = self.flights.take_spent();
        self.earn(paid, is_probe, Some(now), || now);
        self.counts_anew(is_probe, now)
    }

    /// The first attempt of what follows runs already.
    #[cfg(feature = "std")]
    pub(super) fn counts_anew(&mut self, is_probe: bool, now: Instant) -> Attempt {
        let shared = self.handle.as_ref();
        self.is_enrolled = shared.first_attempt(is_probe, now);
        self.first = FirstTry::begin(shared, &self.options, self.first.above, || now);
        self.begin_course();
        if !self.body_replayable {
            self.first.will_not_repeat();
        }
        (self.attempt, self.step, self.previous) = (1, 0, None);
        (self.rules, self.told_below, self.patience) = (None, None, None);
        self.attempt(remaining(self.first.deadline, now).unwrap_or(0))
    }

    /// The attempt of this number has failed: what was paid for it is gone.
    #[inline]
    pub(super) fn land_failed<R: Random + ?Sized>(
        &mut self,
        number: u32,
        now: Instant,
        failure: &Failure,
        random: &mut R,
    ) {
        let paid = self.land(number, ended_by(failure), &|| now, random);
        let shared = self.handle.as_ref();
        Paid::spent(paid, shared);
        // The payer of a retry hears of the failure first.
        let rules = self.rules.get_or_insert_with(|| shared.hold_rules());
        let rules = shared.rules_of(rules);
        let payer = payer(rules.policy.nested, self.first.above, shared.clock());
        let payer = payer.as_deref().unwrap_or(shared);
        payer.failed(rules, now, failure);
    }

    /// Nobody wants to know how the running attempts end.
    #[inline]
    pub(super) fn land_all<R: Random + ?Sized>(
        &mut self,
        ended: Ended,
        now: Instant,
        random: &mut R,
    ) {
        while let Some((flight, paid)) = self.flights.take_any() {
            self.land_flight(flight, ended, &|| now, random);
            Paid::spent(paid, self.handle.as_ref());
        }
    }

    #[inline]
    fn land<R: Random + ?Sized>(
        &mut self,
        number: u32,
        ended: Ended,
        now: &impl Fn() -> Instant,
        random: &mut R,
    ) -> Option<Paid> {
        // Where it lies: most attempts are the only one, and a move costs more than the rest.
        if let Some(flight) = self.flights.primary(number) {
            let guards = self.handle.as_ref().guards();
            let draw = || random.next_u64();
            let transition = guards.finish(&mut flight.pass, ended, now, draw);
            if transition.is_some() {
                self.transition = transition;
            }
            self.flights.primary = None;
            return self.flights.take_spent();
        }
        let (flight, paid) = self.flights.take_hedge(number)?;
        self.land_flight(flight, ended, now, random);
        paid
    }

    fn land_flight<R: Random + ?Sized>(
        &mut self,
        mut flight: Flight,
        ended: Ended,
        now: &impl Fn() -> Instant,
        random: &mut R,
    ) {
        let guards = self.handle.as_ref().guards();
        let draw = || random.next_u64();
        let transition = guards.finish(&mut flight.pass, ended, now, draw);
        self.transition = transition.or(self.transition);
    }

    /// Tells that the owner has lost interest in the middle of the call: what it holds is returned, and the
    /// breaker learns how long the running attempt had lasted.
    ///
    /// Dropping a call returns what it holds as well, but tells nobody for how long.
    pub fn cancel<R: Random + ?Sized>(&mut self, now: Instant, random: &mut R) {
        self.end(Ended::Cancelled, now, random);
    }

    /// Tells that the deadline has cut the running attempts, which ends the call.
    ///
    /// What did not answer in time teaches the adaptive throttle and an adaptive bulkhead as an
    /// attempt time-out does; to the breaker it counts if it had been slow, as when it is cancelled.
    pub fn cut<R: Random + ?Sized>(&mut self, now: Instant, random: &mut R) {
        self.end(Ended::Cut, now, random);
    }

    /// Tells that the attempt of this number has panicked, which the breaker counts as a failure; those
    /// beside it are cancelled.
    pub fn panicked<R: Random + ?Sized>(&mut self, number: u32, now: Instant, random: &mut R) {
        self.watch_end(now, random);
        let paid = self.land(number, Ended::Panicked, &|| now, random);
        Paid::spent(paid, self.handle.as_ref());
        self.end(Ended::Cancelled, now, random);
    }

    /// The attempt of this number has failed, and its owner does not ask what follows: the call is
    /// over.
    #[cfg(feature = "std")]
    pub(crate) fn ends_with<R: Random + ?Sized>(
        &mut self,
        number: u32,
        now: Instant,
        failure: &Failure,
        random: &mut R,
    ) {
        self.watch_end(now, random);
        if self.flights.are_under_way() {
            self.land_failed(number, now, failure, random);
        }
        self.end(Ended::Cancelled, now, random);
    }

    fn end<R: Random + ?Sized>(&mut self, ended: Ended, now: Instant, random: &mut R) {
        self.watch_end(now, random);
        self.land_all(ended, now, random);
        self.close();
    }

    /// Returns its tokens, its passes and its place. Nobody learns anything: what time it is, and so
    /// how long the attempts had lasted, is not known.
    #[inline]
    pub(crate) fn release(&mut self) {
        if self.flights.are_under_way() {
            self.release_all();
        }
        self.close();
    }

    fn release_all(&mut self) {
        while let Some((flight, paid)) = self.flights.take_any() {
            let shared = self.handle.as_ref();
            shared.guards().release(flight.pass);
            Paid::spent(paid, shared);
        }
    }

    /// The call is over: what it held for an attempt to come goes back.
    pub(super) fn close(&mut self) {
        self.is_over = true;
        self.give_back();
        self.leave();
    }
}

/// What the guards hear of a failure.
#[inline]
pub(super) fn ended_by(failure: &Failure) -> Ended {
    let class = if failure.healthy {
        Class::Permanent
    } else {
        failure.class
    };
    Ended::Failure(class, failure.effect)
}

/// What a layer below has told without forbidding, if that is heeded. Asked once for each attempt that fails.
pub(super) fn heeded(
    shared: &Shared,
    told_below: Option<StopReason>,
    failure: &Failure,
) -> Option<StopReason> {
    let told = match failure.hint {
        Some(Hint::Below(reason)) => Some(reason),
        _ => told_below,
    };
    let heard = shared.heard();
    if let Some(reason @ (StopReason::BudgetExhausted | StopReason::BreakerOpen)) = told {
        return heard.told().then_some(reason);
    }
    heard.untold();
    None
}

/// The wait before the retry that follows a failure, with its place in the waiting room: the token is asked for last.
/// `heeded` is what a layer below has told, if that ends the call.
///
/// Errors: why none follows.
#[inline(always)]
#[allow(
    clippy::inline_always,
    reason = "out of line, where a call stands goes through memory: a failure takes some 100 instructions more"
)]
pub(super) fn follow<R: Random + ?Sized>(
    shared: &Shared,
    rules: &Rules,
    at: &Standing,
    heeded: Option<StopReason>,
    failure: &Failure,
    random: &mut R,
) -> Result<Wait, Refused> {
    let wait = decide(rules, at, failure, random)?;
    shared.guards().would_admit(wait.ends(at.now))?;
    if let Some(reason) = heeded {
        return Err(reason.into());
    }
    if !shared.start_waiting(rules.policy.max_waiting) {
        return Err(StopReason::TooManyWaiting.into());
    }
    Ok(wait)
}

/// Dropped, a call returns what it holds.
impl<H: AsRef<Shared>> Drop for Call<H> {
    fn drop(&mut self) {
        self.release();
    }
}
