//! Every interleaving of threads on the breaker, by the model checker.
//!
//! Run with `RUSTFLAGS="--cfg becalm_loom" cargo test -p becalm --no-default-features --release
//! --test loom_breaker`.
#![cfg(becalm_loom)]

use core::time::Duration;

use becalm::breaker::{Breaker, CircuitBreaker, Outcome, Permit, Span, State, Transition};
use becalm::time::Instant;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

/// With at most three preemptions, which more than suffice for two threads and one mistake.
fn model(threads: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(threads);
}

fn breaker(config: Breaker) -> Arc<CircuitBreaker> {
    Arc::new(CircuitBreaker::new(config.jitter(0.0)).unwrap())
}

fn at(seconds: u64) -> Instant {
    Instant::from_nanos(seconds * 1_000_000_000)
}

fn admit(breaker: &CircuitBreaker, seconds: u64) -> Option<Permit> {
    breaker.admit(|| at(seconds)).ok()
}

fn record(
    breaker: &CircuitBreaker,
    permit: Permit,
    outcome: Outcome,
    seconds: u64,
) -> Option<Transition> {
    breaker.record(permit, outcome, || at(seconds), Duration::ZERO, || 0)
}

fn call(breaker: &CircuitBreaker, outcome: Outcome, seconds: u64) -> Option<Transition> {
    let permit = admit(breaker, seconds).unwrap();
    record(breaker, permit, outcome, seconds)
}

/// The kinds, each as one that this one failure opens.
fn touchy() -> [Breaker; 3] {
    [
        Breaker::consecutive(1),
        Breaker::share(1.0, Span::Calls(1)),
        Breaker::share(1.0, Span::Time(Duration::from_secs(10))).min_calls(1),
    ]
}

#[test]
fn two_failures_at_once_open_it_once() {
    for config in touchy() {
        model(move || {
            let breaker = breaker(config);
            let other = Arc::clone(&breaker);
            let (ours, theirs) = (admit(&breaker, 0).unwrap(), admit(&breaker, 0).unwrap());
            let there =
                thread::spawn(move || record(&other, theirs, Outcome::Failure, 0).is_some());
            let here = record(&breaker, ours, Outcome::Failure, 0).is_some();
            assert_eq!(u8::from(here) + u8::from(there.join().unwrap()), 1);
            assert_eq!(breaker.state(at(4)), State::Open);
            assert_eq!(breaker.would_admit(at(0)).unwrap_err().until, Some(at(5)));
        });
    }
}

/// Two failures and a minimum of two: whoever comes second must see the other.
#[test]
fn what_is_counted_at_once_is_counted_all() {
    for config in [
        Breaker::consecutive(2),
        Breaker::share(1.0, Span::Calls(2)),
        Breaker::share(1.0, Span::Time(Duration::from_secs(10))).min_calls(2),
    ] {
        model(move || {
            let breaker = breaker(config);
            let other = Arc::clone(&breaker);
            let there = thread::spawn(move || call(&other, Outcome::Failure, 0).is_some());
            let here = call(&breaker, Outcome::Failure, 0).is_some();
            assert_eq!(u8::from(here) + u8::from(there.join().unwrap()), 1);
        });
    }
}

/// The success may be what makes up the minimum: one of the two sees both.
#[test]
fn a_failure_beside_the_success_that_is_enough_opens_it() {
    for config in [
        Breaker::share(0.5, Span::Calls(2)),
        Breaker::share(0.5, Span::Time(Duration::from_secs(10))).min_calls(2),
    ] {
        model(move || {
            let breaker = breaker(config);
            let other = Arc::clone(&breaker);
            let there = thread::spawn(move || call(&other, Outcome::Failure, 0).is_some());
            let here = call(&breaker, Outcome::Success, 0).is_some();
            assert_eq!(u8::from(here) + u8::from(there.join().unwrap()), 1);
        });
    }
}

/// Open since 0 s, due at 5 s.
fn open(config: Breaker) -> Arc<CircuitBreaker> {
    let breaker = breaker(config);
    assert!(breaker.force_open(at(0), || 0).is_some());
    breaker
}

