//! Conformance, *Spread*, 1: do clients that failed at the same instant come back apart?
#![cfg(feature = "std")]

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake};
use std::time::Duration;

use crate::spread_bounds::spreading;
use becalm::rng::Seed;
use becalm::time::FakeSleeper;
use becalm::{Budget, Jitter, Policy, Retrier};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn busy() -> std::io::Error {
    std::io::ErrorKind::TimedOut.into()
}

/// The most arrivals in one millisecond, and how many arrived in all.
fn fullest_millisecond(arrivals: &[Duration]) -> (usize, usize) {
    let mut by_millisecond = BTreeMap::<u128, usize>::new();
    for arrival in arrivals {
        *by_millisecond.entry(arrival.as_millis()).or_default() += 1;
    }
    let fullest = by_millisecond.into_values().max();
    (fullest.unwrap_or(0), arrivals.len())
}

/// When the second attempts of 1000 calls arrive that failed at the same instant.
async fn next_wave(retrier: &Retrier) -> Vec<Duration> {
    let start = retrier.sleeper().now();
    let arrivals = Arc::new(Mutex::new(Vec::new()));
    let calls: FuturesUnordered<_> = (0..1000)
        .map(|_| {
            let arrivals = arrivals.clone();
            retrier.retry(move |attempt| {
                let now = retrier.sleeper().now();
                if attempt.number() == 2 {
                    arrivals.lock().expect("no panic").push(now.since(start));
                } else {
                    assert_eq!(now, start, "all fail at the same instant");
                }
                std::future::ready(if attempt.number() == 1 {
                    Err(busy())
                } else {
                    Ok(())
                })
            })
        })
        .collect();
    assert!(calls.all(|result| async move { result.is_ok() }).await);
    let arrivals = arrivals.lock().expect("no panic");
    arrivals.clone()
}

/// A millisecond of U(0, 100 ms) holds 1 % on the average; the narrowest window here has 2 %, and
/// 5 % of 1000 calls is more than six standard deviations above that. The seeds are fixed.
#[test]
fn conformance_01_no_millisecond_of_the_next_wave_holds_more_than_5_percent() {
    for jitter in spreading() {
        for tick in [Duration::ZERO, ms(1)] {
            for seed in 0..5 {
                let policy = Policy::exponential(ms(100))
                    .jitter(jitter)
                    .budget(Budget::None);
                let clock = FakeSleeper::new().with_tick(tick);
                let builder = policy.builder().sleeper(clock.clone());
                let retrier = builder
                    .seed(Seed::fixed(seed))
                    .build()
                    .expect("a valid policy");
                let arrivals = drive(&clock, next_wave(&retrier));
                let (fullest, all) = fullest_millisecond(&arrivals);
                assert_eq!(all, 1000);
                assert!(fullest <= 50, "{jitter}, tick {tick:?}: {fullest}");
            }
        }
    }
}

/// Runs a future to its end, moving the clock when all that is left to do is to wait.
fn drive<T>(clock: &FakeSleeper, future: impl Future<Output = T>) -> T {
    let woken = Arc::new(Woken(AtomicBool::new(true)));
    let waker = woken.clone().into();
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        while woken.0.swap(false, Ordering::Relaxed) {
            if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
                return value;
            }
        }
        clock.advance_to_next().expect("somebody waits");
    }
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A wave spreads on tokio's clock, with the default sleeper and real entropy.
#[cfg(feature = "tokio")]
#[tokio::test(start_paused = true)]
async fn conformance_01_in_tokio_on_its_paused_clock() {
    let retrier = Policy::default().budget(Budget::None).retrier();
    let arrivals = next_wave(&retrier.expect("a valid policy")).await;
    let (fullest, all) = fullest_millisecond(&arrivals);
    assert_eq!(all, 1000);
    assert!(fullest <= 50, "{fullest}");
}

/// Without jitter the herd is whole: the test above can fail.
#[test]
fn conformance_01_without_jitter_all_arrive_at_once() {
    let policy = Policy::exponential(ms(100))
        .jitter(Jitter::None)
        .budget(Budget::None);
    let clock = FakeSleeper::new();
    let retrier = policy.builder().sleeper(clock.clone()).build();
    let arrivals = drive(&clock, next_wave(&retrier.expect("a valid policy")));
    assert_eq!(fullest_millisecond(&arrivals), (1000, 1000));
}
