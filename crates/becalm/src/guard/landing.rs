//! What do the guards take back, and learn, when an attempt ends?

use core::time::Duration;

use super::Guards;
use super::pass::{Ended, Pass};
use crate::breaker::Transition;
use crate::bulkhead::Sample;
use crate::classify::{Class, Effect};
use crate::hedge::Hedging;
use crate::rate::RateLimiter;
use crate::time::Instant;

impl Guards {
    /// An attempt has ended, whose pass holds nothing afterwards. Returns the change of the breaker's
    /// state that it brought about.
    ///
    /// The clock is read through `now` where something [wants to
    /// know](Self::reads_clock_at_end), and where the breaker opens.
    #[inline]
    pub fn finish(
        &self,
        pass: &mut Pass,
        ended: Ended,
        now: impl Fn() -> Instant,
        mut random: impl FnMut() -> u64,
    ) -> Option<Transition> {
        // The breaker first: the call that is handed the place asks it next.
        let transition = match pass.permit {
            Some(_) => self.tell_breaker(pass, ended, &now, &mut random),
            None => None,
        };
        if pass.has_place || self.learns() {
            self.teach(pass, ended, &now);
        }
        transition
    }

    fn tell_breaker(
        &self,
        pass: &mut Pass,
        ended: Ended,
        now: &dyn Fn() -> Instant,
        random: &mut dyn FnMut() -> u64,
    ) -> Option<Transition> {
        let (permit, breaker) = (pass.permit.take()?, self.breaker.get()?);
        let took = match pass.started {
            Some(started) if self.reads_clock_at_start() => now().since(started),
            _ => Duration::ZERO,
        };
        breaker.record(permit, ended.for_breaker(), now, took, random)
    }

    /// Takes back what the pass holds, and learns nothing.
    pub fn release(&self, mut pass: Pass) {
        if let (Some(permit), Some(breaker)) = (pass.permit.take(), self.breaker.get()) {
            breaker.release(permit);
        }
        if let (true, Some(places)) = (pass.has_place, self.bulkhead.get()) {
            places.release(None);
        }
    }

    /// An attempt has proved good, and goes on: it keeps its place alone, and how long it lasts from
    /// here on teaches nobody.
    #[cfg(feature = "std")]
    pub fn prove(
        &self,
        pass: &mut Pass,
        now: impl Fn() -> Instant,
        random: impl FnMut() -> u64,
    ) -> Option<Transition> {
        let has_place = core::mem::take(&mut pass.has_place);
        let transition = self.finish(pass, Ended::Success, now, random);
        (pass.has_place, pass.started) = (has_place, None);
        transition
    }

    /// Returns the place, and tells throttle, rate and hedging of the end.
    fn teach(&self, pass: &mut Pass, ended: Ended, now: &dyn Fn() -> Instant) {
        let has_place = core::mem::take(&mut pass.has_place);
        if let (true, Some(places)) = (has_place, self.bulkhead.get()) {
            let outcome = ended.for_limit().filter(|_| places.reads_clock());
            places.release(outcome.zip(pass.started).map(|(outcome, started)| {
                let now = now();
                Sample {
                    took: now.since(started),
                    now,
                    outcome,
                }
            }));
        }
        if let Some(throttle) = self.throttle() {
            match ended {
                _ if ended.is_answer() => throttle.on_accepted(now(), pass.priority),
                Ended::Failure(..) | Ended::Cut => throttle.on_rejected(now(), pass.priority),
                _ => (),
            }
        }
        if let Some(rate) = self.rate() {
            teach_rate(rate, ended, now());
        }
        match (self.hedging(), pass.started) {
            (Some(hedging), Some(started)) if hedging.reads_clock() && !pass.is_hedge => {
                let now = now();
                teach_hedging(hedging, ended, now, now.since(started));
            }
            _ => (),
        }
    }
}

fn teach_rate(rate: &RateLimiter, ended: Ended, now: Instant) {
    match ended {
        Ended::Failure(Class::Throttled, _) => rate.on_throttle(now),
        Ended::Failure(_, Effect::Unsent) | Ended::Cancelled | Ended::Cut | Ended::Panicked => (),
        Ended::Success | Ended::Failure(..) => rate.on_success(now),
    }
}

fn teach_hedging(hedging: &Hedging, ended: Ended, now: Instant, took: Duration) {
    if ended.is_answer() {
        hedging.record(now, took);
    } else {
        hedging.record_at_least(now, took);
    }
}
