//! What does a hedged call leave behind when it is dropped, panics, or its policy changes? Nothing.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use becalm::breaker::State;
use becalm::bulkhead::Bulkhead;
use becalm::time::FakeSleeper;
use becalm::{
    Breaker, Budget, Event, Hedge, Policy, Scope, Sleeper,
    call::{Call, CallOptions, Decision},
    classify::Verdict,
    hedge::HedgeDelay,
};

use crate::hedged::{Fails, Fate, Good, Never, Panics, Play, play, play_for};
use crate::panics::Silence;
use crate::probe::{ByHand, Fault, MS, SECOND, fixed, on};

fn after_50_ms() -> Policy {
    fixed(100 * MS).hedge(Hedge::after(50 * MS))
}

/// Guards that each attempt holds something of.
fn guarded() -> Policy {
    after_50_ms()
        .hedge(Hedge::after(50 * MS).copies(2))
        .bulkhead(Bulkhead::calls(9))
        .breaker(Breaker::consecutive(1))
}

fn assert_nothing_is_left(play: &Play, context: &str) {
    assert_eq!(play.retrier.in_flight(), Some(0), "{context}: a place");
    assert_eq!(play.retrier.waiting(), 0, "{context}: a place to wait");
    assert_eq!(play.clock.sleepers(), 0, "{context}: a timer");
    assert_eq!(Scope::current(), Scope::NONE, "{context}: a scope");
    let ended = play.book.of(&["call ended"]).len();
    assert_eq!(ended, 1, "{context}: the budget hears of one end");
}

fn tokens(play: &Play) -> (usize, usize, usize) {
    let count = |word| {
        play.book
            .of(&[word])
            .iter()
            .filter(|line| line.contains("token"))
            .count()
    };
    (count("taken"), count("back"), count("spent"))
}

#[test]
fn dropped_at_any_time_a_hedged_call_returns_what_it_held() {
    // A first copy, two hedges, all fail by 260; a wait to 360; a second attempt.
    let fates = [
        Fails(260, Fault::DOWN),
        Fails(30, Fault::DOWN),
        Fails(100, Fault::DOWN),
        Never,
    ];
    for (millis, taken, back) in [
        (0, 0, 0),
        (49, 0, 0),
        (50, 1, 0),
        (60, 1, 0),
        (100, 1, 0), // a copy has failed at 80: no third one
        (261, 2, 1), // in the wait
        (359, 2, 1),
        (360, 2, 0),
        (411, 3, 0),
    ] {
        let play = play_for(guarded().breaker(Breaker::consecutive(9)).attempts(9), 20);
        let call = play.until(millis, &fates);
        play.book.note_here("now");
        drop(call);
        let context = format!("dropped at {millis}");
        assert_nothing_is_left(&play, &context);
        let (took, returned, spent) = tokens(&play);
        assert_eq!((took, returned), (taken, back), "{context}");
        assert_eq!(spent, taken - back, "{context}: each is spent or back");
        let lines = play.book.lines();
        let stop = lines.last().unwrap();
        let begun = play.book.of(&["begins"]).len();
        let told = format!("stopped cancelled by {begun}");
        assert!(stop.ends_with(&told), "{context}: {stop}");
        // First what the attempts hold, then the word.
        let at = lines.iter().position(|line| line.ends_with("now")).unwrap();
        let after: Vec<_> = lines[at..]
            .iter()
            .filter(|line| line.contains("dropped"))
            .collect();
        let under_way = begun - play.book.of(&["fails"]).len();
        assert_eq!(after.len(), under_way, "{context}");
    }
}

/// A call that is cancelled tells the breaker how long each copy had lasted.
#[test]
fn a_dropped_call_counts_each_copy_that_was_slow() {
    for (failures, state) in [(2, State::Open), (3, State::Closed)] {
        let breaker = Breaker::consecutive(failures).slow(100 * MS);
        let play = play(after_50_ms().breaker(breaker));
        drop(play.until(150, &[Never]));
        assert_eq!(
            play.retrier.breaker_state(),
            Some(state),
            "of 150 and 100 ms"
        );
    }
    let play = play(after_50_ms().breaker(Breaker::consecutive(2).slow(100 * MS)));
    drop(play.until(149, &[Never]));
    assert_eq!(play.retrier.breaker_state(), Some(State::Closed));
}

fn payload(run: impl FnOnce()) -> &'static str {
    let quiet = Silence::new();
    let panicked = catch_unwind(AssertUnwindSafe(run)).expect_err("a panic");
    drop(quiet);
    panicked
        .downcast_ref::<&'static str>()
        .copied()
        .expect("as it was")
}

