//! What bounds hedges? The budget, the bulkhead, the breaker, time limits, and layers above.

use becalm::breaker::State;
use becalm::budget::Kind;
use becalm::bulkhead::Bulkhead;
use becalm::{Breaker, Budget, Hedge, Last, Nested, Policy, Scope, StopReason};

use crate::hedged::{Fails, Good, Never, Play, play, play_for};
use crate::probe::{Fault, MS, SECOND, fixed};

fn after_50_ms() -> Policy {
    fixed(100 * MS).hedge(Hedge::after(50 * MS).copies(2))
}

const NOTHING: [&str; 0] = [];

#[test]
fn a_copy_pays_before_it_starts_and_its_token_is_spent() {
    let play = play_for(after_50_ms(), 10);
    assert_eq!(play.call(&[Never, Never, Good(10)]).ok(), Some(3));
    let told = [
        "0 deposit",
        "0 attempt 1",
        "0 1 begins",
        "50 token 1 taken",
        "50 hedge 2 after 50ms",
        "50 2 begins, a hedge",
        "100 token 2 taken",
        "100 hedge 3 after 100ms",
        "100 3 begins, a hedge",
        "110 3 is good",
        "110 1 is dropped",
        "110 2 is dropped",
        "110 token 1 spent",
        "110 success with token 2",
        "110 call ended",
        "110 beaten 1 after 110ms",
        "110 beaten 2 after 60ms",
        "110 recovered by 3",
    ];
    assert_eq!(play.book.lines(), told);
}

/// Where a copy that was not paid for wins, the call has still paid.
#[test]
fn the_first_copys_success_tells_what_a_hedge_had_taken() {
    let play = play_for(after_50_ms(), 10);
    assert_eq!(play.call(&[Good(110), Never]).ok(), Some(1));
    let told = ["110 token 1 spent", "110 success with token 2"];
    assert_eq!(play.book.of(&["spent", "success", "back"]), told);
    play.book.clear();
    assert_eq!(play.call(&[Good(10)]).ok(), Some(1));
    assert_eq!(play.book.of(&["success", "spent"]), ["120 success"]);
}

#[test]
fn a_copy_that_nobody_pays_for_does_not_start_and_none_after_it() {
    let play = play_for(after_50_ms(), 1);
    assert_eq!(play.call(&[Good(500), Good(500)]).ok(), Some(1));
    let told = ["50 token 1 taken", "100 denied"];
    assert_eq!(play.book.of(&["taken", "denied"]), told);
    // That is no reason to stop, and none to ask again.
    play.book.clear();
    assert_eq!(play.call(&[Good(500)]).ok(), Some(1));
    assert_eq!(play.book.of(&["denied"]), ["550 denied"]);
    assert_eq!(play.retrier.stops(StopReason::BudgetExhausted), 0);
}

/// A failure tells each copy's end to the budget; a failed copy's token is gone.
#[test]
fn failed_copies_have_spent_what_they_took() {
    let play = play_for(after_50_ms().attempts(3), 10);
    let fates = [
        Fails(60, Fault::DOWN),
        Fails(30, Fault::BUSY),
        Fails(5, Fault::DOWN),
    ];
    let gave_up = play.call(&fates).unwrap_err();
    assert_eq!(gave_up.reason(), StopReason::AttemptsExhausted);
    let told = [
        "0 deposit",
        "50 token 1 taken",
        "60 failure transient",
        "80 token 1 spent",
        "80 failure throttled",
        "80 token 2 taken",
        "185 token 2 spent",
        "185 failure transient",
        "185 call ended",
    ];
    assert_eq!(play.book.of(&["token", "failure", "call", "deposit"]), told);
}

