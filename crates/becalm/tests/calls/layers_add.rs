//! Law 8: layers add, they do not multiply. And who hears what a layer below could not do?
#![cfg(feature = "std")]

use std::cell::Cell;
use std::io::{Error, ErrorKind};
use std::time::Duration;

use becalm::time::FakeSleeper;
use becalm::{
    Budget, Classify, Failure, Hedge, Hint, Policy, Retrier, Scope, StopReason,
    call::{Call, CallOptions, Decision},
    classify::Verdict,
    scope::Nested,
    shared::Shared,
    time::Instant,
};
use proptest::prelude::*;

const NOW: Instant = Instant::ZERO;

fn policy(attempts: u32) -> Policy {
    Policy::fixed(Duration::ZERO)
        .attempts(attempts)
        .budget(Budget::None)
}

fn shared(policy: Policy) -> Shared {
    Shared::new(policy, Duration::ZERO).expect("a valid policy")
}

fn retrier(policy: Policy) -> Retrier {
    let builder = policy.builder().sleeper(FakeSleeper::auto());
    builder.build().expect("a valid policy")
}

/// Runs layers, the outermost first, above a bottom that answers with these; how often it was asked.
fn run(layers: &[Shared], above: Scope, bottom: &mut dyn FnMut() -> Verdict) -> Verdict {
    let Some((layer, below)) = layers.split_first() else {
        return bottom();
    };
    let mut call = Call::begin(layer, CallOptions::new(), above, NOW);
    loop {
        call.start(NOW, &mut || 0).expect("nothing refuses it");
        let ended = run(below, call.scope(), bottom);
        match call.on_outcome(NOW, ended, &mut || 0) {
            Decision::RetryIn(_) => {}
            Decision::Done => return Verdict::Success,
            _ => return Failure::transient().into(),
        }
    }
}

fn asked(attempts: &[u32], mut outcome: impl FnMut(u32) -> Verdict) -> u32 {
    let layers: Vec<_> = attempts.iter().map(|it| shared(policy(*it))).collect();
    let mut asked = 0;
    run(&layers, Scope::NONE, &mut || {
        asked += 1;
        outcome(asked)
    });
    asked
}

#[test]
fn n_layers_of_k_attempts_make_n_times_k_less_one_and_one_more() {
    for layers in 1..=6 {
        for attempts in 1..=6 {
            let all = asked(&vec![attempts; layers], |_| Failure::transient().into());
            let most = u32::try_from(layers).unwrap() * (attempts - 1) + 1;
            assert_eq!(all, most, "{layers} layers of {attempts}");
        }
    }
}

proptest! {
    /// Whatever the bottom answers: never more than the sum, and it ends with the first success.
    #[test]
    fn layers_add(attempts in proptest::collection::vec(1..8_u32, 1..6), fails: [bool; 32]) {
        let verdict = |at: u32| match fails.get(at as usize) {
            Some(false) => Verdict::Success,
            _ => Failure::transient().into(),
        };
        let all = asked(&attempts, verdict);
        let most = attempts.iter().map(|it| it - 1).sum::<u32>() + 1;
        let first_success = (1..32).find(|at| !fails[*at as usize]).unwrap_or(u32::MAX);
        prop_assert_eq!(all, most.min(first_success));
    }
}

/// A hedge beside the first attempt is no repetition: what runs in it retries.
#[test]
fn a_hedge_is_no_repetition() {
    let above = shared(policy(3).hedge(Hedge::after(Duration::from_millis(1)).copies(1)));
    let mut call = Call::begin(&above, CallOptions::new(), Scope::NONE, NOW);
    call.start(NOW, &mut || 0).unwrap();
    let due = call.hedge_at(NOW).expect("a hedge");
    let hedge = call.start_hedge(due, &mut || 0).expect("it starts");
    assert_eq!(hedge.number(), 2);
    let below = [shared(policy(3))];
    let mut asked = 0;
    run(&below, call.scope_of(2), &mut || {
        asked += 1;
        Failure::transient().into()
    });
    assert_eq!(asked, 3);
}

