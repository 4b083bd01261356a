//! Does a slow attempt get a second copy, and does the first good answer win?

use becalm::{Attempt, Hedge, Hint, IdempotencyKey, StopReason};
use futures_util::FutureExt;

use crate::hedged::{Fails, Good, Never, play, play_for};
use crate::probe::{Fault, MS, SECOND, fixed};

fn after_50_ms() -> becalm::Policy {
    fixed(100 * MS).hedge(Hedge::after(50 * MS))
}

#[test]
fn a_second_copy_starts_after_the_delay_and_the_first_good_answer_wins() {
    let play = play(after_50_ms());
    assert_eq!(play.call(&[Good(200), Good(20)]).ok(), Some(2));
    let told = [
        "0 attempt 1",
        "0 1 begins",
        "50 hedge 2 after 50ms",
        "50 2 begins, a hedge",
        "70 2 is good",
        // The loser is cancelled before anybody is told.
        "70 1 is dropped",
        "70 beaten 1 after 70ms",
        "70 recovered by 2",
    ];
    assert_eq!(play.book.lines(), told);
    assert_eq!(play.clock.sleepers(), 0);
}

#[test]
fn the_first_copy_wins_where_it_is_the_first_to_answer() {
    let play = play(after_50_ms());
    assert_eq!(play.call(&[Good(60), Good(20)]).ok(), Some(1));
    let told = [
        "0 attempt 1",
        "0 1 begins",
        "50 hedge 2 after 50ms",
        "50 2 begins, a hedge",
        "60 1 is good",
        "60 2 is dropped",
        "60 beaten 2 after 10ms",
        "60 recovered by 2",
    ];
    assert_eq!(play.book.lines(), told);
}

#[test]
fn an_answer_in_time_is_not_hedged() {
    // Also one that comes in the very instant in which the hedge is due.
    for takes in [0, 1, 49, 50] {
        let play = play(after_50_ms());
        assert_eq!(play.call(&[Good(takes)]).ok(), Some(1));
        assert_eq!(play.book.of(&["begins"]), ["0 1 begins"], "{takes} ms");
    }
    let play = play(after_50_ms());
    play.call(&[Good(51), Good(20)]).unwrap();
    assert_eq!(play.book.of(&["begins"]).len(), 2);
}

#[test]
fn copies_follow_one_another_up_to_their_number() {
    let play = play(
        after_50_ms()
            .attempts(10)
            .hedge(Hedge::after(50 * MS).copies(3)),
    );
    assert_eq!(play.call(&[Never, Never, Good(500), Never]).ok(), Some(3));
    assert_eq!(
        play.book.of(&["begins", "beaten", "dropped", "recovered"]),
        [
            "0 1 begins",
            "50 2 begins, a hedge",
            "100 3 begins, a hedge",
            "150 4 begins, a hedge",
            "600 1 is dropped",
            "600 2 is dropped",
            "600 4 is dropped",
            "600 beaten 1 after 600ms",
            "600 beaten 2 after 550ms",
            "600 beaten 4 after 450ms",
            "600 recovered by 4",
        ]
    );
}

#[test]
fn without_a_delay_all_copies_start_at_once() {
    let play = play(fixed(100 * MS).hedge(Hedge::after(0 * MS).copies(2)));
    assert_eq!(play.call(&[Good(30), Good(20), Good(10)]).ok(), Some(3));
    let begins = ["0 1 begins", "0 2 begins, a hedge", "0 3 begins, a hedge"];
    assert_eq!(play.book.of(&["begins"]), begins);
}

/// A copy that is started late is not made up for: the next one counts from its start.
#[test]
fn the_delay_counts_from_the_start_of_the_copy_before() {
    let play = play(after_50_ms().hedge(Hedge::after(50 * MS).copies(2)));
    let fates = [Never];
    let mut call = play.until(0, &fates);
    play.clock.advance(120 * MS); // nobody polls
    play.go_on(169, &mut call);
    let hedges = play.book.of(&["hedge "]);
    assert_eq!(hedges, ["120 hedge 2 after 120ms"]);
    play.go_on(170, &mut call);
    assert_eq!(play.book.of(&["170 hedge"]), ["170 hedge 3 after 170ms"]);
}

