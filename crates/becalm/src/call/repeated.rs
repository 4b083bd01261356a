//! What does a driver keep of a plain call that has failed once, and is repeated? Less than a [`Call`].

use core::time::Duration;

use super::flight::Paid;
use super::landing::{follow, heeded};
use super::{Call, CallOptions, FirstTry, attempts_allowed};
use crate::attempt::Attempt;
use crate::classify::Failure;
use crate::decide::{Standing, Wait};
use crate::guard::{Admission, Pass, Refused};
use crate::rng::Random;
use crate::scope::Scope;
use crate::shared::{HeldRules, Shared};
use crate::stop::StopReason;
use crate::time::Instant;

/// The second attempt of a [plain](FirstTry) call: decided after the failure of the first, and paid for.
///
/// If it succeeds while calls are plain, that is told, and the call is over. Whatever else happens is a [`Call`]'s, which is
/// what it would have been from the start.
#[derive(Debug)]
pub(crate) struct Repeated {
    rules: HeldRules,
    wait: Wait,
    starts: Instant,
    /// `None` once it has succeeded.
    paid: Option<Paid>,
    may_repeat: bool,
    is_running: bool,
}

impl Repeated {
    /// Decides whether a call is repeated whose first attempt has failed so, and pays for it.
    ///
    /// For a call that is plain still, not observed, and has heard nothing from below.
    ///
    /// Errors: why it stops, and when the breaker lets a probe through.
    #[inline]
    pub fn decide<R: Random + ?Sized>(
        shared: &Shared,
        now: Instant,
        failure: &Failure,
        random: &mut R,
    ) -> Result<Self, Refused> {
        let first = FirstTry::plain(shared);
        let held = shared.hold_rules();
        let rules = shared.rules_of(&held);
        shared.failed(rules, now, failure);
        let heeded = heeded(shared, None, failure);
        let options = CallOptions::new();
        let standing = Standing {
            now,
            deadline: first.deadline,
            attempt: 1,
            attempts: attempts_allowed(shared, &options, rules),
            operation: options.operation,
            body_replayable: true,
            forbidden_below: false,
            repeated_above: rules.policy.nested.runs_once_in(first.above),
            step: 0,
            previous: None,
        };
        let wait = follow(shared, rules, &standing, heeded, failure, random)?;
        // A plain call has no deadline, so it does not wait for a token.
        let paid = Paid::withdraw(shared, None, now, failure);
        if paid.is_none() {
            shared.stop_waiting();
            return Err(StopReason::BudgetExhausted.into());
        }
        Ok(Self {
            rules: held,
            wait,
            starts: wait.ends(now),
            paid,
            may_repeat: first.may_repeat,
            is_running: false,
        })
    }

    /// The wait before it.
    pub fn delay(&self) -> Duration {
        Duration::from_nanos(self.wait.delay)
    }

    /// When that is over.
    pub fn starts(&self) -> Instant {
        self.starts
    }

    /// Whether it has started.
    #[inline]
    pub fn is_running(&self) -> bool {
        self.is_running
    }

    /// Starts it, and tells whether it did: where calls are not plain any more, or retries were switched off, that is a call's to
    /// decide.
    pub fn start(&mut self, shared: &Shared) -> bool {
        if shared.plain().is_none() || shared.retries_are_disabled() {
            return false;
        }
        shared.stop_waiting();
        self.is_running = true;
        true
    }

    /// The attempt as the operation sees it, after this many that have timed out.
    #[inline]
    pub fn attempt(timeouts: u32) -> Attempt {
        Attempt::new(2, u64::MAX, u64::MAX, None).after_timeouts(timeouts)
    }

    /// The scope of what runs inside it.
    pub fn scope(&self, shared: &Shared) -> Scope {
        self.first().inside(shared, 2)
    }

    /// It has succeeded, in a call that is plain still.
    #[inline]
    pub fn succeeded(&mut self, shared: &Shared) {
        shared.earn(false, None);
        if let Some(paid) = self.paid.take() {
            paid.succeeded(shared, || Instant::ZERO);
        }
    }

    /// Whether it has succeeded, and that was told.
    pub fn is_over(&self) -> bool {
        self.paid.is_none()
    }

    fn first(&self) -> FirstTry {
        FirstTry {
            may_repeat: self.may_repeat,
            ..FirstTry::UNKNOWN
        }
    }

