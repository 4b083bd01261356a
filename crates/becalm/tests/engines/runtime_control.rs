//! What can be changed while calls are under way? Retries off and on, the policy, and a call's own
//! limits, all on one shared state.

use std::future::pending;
use std::task::Poll;

use becalm::time::FakeSleeper;
use becalm::{Budget, Policy, StopReason, policy::InvalidPolicy};

use crate::probe::{ByHand, Fault, MS, SECOND, fixed, on, ready, watched, yield_now};

fn attempts(retrier: &becalm::Retrier) -> u32 {
    let of_async = ready(retrier.retry(|_| async { Err::<(), _>(Fault::DOWN) })).unwrap_err();
    let of_blocking = retrier
        .retry_blocking(|_| Err::<(), _>(Fault::DOWN))
        .unwrap_err();
    assert_eq!(of_async.reason(), of_blocking.reason());
    assert_eq!(of_async.attempts(), of_blocking.attempts());
    of_async.attempts()
}

#[test]
fn switched_off_every_call_makes_one_attempt() {
    let retrier = on(&FakeSleeper::auto(), fixed(MS));
    retrier.clone().disable_retries();
    assert_eq!(attempts(&retrier), 1);
    let gave_up = retrier
        .blocking(|_| Err::<(), _>(Fault::DOWN))
        .attempts(9)
        .call()
        .unwrap_err();
    assert_eq!(
        (gave_up.attempts(), gave_up.reason()),
        (1, StopReason::AttemptsExhausted)
    );
    assert_eq!(
        ready(retrier.retry(|_| async { Ok::<_, Fault>(17) })).unwrap(),
        17
    );
    retrier.enable_retries();
    assert_eq!(attempts(&retrier), 4);
}

#[test]
fn switched_off_stays_off_through_a_reload() {
    let retrier = on(&FakeSleeper::auto(), fixed(MS));
    retrier.disable_retries();
    retrier.replace_policy(fixed(MS).attempts(7)).unwrap();
    assert_eq!(attempts(&retrier), 1);
    retrier.enable_retries();
    assert_eq!(attempts(&retrier), 7);
}

#[test]
fn a_replaced_policy_holds_for_the_next_call_of_every_clone() {
    let clock = FakeSleeper::auto();
    let retrier = on(&clock, fixed(MS));
    let clone = retrier.clone();
    retrier
        .replace_policy(fixed(7 * MS).attempts(2).deadline(SECOND))
        .unwrap();
    let gave_up = clone
        .retry_blocking(|attempt| {
            assert!(attempt.remaining().is_some());
            Err::<(), _>(Fault::DOWN)
        })
        .unwrap_err();
    assert_eq!((gave_up.attempts(), clock.slept()), (2, vec![7 * MS]));
    assert_eq!(clone.policy(), fixed(7 * MS).attempts(2).deadline(SECOND));
}

#[test]
fn a_call_that_has_failed_goes_on_under_the_old_policy() {
    let clock = FakeSleeper::new();
    let retrier = on(&clock, fixed(100 * MS));
    let mut call = ByHand::new(retrier.retry(|_| async { Err::<(), _>(Fault::DOWN) }));
    assert!(call.run().is_pending());
    retrier.replace_policy(fixed(SECOND).attempts(2)).unwrap();
    for _ in 0..2 {
        assert_eq!(clock.advance_to_next(), Some(100 * MS));
        assert!(call.run().is_pending());
    }
    clock.advance(100 * MS);
    let Poll::Ready(Err(gave_up)) = call.run() else {
        panic!("four attempts");
    };
    assert_eq!(gave_up.attempts(), 4);
}

