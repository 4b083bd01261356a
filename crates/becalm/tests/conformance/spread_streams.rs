//! Conformance, *Spread*, 2: do two processes, or two threads, ever draw the same delays? (A forked
//! child has a test program of its own.)
#![cfg(feature = "std")]

use std::process::Command;
use std::time::Duration;

use becalm::rng::SplitMix64;
use becalm::time::FakeSleeper;
use becalm::{
    Budget, Failure, Policy, Retrier, Scope,
    call::{Call, CallOptions, Decision},
    time::Instant,
};

fn busy() -> std::io::Error {
    std::io::ErrorKind::TimedOut.into()
}

/// The delays of one failing call, drawn from real entropy out of an hour of nanoseconds: two that
/// are equal share a stream.
fn delays_of_a_call(retrier: &Retrier, clock: &FakeSleeper) -> Vec<Duration> {
    let before = clock.slept().len();
    let gave_up = retrier.retry_blocking(|_| Err::<(), _>(busy()));
    assert_eq!(gave_up.expect_err("it always fails").attempts(), 4);
    clock.slept().split_off(before)
}

fn hourly() -> (Retrier, FakeSleeper) {
    let clock = FakeSleeper::auto();
    let hour = Duration::from_secs(3600);
    let policy = Policy::fixed(hour).cap(hour).budget(Budget::None);
    let retrier = policy.builder().sleeper(clock.clone()).build();
    (retrier.expect("a valid policy"), clock)
}

fn assert_all_distinct(mut delays: Vec<Duration>) {
    let all = delays.len();
    delays.sort_unstable();
    delays.dedup();
    assert_eq!(delays.len(), all, "two streams are the same");
}

const CHILD: &str = "BECALM_TEST_PRINTS_ITS_DELAYS";

/// What a fresh process does first: the other half of the test below, which starts it.
#[test]
fn conformance_02_child() {
    if std::env::var_os(CHILD).is_some() {
        let (retrier, clock) = hourly();
        for delay in delays_of_a_call(&retrier, &clock) {
            println!("delay {}", delay.as_nanos());
        }
    }
}

#[test]
fn conformance_02_fresh_processes_never_have_the_same_first_delays() {
    let this = std::env::current_exe().expect("the test's own program");
    let delays = (0..8).flat_map(|_| {
        let child = Command::new(&this)
            .args([
                "--exact",
                "spread_streams::conformance_02_child",
                "--nocapture",
            ])
            .env(CHILD, "1")
            .output()
            .expect("a second process");
        let printed = String::from_utf8(child.stdout).expect("text");
        let delays: Vec<_> = printed
            .lines()
            .filter_map(|line| line.split_once("delay ")?.1.parse().ok())
            .map(Duration::from_nanos)
            .collect();
        assert_eq!(delays.len(), 3, "{printed}");
        delays
    });
    assert_all_distinct(delays.collect());
}

#[test]
fn conformance_02_threads_never_have_the_same_first_delays() {
    // Shared by all, a clone for each, and a retrier of its own for each.
    let (shared, _) = hourly();
    let draw = |own: bool| {
        move |retrier: Retrier| {
            let retrier = if own { hourly().0 } else { retrier };
            (0..50)
                .map(|_| {
                    let mut stream = retrier.random();
                    first_delay(&retrier, &mut stream)
                })
                .collect::<Vec<_>>()
        }
    };
    let delays = std::thread::scope(|threads| {
        let started: Vec<_> = (0..8)
            .map(|thread| {
                let retrier = shared.clone();
                let draw = draw(thread % 2 == 0);
                threads.spawn(move || draw(retrier))
            })
            .collect();
        let all = started
            .into_iter()
            .map(|thread| thread.join().expect("no panic"));
        all.flatten().collect()
    });
    assert_all_distinct(delays);
}

fn first_delay(retrier: &Retrier, stream: &mut SplitMix64) -> Duration {
    let now = Instant::ZERO;
    let mut call = Call::begin(retrier, CallOptions::new(), Scope::NONE, now);
    call.start(now, &mut || 0).expect("no deadline");
    match call.on_outcome(now, Failure::transient().into(), stream) {
        Decision::RetryIn(delay) => delay,
        other => panic!("{other:?}"),
    }
}
