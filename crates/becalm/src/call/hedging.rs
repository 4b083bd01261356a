//! When is a second copy started beside a slow attempt, and what happens to the others?

use super::flight::{Flight, Paid};
use super::{Call, attempts_allowed, payer};
use crate::attempt::{Attempt, remaining};
use crate::breaker::Transition;
use crate::classify::{Class, Failure};
use crate::guard::{Asking, Ended, Gate};
use crate::hint::Hint;
use crate::rng::Random;
use crate::shared::Shared;
use crate::time::Instant;

impl<H: AsRef<Shared>> Call<H> {
    /// When a hedge is due beside the running attempt, if that gets no answer by then; `None` if
    /// none may follow.
    ///
    /// Only operations that may be repeated are hedged. Every copy counts as an attempt and is paid
    /// from the retry budget before it starts. A call that began before a reload asked for hedges
    /// has none.
    pub fn hedge_at(&mut self, now: Instant) -> Option<Instant> {
        self.hedge_at_lazily(|| now)
    }

    /// When a hedge is due; reads the clock only where one may follow.
    pub(crate) fn hedge_at_lazily(&mut self, now: impl FnOnce() -> Instant) -> Option<Instant> {
        if !self.first.may_hedge {
            return None;
        }
        let shared = self.handle.as_ref();
        let hedging = shared.guards().hedging()?;
        let is_allowed = self.options.operation.is_repeatable()
            && self.body_replayable
            && self.told_below.is_none()
            && !self.flights.no_more
            && self.flights.hedged() < hedging.copies();
        if !is_allowed {
            return None;
        }
        let rules = self.rules.get_or_insert_with(|| shared.hold_rules());
        let rules = shared.rules_of(rules);
        let attempts = attempts_allowed(shared, &self.options, rules);
        let runs_once = rules.policy.nested.runs_once_in(self.first.above);
        if self.attempt >= attempts || runs_once {
            return None;
        }
        let started = self.flights.iter().filter_map(|flight| flight.started);
        let last = started.max()?;
        Some(last.after(hedging.delay(now())?))
    }

    /// Starts a hedge, which is due; `None` if the deadline, the budget or a guard refuses it, and
    /// then no other follows before the next attempt.
    ///
    /// Its outcome is told to [`on_outcome_of`](Self::on_outcome_of) by its number.
    pub fn start_hedge<R: Random + ?Sized>(
        &mut self,
        now: Instant,
        random: &mut R,
    ) -> Option<Attempt> {
        self.start_hedge_announced(now, random, |_, _| ())
    }

    /// Starts a hedge, with a last word before the operation is invoked: should that panic, the
    /// operation is never invoked, and the token comes back with the call.
    pub(crate) fn start_hedge_announced<R: Random + ?Sized>(
        &mut self,
        now: Instant,
        random: &mut R,
        announce: impl FnOnce(Attempt, &mut Option<Transition>),
    ) -> Option<Attempt> {
        self.hedge_at(now)?;
        // Until all is granted.
        self.flights.no_more = true;
        let remaining = remaining(self.first.deadline, now).ok()?;
        let shared = self.handle.as_ref();
        let nested = shared.rules_of(self.rules.as_ref()?).policy.nested;
        let payer = payer(nested, self.first.above, shared.clock());
        let paid = Paid::withdraw(shared, payer, now, &Failure::transient())?;
        let nobody_waits = Asking {
            priority: self.options.priority,
            is_first_try: false,
            deadline: self.first.deadline,
            waker: None,
        };
        let mut admission = crate::guard::Admission::default();
        let asked = shared
            .guards()
            .admit(&mut admission, nobody_waits, || now, random);
        let Ok(Gate::Open(pass)) = asked else {
            shared.guards().leave(&mut admission);
            paid.refund(shared);
            return None;
        };
        shared.count_attempt(false);
        self.flights.no_more = false;
        self.attempt = self.attempt.saturating_add(1);
        if let Some(transition) = pass.transition() {
            self.transition = Some(transition);
        }
        let flight = Flight {
            number: self.attempt,
            started: Some(now),
            pass: pass.of_hedge(),
            paid: None,
        };
        self.flights.add_hedge(flight, paid);
        let key = self.options.operation.key();
        let longest = self.first.attempt_timeout;
        let attempt = Attempt::new(self.attempt, remaining, longest, key).hedge();
        announce(attempt, &mut self.transition);
        self.flights.hedge_started();
        Some(attempt)
    }

