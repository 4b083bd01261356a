//! Who pays for a retry inside a retry, and what counts as a call?

use std::sync::Arc;

use becalm::time::FakeSleeper;
use becalm::{
    Budget, GaveUp, Policy, Retrier, Scope, StopReason,
    call::{Call, CallOptions, Decision},
    classify::Verdict,
    scope::Nested,
    time::Instant,
};

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
    assert_eq!(gave_up.reason(), StopReason::BudgetExhausted);
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
    let outer = paid_by(clocks[0], policy(Nested::Outermost), &ledgers[0]);
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

/// C18: each retrier's budget counts the calls of its own, wherever they are made.
#[test]
fn c18_a_call_deposits_when_it_succeeds_whatever_the_layers_above_repeat() {
    for nested in [
        Nested::Nearest,
        Nested::Outermost,
        Nested::Allow,
        Nested::ShareBudget,
    ] {
        let books = books(&FakeSleeper::auto(), nested, 100, 100);
        let call = books.outer.0.retry(|attempt| {
            let inner = books.inner.0.retry(|_| async {
                yield_now().await;
                Ok::<_, Fault>(())
            });
            async move {
                inner.await.expect("it is well");
                if attempt.number() < 3 {
                    Err(Fault::DOWN)
                } else {
                    Ok(())
                }
            }
        });
        ready(call).unwrap();
        let (outer, inner) = (books.outer.1.book(), books.inner.1.book());
        assert_eq!((outer.first_tries, outer.deposits), (1, 1), "{nested:?}");
        assert_eq!((inner.first_tries, inner.deposits), (3, 3), "{nested:?}");
    }
}

#[test]
fn a_call_that_fails_is_a_first_try_and_deposits_nothing() {
    let books = books(&FakeSleeper::auto(), Nested::Outermost, 100, 100);
    ready(books.outer.0.retry(|_| fail(&books.inner.0))).unwrap_err();
    let (outer, inner) = (books.outer.1.book(), books.inner.1.book());
    assert_eq!((outer.first_tries, outer.deposits), (1, 0));
    assert_eq!((inner.first_tries, inner.deposits), (3, 0));
}

/// C18: a session that lasts inside a retry of the loop that reconnects it. With a budget that only
/// the first session fed, 390 of 20 000 calls of a healthy service were lost, and their give-up ended
/// the loop.
#[test]
fn c18_a_session_inside_a_reconnect_loop_keeps_its_budget() {
    let clock = FakeSleeper::auto();
    let budget = Budget::ratio(0.1).floor_per_second(0.0);
    let on = |policy: Policy| policy.builder().sleeper(clock.clone()).build().unwrap();
    let reconnect = on(fixed(MS).budget(budget));
    let commands = on(fixed(MS).budget(budget).nested(Nested::Allow));
    let session = |attempt: becalm::Attempt| {
        if attempt.number() == 1 {
            return Err(Fault::DOWN);
        }
        let mut lost = 0;
        for call in 0..20_000 {
            let mut fails = call % 50 == 0;
            let answer = commands.retry_blocking(|_| match std::mem::take(&mut fails) {
                true => Err(Fault::DOWN),
                false => Ok(()),
            });
            lost += u32::from(answer.is_err());
        }
        Ok(lost)
    };
    assert_eq!(reconnect.retry_blocking(session).unwrap(), 0);
}

#[test]
fn a_sans_io_call_tells_the_same() {
    let ledger = Ledger::of(10);
    let clock = FakeSleeper::auto();
    let retrier = paid_by(&clock, fixed(MS), &ledger);
    let counts = || (ledger.book().first_tries, ledger.book().deposits);
    let begin = |above| {
        let mut call = Call::begin(&retrier, CallOptions::new(), above, Instant::ZERO);
        call.start(Instant::ZERO, &mut || 0).unwrap();
        call
    };
    let mut outer = begin(Scope::NONE);
    assert!(outer.scope().is_first_try() && outer.scope().is_repeated_above());
    let failure = Fault::DOWN.0.into();
    outer.on_outcome(Instant::ZERO, failure, &mut retrier.random());
    outer.start(Instant::ZERO, &mut || 0).unwrap();
    assert!(!outer.scope().is_first_try());
    assert_eq!(counts(), (1, 0));
    let inner = begin(outer.scope());
    assert_eq!(counts(), (2, 0));
    for mut call in [inner, outer] {
        let done = call.on_outcome(Instant::ZERO, Verdict::Success, &mut retrier.random());
        assert_eq!(done, Decision::Done);
    }
    assert_eq!(counts(), (2, 2));
}