/// The body is gone, so this call cannot repeat its work, and what is inside may.
#[test]
fn c4_layers_below_a_consumed_body_retry() {
    for (consumed, expected) in [(false, 1), (true, 3)] {
        let above = shared(policy(3));
        let mut call = Call::begin(&above, CallOptions::new(), Scope::NONE, NOW);
        call.start(NOW, &mut || 0).unwrap();
        call.on_outcome(NOW, Failure::transient().into(), &mut || 0);
        call.start(NOW, &mut || 0).unwrap();
        if consumed {
            call.body_is_consumed();
        }
        let mut asked = 0;
        run(&[shared(policy(3))], call.scope(), &mut || {
            asked += 1;
            Failure::transient().into()
        });
        assert_eq!(asked, expected);
    }
}

/// The handler retries conflicts and nothing else; its database client retries what is its own.
#[test]
fn c23_the_database_client_inside_a_handlers_retry_retries() {
    #[derive(Debug)]
    enum Failed {
        Conflict,
        Database,
    }
    impl std::fmt::Display for Failed {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("failed")
        }
    }
    let conflicts = |_, failed: &Failed| match failed {
        Failed::Conflict => Failure::transient(),
        Failed::Database => Failure::permanent(),
    };
    let (handler, database) = (retrier(policy(3)), retrier(policy(3)));
    let asked = Cell::new(0);
    let answer = handler
        .blocking(|attempt| {
            let row = database.retry_blocking(|_| {
                asked.set(asked.get() + 1);
                match asked.get() {
                    1 => Err(Error::from(ErrorKind::ConnectionReset)), // a blip
                    rows => Ok(rows),
                }
            });
            let row = row.map_err(|_| Failed::Database)?;
            match attempt.number() {
                1 => Err(Failed::Conflict),
                _ => Ok(row),
            }
        })
        .classify_with(conflicts)
        .call();
    assert_eq!(answer.ok(), Some(3));
}

/// Ends with the server's "do not retry" below, handled in one way or another.
fn after_a_stop_below(handle: impl Fn(&Retrier)) -> (StopReason, u32) {
    let (above, optional) = (retrier(policy(3)), retrier(policy(3)));
    let stop = Failure::transient().hint(Hint::Stop);
    let gave_up = above
        .retry_blocking(|_| {
            let call = optional.blocking(|_| Err::<(), _>(ErrorKind::Other));
            let _ = call.classify_with(|_, _| stop).call();
            handle(&optional);
            Err::<(), _>(Error::from(ErrorKind::ConnectionReset))
        })
        .unwrap_err();
    (gave_up.reason(), gave_up.attempts())
}

#[test]
fn c20_what_was_handled_takes_no_retry_away() {
    let untouched = (StopReason::AttemptsExhausted, 3);
    assert_eq!(after_a_stop_below(|_| ()), (StopReason::DoNotRetry, 1));
    assert_eq!(after_a_stop_below(|_| Scope::handled()), untouched);
    let later_success = |optional: &Retrier| {
        optional.retry_blocking(|_| Ok::<_, Error>(())).unwrap();
    };
    assert_eq!(after_a_stop_below(later_success), untouched);
    let stubborn = retrier(policy(3).nested(Nested::Allow));
    let later_recovery = |_: &Retrier| {
        let recovered = stubborn.retry_blocking(|attempt| match attempt.number() {
            1 => Err(Error::from(ErrorKind::ConnectionReset)),
            _ => Ok(()),
        });
        recovered.unwrap();
    };
    assert_eq!(after_a_stop_below(later_recovery), untouched);
}