    /// What the copies that failed have said together, up to the next attempt; `None` where no hedge
    /// was started.
    #[cfg(feature = "std")]
    pub(crate) fn joined_failure(&self) -> Option<Failure> {
        self.flights.joined()
    }

    /// The running attempts, the one that the decision started first.
    #[cfg(feature = "std")]
    pub(crate) fn flights(&self) -> impl Iterator<Item = &Flight> {
        self.flights.iter()
    }

    /// Whether this failure of the attempt of this number is followed by a decision, and not by the
    /// wait for another copy.
    #[cfg(feature = "std")]
    pub(crate) fn is_decided_by(&self, number: u32, failure: &Failure) -> bool {
        let is_alone = self.flights.iter().all(|flight| flight.number == number);
        is_alone || self.is_final(failure)
    }

    /// A failure that ends the call although another copy is running: what cannot succeed will
    /// not, and what harms is not waited for.
    pub(super) fn is_final(&self, failure: &Failure) -> bool {
        failure.class == Class::Permanent
            || failure.hint == Some(Hint::Stop)
            || self.is_forbidden_below()
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
        let known = self.handle.as_ref().reads_clock_at_end().then(&now);
        let now = || known.unwrap_or_else(&now);
        let wins_as_probe = |flight: &Flight| flight.number == number && flight.pass.is_probe();
        let is_probe = self.flights.iter().any(wins_as_probe);
        let mut last = self.land(number, Ended::Success, &now, random);
        while let Some((flight, paid)) = self.flights.take_any() {
            self.land_flight(flight, Ended::Cancelled, &now, random);
            // What a call has paid last is what its winner did, or else a hedge.
            match (paid, &last) {
                (Some(paid), Some(_)) => paid.spent(self.handle.as_ref()),
                (Some(paid), None) => last = Some(paid),
                (None, _) => (),
            }
        }
        let shared = self.handle.as_ref();
        match last {
            Some(paid) => {
                shared.earn(is_probe, known);
                paid.succeeded(shared, now());
            }
            None => shared.succeeded(is_probe, known),
        }
        self.leave();
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
        let ended = Ended::Failure(failure.class, failure.effect);
        let paid = self.land(number, ended, &|| now, random);
        let shared = self.handle.as_ref();
        if let Some(paid) = paid {
            paid.spent(shared);
        }
        // The payer of a retry hears of the failure first.
        let rules = self.rules.get_or_insert_with(|| shared.hold_rules());
        let rules = shared.rules_of(rules);
        let payer = payer(rules.policy.nested, self.first.above, shared.clock());
        payer.as_deref().unwrap_or(shared).on_failure(now, failure);
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
            if let Some(paid) = paid {
                paid.spent(self.handle.as_ref());
            }
        }
    }

    #[inline]
    pub(super) fn land<R: Random + ?Sized>(
        &mut self,
        number: u32,
        ended: Ended,
        now: &impl Fn() -> Instant,
        random: &mut R,
    ) -> Option<Paid> {
        // Where it lies: most attempts are the only one, and a move costs more than the rest.
        if let Some(flight) = self.flights.primary(number) {
            let guards = self.handle.as_ref().guards();
            let pass = &mut flight.pass;
            let transition = guards.finish_in_place(pass, ended, now, || random.next_u64());
            if transition.is_some() {
                self.transition = transition;
            }
            self.flights.primary = None;
            return self.flights.take_spent();
        }
        let mut flight = self.flights.take_hedge(number)?;
        let paid = flight.paid.take();
        self.land_flight(flight, ended, now, random);
        paid.map(|paid| *paid)
    }

    fn land_flight<R: Random + ?Sized>(
        &mut self,
        flight: Flight,
        ended: Ended,
        now: &impl Fn() -> Instant,
        random: &mut R,
    ) {
        let guards = self.handle.as_ref().guards();
        let Flight { pass, .. } = flight;
        if let Some(transition) = guards.finish(pass, ended, now, || random.next_u64()) {
            self.transition = Some(transition);
        }
    }
}