/// Each attempt of the call is hedged anew.
#[test]
fn a_retry_is_hedged_as_a_first_try_is() {
    let play = play(after_50_ms());
    let fates = [Fails(10, Fault::DOWN), Good(90), Good(10)];
    assert_eq!(play.call(&fates).ok(), Some(3));
    let told = [
        "0 attempt 1",
        "0 1 begins",
        "10 1 fails",
        "10 retry 2 in 100ms, transient, unknown",
        "110 attempt 2",
        "110 2 begins",
        "160 hedge 3 after 50ms",
        "160 3 begins, a hedge",
        "170 3 is good",
        "170 2 is dropped",
        "170 beaten 2 after 60ms",
        "170 recovered by 3",
    ];
    assert_eq!(play.book.lines(), told);
}

#[test]
fn a_failing_first_copy_waits_for_the_hedge_under_way() {
    let play = play(after_50_ms().hedge(Hedge::after(50 * MS).copies(2)));
    let fates = [Fails(60, Fault::DOWN), Good(300)];
    assert_eq!(play.call(&fates).ok(), Some(2));
    let told = [
        "0 attempt 1",
        "0 1 begins",
        "50 hedge 2 after 50ms",
        "50 2 begins, a hedge",
        "60 1 fails",
        // No third copy at 100: what has failed is a retry's matter.
        "350 2 is good",
        "350 recovered by 2",
    ];
    assert_eq!(play.book.lines(), told);
}

#[test]
fn a_failing_hedge_leaves_the_first_copy() {
    let play = play(after_50_ms().hedge(Hedge::after(50 * MS).copies(2)));
    let fates = [Good(300), Fails(10, Fault::BUSY)];
    assert_eq!(play.call(&fates).ok(), Some(1));
    let told = [
        "0 attempt 1",
        "0 1 begins",
        "50 hedge 2 after 50ms",
        "50 2 begins, a hedge",
        "60 2 fails",
        "300 1 is good",
        "300 recovered by 2",
    ];
    assert_eq!(play.book.lines(), told);
}

#[test]
fn when_all_copies_have_failed_one_decision_follows_on_what_all_of_them_said() {
    for (first, second) in [
        (Fails(60, Fault::BUSY), Fails(30, Fault::REFUSED)),
        (Fails(60, Fault::REFUSED), Fails(30, Fault::BUSY)),
        (Fails(80, Fault::REFUSED), Fails(10, Fault::BUSY)),
    ] {
        let play = play_for(after_50_ms(), 10);
        assert_eq!(play.call(&[first, second, Good(0)]).ok(), Some(3));
        let told = [
            // Throttled as one of them, of unknown effect as the same one.
            "80 retry 3 in 100ms, throttled, unknown",
            "180 3 begins",
            "180 recovered by 3",
        ];
        assert_eq!(play.book.of(&["retry", "3 begins", "recovered"]), told);
        let tokens = [
            "50 token 1 taken",
            "60 failure", // each failure is told
            "80 token 2 taken",
            "180 success with token 2",
        ];
        for line in tokens {
            assert!(
                play.book.lines().iter().any(|told| told.starts_with(line)),
                "{line}"
            );
        }
        assert_eq!(play.book.of(&["taken", "back"]).len(), 2);
    }
}

#[test]
fn a_hint_that_one_copy_got_holds_for_all_and_runs_from_when_it_was_said() {
    let slow_down = Fault(Fault::DOWN.0.hint(Hint::Exactly(SECOND)));
    let play = play(after_50_ms());
    let fates = [Fails(60, slow_down), Fails(100, Fault::DOWN), Good(0)];
    assert_eq!(play.call(&fates).ok(), Some(3));
    let retry = "150 retry 3 in 910ms, transient, unknown";
    assert_eq!(
        play.book.of(&["retry", "3 begins"]),
        [retry, "1060 3 begins"]
    );
}

/// What the layer above hears is what all copies said, and not the last one alone.
#[test]
fn a_call_that_gave_up_classifies_as_all_copies_of_its_last_attempt() {
    let slow_down = Fault(Fault::BUSY.0.hint(Hint::AtLeast(SECOND)));
    let play = play(after_50_ms().attempts(2));
    let fates = [Fails(60, slow_down), Fails(100, Fault::REFUSED)];
    let gave_up = play.call(&fates).unwrap_err();
    assert_eq!(gave_up.reason(), StopReason::AttemptsExhausted);
    let said = becalm::Classify::classify(&gave_up);
    assert_eq!(said, Fault::BUSY.0.hint(Hint::AtLeast(910 * MS)));
    assert_eq!(gave_up.error(), Some(&Fault::REFUSED), "the last one");
}

