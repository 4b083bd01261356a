//! What does a driver of very many calls keep of one whose first attempt succeeds? Less than a [`Call`].

use super::{Call, CallOptions, Course, FirstTry};
use crate::attempt::remaining;
use crate::guard::Pass;
use crate::scope::Scope;
use crate::shared::Shared;
use crate::time::Instant;

/// A call whose first attempt runs, and which holds nothing: it asks no guard, and no budget counts it.
///
/// If the attempt succeeds, that is told, and the call is over. Whatever else happens is a [`Call`]'s, which is what it would
/// have been from the start. Dropped, or cut, it leaves nothing behind, as that call would.
#[derive(Debug, Clone, Copy)]
pub struct Unheld(FirstTry);

impl Unheld {
    /// Begins a call and its first attempt, as [`Call::begin`] and [`Call::start`] do; `None` where that is a call's, which holds
    /// something, is observed, or has no time left: then nothing has happened.
    #[inline]
    pub fn begin(
        shared: &Shared,
        options: &CallOptions,
        above: Scope,
        now: Instant,
    ) -> Option<Self> {
        if !shared.guards().are_idle() || shared.observes() || shared.counts_calls() {
            return None;
        }
        let mut first = FirstTry::begin(shared, options, above, || now);
        first.started = Some(now);
        remaining(first.deadline, now).ok()?;
        shared.first_attempt(false, now);
        Some(Self(first))
    }

    /// Another call like this one that begins now. This one has begun at the top, by the same policy and options, and the state neither
    /// counts calls that begin nor earns from them.
    #[inline]
    #[must_use]
    pub fn again(&self, now: Instant) -> Self {
        let mut first = self.0;
        if first.deadline != Instant::NEVER {
            let lasts = first.deadline.as_nanos() - first.start().as_nanos();
            first.deadline = now.after_nanos(lasts);
        }
        first.started = Some(now);
        Self(first)
    }

    /// The attempt has succeeded.
    #[inline]
    pub fn succeeded(self, shared: &Shared, now: Instant) {
        let known = shared.reads_clock_at_end().then_some(now);
        shared.succeeded(false, known);
    }

    /// The end of the whole call; `None` without one.
    #[inline]
    pub fn deadline(&self) -> Option<Instant> {
        (self.0.deadline != Instant::NEVER).then_some(self.0.deadline)
    }

    /// The scope of what runs inside the attempt.
    pub fn scope(&self, shared: &Shared) -> Scope {
        self.0.inside(shared, 1)
    }

    /// The call, its first attempt running. The options are those that it began with.
    pub fn into_call<H: AsRef<Shared>>(self, handle: H, options: CallOptions) -> Call<H> {
        let mut call = Call::of_flight(handle, options, self.0, Pass::default(), false);
        call.course = Course::Same;
        call.spend();
        call
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::vec::Vec;
    use core::time::Duration;

    use super::*;
    use crate::breaker::Breaker;
    use crate::budget::Budget;
    use crate::classify::{Failure, Verdict};
    use crate::policy::{Mode, Policy};
    use crate::rng::SplitMix64;
    use crate::stop::StopReason;

    const NOW: Instant = Instant::from_nanos(7_000_000_000);

    fn shared(policy: &Policy) -> Shared {
        Shared::new(policy.clone(), Duration::ZERO).expect("a valid policy")
    }

    /// What is left of each budget, and how calls have ended.
    fn state(shared: &Shared) -> alloc::string::String {
        let later = NOW.after(Duration::from_secs(3));
        let gauges: Vec<_> = shared.budget_gauges(later).collect();
        let failure = Failure::transient();
        let mut granted = 0;
        while granted < 100 && shared.withdraw(later, &failure).is_some() {
            granted += 1;
        }
        let stops = StopReason::ALL.iter().map(|reason| shared.stops(*reason));
        let stops: Vec<u64> = stops.collect();
        format!("{gauges:?} {granted} {} {stops:?}", shared.waiting())
    }

    fn policies() -> [Policy; 6] {
        let of = |budget| Policy::exponential(Duration::from_millis(100)).budget(budget);
        [
            of(Budget::None),
            of(Budget::ratio(0.5)).deadline(Duration::from_secs(9)),
            of(Budget::ratio(0.1).and(Budget::per_minute(7))),
            of(Budget::first_tries(0.3)),
            of(Budget::default()).attempt_timeout(Duration::from_secs(1)),
            of(Budget::ratio(0.2)).attempts(1),
        ]
    }

    /// Every end of a call that began so is that of one that was a [`Call`] from the start.
    #[test]
    fn a_call_that_holds_nothing_is_what_it_would_have_been() {
        for policy in policies() {
            for end in 0..5 {
                let (ours, theirs) = (shared(&policy), shared(&policy));
                let options = CallOptions::new();
                let mut decisions = [Vec::new(), Vec::new()];
                for call in 0..40 {
                    let (mut one, mut two) = (SplitMix64::new(call), SplitMix64::new(call));
                    let unheld = Unheld::begin(&ours, &options, Scope::NONE, NOW);
                    let unheld = unheld.expect("it holds nothing");
                    let mut whole = Call::begin(&theirs, options, Scope::NONE, NOW);
                    assert_eq!(whole.start(NOW, &mut two).map(|it| it.number()), Ok(1));
                    assert_eq!(unheld.deadline(), whole.deadline());
                    let failure = Failure::transient().into();
                    let later = NOW.after(Duration::from_millis(300));
                    match end {
                        0 => {
                            unheld.succeeded(&ours, later);
                            whole.on_outcome(later, Verdict::Success, &mut two);
                        }
                        1 => drop(whole),
                        2 => whole.cut(later, &mut two),
                        3 => whole.cancel(later, &mut two),
                        _ => {
                            let mut late = unheld.into_call(&ours, options);
                            assert!(late.is_under_way());
                            decisions[0].push(late.on_outcome(later, failure, &mut one));
                            decisions[1].push(whole.on_outcome(later, failure, &mut two));
                        }
                    }
                }
                assert_eq!(decisions[0], decisions[1]);
                assert_eq!(state(&ours), state(&theirs), "{policy} {end}");
            }
        }
    }

    #[test]
    fn what_a_call_would_hold_is_a_calls() {
        let of = Policy::exponential(Duration::from_millis(100));
        let begins = |policy: &Policy, deadline| {
            let options = CallOptions::new().deadline(deadline);
            Unheld::begin(&shared(policy), &options, Scope::NONE, NOW).is_some()
        };
        assert!(begins(&of, None));
        assert!(!begins(&of, Some(Duration::ZERO)));
        let held = [
            of.clone().breaker(Breaker::default()),
            of.clone().budget(Budget::concurrency(0.2, 3)),
            of.clone().mode(Mode::Observe),
        ];
        for policy in held {
            assert!(!begins(&policy, None), "{policy}");
        }
    }
}