/// Makes one probe, if there is a place, and cancels it; how many it made.
fn probe(breaker: &CircuitBreaker, under_way: &AtomicUsize, probes: u32) -> u32 {
    let Some(permit) = admit(breaker, 5) else {
        return 0;
    };
    assert!(permit.is_probe());
    let before = under_way.fetch_add(1, Ordering::SeqCst);
    assert!(before < probes as usize, "{before} were under way");
    under_way.fetch_sub(1, Ordering::SeqCst);
    assert_eq!(record(breaker, permit, Outcome::Cancelled, 5), None);
    1
}

#[test]
fn never_more_than_its_probes_are_under_way_and_a_cancelled_one_gives_its_place_back() {
    for probes in [1, 2] {
        model(move || {
            let breaker = open(Breaker::consecutive(1).probes(probes));
            let under_way = Arc::new(AtomicUsize::new(0));
            let (other, counter) = (Arc::clone(&breaker), Arc::clone(&under_way));
            let there = thread::spawn(move || probe(&other, &counter, probes));
            let admitted = probe(&breaker, &under_way, probes) + there.join().unwrap();
            assert!(admitted >= 1);
            let left: Vec<_> = (0..probes).map(|_| admit(&breaker, 5)).collect();
            assert!(left.iter().all(Option::is_some), "a place was lost");
            assert!(admit(&breaker, 5).is_none());
        });
    }
}

/// Half-open since 5 s, so that a probe of then would be given up at 65 s; the one of 100 s is not.
#[test]
fn a_new_probe_is_not_given_up_for_the_age_of_the_half_open_state() {
    model(|| {
        let breaker = open(Breaker::consecutive(1));
        let first = admit(&breaker, 5).unwrap();
        record(&breaker, first, Outcome::Cancelled, 5);
        let other = Arc::clone(&breaker);
        let there = thread::spawn(move || admit(&other, 100));
        let here = admit(&breaker, 100);
        assert!(here.is_some() != there.join().unwrap().is_some());
    });
}

#[test]
fn the_place_of_one_probe_is_taken_once_though_two_ask_and_it_is_kept() {
    model(|| {
        let breaker = open(Breaker::consecutive(1));
        let other = Arc::clone(&breaker);
        let there = thread::spawn(move || admit(&other, 5));
        let here = admit(&breaker, 5);
        let there = there.join().unwrap();
        assert!(here.is_some() != there.is_some());
        let told = here.or(there).unwrap().transition();
        assert_eq!(told.map(|told| told.to), Some(State::HalfOpen));
    });
}

#[test]
fn a_good_and_a_bad_probe_at_once_decide_once() {
    model(|| {
        let breaker = open(Breaker::consecutive(1).probes(2).successes(1));
        let (good, bad) = (admit(&breaker, 5).unwrap(), admit(&breaker, 5).unwrap());
        let other = Arc::clone(&breaker);
        let there = thread::spawn(move || record(&other, bad, Outcome::Failure, 5));
        let here = record(&breaker, good, Outcome::Success, 5);
        let told = match (here, there.join().unwrap()) {
            (Some(told), None) | (None, Some(told)) => told,
            both => panic!("{both:?}"),
        };
        assert_eq!(told.to, breaker.state(at(5)));
        assert!(matches!(told.to, State::Open | State::Closed));
    });
}

#[test]
fn two_good_probes_at_once_are_both_counted() {
    model(|| {
        let breaker = open(Breaker::consecutive(1).probes(2).successes(2));
        let (one, two) = (admit(&breaker, 5).unwrap(), admit(&breaker, 5).unwrap());
        let other = Arc::clone(&breaker);
        let there = thread::spawn(move || record(&other, two, Outcome::Success, 5).is_some());
        let here = record(&breaker, one, Outcome::Success, 5).is_some();
        assert!(here != there.join().unwrap());
        assert_eq!(breaker.state(at(5)), State::Closed);
    });
}

/// A failure of the first closed period may open that one; the next one knows nothing of it.
#[test]
fn a_late_failure_never_opens_the_next_closed_period() {
    for config in touchy() {
        model(move || {
            let breaker = breaker(config);
            let late = admit(&breaker, 0).unwrap();
            let other = Arc::clone(&breaker);
            let there = thread::spawn(move || {
                record(&other, late, Outcome::Failure, 0);
            });
            breaker.isolate();
            breaker.force_close();
            there.join().unwrap();
            assert_eq!(breaker.state(at(0)), State::Closed);
        });
    }
}

