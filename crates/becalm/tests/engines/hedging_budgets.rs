//! Who pays for a hedge, when, and what happens to the token?

use becalm::budget::Kind;
use becalm::{Budget, Hedge, Policy, StopReason};

use crate::hedged::{Fails, Good, Never, Play, play, play_for};
use crate::probe::{Fault, MS, SECOND, fixed};

fn after_50_ms() -> Policy {
    fixed(100 * MS).hedge(Hedge::after(50 * MS).copies(2))
}

#[test]
fn a_copy_pays_before_it_starts_and_its_token_is_spent() {
    let play = play_for(after_50_ms(), 10);
    assert_eq!(play.call(&[Never, Never, Good(10)]).ok(), Some(3));
    let told = [
        "0 first try",
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
        "110 deposit",
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
        "0 first try",
        "50 token 1 taken",
        "60 failure transient",
        "80 token 1 spent",
        "80 failure throttled",
        "80 token 2 taken",
        "185 token 2 spent",
        "185 failure transient",
        "185 call ended",
    ];
    assert_eq!(
        play.book
            .of(&["token", "failure", "call", "first", "deposit"]),
        told
    );
}

/// Law 4, with hedges: they draw on what the retries draw on.
#[test]
fn no_more_copies_and_retries_than_the_ratio_and_the_burst() {
    let policy = after_50_ms()
        .attempts(8)
        .budget(Budget::first_tries(0.2).burst(5.0));
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