#[test]
fn a_panic_of_a_copy_goes_through_and_is_one_failure() {
    let fates: [&[Fate]; 4] = [
        &[Panics(120), Never],
        &[Never, Panics(70), Never],
        &[Never, Never, Panics(20)],
        &[Fails(60, Fault::DOWN), Panics(70)],
    ];
    for fates in fates {
        for (failures, state) in [(1, State::Open), (2, State::Closed)] {
            // A failure before the panic is one of its own.
            let failed = fates
                .iter()
                .filter(|fate| matches!(fate, Fails(..)))
                .count();
            let failures = failures + u32::try_from(failed).unwrap();
            let play = play_for(guarded().breaker(Breaker::consecutive(failures)), 10);
            assert_eq!(payload(|| drop(play.call(fates))), "the operation's");
            assert_nothing_is_left(&play, &format!("{fates:?}"));
            assert_eq!(play.retrier.breaker_state(), Some(state), "{fates:?}");
            let (taken, back, spent) = tokens(&play);
            assert_eq!((back, spent), (0, taken));
        }
    }
}

#[test]
fn a_panic_of_the_closure_goes_through_and_is_one_failure() {
    for (at, state) in [(1, State::Open), (2, State::Closed)] {
        let play = play_for(guarded().breaker(Breaker::consecutive(at)), 10);
        let panicked = payload(|| {
            drop(play.run(play.retrier.retry(|attempt| {
                if attempt.is_hedge() {
                    std::panic::panic_any("the closure's");
                }
                play.perform(attempt, &[Never])
            })));
        });
        assert_eq!(panicked, "the closure's");
        assert_nothing_is_left(&play, "closure");
        assert_eq!(play.retrier.breaker_state(), Some(state));
        assert_eq!(tokens(&play), (1, 0, 1), "it was invoked");
    }
}

/// An observer that panics when it is told of a hedge: the operation was never invoked for it.
#[test]
fn a_hedge_that_was_announced_and_never_ran_has_its_token_back() {
    struct Panicky;
    impl becalm::Observer for Panicky {
        fn on_event(&self, _: &becalm::observe::About<'_>, event: &Event<'_>) {
            if let Event::Hedge { .. } = event {
                std::panic::panic_any("the observer's");
            }
        }
    }
    let clock = FakeSleeper::new();
    let policy = after_50_ms()
        .bulkhead(Bulkhead::calls(9))
        .budget(Budget::ratio(0.1).burst(2.0).floor_per_second(0.0));
    let builder = policy.breaker(Breaker::consecutive(1)).builder();
    let retrier = builder
        .sleeper(clock.clone())
        .observer(Panicky)
        .build()
        .unwrap();
    let invoked = Cell::new(0);
    let mut call = ByHand::new(retrier.retry(|_| {
        invoked.set(invoked.get() + 1);
        std::future::pending::<Result<(), Fault>>()
    }));
    assert!(call.run().is_pending());
    clock.advance(50 * MS);
    assert_eq!(payload(|| drop(call.run())), "the observer's");
    drop(call);
    assert_eq!(invoked.get(), 1);
    assert!((retrier.budget_fill() - 1.0).abs() < 1e-9);
    assert_eq!(retrier.in_flight(), Some(0));
    assert_eq!(
        retrier.breaker_state(),
        Some(State::Closed),
        "nothing has failed"
    );
}

/// And one that panics when it is told who was beaten: all is settled by then.
#[test]
fn a_panic_of_the_observer_of_the_losers_leaves_nothing() {
    struct Panicky;
    impl becalm::Observer for Panicky {
        fn on_event(&self, _: &becalm::observe::About<'_>, event: &Event<'_>) {
            if let Event::Beaten { .. } = event {
                std::panic::panic_any("the observer's");
            }
        }
    }
    let clock = FakeSleeper::new();
    let policy = after_50_ms()
        .bulkhead(Bulkhead::calls(9))
        .breaker(Breaker::consecutive(1));
    let builder = policy.builder().sleeper(clock.clone());
    let retrier = builder.observer(Panicky).build().unwrap();
    let mut call = ByHand::new(retrier.retry(|attempt| async move {
        if attempt.is_hedge() {
            return Ok::<_, Fault>(());
        }
        std::future::pending().await
    }));
    assert!(call.run().is_pending());
    clock.advance(50 * MS);
    assert_eq!(payload(|| drop(call.run())), "the observer's");
    drop(call);
    assert_eq!(retrier.in_flight(), Some(0));
    assert_eq!(retrier.breaker_state(), Some(State::Closed));
}

/// What is under way is polled to its end whatever a reload asks for.
#[test]
fn a_reload_without_hedges_starts_no_more_and_forgets_none() {
    let fates = [Fails(300, Fault::DOWN), Good(350), Never];
    for reload_at in [60, 310] {
        let play = play_for(after_50_ms().hedge(Hedge::after(50 * MS).copies(2)), 10);
        // The third copy would start at 100.
        let mut call = play.until(reload_at, &fates);
        let without = fixed(100 * MS);
        play.retrier.replace_policy(without).unwrap();
        assert!(call.run().is_pending());
        let done = play.run(call.into_future());
        let copies = if reload_at == 60 { 2 } else { 3 };
        assert_eq!(done.ok(), Some(2));
        assert_eq!(
            play.book.of(&["begins"]).len(),
            copies,
            "reloaded at {reload_at}"
        );
    }
}