/// Law 4, with hedges: they draw on what the retries draw on.
#[test]
fn no_more_copies_and_retries_than_the_ratio_and_the_burst() {
    let policy = after_50_ms()
        .attempts(8)
        .budget(Budget::ratio(0.2).burst(5.0));
    let play = play(policy);
    let calls = 500;
    for call in 0..calls {
        // Slow ones, failing ones, and both.
        let fates = match call % 3 {
            0 => [Good(200), Good(180)],
            1 => [Fails(10, Fault::DOWN), Fails(10, Fault::DOWN)],
            _ => [Fails(80, Fault::DOWN), Fails(200, Fault::BUSY)],
        };
        let _ = play.call(&fates);
    }
    let begun = play.book.of(&["begins"]).len();
    let bound = calls + calls / 5 + 5;
    // What is deposited while it is full is not kept.
    assert!((bound - 1..=bound).contains(&begun), "{begun} of {bound}");
    assert!(play.book.of(&["a hedge"]).len() > 30);
}

#[test]
fn tokens_of_aws_come_back_for_the_last_copy_only() {
    let play = play(after_50_ms().budget(Budget::tokens()));
    let left = |play: &Play| {
        let gauge = play
            .retrier
            .budget_gauges()
            .find(|gauge| gauge.kind == Kind::Tokens);
        gauge.unwrap().left
    };
    let full = left(&play);
    let fates = [Never, Good(300)];
    let mut call = play.until(60, &fates);
    let after_one = left(&play);
    assert!(after_one < full);
    let cost = full - after_one;
    play.go_on(101, &mut call);
    assert_eq!(left(&play), full - 2.0 * cost);
    // 2 wins: its own cost comes back, and the loser's does not.
    assert_eq!(play.run(call.into_future()).ok(), Some(2));
    assert_eq!(left(&play), full - cost);
}

#[test]
fn slots_of_a_concurrency_are_free_whoever_wins_loses_fails_or_is_dropped() {
    let taken = |play: &Play| {
        let mut gauges = play.retrier.budget_gauges();
        let gauge = gauges
            .find(|gauge| gauge.kind == Kind::Concurrency)
            .unwrap();
        gauge.most - gauge.left
    };
    let fates: [&[_]; 5] = [
        &[Never, Never, Good(10)],
        &[Good(120), Never],
        &[Fails(70, Fault::DOWN), Fails(10, Fault::DOWN), Good(0)],
        &[Fails(120, Fault::GONE), Never],
        &[Fails(60, Fault::DOWN), Never, Good(300)],
    ];
    let play = play(
        after_50_ms()
            .deadline(SECOND)
            .budget(Budget::concurrency(0.0, 2)),
    );
    for fates in fates {
        let mut call = play.until_now(55, fates);
        assert_eq!(taken(&play), 1.0);
        drop(call.poll());
        drop(call);
        assert_eq!(taken(&play), 0.0);
        let _ = play.call(fates);
        assert_eq!(taken(&play), 0.0, "{fates:?}");
    }
}

/// gRPC's throttle: every copy that fails counts, a denied copy takes nothing.
#[test]
fn a_throttle_of_grpc_hears_of_every_copy() {
    let play = play(after_50_ms().budget(Budget::grpc(4, 0.5)));
    let left = |play: &Play| play.retrier.budget_gauges().next().unwrap().left;
    assert_eq!(left(&play), 4.0);
    let fates = [Fails(60, Fault::DOWN), Fails(30, Fault::DOWN)];
    let gave_up = play.call(&fates).unwrap_err();
    assert_eq!(left(&play), 2.0);
    assert_eq!(
        gave_up.reason(),
        StopReason::BudgetExhausted,
        "not above half"
    );
    assert_eq!(
        play.call(&[Good(200), Good(0)]).ok(),
        Some(1),
        "so no hedge"
    );
    assert_eq!(left(&play), 2.5);
}

#[test]
fn every_copy_takes_a_place_in_the_bulkhead() {
    let play = play_for(after_50_ms().bulkhead(Bulkhead::calls(2)), 10);
    let fates = [Never, Good(200)];
    let mut call = play.until(49, &fates);
    assert_eq!(play.retrier.in_flight(), Some(1));
    play.go_on(99, &mut call);
    assert_eq!(play.retrier.in_flight(), Some(2));
    // There is no place for a third: its token comes back, and nothing stops.
    play.go_on(101, &mut call);
    let told = ["50 token 1 taken", "100 token 2 taken", "100 token 2 back"];
    assert_eq!(play.book.of(&["token"]), told);
    assert_eq!(play.retrier.in_flight(), Some(2));
    play.go_on(200, &mut call);
    assert_eq!(play.book.of(&["token"]), told, "not asked again");
    assert_eq!(play.run(call.into_future()).ok(), Some(2));
    assert_eq!(play.retrier.in_flight(), Some(0));
    assert_eq!(play.retrier.stops(StopReason::BulkheadFull), 0);
}

