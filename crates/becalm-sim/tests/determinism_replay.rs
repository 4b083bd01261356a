//! Does the asynchronous engine do what the simulator's calls did? Their traces, replayed through it.
//!
//! Each call of a trace becomes a future of a [`Retrier`](becalm::Retrier), on one clock and with
//! the shared state that it had. Its attempts come to their recorded ends at their recorded times,
//! and it draws the recorded bits. When it starts attempts, what it decides, how long it waits, who
//! wakes it and why it ends are then the engine's own doing, and are compared.

mod replay;

use std::time::Duration;

use becalm::call::Decision;
use becalm_sim::world::{Step, Traced};
use replay::{Mode, Told, replay, trace, worlds};

const SEED: u64 = 7;

/// Replays a world with and without an observer: the engine has a path of its own for calls that
/// nobody watches.
fn agrees(scenario: &becalm_sim::scenario::Scenario) -> Told {
    let steps = trace(scenario, SEED);
    let watched = replay(scenario, &steps, Mode::Observed);
    let silent = replay(scenario, &steps, Mode::Silent);
    assert_eq!(silent, watched, "{}", scenario.name);
    watched.unwrap_or_else(|difference| panic!("{}: {difference}", scenario.name))
}

#[test]
fn every_jitter_under_every_budget() {
    for scenario in worlds::jitters_and_budgets() {
        let told = agrees(&scenario);
        assert!(told.retries > 30, "{}: {told:?}", scenario.name);
        assert!(
            told.stops.contains("BudgetExhausted"),
            "{}: {told:?}",
            scenario.name
        );
    }
}

#[test]
fn time_outs_and_deadlines() {
    let told = agrees(&worlds::deadlines());
    assert!(told.timed_out > 10 && told.cut > 10, "{told:?}");
    assert!(told.stops.contains("DeadlineExceeded"), "{told:?}");
}

#[test]
fn breakers_and_their_probes() {
    let told = agrees(&worlds::breaker());
    assert!(told.stops.contains("BreakerOpen"), "{told:?}");
    assert!(told.retries > 10, "{told:?}");
}

#[test]
fn adaptive_throttles() {
    let told = agrees(&worlds::throttle());
    assert!(told.stops.contains("Shed"), "{told:?}");
}

#[test]
fn bulkheads_with_a_queue() {
    let told = agrees(&worlds::bulkhead());
    assert!(told.waits > 100, "{told:?}");
    assert!(told.stops.contains("BulkheadFull"), "{told:?}");
}

#[test]
fn rates_that_follow_throttling() {
    let told = agrees(&worlds::rate());
    assert!(told.waits > 20, "{told:?}");
}

#[test]
fn hedges_beside_slow_attempts() {
    let told = agrees(&worlds::hedges());
    assert!(told.hedges > 50 && told.others > 5, "{told:?}");
}

#[test]
fn instances_that_call_and_whose_callers_leave() {
    let told = agrees(&worlds::layers());
    assert!(told.cancelled > 5 && told.retries > 50, "{told:?}");
}

/// What a world with everything tells, and the first step that is to be falsified.
fn falsified(change: impl Fn(&mut Traced) -> bool) -> String {
    let scenario = worlds::deadlines();
    let mut steps = trace(&scenario, SEED);
    assert!(steps.iter_mut().any(change), "there is such a step");
    replay(&scenario, &steps, Mode::Silent).expect_err("the difference is seen")
}

#[test]
fn a_delay_that_is_a_nanosecond_longer_is_seen() {
    let told = falsified(|traced| match &mut traced.step {
        Step::Decided(_, _, Decision::RetryIn(delay)) => {
            *delay += Duration::from_nanos(1);
            true
        }
        _ => false,
    });
    assert!(told.contains("the wait ends"), "{told}");
}

#[test]
fn a_bit_that_differs_is_seen() {
    falsified(|traced| match traced.bits.first_mut() {
        Some(bits) => {
            *bits ^= 1 << 62;
            true
        }
        None => false,
    });
}

#[test]
fn a_draw_more_and_a_draw_less_are_seen() {
    let more = falsified(|traced| {
        traced.bits.push(1);
        !traced.bits.is_empty()
    });
    assert!(more.contains("draws"), "{more}");
    // The engine then gets a bit of its own, and with it another delay.
    falsified(|traced| traced.bits.pop().is_some());
}

/// Whoever asks the budget first gets its last token.
#[test]
fn two_decisions_in_the_other_order_are_seen() {
    let scenario = worlds::jitters_and_budgets().remove(0);
    let mut steps = trace(&scenario, SEED);
    let at = steps
        .iter()
        .position(|it| it.step == Step::Decided(1, worlds::failed(), worlds::exhausted()))
        .expect("a retry is refused");
    let (before, after) = steps.split_at_mut(at);
    let paid = before
        .iter_mut()
        .rev()
        .find(|it| matches!(it.step, Step::Decided(_, _, Decision::RetryIn(_))))
        .expect("another was paid for before");
    // The two failures change places, with all that follows from them still as it was.
    std::mem::swap(paid, &mut after[0]);
    std::mem::swap(&mut paid.now, &mut after[0].now);
    assert!(replay(&scenario, &steps, Mode::Silent).is_err());
}

/// An attempt that starts a nanosecond before its wait is over has not been woken.
#[test]
fn a_start_that_is_too_early_is_seen() {
    let told = falsified(|traced| match traced.step {
        Step::Started(number) if number > 1 => {
            traced.now = becalm::time::Instant::from_nanos(traced.now.as_nanos() - 1);
            true
        }
        _ => false,
    });
    assert!(told.contains("woken"), "{told}");
}
