//! Is randomness independent where it is drawn, and reproducible where it is injected? Law 3.
#![cfg(feature = "std")]

use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use becalm::rng::{Random, Seed, SplitMix64};
use becalm::time::FakeSleeper;
use becalm::{Budget, Policy, Retrier, Scope};

fn hourly() -> Policy {
    let hour = Duration::from_secs(3600);
    Policy::fixed(hour).cap(hour).budget(Budget::None)
}

fn with(seed: Seed) -> Retrier {
    let builder = hourly().builder().sleeper(FakeSleeper::auto()).seed(seed);
    builder.build().expect("a valid policy")
}

/// The delays of one failing call.
fn fail(retrier: &Retrier) -> Vec<Duration> {
    let busy = || io::Error::from(io::ErrorKind::TimedOut);
    let gave_up = retrier.retry_blocking(|_| Err::<(), _>(busy()));
    let gave_up = gave_up.expect_err("it always fails");
    let delays: Vec<_> = gave_up
        .records()
        .map(|record| record.delay)
        .skip(1)
        .collect();
    assert_eq!(delays.len(), 3);
    delays
}

/// The delays of this many failing calls.
fn delays(retrier: &Retrier, calls: usize) -> Vec<Duration> {
    (0..calls).flat_map(|_| fail(retrier)).collect()
}

fn distinct<T: std::hash::Hash + Eq>(all: impl IntoIterator<Item = T>) -> usize {
    all.into_iter().collect::<HashSet<_>>().len()
}

#[test]
fn an_injected_seed_gives_the_same_delays_again_and_another_seed_others() {
    let run = |seed| delays(&with(Seed::fixed(seed)), 20);
    assert_eq!(run(7), run(7));
    assert_eq!(distinct((0..50).flat_map(run)), 50 * 60);
}

#[test]
fn a_given_source_is_asked_for_every_draw_and_for_no_other() {
    let asked = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&asked);
    let retrier = with(Seed::given(move || {
        // The lower and the upper half of the interval in turn.
        counter.fetch_add(1, Ordering::Relaxed) << 63
    }));
    let half = Duration::from_secs(1800);
    let turns = |first: u64| (first..).map(move |turn| half * u32::from(turn % 2 == 1));
    assert!(delays(&retrier, 2).into_iter().eq(turns(0).take(6)));
    assert_eq!(asked.load(Ordering::Relaxed), 6);
    assert_eq!(retrier.random(), SplitMix64::new(0));
    assert_eq!(asked.load(Ordering::Relaxed), 7);
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
    let (retrier, other) = (with(Seed::entropy()), with(Seed::entropy()));
    let mut all = delays(&retrier, 100);
    all.extend(delays(&retrier.clone(), 100));
    all.extend(delays(&other, 100));
    assert_eq!(distinct(&all), 900);
}

/// A seeded retrier hands each stream to one call, whichever thread fails.
#[test]
fn threads_that_fail_at_once_share_no_stream() {
    let retrier = with(Seed::fixed(7));
    let all = std::thread::scope(|threads| {
        let started: Vec<_> = (0..4)
            .map(|_| threads.spawn(|| delays(&retrier, 100)))
            .collect();
        let ended = started
            .into_iter()
            .map(|thread| thread.join().expect("no panic"));
        ended.flatten().collect::<Vec<_>>()
    });
    assert_eq!(distinct(all), 4 * 100 * 3);
}

/// Calls beside it leave no trace in a call's own stream.
#[test]
fn a_call_draws_from_its_own_stream_whatever_goes_on_beside_it() {
    let alone = fail(&with(Seed::fixed(7)));
    let retrier = with(Seed::fixed(7));
    let gave_up = retrier.retry_blocking(|attempt| {
        // From the second attempt on the call has its stream; others fail in its midst.
        if attempt.number() > 1 {
            Scope::NONE.enter(|| fail(&retrier));
        }
        Err::<(), _>(io::Error::from(io::ErrorKind::TimedOut))
    });
    let gave_up = gave_up.expect_err("it always fails");
    let disturbed = gave_up.records().map(|record| record.delay).skip(1);
    assert!(disturbed.eq(alone));
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