/// The late one lands in the middle of the next period's own counting, and changes no count of it.
#[test]
fn a_late_result_is_in_no_count_of_the_next_closed_period() {
    // Two failures in a row, or a share of 0.7 of at least two calls: a late failure would make
    // the first one enough, a late success the second one too little.
    for config in [
        Breaker::consecutive(2),
        Breaker::share(0.7, Span::Calls(10)).min_calls(2),
        Breaker::share(0.7, Span::Time(Duration::from_secs(10))).min_calls(2),
    ] {
        for outcome in [Outcome::Failure, Outcome::Success] {
            model(move || {
                let breaker = breaker(config);
                let late = admit(&breaker, 0).unwrap();
                let other = Arc::clone(&breaker);
                let there = thread::spawn(move || {
                    assert_eq!(record(&other, late, outcome, 0), None, "one is not enough");
                });
                breaker.isolate();
                breaker.force_close();
                assert_eq!(call(&breaker, Outcome::Failure, 0), None);
                there.join().unwrap();
                // The second failure is the second one, neither the third nor, after a late
                // success, the first.
                let told = call(&breaker, Outcome::Failure, 0);
                assert_eq!(told.map(|told| told.to), Some(State::Open));
            });
        }
    }
}

/// A success looks at the failures of its own period, whoever failed before.
#[test]
fn a_late_failure_hides_none_of_the_next_closed_period() {
    model(|| {
        let breaker = breaker(Breaker::share(0.5, Span::Calls(2)));
        let late = admit(&breaker, 0).unwrap();
        let other = Arc::clone(&breaker);
        let there = thread::spawn(move || {
            record(&other, late, Outcome::Failure, 0);
        });
        breaker.isolate();
        breaker.force_close();
        assert_eq!(call(&breaker, Outcome::Failure, 0), None);
        there.join().unwrap();
        assert!(call(&breaker, Outcome::Success, 0).is_some());
    });
}

/// The time that is told belongs to the opening that is in force.
#[test]
fn the_end_of_the_open_time_is_that_of_the_last_opening() {
    model(|| {
        let breaker = breaker(Breaker::consecutive(1));
        let permit = admit(&breaker, 0).unwrap();
        let other = Arc::clone(&breaker);
        let there = thread::spawn(move || record(&other, permit, Outcome::Failure, 0).is_some());
        breaker.force_close();
        let here = breaker.force_open(at(100), || 0).is_some();
        assert!(there.join().unwrap() || here);
        let until = breaker.would_admit(at(0)).unwrap_err().until;
        assert_eq!(until, Some(if here { at(105) } else { at(5) }));
    });
}

/// Of the old figures and the new ones together, one failure would be enough: a share of 0.000003
/// of one call.
#[test]
fn a_reload_never_judges_by_old_and_new_figures_at_once() {
    model(|| {
        let breaker = breaker(Breaker::share(1.0, Span::Calls(100)).min_calls(100));
        let late = admit(&breaker, 0).unwrap();
        call(&breaker, Outcome::Success, 0);
        let other = Arc::clone(&breaker);
        let there = thread::spawn(move || record(&other, late, Outcome::Failure, 0));
        let new = Breaker::consecutive(3).min_calls(1);
        breaker.reconfigure(new, at(0)).unwrap();
        assert_eq!(there.join().unwrap(), None);
        assert_eq!(breaker.state(at(0)), State::Closed);
    });
}

/// Five calls were counted; read as failures in a row they would open the new configuration.
#[test]
fn a_reload_never_judges_old_counts_by_new_figures() {
    model(|| {
        let breaker = breaker(Breaker::share(1.0, Span::Calls(100)).min_calls(100));
        let late = admit(&breaker, 0).unwrap();
        for _ in 0..5 {
            call(&breaker, Outcome::Success, 0);
        }
        let other = Arc::clone(&breaker);
        let there = thread::spawn(move || record(&other, late, Outcome::Failure, 0));
        let new = Breaker::consecutive(3);
        breaker.reconfigure(new, at(0)).unwrap();
        assert_eq!(there.join().unwrap(), None);
        assert_eq!(breaker.state(at(0)), State::Closed);
    });
}
