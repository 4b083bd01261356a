//! When several reasons to stop hold, which one is named? Every set of them is tried.
#![cfg(feature = "std")]

use std::sync::Arc;
use std::time::Duration;

use crate::counting_budget::CountingBudget;
use becalm::time::FakeSleeper;
use becalm::{
    Class, Failure, Hint, Jitter, Operation, Policy, Retrier, Scope, StopReason,
    call::{Call, CallOptions, Decision},
    time::Instant,
};

/// The reasons that the decision knows so far, in the order of precedence.
const REASONS: [StopReason; 10] = [
    StopReason::Permanent,
    StopReason::DoNotRetry,
    StopReason::NotIdempotent,
    StopReason::BodyNotReplayable,
    StopReason::NestedRetry,
    StopReason::AttemptsExhausted,
    StopReason::HintTooLong,
    StopReason::DeadlineExceeded,
    StopReason::TooManyWaiting,
    StopReason::BudgetExhausted,
];

const NOW: Instant = Instant::ZERO;

/// A set of reasons, each of which is made to hold.
#[derive(Debug, Clone, Copy)]
struct Holding(u32);

impl Holding {
    fn all_sets() -> impl Iterator<Item = Self> {
        (0..1 << REASONS.len()).map(Self)
    }

    fn has(self, reason: StopReason) -> bool {
        REASONS
            .iter()
            .position(|other| *other == reason)
            .is_some_and(|at| self.0 >> at & 1 == 1)
    }

    fn first(self) -> Option<StopReason> {
        REASONS.into_iter().find(|reason| self.has(*reason))
    }

    /// Only the budget is left to ask.
    fn reaches_the_budget(self) -> bool {
        matches!(self.first(), None | Some(StopReason::BudgetExhausted))
    }

    fn policy(self) -> Policy {
        let policy = Policy::fixed(Duration::from_millis(100)).jitter(Jitter::None);
        if self.has(StopReason::TooManyWaiting) {
            policy.max_waiting(1)
        } else {
            policy
        }
    }

    fn options(self) -> CallOptions {
        let mut options = CallOptions::new();
        if self.has(StopReason::NotIdempotent) {
            options.operation = Operation::NotIdempotent;
        }
        if self.has(StopReason::AttemptsExhausted) {
            options.attempts = Some(1);
        }
        if self.has(StopReason::DeadlineExceeded) {
            options.deadline = Some(Duration::from_millis(100));
        }
        options
    }

    fn failure(self) -> Failure {
        let class = if self.has(StopReason::Permanent) {
            Class::Permanent
        } else {
            Class::Throttled
        };
        let failure = Failure::new(class);
        if self.has(StopReason::HintTooLong) {
            failure.retry_after(Duration::from_secs(61))
        } else {
            failure
        }
    }
}

/// A call that fails once, with all that is asked for holding.
fn decide(holding: Holding, budget: &Arc<CountingBudget>) -> (Decision, u64) {
    let retrier = holding.policy().builder().sleeper(FakeSleeper::new());
    let retrier = retrier.retry_budget(budget.clone()).build();
    let retrier = retrier.expect("a valid policy");
    // Fills the waiting room where it has one place.
    let _waiting = holding
        .has(StopReason::TooManyWaiting)
        .then(|| waiting(&retrier));
    let outer = Policy::default().retrier().expect("a valid policy");
    let mut above = Call::begin(&outer, CallOptions::new(), Scope::NONE, NOW);
    for _ in 0..2 {
        above.start(NOW, &mut || 0).expect("no deadline");
        if above.attempt_number() == 1 {
            above.on_outcome(NOW, Failure::transient().into(), &mut || 0);
        }
    }
    let above = if holding.has(StopReason::NestedRetry) {
        above.scope()
    } else {
        Scope::NONE
    };
    let mut call = Call::begin(&retrier, holding.options(), above, NOW);
    call.start(NOW, &mut || 0).expect("the deadline is ahead");
    if holding.has(StopReason::BodyNotReplayable) {
        call.body_is_consumed();
    }
    if holding.has(StopReason::DoNotRetry) {
        call.forbid_retry();
    }
    let asked = budget.asked();
    let decision = call.on_outcome(NOW, holding.failure().into(), &mut || u64::MAX);
    let waiting = u64::from(matches!(decision, Decision::RetryIn(_)));
    let others = u64::from(holding.has(StopReason::TooManyWaiting));
    assert_eq!(retrier.waiting(), waiting + others, "{holding:?}");
    (decision, budget.asked() - asked)
}

fn waiting(retrier: &Retrier) -> Call<&Retrier> {
    let mut call = Call::begin(retrier, CallOptions::new(), Scope::NONE, NOW);
    call.start(NOW, &mut || 0).expect("no deadline");
    let decision = call.on_outcome(NOW, Failure::transient().into(), &mut || 0);
    assert!(matches!(decision, Decision::RetryIn(_)), "{decision:?}");
    call
}

#[test]
fn of_every_set_of_reasons_the_first_in_order_is_named_and_the_budget_is_asked_last() {
    for holding in Holding::all_sets() {
        let spent = holding.has(StopReason::BudgetExhausted);
        let others = holding.has(StopReason::TooManyWaiting);
        let budget = Arc::new(CountingBudget::of(u64::from(!spent) + u64::from(others)));
        let (decision, asked) = decide(holding, &budget);
        let expected = match holding.first() {
            Some(reason) => Decision::Stop(reason),
            None => Decision::RetryIn(Duration::from_millis(100)),
        };
        assert_eq!(decision, expected, "{holding:?}");
        assert_eq!(
            asked,
            u64::from(holding.reaches_the_budget()),
            "{holding:?}"
        );
        // Whoever waited has gone by now, and so has what was held.
        assert_eq!(budget.tokens(), u64::from(!spent) + u64::from(others));
    }
}

#[test]
fn the_servers_own_stop_ranks_with_that_of_a_layer_below() {
    let budget = Arc::new(CountingBudget::of(1));
    for (operation, class, reason) in [
        (
            Operation::NotIdempotent,
            Class::Transient,
            StopReason::DoNotRetry,
        ),
        (
            Operation::Idempotent,
            Class::Throttled,
            StopReason::DoNotRetry,
        ),
        (
            Operation::Idempotent,
            Class::Permanent,
            StopReason::Permanent,
        ),
    ] {
        let retrier = Policy::default().builder().retry_budget(budget.clone());
        let retrier = retrier.build().expect("a valid policy");
        let mut options = CallOptions::new();
        options.operation = operation;
        let mut call = Call::begin(&retrier, options, Scope::NONE, NOW);
        call.start(NOW, &mut || 0).expect("no deadline");
        let failure = Failure::new(class).hint(Hint::Stop);
        let decision = call.on_outcome(NOW, failure.into(), &mut || 0);
        assert_eq!(decision, Decision::Stop(reason));
    }
    assert_eq!(budget.asked(), 0);
}

#[test]
fn the_published_order_is_the_one_that_is_tested() {
    let tested = StopReason::ALL
        .iter()
        .copied()
        .filter(|reason| REASONS.contains(reason));
    assert!(tested.eq(REASONS));
}
