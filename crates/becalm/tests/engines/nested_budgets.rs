//! Who pays for a retry inside a retry, and what counts as a first try?

use std::sync::Arc;

use becalm::time::FakeSleeper;
use becalm::{Call, CallOptions, GaveUp, Instant, Nested, Policy, Retrier, Scope, StopReason};

use crate::probe::{ByHand, Fault, Ledger, MS, fixed, ready, yield_now};

fn paid_by(clock: &FakeSleeper, policy: Policy, ledger: &Arc<Ledger>) -> Retrier {
    policy
        .builder()
        .sleeper(clock.clone())
        .retry_budget(ledger.clone())
        .build()
        .unwrap()
}

struct Books {
    outer: (Retrier, Arc<Ledger>),
    inner: (Retrier, Arc<Ledger>),
}

/// 3 attempts each; 10 tokens for the outer one, as many as said for the inner one.
fn books(clock: &FakeSleeper, nested: Nested, outer: u32, inner: u32) -> Books {
    let ledgers = [Ledger::of(outer), Ledger::of(inner)];
    let policy = fixed(MS).attempts(3);
    Books {
        outer: (
            paid_by(clock, policy.clone(), &ledgers[0]),
            ledgers[0].clone(),
        ),
        inner: (
            paid_by(clock, policy.nested(nested), &ledgers[1]),
            ledgers[1].clone(),
        ),
    }
}

async fn fail(retrier: &Retrier) -> Result<(), GaveUp<Fault>> {
    retrier.retry(|_| async { Err(Fault::DOWN) }).await
}

#[test]
fn a_shared_budget_is_the_outer_ones() {
    let books = books(&FakeSleeper::auto(), Nested::ShareBudget, 100, 0);
    ready(books.outer.0.retry(|_| fail(&books.inner.0))).unwrap_err();
    let (outer, inner) = (books.outer.1.book(), books.inner.1.book());
    assert_eq!(
        outer.spent(),
        2 + 3 * 2,
        "its own retries, and the inner ones"
    );
    assert_eq!(
        (inner.withdrawals, inner.denials),
        (0, 0),
        "the inner one is not asked"
    );
}

#[test]
fn a_shared_budget_that_is_spent_stops_both() {
    let books = books(&FakeSleeper::auto(), Nested::ShareBudget, 3, 100);
    let gave_up = ready(books.outer.0.retry(|_| fail(&books.inner.0))).unwrap_err();
    assert_eq!(gave_up.reason(), StopReason::DoNotRetry);
    assert_eq!(
        gave_up.error().unwrap().reason(),
        StopReason::BudgetExhausted
    );
    assert_eq!(books.outer.1.book().spent(), 3);
}

#[test]
fn a_shared_token_goes_back_to_where_it_came_from() {
    let clock = FakeSleeper::new();
    let books = books(&clock, Nested::ShareBudget, 10, 10);
    let mut call = ByHand::new(books.outer.0.retry(|_| fail(&books.inner.0)));
    assert!(call.run().is_pending());
    assert_eq!(
        (books.outer.1.book().tokens, books.inner.1.book().tokens),
        (9, 10)
    );
    assert_eq!((books.outer.0.waiting(), books.inner.0.waiting()), (0, 1));
    drop(call);
    assert_eq!(
        (books.outer.1.book().tokens, books.outer.1.book().refunds),
        (10, 1)
    );
    assert_eq!(books.inner.1.book().refunds, 0);
}

#[test]
fn alone_a_sharing_retrier_pays_for_itself() {
    let books = books(&FakeSleeper::auto(), Nested::ShareBudget, 10, 10);
    ready(fail(&books.inner.0)).unwrap_err();
    assert_eq!(
        (books.outer.1.book().spent(), books.inner.1.book().spent()),
        (0, 2)
    );
}

#[test]
fn a_sharing_retrier_outlives_the_one_above() {
    let clock = FakeSleeper::auto();
    let Books { outer, inner } = books(&clock, Nested::ShareBudget, 10, 10);
    let scope = outer
        .0
        .retry_blocking(|_| Ok::<_, Fault>(Scope::current()))
        .unwrap();
    drop(outer.0);
    scope
        .enter(|| inner.0.retry_blocking(|_| Err::<(), _>(Fault::DOWN)))
        .unwrap_err();
    assert_eq!((outer.1.book().spent(), inner.1.book().spent()), (0, 2));
}

/// Three retriers, the outermost first, on these clocks, with 2 attempts each; the lower two share.
/// What each spent.
fn spent_by_three(clocks: [&FakeSleeper; 3], middle: Nested) -> [u32; 3] {
    let ledgers = [Ledger::of(100), Ledger::of(100), Ledger::of(100)];
    let policy = |nested| fixed(MS).attempts(2).nested(nested);
    let outer = paid_by(clocks[0], policy(Nested::Suppress), &ledgers[0]);
    let between = paid_by(clocks[1], policy(middle), &ledgers[1]);
    let inner = paid_by(clocks[2], policy(Nested::ShareBudget), &ledgers[2]);
    ready(outer.retry(|_| between.retry(|_| fail(&inner)))).unwrap_err();
    ledgers.map(|ledger| ledger.book().spent())
}

