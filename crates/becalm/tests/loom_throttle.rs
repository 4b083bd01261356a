//! Every interleaving of threads on the adaptive throttle, by the model checker.
//!
//! Run with `RUSTFLAGS="--cfg becalm_loom" cargo test -p becalm --no-default-features --release
//! --test loom_throttle`.
#![cfg(becalm_loom)]

use becalm::{
    Throttle,
    throttle::{AdaptiveThrottle, Priority},
    time::Instant,
};
use loom::sync::Arc;
use loom::thread;

const NOW: Instant = Instant::ZERO;
/// Has the fewest counts to look at.
const MOST: Priority = Priority::CriticalPlus;

/// K is 2 for the most critical: K - 1 is twice that of the default priority.
fn config() -> Throttle {
    Throttle::accepts(1.5)
}

fn throttle(rejected: u32) -> Arc<AdaptiveThrottle> {
    let throttle = AdaptiveThrottle::new(config());
    (0..rejected).for_each(|_| throttle.on_rejected(NOW, MOST));
    Arc::new(throttle)
}

/// (requests - 2 accepts) / (requests + 1).
fn assert_counts(throttle: &AdaptiveThrottle, requests: f64, accepts: f64) {
    let expected = (requests - 2.0 * accepts) / (requests + 1.0);
    let actual = throttle.probability(NOW, MOST);
    assert!(
        (actual - expected).abs() < 1e-12,
        "{actual} instead of {expected}"
    );
}

#[test]
fn no_outcome_is_lost() {
    loom::model(|| {
        let throttle = throttle(0);
        let other = Arc::clone(&throttle);
        let there = thread::spawn(move || {
            other.on_rejected(NOW, MOST);
            other.on_accepted(NOW, MOST);
        });
        throttle.on_rejected(NOW, MOST);
        throttle.on_rejected(NOW, MOST);
        there.join().unwrap();
        assert_counts(&throttle, 4.0, 1.0);
    });
}

#[test]
fn two_calls_that_are_shed_at_once_count_twice() {
    loom::model(|| {
        let throttle = throttle(1);
        let other = Arc::clone(&throttle);
        let there = thread::spawn(move || other.admit(NOW, MOST, || 0).is_err());
        let here = throttle.admit(NOW, MOST, || 0).is_err();
        assert!(here && there.join().unwrap());
        assert_counts(&throttle, 3.0, 0.0);
    });
}

#[test]
fn a_call_beside_an_accept_is_decided_by_counts_before_or_after_it() {
    loom::model(|| {
        let throttle = throttle(2);
        let other = Arc::clone(&throttle);
        let there = thread::spawn(move || other.on_accepted(NOW, MOST));
        // p = 2/3 before, 1/4 after; the bits stand for 0.5.
        let shed = throttle.admit(NOW, MOST, || 1 << 63);
        there.join().unwrap();
        match shed {
            Err(shed) => {
                assert!((shed.probability() - 2.0 / 3.0).abs() < 1e-12);
                assert_counts(&throttle, 4.0, 1.0);
            }
            Ok(()) => assert_counts(&throttle, 3.0, 1.0),
        }
    });
}

/// A reload that changes the window begins to count anew: what was under way is in the old counts,
/// which are gone, or in the new ones, never twice.
#[test]
fn a_reload_beside_an_outcome_counts_it_once_or_forgets_it() {
    loom::model(|| {
        let throttle = throttle(3);
        let other = Arc::clone(&throttle);
        let there = thread::spawn(move || other.on_rejected(NOW, MOST));
        throttle.reconfigure(config().within(std::time::Duration::from_secs(60)));
        there.join().unwrap();
        let left = throttle.probability(NOW, MOST);
        assert!(left < 1e-12 || (left - 0.5).abs() < 1e-12, "{left}");
    });
}
