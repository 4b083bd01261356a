//! What do hedges know of the layers above them, and what do those hear from below?

use becalm::{Classify as _, Failure, Hedge, Hint, Policy, Scope, StopReason, scope::Nested};

use crate::hedged::{Fails, Good, play, play_for};
use crate::probe::{Fault, MS, fixed};

const STOP: Fault = Fault(Failure::throttled().hint(Hint::Stop));

fn after_50_ms() -> Policy {
    fixed(100 * MS).hedge(Hedge::after(50 * MS).copies(2))
}

#[test]
fn a_suppressed_call_is_not_hedged() {
    let fates = [Good(200), Good(10)];
    for (nested, winner) in [(Nested::Outermost, 1), (Nested::Allow, 2)] {
        let outer = play(fixed(100 * MS));
        let inner = play(after_50_ms().nested(nested));
        let call = outer.retrier.retry(|_| {
            let call = inner
                .retrier
                .retry(|attempt| inner.perform(attempt, &fates));
            async { Ok::<_, Fault>(call.await.unwrap()) }
        });
        assert_eq!(inner.run(call).ok(), Some(winner), "{nested}");
        assert_eq!(inner.book.of(&["a hedge"]).len() + 1, winner as usize);
    }
}

/// Where the outer call will not repeat the work, nothing is suppressed.
#[test]
fn a_call_inside_one_that_does_not_repeat_is_hedged() {
    let outer = play(fixed(100 * MS).attempts(1));
    let inner = play(after_50_ms());
    let fates = [Good(200), Good(10)];
    let call = outer.retrier.retry(|_| {
        let call = inner
            .retrier
            .retry(|attempt| inner.perform(attempt, &fates));
        async { Ok::<_, Fault>(call.await.unwrap()) }
    });
    assert_eq!(inner.run(call).ok(), Some(2));
}

/// What runs inside a hedge is in the attempt beside which the hedge stands, and may be repeated; its
/// success is one like any other.
#[test]
fn a_hedge_is_no_repetition_for_what_runs_inside_it() {
    let play = play(after_50_ms());
    let inner = play_for(fixed(MS), 10);
    let seen = std::cell::RefCell::new(Vec::new());
    let seen = &seen;
    let call = play.retrier.retry(|attempt| {
        let in_closure = Scope::current().attempt();
        let (clock, inner) = (play.clock.clone(), &inner);
        async move {
            let deep = inner.retrier.retry(|_| async { Ok::<_, Fault>(()) });
            deep.await.unwrap();
            let ends =
                becalm::Sleeper::now(&clock).after(if attempt.is_hedge() { 20 } else { 200 } * MS);
            becalm::Sleeper::sleep_until(&clock, ends).await;
            let scope = Scope::current();
            seen.borrow_mut().push((
                (in_closure, scope.attempt()),
                (scope.is_first_try(), scope.is_repeated_above()),
            ));
            Ok::<_, Fault>(())
        }
    });
    play.run(call).unwrap();
    assert_eq!(*seen.borrow(), [((1, 1), (true, true))]);
    let deposits = inner.book.of(&["deposit"]);
    assert_eq!(deposits.len(), 2, "of either copy's");
    assert_eq!(Scope::current(), Scope::NONE);
}

/// "Do not retry" from below is heard in a hedge, wherever it is said.
#[test]
fn a_layer_inside_a_hedge_that_says_do_not_retry_ends_the_call() {
    for said_in in ["closure", "first poll", "end"] {
        let play = play_for(after_50_ms(), 10);
        let inner = play_for(fixed(MS), 10);
        let say = |wanted: &str, attempt: becalm::Attempt| {
            if said_in == wanted && attempt.is_hedge() {
                let stopped = inner.retrier.retry_blocking(|_| Err::<(), _>(STOP));
                assert_eq!(stopped.unwrap_err().reason(), StopReason::DoNotRetry);
            }
        };
        let call = play.retrier.retry(|attempt| {
            say("closure", attempt);
            let (say, play) = (&say, &play);
            async move {
                say("first poll", attempt);
                let fate = if attempt.is_hedge() {
                    Fails(20, Fault::DOWN)
                } else {
                    Fails(200, Fault::DOWN)
                };
                let done = play.perform(attempt, &[fate]).await;
                say("end", attempt);
                done
            }
        });
        let gave_up = play.run(call).unwrap_err();
        assert_eq!(
            gave_up.reason(),
            StopReason::DoNotRetry,
            "said in {said_in}"
        );
        assert_eq!(gave_up.attempts(), 2);
        // It waits for the first, which may succeed.
        assert_eq!(play.book.of(&["200 1"]), ["200 1 fails"]);
    }
}

/// The first copy hangs until the deadline of the inner call cuts it: what its hedge was told before stops the outer one all the same.
#[test]
fn what_a_copy_was_told_outlives_the_deadline_that_cuts_the_other() {
    let permanent = Fault(Failure::permanent());
    for (told, reason) in [
        (STOP, StopReason::DoNotRetry),
        (permanent, StopReason::Permanent),
    ] {
        let outer = play_for(fixed(MS), 10);
        let inner = play(after_50_ms().deadline(1000 * MS));
        let call = outer.retrier.retry(|_| {
            let call = inner
                .retrier
                .retry(|attempt| inner.perform(attempt, &[Good(5000), Fails(20, told)]));
            async {
                call.await.map_err(|gave_up| {
                    assert_eq!(gave_up.reason(), StopReason::DeadlineExceeded);
                    Fault(gave_up.classify())
                })
            }
        });
        let gave_up = inner.run(call).unwrap_err();
        assert_eq!((gave_up.reason(), gave_up.attempts()), (reason, 1));
    }
}

/// Said by a hedge that goes on, it forbids what has not begun: further copies, and a retry.
#[test]
fn after_do_not_retry_no_further_copy_starts() {
    let play = play_for(after_50_ms(), 10);
    let inner = play_for(fixed(MS), 10);
    let call = play.retrier.retry(|attempt| {
        let (inner, play) = (&inner, &play);
        async move {
            if attempt.is_hedge() {
                let _ = inner.retrier.retry_blocking(|_| Err::<(), _>(STOP));
            }
            play.perform(attempt, &[Fails(200, Fault::DOWN)]).await
        }
    });
    let gave_up = play.run(call).unwrap_err();
    assert_eq!(gave_up.reason(), StopReason::DoNotRetry);
    assert_eq!(
        play.book.of(&["begins", "dropped"]),
        ["0 1 begins", "50 2 begins, a hedge"]
    );
}