/// Not of the one in between, which pays nothing for itself either.
#[test]
fn a_budget_shared_by_three_is_the_outermost_ones() {
    let clock = FakeSleeper::auto();
    let all = spent_by_three([&clock; 3], Nested::ShareBudget);
    assert_eq!(all, [1 + 2 + 4, 0, 0]);
    let from_the_middle_on = spent_by_three([&clock; 3], Nested::Allow);
    assert_eq!(from_the_middle_on, [1, 2 + 4, 0]);
}

/// A budget may read the time, so one of another clock cannot be asked.
#[test]
fn a_shared_budget_on_another_clock_is_not_asked() {
    let (clock, other) = (FakeSleeper::auto(), FakeSleeper::auto());
    let middle_elsewhere = spent_by_three([&clock, &other, &clock], Nested::ShareBudget);
    assert_eq!(middle_elsewhere, [1 + 4, 2, 0]);
    let outer_elsewhere = spent_by_three([&clock, &other, &other], Nested::ShareBudget);
    assert_eq!(outer_elsewhere, [1, 2, 4]);
}

#[test]
fn an_allowed_retrier_pays_for_itself() {
    let books = books(&FakeSleeper::auto(), Nested::Allow, 10, 10);
    ready(books.outer.0.retry(|_| fail(&books.inner.0))).unwrap_err();
    assert_eq!(
        (books.outer.1.book().spent(), books.inner.1.book().spent()),
        (2, 6)
    );
}

/// Otherwise a retrying layer would earn tokens for the layers below by its own retries.
#[test]
fn only_a_call_whose_whole_ancestry_is_at_its_first_attempt_deposits() {
    for nested in [Nested::Suppress, Nested::Allow, Nested::ShareBudget] {
        let books = books(&FakeSleeper::auto(), nested, 100, 100);
        let call = books.outer.0.retry(|_| async {
            yield_now().await;
            fail(&books.inner.0).await
        });
        assert_eq!(ready(call).unwrap_err().attempts(), 3);
        assert_eq!(books.outer.1.book().deposits, 1, "{nested:?}");
        assert_eq!(
            books.inner.1.book().deposits,
            1,
            "{nested:?}: in the first attempt only"
        );
    }
}

#[test]
fn every_call_of_a_first_attempt_deposits() {
    let books = books(&FakeSleeper::auto(), Nested::Suppress, 100, 100);
    let call = books.outer.0.retry(|attempt| {
        let inner = books.inner.0.clone();
        async move {
            for _ in 0..5 {
                let _ = inner.retry_blocking(|_| Err::<(), _>(Fault::DOWN));
            }
            if attempt.number() < 3 {
                Err(Fault::DOWN)
            } else {
                Ok(())
            }
        }
    });
    ready(call).unwrap();
    assert_eq!(books.inner.1.book().deposits, 5);
}

#[test]
fn a_grandchild_of_a_retry_deposits_nothing_though_its_parent_is_at_its_first_attempt() {
    let clock = FakeSleeper::auto();
    let books = books(&clock, Nested::Suppress, 100, 100);
    let between = paid_by(&clock, fixed(MS), &Ledger::of(100));
    let call = books
        .outer
        .0
        .retry(|_| between.retry(|_| fail(&books.inner.0)));
    assert_eq!(ready(call).unwrap_err().attempts(), 3);
    assert_eq!(books.inner.1.book().deposits, 1);
}

#[test]
fn a_spawned_call_without_its_scope_is_a_first_try_and_with_it_is_not() {
    let books = books(&FakeSleeper::auto(), Nested::Suppress, 100, 100);
    let call = books.outer.0.retry(|attempt| {
        let (scope, (inner, ledger)) = (Scope::current(), &books.inner);
        async move {
            if attempt.number() == 1 {
                return Err(Fault::DOWN);
            }
            let _ = ready(Scope::NONE.wrap(fail(inner)));
            assert_eq!(ledger.book().deposits, 1);
            let _ = ready(scope.wrap(fail(inner)));
            assert_eq!(ledger.book().deposits, 1);
            Ok(())
        }
    });
    ready(call).unwrap();
}

#[test]
fn the_scope_of_a_sans_io_call_tells_the_same() {
    let ledger = Ledger::of(10);
    let clock = FakeSleeper::auto();
    let retrier = paid_by(&clock, fixed(MS), &ledger);
    let mut outer = Call::begin(&retrier, CallOptions::new(), Scope::NONE, Instant::ZERO);
    outer.start(Instant::ZERO, &mut || 0).unwrap();
    assert!(outer.scope().is_first_try() && outer.scope().is_repeated_above());
    let nested = |above| {
        let mut call = Call::begin(&retrier, CallOptions::new(), above, Instant::ZERO);
        call.start(Instant::ZERO, &mut || 0).unwrap();
    };
    nested(outer.scope());
    assert_eq!(ledger.book().deposits, 2);
    let failure = Fault::DOWN.0.into();
    outer.on_outcome(Instant::ZERO, failure, &mut retrier.random());
    outer.start(Instant::ZERO, &mut || 0).unwrap();
    assert!(!outer.scope().is_first_try());
    let nested = |above| {
        let mut call = Call::begin(&retrier, CallOptions::new(), above, Instant::ZERO);
        call.start(Instant::ZERO, &mut || 0).unwrap();
    };
    nested(outer.scope());
    assert_eq!(ledger.book().deposits, 2);
}