#[test]
fn records_and_attempts_count_every_copy() {
    let play = play(after_50_ms().attempts(4));
    let gave_up = play.call(&[Fails(80, Fault::DOWN), Fails(10, Fault::BUSY)]);
    let gave_up = gave_up.unwrap_err();
    assert_eq!(gave_up.reason(), StopReason::AttemptsExhausted);
    assert_eq!(gave_up.attempts(), 4);
    let records = gave_up
        .records()
        .map(|record| (record.number, record.delay));
    // In the order in which they failed; 3 failed before it could be hedged.
    let expected = [(2, 0 * MS), (1, 0 * MS), (3, 100 * MS), (4, 100 * MS)];
    assert_eq!(records.collect::<Vec<_>>(), expected);
}

#[test]
fn a_failure_that_nothing_can_mend_waits_for_the_others_and_starts_no_more() {
    let stop = Fault(Fault::BUSY.0.hint(Hint::Stop));
    for (fault, reason) in [
        (Fault::GONE, StopReason::Permanent),
        (stop, StopReason::DoNotRetry),
    ] {
        // All end at 60 at the earliest; those that fail for good, first.
        for (fates, ends) in [
            (
                [
                    Fails(60, fault),
                    Fails(50, Fault::DOWN),
                    Fails(50, Fault::DOWN),
                ],
                100,
            ),
            (
                [
                    Fails(80, Fault::DOWN),
                    Fails(35, fault),
                    Fails(50, Fault::DOWN),
                ],
                100,
            ),
            (
                [
                    Fails(80, Fault::DOWN),
                    Fails(65, Fault::DOWN),
                    Fails(10, fault),
                ],
                90,
            ),
        ] {
            let play = play(after_50_ms().hedge(Hedge::after(25 * MS).copies(2)));
            let gave_up = play.call(&fates).unwrap_err();
            assert_eq!((gave_up.reason(), gave_up.attempts()), (reason, 3));
            assert_eq!(gave_up.error(), Some(&fault), "the one that decides");
            let told = format!("{ends} stopped {} by 3", reason.as_str());
            let lines = play.book.lines();
            assert_eq!(lines.last(), Some(&told), "{lines:?}");
            assert_eq!(play.book.of(&["dropped", "beaten", "recovered"]), [""; 0]);
        }
        for fates in [
            [Good(100), Fails(35, fault), Fails(10, fault)],
            [Fails(60, fault), Good(100), Fails(10, fault)],
            [Fails(60, fault), Fails(35, fault), Good(100)],
        ] {
            let play = play(after_50_ms().hedge(Hedge::after(25 * MS).copies(2)));
            assert!(play.call(&fates).is_ok(), "{:?}", play.book.lines());
        }
        let play = play(after_50_ms().hedge(Hedge::after(25 * MS).copies(2)));
        assert_eq!(play.call(&[Fails(30, fault), Good(100)]).ok(), Some(2));
        assert_eq!(play.book.of(&["begins"]).len(), 2);
    }
}

/// A copy that waits for another is not asked again.
#[test]
fn a_permanent_failure_after_a_transient_one_is_permanent() {
    let play = play(after_50_ms());
    let fates = [Fails(60, Fault::DOWN), Fails(20, Fault::GONE)];
    let gave_up = play.call(&fates).unwrap_err();
    assert_eq!(gave_up.reason(), StopReason::Permanent);
    assert_eq!(gave_up.records().count(), 2);
}

