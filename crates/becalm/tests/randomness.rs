//! Is randomness independent where it is drawn, and reproducible where it is injected? Law 3.
#![cfg(feature = "std")]

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm::rng::{Random, Seed, SplitMix64};
use becalm::time::FakeSleeper;
use becalm::{Budget, Policy, Retrier};

fn hourly() -> Policy {
    let hour = Duration::from_secs(3600);
    Policy::fixed(hour).cap(hour).budget(Budget::None)
}

fn with(seed: Seed) -> (Retrier, FakeSleeper) {
    let clock = FakeSleeper::auto();
    let builder = hourly().builder().sleeper(clock.clone()).seed(seed);
    (builder.build().expect("a valid policy"), clock)
}

fn fail(retrier: &Retrier) {
    let busy = || io::Error::from(io::ErrorKind::TimedOut);
    let gave_up = retrier.retry_blocking(|_| Err::<(), _>(busy()));
    assert_eq!(gave_up.expect_err("it always fails").attempts(), 4);
}

/// The delays of this many failing calls.
fn delays(retrier: &Retrier, clock: &FakeSleeper, calls: usize) -> Vec<Duration> {
    let before = clock.slept().len();
    (0..calls).for_each(|_| fail(retrier));
    clock.slept().split_off(before)
}

fn distinct<T: std::hash::Hash + Eq>(all: impl IntoIterator<Item = T>) -> usize {
    all.into_iter().collect::<HashSet<_>>().len()
}

#[test]
fn an_injected_seed_gives_the_same_delays_again_and_another_seed_others() {
    let run = |seed| {
        let (retrier, clock) = with(Seed::fixed(seed));
        delays(&retrier, &clock, 20)
    };
    assert_eq!(run(7), run(7));
    assert_eq!(distinct((0..50).flat_map(run)), 50 * 60);
}

/// Seeds that differ by a bit, calls that follow each other: all streams are apart from the start.
#[test]
fn every_call_of_a_seeded_retrier_has_a_stream_of_its_own() {
    let mut first = Vec::new();
    for seed in [0, 1, 2, u64::MAX, 1 << 32, 1 << 63] {
        let seed = Seed::fixed(seed);
        first.extend((0..10_000).map(|_| seed.stream().next_u64()));
    }
    assert_eq!(distinct(first), 60_000);
}

#[test]
fn without_a_seed_no_call_no_retrier_and_no_clone_repeats_another() {
    let (retrier, clock) = with(Seed::entropy());
    let (other, other_clock) = with(Seed::entropy());
    let mut all = delays(&retrier, &clock, 100);
    all.extend(delays(&retrier.clone(), &clock, 100));
    all.extend(delays(&other, &other_clock, 100));
    assert_eq!(distinct(&all), 900);
}

/// A seeded retrier hands each stream to one call, whichever thread fails.
#[test]
fn threads_that_fail_at_once_share_no_stream() {
    let (retrier, clock) = with(Seed::fixed(7));
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| (0..100).for_each(|_| fail(&retrier)));
        }
    });
    assert_eq!(distinct(clock.slept()), 4 * 100 * 3);
}

/// Calls beside it leave no trace in a call's own stream.
#[test]
fn a_call_draws_from_its_own_stream_whatever_goes_on_beside_it() {
    let alone = {
        let (retrier, clock) = with(Seed::fixed(7));
        delays(&retrier, &clock, 1)
    };
    let (retrier, clock) = with(Seed::fixed(7));
    let slept_outside = Arc::new(Mutex::new(Vec::new()));
    let mut number = 0;
    let gave_up = retrier.retry_blocking(|_| {
        number += 1;
        // From the second attempt on the call has its stream; others fail in its midst.
        if number > 1 {
            let before = clock.slept();
            slept_outside
                .lock()
                .expect("no panic")
                .push(*before.last().expect("a wait"));
            becalm::Scope::NONE.enter(|| fail(&retrier));
        }
        Err::<(), _>(io::Error::from(io::ErrorKind::TimedOut))
    });
    assert_eq!(gave_up.expect_err("it always fails").attempts(), 4);
    assert_eq!(*slept_outside.lock().expect("no panic"), alone);
}

/// Each bit of a stream, and each bit of the first word of neighbouring streams, is set half the
/// time: four standard errors of 20 000 throws are 1.4 %.
#[test]
fn no_bit_is_loaded() {
    let seed = Seed::fixed(7);
    let mut one = SplitMix64::new(7);
    let sources: [&mut dyn FnMut() -> u64; 2] =
        [&mut || one.next_u64(), &mut || seed.stream().next_u64()];
    for source in sources {
        let mut set = [0_u32; 64];
        for _ in 0..20_000 {
            let word = source();
            for (bit, count) in set.iter_mut().enumerate() {
                *count += u32::from(word >> bit & 1 == 1);
            }
        }
        let fair = set.iter().all(|count| (9_720..=10_280).contains(count));
        assert!(fair, "{set:?}");
    }
}