/// A hedge does not queue: while it waited, the first copy would answer.
#[test]
fn a_hedge_does_not_wait_for_a_place() {
    let play = play_for(after_50_ms().bulkhead(Bulkhead::calls(1).waiting(5)), 10);
    assert_eq!(play.call(&[Good(200)]).ok(), Some(1));
    assert_eq!(
        play.book.of(&["token"]),
        ["50 token 1 taken", "50 token 1 back"]
    );
    assert_eq!(play.retrier.in_flight(), Some(0));
}

#[test]
fn a_copy_that_the_breaker_refuses_has_its_token_back() {
    let play = play_for(after_50_ms().breaker(Breaker::consecutive(3)), 10);
    let fates = [Good(200)];
    let mut call = play.until(10, &fates);
    play.retrier.isolate();
    play.go_on(60, &mut call);
    assert_eq!(
        play.book.of(&["token"]),
        ["50 token 1 taken", "50 token 1 back"]
    );
    assert_eq!(play.book.of(&["a hedge"]), NOTHING);
    assert_eq!(play.run(call.into_future()).ok(), Some(1));
    assert_eq!(play.retrier.stops(StopReason::BreakerOpen), 0);
}

#[test]
fn half_open_one_probe_is_one_copy() {
    let breaker = Breaker::consecutive(1)
        .open(SECOND)
        .jitter(0.0)
        .probes(1)
        .successes(1);
    let play = play_for(after_50_ms().attempts(1).breaker(breaker), 10);
    let _ = play.call(&[Fails(0, Fault::DOWN)]);
    assert_eq!(play.retrier.breaker_state(), Some(State::Open));
    play.clock.advance(SECOND);
    play.book.clear();
    let call = play
        .retrier
        .retry(|attempt| play.perform(attempt, &[Good(80), Good(0)]));
    assert_eq!(play.run(call.attempts(4)).ok(), Some(1));
    let told = ["1050 token 1 taken", "1050 token 1 back"];
    assert_eq!(play.book.of(&["token"]), told);
    assert_eq!(play.retrier.breaker_state(), Some(State::Closed));
}

/// With two probes at once a hedge is one of them; beaten, its place is free again.
#[test]
fn a_beaten_probe_returns_its_place() {
    let breaker = Breaker::consecutive(1)
        .open(SECOND)
        .jitter(0.0)
        .probes(2)
        .successes(3);
    let play = play(after_50_ms().attempts(1).breaker(breaker));
    let _ = play.call(&[Fails(0, Fault::DOWN)]);
    play.clock.advance(SECOND);
    for _ in 0..3 {
        assert_eq!(play.retrier.breaker_state(), Some(State::HalfOpen));
        let call = play
            .retrier
            .retry(|attempt| play.perform(attempt, &[Never, Good(10)]));
        assert_eq!(play.run(call.attempts(2)).ok(), Some(2));
    }
    assert_eq!(play.retrier.breaker_state(), Some(State::Closed));
}

/// Each failing copy is a failure to the breaker; a beaten one is none, unless it was slow.
#[test]
fn the_breaker_counts_copies_that_failed_and_losers_that_were_slow() {
    let base = || after_50_ms().attempts(2).hedge(Hedge::after(50 * MS));
    let slow = |millis: u32| Breaker::consecutive(2).slow(millis * MS);
    for (policy, fates, state) in [
        (
            base().breaker(slow(1000)),
            [Fails(60, Fault::DOWN), Fails(20, Fault::DOWN)],
            State::Open,
        ),
        (
            base().breaker(slow(1000)),
            [Fails(60, Fault::GONE), Never],
            State::Closed,
        ),
        // Cancelled at 70 ms: both copies at a time, one of them slow.
        (base().breaker(slow(1000)), [Never, Good(20)], State::Closed),
    ] {
        let play = play(policy);
        let _ = play.call(&fates);
        assert_eq!(play.retrier.breaker_state(), Some(state), "{fates:?}");
    }
    for (slow_from, state) in [(71, State::Closed), (70, State::Open)] {
        let play = play(base().breaker(Breaker::consecutive(1).slow(slow_from * MS)));
        assert_eq!(play.call(&[Never, Good(20)]).ok(), Some(2));
        assert_eq!(play.retrier.breaker_state(), Some(state), "{slow_from}");
    }
}