/// A call that began without hedges has none: nobody knows when it started.
#[test]
fn a_reload_with_hedges_leaves_the_calls_under_way() {
    for before in [
        fixed(100 * MS),
        fixed(100 * MS).breaker(Breaker::consecutive(5)),
        fixed(100 * MS).deadline(10 * SECOND),
    ] {
        let play = play(before);
        let fates = [Fails(200, Fault::DOWN), Good(200), Good(10)];
        let mut call = play.until(10, &fates);
        play.retrier.replace_policy(after_50_ms()).unwrap();
        assert!(call.run().is_pending());
        assert_eq!(play.run(call.into_future()).ok(), Some(2));
        assert_eq!(play.book.of(&["a hedge"]).len(), 0);
        assert_eq!(
            play.call(&[Good(200), Good(10)]).ok(),
            Some(2),
            "the next one"
        );
    }
}

/// Attempts that began before a reload asked for the times have none: a probe is not slow for that.
#[test]
fn a_reload_that_measures_takes_no_attempt_for_slow_that_it_has_not_seen_start() {
    let breaker = Breaker::consecutive(1)
        .open(SECOND)
        .jitter(0.0)
        .successes(1);
    let policy = fixed(100 * MS).attempts(1);
    let play = play(policy.clone().breaker(breaker));
    let _ = play.call(&[Fails(0, Fault::DOWN)]);
    play.clock.advance(SECOND);
    let probe = play.until_now(10, &[Good(20)]);
    let measuring = policy.breaker(breaker.slow(SECOND));
    play.retrier.replace_policy(measuring).unwrap();
    assert_eq!(play.run(probe.into_future()).ok(), Some(1));
    assert_eq!(play.retrier.breaker_state(), Some(State::Closed));
}

/// Attempts that began before a reload asked for the times add none to the latencies of which the live delay is made.
#[test]
fn a_reload_to_a_live_delay_records_no_latency_that_was_not_measured() {
    let fixed_delay = fixed(MS).hedge(Hedge::after(20 * SECOND));
    let live = Hedge::at_quantile(0.5).min_samples(1);
    let play = play(fixed_delay);
    let calls: Vec<_> = (0..40).map(|_| play.until_now(0, &[Good(5)])).collect();
    play.retrier.replace_policy(fixed(MS).hedge(live)).unwrap();
    for call in calls {
        assert_eq!(play.run(call.into_future()).ok(), Some(1));
    }
    // Ten that are measured set the delay; the others would put it at an hour.
    assert!(matches!(live.delay, HedgeDelay::Quantile(_)));
    for _ in 0..10 {
        assert_eq!(play.call(&[Good(5)]).ok(), Some(1));
    }
    play.clock.advance(SECOND);
    assert_eq!(play.call(&[Good(500), Good(1)]).ok(), Some(2));
    let hedge = play.book.of(&["hedge 2"]);
    let after = hedge[0].rsplit(' ').next().unwrap();
    assert!(after.starts_with("5."), "hedged after {after}");
    assert!(play.clock.now().as_nanos() > 0);
}

/// C1: it knows no time, and the one that it made up for want of it was taken for a clock that ran back:
/// all latencies were forgotten, and no call was hedged.
#[test]
fn c1_a_dropped_call_teaches_nobody() {
    let clock = FakeSleeper::new();
    clock.advance(3600 * SECOND); // far from the zero that a made-up time would be
    let policy = fixed(MS).hedge(Hedge::at_quantile(0.95));
    let retrier = on(&clock, policy.breaker(Breaker::consecutive(1)));
    let started = || {
        let options = CallOptions::new();
        let mut call = Call::begin(&retrier, options, Scope::NONE, clock.now());
        call.start(clock.now(), &mut || 0)
            .expect("no guard objects");
        call
    };
    let due = || {
        let now = clock.now();
        let mut call = started();
        let due = call.hedge_at(now).map(|at| at.since(now));
        call.cancel(now, &mut || 0);
        due
    };
    for millis in 0..300 {
        let mut call = started();
        clock.advance((5 + millis % 10) * MS);
        let decided = call.on_outcome(clock.now(), Verdict::Success, &mut || 0);
        assert_eq!(decided, Decision::Done);
    }
    clock.advance(SECOND);
    let before = due().expect("300 are enough");
    drop(started());
    for _ in 0..30 {
        clock.advance(SECOND / 10);
        assert_eq!(due(), Some(before));
    }
    assert_eq!(retrier.breaker_state(), Some(State::Closed));
}