#[test]
fn hedges_count_as_attempts_of_the_call() {
    for (attempts, copies) in [(1, 1), (2, 2), (3, 3), (4, 4), (9, 5)] {
        let hedge = Hedge::after(10 * MS).copies(4);
        let play = play(
            fixed(100 * MS)
                .attempts(attempts)
                .deadline(SECOND)
                .hedge(hedge),
        );
        let gave_up = play.call(&[Never]).unwrap_err();
        assert_eq!(gave_up.attempts(), copies, "of {attempts}");
        assert_eq!(play.book.of(&["begins"]).len(), copies as usize);
    }
    // Nor does a retry follow beyond them.
    let play = play(after_50_ms().attempts(3));
    let gave_up = play.call(&[Fails(60, Fault::DOWN)]).unwrap_err();
    let begins = ["0 1 begins", "50 2 begins, a hedge", "210 3 begins"];
    assert_eq!(play.book.of(&["begins"]), begins);
    assert_eq!(gave_up.attempts(), 3);
}

/// As many as the call allows itself, not as many as the policy does.
#[test]
fn the_calls_own_attempts_bound_its_hedges() {
    let play = play(after_50_ms());
    let fates = [Good(200), Good(10)];
    let call = play.retrier.retry(|attempt| play.perform(attempt, &fates));
    assert_eq!(play.run(call.attempts(1)).ok(), Some(1));
    let call = play.retrier.retry(|attempt| play.perform(attempt, &fates));
    assert_eq!(play.run(call.attempts(2)).ok(), Some(2));
}

#[test]
fn only_what_may_be_repeated_is_hedged() {
    let play = play(after_50_ms());
    let fates = [Good(200), Good(10)];
    let operation = |attempt: Attempt| {
        play.perform(attempt, &fates)
            .map(move |done| done.map(|number| (number, attempt.key())))
    };
    let call = play.retrier.retry(operation).not_idempotent();
    assert_eq!(play.run(call).ok(), Some((1, None)));
    assert_eq!(play.book.of(&["hedge"]), [""; 0]);

    let key: IdempotencyKey = play
        .run(play.retrier.retry(operation).keyed())
        .unwrap()
        .1
        .unwrap();
    let keys = std::cell::RefCell::new(Vec::new());
    let call = play.retrier.retry(|attempt| {
        keys.borrow_mut().push((attempt.is_hedge(), attempt.key()));
        play.perform(attempt, &fates)
    });
    assert_eq!(play.run(call.keyed_with(key)).ok(), Some(2));
    assert_eq!(keys.into_inner(), [(false, Some(key)), (true, Some(key))]);
}

#[test]
fn retries_that_are_switched_off_switch_hedges_off() {
    let play = play(after_50_ms());
    let fates = [Good(200), Good(10)];
    play.retrier.disable_retries();
    assert_eq!(play.call(&fates).ok(), Some(1));
    play.retrier.enable_retries();
    assert_eq!(play.call(&fates).ok(), Some(2));
    // Also while the first copy is under way.
    let mut call = play.until(0, &fates);
    play.retrier.disable_retries();
    assert!(call.poll().is_pending());
    assert_eq!(play.book.of(&["a hedge"]).len(), 1);
    assert_eq!(play.run(async { call.into_future().await }).ok(), Some(1));
    assert_eq!(play.book.of(&["a hedge"]).len(), 1);
}

/// A copy is told the time that is left when it starts.
#[test]
fn a_hedge_knows_what_it_is() {
    let play = play(after_50_ms().deadline(SECOND));
    let told = std::cell::RefCell::new(Vec::new());
    let call = play.retrier.retry(|attempt| {
        told.borrow_mut()
            .push((attempt.number(), attempt.is_hedge(), attempt.remaining()));
        play.perform(attempt, &[Good(200), Good(10)])
    });
    assert_eq!(play.run(call).ok(), Some(2));
    let told = told.into_inner();
    assert_eq!(told, [(1, false, Some(SECOND)), (2, true, Some(950 * MS))]);
}

/// An `Ok` that means failure is one in a hedge, too.
#[test]
fn hedges_are_classified_as_first_copies_are() {
    let play = play(after_50_ms());
    let verdict = |result: Result<&u32, &Fault>| match result {
        Ok(2) => becalm::Failure::transient().into(),
        Ok(_) => becalm::classify::Verdict::Success,
        Err(fault) => fault.0.into(),
    };
    let fates = [Good(200), Good(10)];
    let call = play.retrier.retry(|attempt| {
        let performed = play.perform(attempt, &fates);
        async move { becalm::classify::judged(performed.await, verdict) }
    });
    assert_eq!(play.run(call).ok(), Some(1));
    assert_eq!(play.book.of(&["beaten"]), [""; 0], "it has failed");
}
