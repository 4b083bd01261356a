//! Every interleaving of threads on the window of latencies, by the model checker.
//!
//! Run with `RUSTFLAGS="--cfg becalm_loom" cargo test -p becalm --no-default-features --release
//! --test loom_hedge`.
#![cfg(becalm_loom)]

use std::time::Duration;

use becalm::hedge::Latencies;
use becalm::time::Instant;
use loom::sync::Arc;
use loom::thread;

const TOOK: Duration = Duration::from_nanos(100);

fn at(seconds: u64) -> Instant {
    Instant::from_nanos(seconds * 1_000_000_000)
}

/// A window of two generations of a second each, with these latencies in the first.
fn latencies(recorded: u32) -> Arc<Latencies> {
    let latencies = Arc::new(Latencies::new(Duration::from_secs(2)));
    (0..recorded).for_each(|_| latencies.record(at(0), TOOK));
    latencies
}

/// Exactly this many count: with one more there is no quantile.
fn count(latencies: &Latencies, now: Instant) -> u32 {
    (1..10)
        .take_while(|&n| latencies.quantile(now, 0.5, n).is_some())
        .last()
        .unwrap_or(0)
}

#[test]
fn none_is_lost_and_none_doubled_while_the_window_turns() {
    loom::model(|| {
        let latencies = latencies(1);
        let other = Arc::clone(&latencies);
        let there = thread::spawn(move || other.record(at(1), TOOK)); // turns
        latencies.record(at(1), TOOK); // turns
        there.join().unwrap();
        assert_eq!(count(&latencies, at(1)), 3);
    });
}

#[test]
fn one_that_is_behind_is_counted_beside_one_that_turns() {
    loom::model(|| {
        let latencies = latencies(1);
        let other = Arc::clone(&latencies);
        let there = thread::spawn(move || other.record(at(0), TOOK));
        latencies.record(at(1), TOOK);
        there.join().unwrap();
        assert_eq!(count(&latencies, at(1)), 3);
    });
}

#[test]
fn a_reader_keeps_nobody_from_recording() {
    loom::model(|| {
        let latencies = latencies(1);
        let other = Arc::clone(&latencies);
        let there = thread::spawn(move || other.record(at(1), TOOK));
        let seen = latencies.quantile(at(1), 0.5, 1);
        there.join().unwrap();
        // The other may be turning just now; what is there is never half of itself.
        assert!(seen.is_none_or(|seen| seen <= Duration::from_nanos(128)));
        assert_eq!(count(&latencies, at(1)), 2);
    });
}

#[test]
fn after_a_pause_at_most_the_one_under_way_is_lost() {
    loom::model(|| {
        let latencies = latencies(1);
        let other = Arc::clone(&latencies);
        let there = thread::spawn(move || other.record(at(9), TOOK));
        latencies.record(at(9), TOOK);
        there.join().unwrap();
        // The old one is gone; of the two new ones, one may have met the emptying.
        let there = count(&latencies, at(9));
        assert!(there == 1 || there == 2, "{there}");
    });
}