/// The retry after it all, too: it is refused where the copies have opened the breaker.
#[test]
fn copies_that_open_the_breaker_stop_the_call() {
    let play = play_for(
        after_50_ms().breaker(Breaker::consecutive(2).open(SECOND)),
        10,
    );
    let fates = [Fails(60, Fault::DOWN), Fails(20, Fault::DOWN)];
    let gave_up = play.call(&fates).unwrap_err();
    assert_eq!(gave_up.reason(), StopReason::BreakerOpen);
    assert!(gave_up.next_probe().is_some());
    let told = [
        "50 token 1 taken",
        "70 token 1 spent",
        "70 breaker closed to open",
    ];
    assert_eq!(play.book.of(&["token", "breaker c"]), told);
}

#[test]
fn the_attempt_timeout_is_each_copys_own() {
    let play = play(
        after_50_ms()
            .hedge(Hedge::after(50 * MS))
            .attempt_timeout(80 * MS),
    );
    // The first copy is cut at 80, the hedge goes on to 120.
    assert_eq!(play.call(&[Never, Good(70)]).ok(), Some(2));
    let told = ["50 2 begins, a hedge", "80 1 is dropped", "120 2 is good"];
    assert_eq!(play.book.of(&["2 begins", "dropped", "good"]), told);
    assert_eq!(play.book.of(&["beaten", "retry"]), NOTHING);
}

#[test]
fn a_hedge_that_is_cut_leaves_the_one_that_started_later() {
    let policy = after_50_ms().hedge(Hedge::after(30 * MS).copies(2));
    let play = play(policy.attempt_timeout(80 * MS));
    assert_eq!(play.call(&[Never, Never, Good(70)]).ok(), Some(3));
    let told = ["80 1 is dropped", "110 2 is dropped", "130 3 is good"];
    assert_eq!(play.book.of(&["dropped", "good", "retry"]), told);
}

#[test]
fn when_all_copies_are_cut_a_retry_follows() {
    let play = play(
        after_50_ms()
            .attempts(4)
            .hedge(Hedge::after(50 * MS))
            .attempt_timeout(80 * MS),
    );
    assert_eq!(play.call(&[Never, Never, Good(70)]).ok(), Some(3));
    let told = [
        "80 1 is dropped",
        "130 2 is dropped",
        "130 retry 3 in 100ms, transient, unknown",
        "230 3 begins",
        "280 4 begins, a hedge",
    ];
    assert_eq!(play.book.of(&["dropped", "retry", "3 b", "4 b"])[..5], told);
}

/// Of a time-out and a hedge at one instant the time-out comes first, and a retry follows it.
#[test]
fn a_hedge_is_not_due_after_the_attempts_timeout() {
    for delay in [80, 81, 500] {
        let hedge = Hedge::after(delay * MS);
        let play = play(
            after_50_ms()
                .attempts(2)
                .hedge(hedge)
                .attempt_timeout(80 * MS),
        );
        let gave_up = play.call(&[Never]).unwrap_err();
        assert_eq!(gave_up.last(), Last::AttemptTimeout);
        assert_eq!(play.book.of(&["begins"]), ["0 1 begins", "180 2 begins"]);
    }
}

#[test]
fn the_deadline_cuts_all_copies() {
    let play = play_for(after_50_ms().deadline(120 * MS), 10);
    let gave_up = play.call(&[Never]).unwrap_err();
    assert_eq!(gave_up.reason(), StopReason::DeadlineExceeded);
    assert_eq!(
        (gave_up.attempts(), gave_up.last()),
        (3, Last::AttemptTimeout)
    );
    assert_eq!(gave_up.elapsed(), Some(120 * MS));
    let numbers: Vec<u32> = gave_up.records().map(|record| record.number).collect();
    assert_eq!(numbers, [1, 2, 3], "a record of every copy");
    let told = [
        "120 1 is dropped",
        "120 2 is dropped",
        "120 3 is dropped",
        "120 token 1 spent",
        "120 token 2 spent",
        "120 call ended",
        "120 stopped deadline_exceeded by 3",
    ];
    let mut lines = play.book.of(&["120 "]);
    lines[3..5].sort();
    assert_eq!(lines, told);
}

