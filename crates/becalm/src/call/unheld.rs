//! What does a driver of very many calls keep of one whose first attempt succeeds? Less than a [`Call`].

use core::time::Duration;

use super::flight::Paid;
use super::landing::{ended_by, follow, heeded};
use super::patience::{Patience, may_wait};
use super::{Call, CallOptions, Course, FirstTry, attempts_allowed, payer};
use crate::attempt::remaining;
use crate::classify::Failure;
use crate::decide::Standing;
use crate::guard::{Admission, Pass};
use crate::rng::Random;
use crate::scope::Scope;
use crate::shared::Shared;
use crate::stop::StopReason;
use crate::time::Instant;

/// A call whose first attempt runs, and which holds nothing: it asks no guard, and no budget counts it.
///
/// If the attempt succeeds, or fails so that nothing follows, that is told, and the call is over. Where a retry follows there is a
/// [`Call`], as it would have been from the start. Dropped, or cut, this leaves nothing behind, as that call would.
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

    /// The attempt has failed: how long the call waits, and the call, if it goes on. The options are those that it began with.
    ///
    /// # Errors
    ///
    /// Why it stops, as [`Call::on_outcome`] says it. Such a call is never made.
    #[inline]
    pub fn failed<H: AsRef<Shared>, R: Random + ?Sized>(
        self,
        handle: H,
        options: CallOptions,
        now: Instant,
        failure: &Failure,
        random: &mut R,
    ) -> Result<(Duration, Call<H>), StopReason> {
        let shared = handle.as_ref();
        let held = shared.hold_rules();
        let rules = shared.rules_of(&held);
        let (above, deadline) = (self.0.above, self.0.deadline);
        let (ended, draw) = (ended_by(failure), || random.next_u64());
        let guards = shared.guards();
        guards.finish(&mut Pass::default(), ended, || now, draw);
        let payer = payer(rules.policy.nested, above, shared.clock());
        payer
            .as_deref()
            .unwrap_or(shared)
            .failed(rules, now, failure);
        let stopped = |reason| {
            shared.count_stop(reason);
            reason
        };
        let standing = Standing {
            now,
            deadline,
            attempt: 1,
            attempts: attempts_allowed(shared, &options, rules),
            operation: options.operation,
            body_replayable: true,
            forbidden_below: false,
            repeated_above: rules.policy.nested.runs_once_in(above),
            step: 0,
            previous: None,
        };
        let heeded = heeded(shared, None, failure);
        let wait = follow(shared, rules, &standing, heeded, failure, random)
            .map_err(|refused| stopped(refused.reason))?;
        // A budget of the user's own may panic.
        let place = Place(shared);
        let paid = Paid::withdraw(shared, payer, now, failure);
        let mut patience = None;
        if paid.is_none() {
            if !may_wait(rules, deadline) {
                return Err(stopped(StopReason::BudgetExhausted));
            }
            patience = Some(Patience::begin(None, standing, wait, failure));
        }
        place.hand_over();
        let mut call = Call::of_first_try(handle, options, self.0, Admission::default());
        call.attempt = 1;
        call.course = Course::Same;
        call.has_place = true;
        call.rules = Some(held);
        call.flights.paid = paid;
        call.flights.no_more = true;
        call.patience = patience;
        (call.step, call.previous) = (wait.step, wait.previous);
        Ok((Duration::from_nanos(wait.delay), call))
    }
}

/// A place in the waiting room that no call has yet.
struct Place<'a>(&'a Shared);

impl Place<'_> {
    /// A call has it from here on.
    fn hand_over(self) {
        core::mem::forget(self);
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.stop_waiting();
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::vec::Vec;
    use core::time::Duration;

    use super::*;
    use crate::breaker::Breaker;
    use crate::budget::{Budget, WhenSpent};
    use crate::call::Decision;
    use crate::classify::{Failure, Verdict};
    use crate::hint::Hint;
    use crate::jitter::Jitter;
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

    fn policies() -> [Policy; 8] {
        let of = |budget| Policy::exponential(Duration::from_millis(100)).budget(budget);
        [
            of(Budget::per_minute(5))
                .when_spent(WhenSpent::Wait)
                .deadline(Duration::from_secs(60)),
            of(Budget::ratio(0.3))
                .jitter(Jitter::Decorrelated)
                .max_waiting(7),
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
                    let failure = match call % 5 {
                        1 => Failure::transient().hint(Hint::AtLeast(Duration::from_secs(2))),
                        2 => Failure::throttled().hint(Hint::Exactly(Duration::from_secs(1))),
                        3 => Failure::permanent(),
                        _ => Failure::transient(),
                    };
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
                            let failed = unheld.failed(&ours, options, later, &failure, &mut one);
                            let (decision, late) = match failed {
                                Ok((delay, late)) => (Decision::RetryIn(delay), Some(late)),
                                Err(reason) => (Decision::Stop(reason), None),
                            };
                            decisions[0].push(decision);
                            decisions[1].push(whole.on_outcome(later, failure.into(), &mut two));
                            assert_eq!(one.next_u64(), two.next_u64(), "as many draws");
                            let started = late.map(|mut late| {
                                (
                                    late.start(later, &mut one),
                                    late.on_outcome(later, failure.into(), &mut one),
                                )
                            });
                            if let Some(started) = started {
                                let start = whole.start(later, &mut two);
                                assert_eq!(
                                    started,
                                    (start, whole.on_outcome(later, failure.into(), &mut two))
                                );
                            }
                        }
                    }
                }
                assert_eq!(decisions[0], decisions[1]);
                assert_eq!(state(&ours), state(&theirs), "{policy} {end}");
            }
        }
    }

    #[derive(Debug)]
    #[cfg(feature = "std")]
    struct Panics;

    #[cfg(feature = "std")]
    impl crate::budget::RetryBudget for Panics {
        fn deposit(&self, _: Instant) {}

        fn withdraw(&self, _: Instant, _: &Failure) -> Option<crate::budget::Withdrawal> {
            panic!("a budget of the user's own")
        }

        fn refund(&self, _: crate::budget::Withdrawal) {}

        fn fill(&self, _: Instant) -> f64 {
            1.0
        }
    }

    #[test]
    #[cfg(feature = "std")]
    fn a_budget_that_panics_leaves_no_place_taken() {
        let given = crate::shared::Given {
            tick: Duration::ZERO,
            clock: crate::time::ClockId::UNKNOWN,
            made: Instant::ZERO,
            budget: Some(std::sync::Arc::new(Panics)),
            is_observed: false,
        };
        let policy = Policy::exponential(Duration::from_millis(100)).max_waiting(1);
        let shared = Shared::with(policy, given).expect("a valid policy");
        let options = CallOptions::new();
        let unheld = Unheld::begin(&shared, &options, Scope::NONE, NOW);
        let unheld = unheld.expect("it holds nothing");
        let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut random = SplitMix64::new(1);
            let failure = Failure::transient();
            unheld
                .failed(&shared, options, NOW, &failure, &mut random)
                .is_ok()
        }));
        assert!(failed.is_err());
        assert_eq!(shared.waiting(), 0);
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