/// A time limit that was not there when the attempt started would be measured from nowhere.
#[test]
fn a_new_attempt_timeout_does_not_cut_an_attempt_under_way() {
    let clock = FakeSleeper::new();
    clock.advance(3600 * SECOND);
    for retrier in [
        on(&clock, fixed(MS)),
        watched(&clock, fixed(MS), 10).retrier,
    ] {
        let mut call = ByHand::new(retrier.retry(|_| async {
            yield_now().await;
            yield_now().await;
            Ok::<_, Fault>(17)
        }));
        assert!(call.poll().is_pending());
        retrier
            .replace_policy(fixed(MS).attempt_timeout(SECOND))
            .unwrap();
        assert!(call.poll().is_pending());
        assert!(matches!(call.poll(), Poll::Ready(Ok(17))));
        assert_eq!(clock.slept(), []);
    }
}

#[test]
fn an_old_attempt_timeout_still_cuts_an_attempt_under_way() {
    let clock = FakeSleeper::new();
    let retrier = on(&clock, fixed(MS).attempt_timeout(SECOND));
    let call = retrier.retry(|_| pending::<Result<(), Fault>>());
    let mut call = ByHand::new(call.attempts(1));
    assert!(call.run().is_pending());
    retrier.replace_policy(fixed(MS)).unwrap();
    clock.advance(SECOND);
    assert!(call.run().is_ready());
}

#[test]
fn a_refused_policy_leaves_the_old_one_in_force() {
    let retrier = on(&FakeSleeper::auto(), fixed(MS));
    assert_eq!(
        retrier.replace_policy(fixed(MS).attempts(0)),
        Err(InvalidPolicy::Attempts)
    );
    assert_eq!(retrier.policy(), fixed(MS));
    assert_eq!(attempts(&retrier), 4);
}

#[test]
fn a_reload_keeps_what_is_left_and_mints_no_burst() {
    let budget = |burst| Budget::ratio(0.1).burst(burst).floor_per_second(0.0);
    let retrier = on(
        &FakeSleeper::auto(),
        fixed(MS).attempts(6).budget(budget(10.0)),
    );
    retrier
        .retry_blocking(|_| Err::<(), _>(Fault::DOWN))
        .unwrap_err();
    assert!((retrier.budget_fill() - 0.5).abs() < 1e-9);
    for (burst, fill) in [(10.0, 0.5), (100.0, 0.05), (4.0, 1.0), (8.0, 0.5)] {
        retrier
            .replace_policy(fixed(MS).budget(budget(burst)))
            .unwrap();
        assert!((retrier.budget_fill() - fill).abs() < 1e-9, "burst {burst}");
    }
}

#[test]
fn a_call_overrides_its_own_limits_and_shares_the_rest() {
    let watched = watched(&FakeSleeper::auto(), fixed(100 * MS), 4);
    let call = watched
        .retrier
        .retry(|_| async { Err::<(), _>(Fault::DOWN) });
    assert_eq!(ready(call.attempts(2)).unwrap_err().attempts(), 2);
    let call = watched
        .retrier
        .retry(|_| async { Err::<(), _>(Fault::DOWN) });
    let gave_up = ready(call.deadline(150 * MS)).unwrap_err();
    assert_eq!(
        (gave_up.reason(), gave_up.attempts()),
        (StopReason::DeadlineExceeded, 2)
    );
    let call = watched
        .retrier
        .blocking(|_| Err::<(), _>(Fault::DOWN))
        .attempts(9);
    assert_eq!(
        call.call().unwrap_err().reason(),
        StopReason::BudgetExhausted
    );
    assert_eq!(watched.ledger.book().spent(), 4);
    assert_eq!(
        attempts(&watched.retrier),
        1,
        "nothing of it lasts, but the budget is spent"
    );
}

#[test]
fn a_clone_of_a_retrier_shares_and_a_clone_of_a_policy_does_not() {
    let budget = Budget::default().floor_per_second(0.0);
    let policy = Policy::fixed(MS).attempts(2).budget(budget);
    let clock = FakeSleeper::auto();
    let one = on(&clock, policy.clone());
    let (same, other) = (one.clone(), on(&clock, policy));
    one.retry_blocking(|_| Err::<(), _>(Fault::DOWN))
        .unwrap_err();
    assert!((same.budget_fill() - 0.9).abs() < 1e-9);
    assert!((other.budget_fill() - 1.0).abs() < 1e-9);
}