/// Heard in one poll, handled in a later one.
#[test]
fn c20_what_was_handled_after_an_await_is_forgotten_too() {
    let (above, optional) = (retrier(policy(3)), retrier(policy(3)));
    let stop = Failure::transient().hint(Hint::Stop);
    for (handled, reason) in [
        (false, StopReason::DoNotRetry),
        (true, StopReason::AttemptsExhausted),
    ] {
        let call = above.retry(|_| async {
            let call = optional.retry(|_| async { Err::<(), _>(ErrorKind::Other) });
            let _ = call.classify_with(|_, _| stop).await;
            let mut polled = false;
            std::future::poll_fn(|context| {
                if std::mem::replace(&mut polled, true) {
                    return std::task::Poll::Ready(());
                }
                context.waker().wake_by_ref();
                std::task::Poll::Pending
            })
            .await;
            if handled {
                Scope::handled();
            }
            Err::<(), _>(Error::from(ErrorKind::ConnectionReset))
        });
        let gave_up = futures_util::FutureExt::now_or_never(async {
            let mut call = std::pin::pin!(call);
            std::future::poll_fn(|context| {
                loop {
                    if let std::task::Poll::Ready(ended) = call.as_mut().poll(context) {
                        return std::task::Poll::Ready(ended);
                    }
                }
            })
            .await
        });
        let gave_up = gave_up.expect("polled to its end").unwrap_err();
        assert_eq!(gave_up.reason(), reason);
    }
}

/// A retrier whose attempts hear in turn that a budget below is spent, or nothing.
fn heeds(told: impl Fn(u32) -> bool, calls: u32) -> Vec<StopReason> {
    let above = shared(policy(2));
    (1..=calls)
        .map(|at| {
            let mut failure = Failure::transient();
            if told(at) {
                failure.hint = Some(Hint::Below(StopReason::BudgetExhausted));
            }
            let mut call = Call::begin(&above, CallOptions::new(), Scope::NONE, NOW);
            loop {
                call.start(NOW, &mut || 0).unwrap();
                match call.on_outcome(NOW, failure.into(), &mut || 0) {
                    Decision::RetryIn(_) => {}
                    Decision::Stop(reason) => return reason,
                    other => panic!("{other:?}"),
                }
            }
        })
        .collect()
}

#[test]
fn a_spent_budget_below_is_heeded_where_many_hear_of_it_and_passed_on_by_its_name() {
    let all = heeds(|_| true, 12);
    let (before, after) = all.split_at(7); // two attempts each, and the fifteenth is heeded
    assert!(before.iter().all(|it| *it == StopReason::AttemptsExhausted));
    assert!(after.iter().all(|it| *it == StopReason::BudgetExhausted));

    let one_of_ten = heeds(|at| at % 10 == 0, 1000);
    assert!(
        one_of_ten
            .iter()
            .all(|it| *it == StopReason::AttemptsExhausted)
    );
}

/// What a nested call gives up with says the same in its error as in its scope.
#[test]
fn a_call_that_runs_once_classifies_as_its_last_error() {
    let above = retrier(policy(2));
    let below = retrier(policy(3));
    let pushed_back = Hint::Exactly(Duration::from_millis(7));
    let failure = Failure::throttled().unsent().hint(pushed_back);
    let mut seen = Vec::new();
    let _ = above.retry_blocking(|_| {
        let call = below.blocking(|_| Err::<(), _>(ErrorKind::Other));
        let gave_up = call.classify_with(|_, _| failure).call().unwrap_err();
        seen.push((gave_up.reason(), gave_up.attempts(), gave_up.classify()));
        Err::<(), _>(gave_up)
    });
    let ended = [
        (StopReason::AttemptsExhausted, 3, failure),
        (StopReason::NestedRetry, 1, failure),
    ];
    assert_eq!(seen, ended);
}

#[test]
fn the_outermost_alone_retries_where_a_policy_says_so() {
    let layers = [policy(4), policy(4), policy(4)];
    let layers = layers.map(|it| shared(it.nested(Nested::Outermost)));
    let mut asked = 0;
    run(&layers, Scope::NONE, &mut || {
        asked += 1;
        Failure::transient().into()
    });
    assert_eq!(asked, 4);
}