    /// The call, which is where this is.
    pub fn into_call<H: AsRef<Shared>>(self, handle: H) -> Call<H> {
        let options = CallOptions::new();
        let mut call = Call::of_first_try(handle, options, self.first(), Admission::default());
        call.attempt = 1;
        call.has_place = !self.is_running;
        if self.is_running {
            let flight = call.next_flight(Pass::default(), None);
            call.flights.start(flight);
        }
        (call.step, call.previous) = (self.wait.step, self.wait.previous);
        call.rules = Some(self.rules);
        (call.flights.paid, call.flights.is_spent) = (self.paid, self.is_running);
        call.flights.no_more = !self.is_running;
        call
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;

    use super::*;
    use crate::budget::Budget;
    use crate::call::Decision;
    use crate::classify::Verdict;
    use crate::policy::Policy;
    use crate::rng::SplitMix64;

    const NOW: Instant = Instant::from_nanos(7_000_000_000);

    fn shared(policy: &Policy) -> Shared {
        Shared::new(policy.clone(), Duration::from_millis(1)).expect("a valid policy")
    }

    /// What is left, who waits, and how calls have ended.
    fn state(shared: &Shared) -> String {
        let later = NOW.after(Duration::from_secs(3));
        let gauges: Vec<_> = shared.budget_gauges(later).collect();
        let stops = StopReason::ALL.iter().map(|reason| shared.stops(*reason));
        let stops: Vec<u64> = stops.collect();
        format!("{gauges:?} {} {stops:?}", shared.waiting())
    }

    fn policies() -> [Policy; 6] {
        let of = |budget| Policy::exponential(Duration::from_millis(100)).budget(budget);
        [
            of(Budget::None),
            of(Budget::ratio(0.5)).max_waiting(7),
            of(Budget::ratio(0.5).burst(3.0)),
            of(Budget::ratio(0.2)).attempts(1),
            of(Budget::ratio(0.2)).attempts(2),
            of(Budget::ratio(0.1).and(Budget::per_minute(3))),
        ]
    }

    /// Wherever a repeated call ends, or becomes a call's, it leaves what that call would have left.
    #[test]
    fn a_call_that_is_repeated_is_what_it_would_have_been() {
        let (failure, later) = (Failure::throttled(), NOW.after(Duration::from_secs(1)));
        for policy in policies() {
            for end in 0..6 {
                let (ours, theirs) = (shared(&policy), shared(&policy));
                assert!(ours.plain().is_some(), "{policy}");
                let (mut kept, mut wholes) = (Vec::new(), Vec::new());
                for call in 0..20 {
                    let (mut one, mut two) = (SplitMix64::new(call), SplitMix64::new(call));
                    let repeated = Repeated::decide(&ours, NOW, &failure, &mut one);
                    let options = CallOptions::new();
                    let mut whole = Call::begin(&theirs, options, Scope::NONE, NOW);
                    assert_eq!(whole.start(NOW, &mut two).map(|it| it.number()), Ok(1));
                    let decision = whole.on_outcome(NOW, failure.into(), &mut two);
                    let mut repeated = match repeated {
                        Ok(repeated) => repeated,
                        Err(Refused { reason, until }) => {
                            ours.count_stop(reason);
                            assert_eq!((decision, until), (Decision::Stop(reason), None));
                            continue;
                        }
                    };
                    assert_eq!(decision, Decision::RetryIn(repeated.delay()));
                    assert_eq!(repeated.starts(), NOW.after(repeated.delay()));
                    assert_eq!(one, two, "they draw alike");
                    if end == 0 {
                        kept.push(repeated.into_call(&ours));
                        wholes.push(whole);
                        continue;
                    }
                    if end == 1 {
                        ours.disable_retries();
                        theirs.disable_retries();
                        assert!(!repeated.start(&ours));
                        let mut late = repeated.into_call(&ours);
                        let refused = late.start(later, &mut one);
                        assert_eq!(refused, whole.start(later, &mut two));
                        ours.enable_retries();
                        theirs.enable_retries();
                        continue;
                    }
                    assert!(repeated.start(&ours));
                    let attempt = whole.start(later, &mut two);
                    assert_eq!(Ok(Repeated::attempt(0)), attempt);
                    assert_eq!(repeated.scope(&ours).attempt(), whole.scope().attempt());
                    match end {
                        2 => {
                            repeated.succeeded(&ours);
                            assert!(repeated.is_over());
                            whole.on_outcome(later, Verdict::Success, &mut two);
                        }
                        3 => drop((repeated.into_call(&ours), whole)),
                        4 => {
                            let mut late = repeated.into_call(&ours);
                            assert!(late.is_under_way());
                            late.on_outcome(later, Verdict::Success, &mut one);
                            whole.on_outcome(later, Verdict::Success, &mut two);
                        }
                        _ => {
                            let mut late = repeated.into_call(&ours);
                            let again = late.on_outcome(later, failure.into(), &mut one);
                            let expected = whole.on_outcome(later, failure.into(), &mut two);
                            assert_eq!(again, expected);
                            kept.push(late);
                            wholes.push(whole);
                        }
                    }
                }
                assert_eq!(state(&ours), state(&theirs), "{policy} {end}");
                drop((kept, wholes));
                assert_eq!(state(&ours), state(&theirs), "{policy} {end}, after it");
            }
        }
    }
}
