//! What bounds hedges? The bulkhead, the breaker, time limits.

use becalm::breaker::State;
use becalm::bulkhead::Bulkhead;
use becalm::{Breaker, Hedge, Policy, StopReason, run::Last};

use crate::hedged::{Fails, Good, Never, play, play_for};
use crate::probe::{Fault, MS, SECOND, fixed};

fn after_50_ms() -> Policy {
    fixed(100 * MS).hedge(Hedge::after(50 * MS).copies(2))
}

const NOTHING: [&str; 0] = [];

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
            [Fails(60, Fault::GONE), Fails(20, Fault::GONE)],
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