#[test]
fn no_copy_starts_that_the_deadline_would_end_at_once() {
    for (deadline, copies) in [(100, 2), (101, 3), (50, 1)] {
        let play = play_for(after_50_ms().deadline(deadline * MS), 10);
        let gave_up = play.call(&[Never]).unwrap_err();
        assert_eq!(gave_up.attempts(), copies, "{deadline} ms");
        assert_eq!(play.book.of(&["taken"]).len() + 1, copies as usize);
    }
}

/// A thread that was held up wakes past both: the call ends, and does not ask for a hedge for ever.
#[test]
fn woken_past_hedge_and_deadline_the_call_ends() {
    let play = play_for(after_50_ms().deadline(100 * MS), 10);
    let fates = [Never];
    let mut call = play.until(0, &fates);
    play.clock.advance(170 * MS);
    let gave_up = match call.run() {
        std::task::Poll::Ready(ended) => ended.unwrap_err(),
        std::task::Poll::Pending => panic!("it is over"),
    };
    assert_eq!(gave_up.reason(), StopReason::DeadlineExceeded);
    assert_eq!(play.book.of(&["a hedge", "token"]), NOTHING);
}

#[test]
fn a_suppressed_call_is_not_hedged() {
    let fates = [Good(200), Good(10)];
    for (nested, winner) in [(Nested::Suppress, 1), (Nested::Allow, 2)] {
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

/// What runs inside a hedge is no first try, and knows that it may be repeated.
#[test]
fn a_scope_inside_a_hedge_is_that_of_a_later_attempt() {
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
    assert_eq!(*seen.borrow(), [((2, 2), (false, true))]);
    let deposits = inner.book.of(&["deposit"]);
    assert_eq!(deposits.len(), 1, "the first copy's alone");
    assert_eq!(Scope::current(), Scope::NONE);
}

/// "Do not retry" from below is heard in a hedge, wherever it is said.
#[test]
fn a_layer_inside_a_hedge_that_says_do_not_retry_ends_the_call() {
    for said_in in ["closure", "first poll", "end"] {
        let play = play_for(after_50_ms(), 10);
        let inner = play_for(fixed(MS).nested(Nested::Allow), 0);
        let say = |wanted: &str, attempt: becalm::Attempt| {
            if said_in == wanted && attempt.is_hedge() {
                // Its budget is spent.
                let spent = inner.retrier.retry_blocking(|_| Err::<(), _>(Fault::DOWN));
                assert_eq!(spent.unwrap_err().reason(), StopReason::BudgetExhausted);
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
                    Never
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
        let ends = play.book.of(&["70 "]);
        assert!(ends.contains(&"70 1 is dropped".to_owned()), "{ends:?}");
    }
}

/// Said by a hedge that goes on, it forbids what has not begun: further copies, and a retry.
#[test]
fn after_do_not_retry_no_further_copy_starts() {
    let play = play_for(after_50_ms(), 10);
    let inner = play_for(fixed(MS).nested(Nested::Allow), 0);
    let call = play.retrier.retry(|attempt| {
        let (inner, play) = (&inner, &play);
        async move {
            if attempt.is_hedge() {
                let _ = inner.retrier.retry_blocking(|_| Err::<(), _>(Fault::DOWN));
            }
            play.perform(attempt, &[Fails(200, Fault::DOWN), Never])
                .await
        }
    });
    let gave_up = play.run(call).unwrap_err();
    assert_eq!(gave_up.reason(), StopReason::DoNotRetry);
    assert_eq!(
        play.book.of(&["begins", "dropped"]),
        ["0 1 begins", "50 2 begins, a hedge", "200 2 is dropped",]
    );
}
