//! When is a second copy started beside a slow attempt?

use super::flight::Paid;
use super::{Call, attempts_allowed, payer};
use crate::attempt::{Attempt, remaining};
use crate::classify::Failure;
use crate::guard::{Admission, Asking, Gate, Pass};
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
        if self.first.observes {
            self.note_limits(now);
            return None;
        }
        if !self.first.may_hedge {
            return None;
        }
        self.hedge_due(now)
    }

    /// When the next hedge is due, whether the call may send it or only observes.
    pub(super) fn hedge_due(&mut self, now: impl FnOnce() -> Instant) -> Option<Instant> {
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
        let mut last = None;
        for flight in self.flights.iter() {
            last = last.max(flight.started);
        }
        Some(last?.after(hedging.delay(now())?))
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
        let hedge = self.begin_hedge(now, random);
        self.spend();
        hedge
    }

    /// Starts a hedge whose token comes back with the call until it is [spent](Self::spend).
    pub(crate) fn begin_hedge<R: Random + ?Sized>(
        &mut self,
        now: Instant,
        random: &mut R,
    ) -> Option<Attempt> {
        self.hedge_at(now)?;
        // Until all is granted.
        self.flights.no_more = true;
        let remaining = remaining(self.first.deadline, now).ok()?;
        let (pass, paid) = self.admit_hedge(now, random)?;
        self.handle.as_ref().count_attempt(false);
        self.flights.no_more = false;
        let flight = self.next_flight(pass.of_hedge(), Some(now));
        self.flights.add_hedge(flight, paid);
        Some(self.attempt(remaining).hedge())
    }

    /// Budget and guards let a hedge start.
    pub(super) fn admit_hedge<R: Random + ?Sized>(
        &self,
        now: Instant,
        random: &mut R,
    ) -> Option<(Pass, Paid)> {
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
        let mut admission = Admission::default();
        let asked = shared
            .guards()
            .admit(&mut admission, nobody_waits, || now, random);
        let Ok(Gate::Open(pass)) = asked else {
            shared.guards().leave(&mut admission);
            paid.refund(shared);
            return None;
        };
        Some((pass, paid))
    }
}
