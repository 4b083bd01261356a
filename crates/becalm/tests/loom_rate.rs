//! Every interleaving of threads on the rate limiter, by the model checker.
//!
//! Run with `RUSTFLAGS="--cfg becalm_loom" cargo test -p becalm --no-default-features --release
//! --test loom_rate`.
#![cfg(becalm_loom)]

use becalm::{
    rate::{AdaptiveRate, RateLimiter},
    time::Instant,
};
use loom::sync::Arc;
use loom::thread;

fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

/// On, at one token in two seconds, with exactly one token.
fn one_token() -> Arc<RateLimiter> {
    let limiter = RateLimiter::new(AdaptiveRate::cubic());
    limiter.on_throttle(at(0));
    assert!(limiter.wait(at(2000)).is_zero());
    Arc::new(limiter)
}

#[test]
fn one_token_is_never_handed_out_twice() {
    loom::model(|| {
        let limiter = one_token();
        let other = Arc::clone(&limiter);
        let there = thread::spawn(move || other.acquire(at(2000)).unwrap().at());
        let here = limiter.acquire(at(2000)).unwrap().at();
        let mut places = [here, there.join().unwrap()];
        places.sort();
        assert_eq!(places[0], at(2000));
        assert!(places[1] >= at(4000), "{places:?}");
    });
}

#[test]
fn a_place_that_is_given_up_goes_to_one_other() {
    loom::model(|| {
        let limiter = one_token();
        let first = limiter.acquire(at(2000)).unwrap();
        let second = limiter.acquire(at(2000)).unwrap();
        let second_at = second.at();
        let other = Arc::clone(&limiter);
        let there = thread::spawn(move || other.acquire(at(2000)).unwrap().at());
        limiter.cancel(second);
        let there = there.join().unwrap();
        let here = limiter.acquire(at(2000)).unwrap().at();
        // Before or after the cancellation: one has the place that was given up, one a later one.
        let (early, late) = (there.min(here), there.max(here));
        assert_eq!(early, second_at);
        assert!(late >= at(6000), "{late:?}");
        drop(first);
    });
}

#[test]
fn no_answer_is_lost_from_the_measure() {
    loom::model(|| {
        let limiter = Arc::new(RateLimiter::new(AdaptiveRate::cubic()));
        limiter.on_success(at(0));
        let other = Arc::clone(&limiter);
        // The slot of the first two ends with the third.
        let there = thread::spawn(move || other.on_success(at(100)));
        limiter.on_success(at(200));
        there.join().unwrap();
        limiter.on_success(at(500));
        assert!((limiter.measured() - 0.8 * 4.0 / 0.5).abs() < 1e-9);
    });
}

#[test]
fn an_answer_beside_the_end_of_a_slot_counts_in_one_of_the_two() {
    loom::model(|| {
        let limiter = Arc::new(RateLimiter::new(AdaptiveRate::cubic()));
        limiter.on_success(at(0));
        let other = Arc::clone(&limiter);
        let there = thread::spawn(move || other.on_success(at(499)));
        limiter.on_success(at(500));
        there.join().unwrap();
        limiter.on_success(at(1000));
        let measured = limiter.measured();
        // Three in the first slot and one in the second, or two in each.
        let smoothed = |first, second| 0.8 * second / 0.5 + 0.2 * 0.8 * first / 0.5;
        let fits = |expected: f64| (measured - expected).abs() < 1e-9;
        assert!(
            fits(smoothed(3.0, 1.0)) || fits(smoothed(2.0, 2.0)),
            "{measured}"
        );
    });
}

#[test]
fn the_first_throttle_beside_calls_leaves_a_state_that_fits_together() {
    loom::model(|| {
        let limiter = Arc::new(RateLimiter::new(AdaptiveRate::cubic()));
        let other = Arc::clone(&limiter);
        let there = thread::spawn(move || other.on_throttle(at(0)));
        // Not limited yet, or the first to wait.
        let here = limiter.acquire(at(0)).unwrap().at();
        there.join().unwrap();
        let next = limiter.acquire(at(0)).unwrap().at();
        if here == at(0) {
            assert!(next >= at(2000) && next < at(2001), "{next:?}");
        } else {
            assert!(here >= at(2000) && next >= at(4000), "{here:?} {next:?}");
        }
    });
}
