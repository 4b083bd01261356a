//! Does periodic work keep its period, and does a fleet stay spread?
#![cfg(feature = "std")]

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use becalm::interval::{InvalidInterval, splay_with};
use becalm::rng::{Seed, SplitMix64};
use becalm::time::{Cancel, FakeSleeper, Sleeper};
use becalm::{
    interval::{JitteredInterval, splay},
    time::Instant,
};

const PERIOD: Duration = Duration::from_secs(10);
const SHARE: f64 = 0.2;

fn interval() -> JitteredInterval {
    JitteredInterval::with_share(PERIOD, SHARE).unwrap()
}

/// How many of the samples fall into each tenth of the span.
fn tenths(samples: impl Iterator<Item = Duration>, span: Duration) -> [u32; 10] {
    let mut counts = [0; 10];
    for sample in samples {
        let tenth = sample.as_nanos() * 10 / (span.as_nanos() + 1);
        counts[usize::try_from(tenth).unwrap()] += 1;
    }
    counts
}

/// Five standard deviations of the count in one tenth.
fn assert_even(counts: [u32; 10]) {
    let mean = f64::from(counts.iter().sum::<u32>()) / 10.0;
    let tolerance = 5.0 * (mean * 0.9).sqrt();
    for count in counts {
        assert!((f64::from(count) - mean).abs() < tolerance, "{counts:?}");
    }
}

#[test]
fn a_fleet_that_starts_together_is_spread_over_one_period() {
    let first = (0..10_000)
        .map(|client| interval().next_delay(Instant::ZERO, &mut SplitMix64::new(client)));
    assert_even(tenths(first, PERIOD));
}

#[test]
fn gaps_lie_around_the_period_and_their_mean_is_the_period() {
    let (mut ticks, mut random) = (interval(), SplitMix64::new(7));
    let mut now = Instant::ZERO.after(ticks.next_delay(Instant::ZERO, &mut random));
    let start = now;
    let mut gaps = Vec::new();
    for _ in 0..10_000 {
        let gap = ticks.next_delay(now, &mut random);
        assert!(
            gap >= PERIOD.mul_f64(0.8) && gap <= PERIOD.mul_f64(1.2),
            "{gap:?}"
        );
        gaps.push(gap.saturating_sub(PERIOD.mul_f64(0.8)));
        now = now.after(gap);
    }
    assert_even(tenths(gaps.into_iter(), PERIOD.mul_f64(0.4)));
    // The deviation of a uniform gap is share x period / sqrt(3); of the mean, a hundredth of it.
    let mean = now.since(start).as_secs_f64() / 10_000.0;
    let deviation = SHARE * PERIOD.as_secs_f64() / 3.0_f64.sqrt() / 100.0;
    assert!(
        (mean - PERIOD.as_secs_f64()).abs() < 5.0 * deviation,
        "{mean}"
    );
}

#[test]
fn neither_the_work_nor_a_late_timer_moves_the_ticks() {
    let schedule = |busy: Duration| {
        let (mut ticks, mut random) = (interval(), SplitMix64::new(3));
        let mut now = Instant::ZERO;
        let due = std::iter::repeat_with(|| {
            let due = now.after(ticks.next_delay(now, &mut random));
            now = due.after(busy);
            due
        });
        due.take(100).collect::<Vec<_>>()
    };
    assert_eq!(schedule(Duration::ZERO), schedule(Duration::from_secs(7)));
}

#[test]
fn missed_ticks_are_skipped_and_not_bunched() {
    let (mut ticks, mut random) = (interval(), SplitMix64::new(5));
    let mut now = Instant::ZERO;
    let mut delays = Vec::new();
    for _ in 0..1_000 {
        let delay = ticks.next_delay(now, &mut random);
        delays.push(delay);
        // The work takes three periods and a half every time.
        now = now.after(delay).after(PERIOD * 7 / 2);
    }
    assert_even(tenths(delays.into_iter(), PERIOD));
}

#[test]
fn a_fleet_that_stalled_together_goes_on_apart() {
    let stall_ends = Instant::ZERO.after(PERIOD * 100);
    let after = (0..10_000).map(|client| {
        let (mut ticks, mut random) = (interval(), SplitMix64::new(client));
        ticks.next_delay(Instant::ZERO, &mut random);
        ticks.next_delay(stall_ends, &mut random)
    });
    assert_even(tenths(after, PERIOD));
}

#[test]
fn clients_in_step_drift_apart() {
    // With the same first tick, as if an exact timer had aligned them.
    let after_100 = (0..10_000).map(|client| {
        let mut ticks = interval();
        let mut now = Instant::ZERO.after(ticks.next_delay(Instant::ZERO, &mut || 0));
        let mut random = SplitMix64::new(client);
        for _ in 0..100 {
            now = now.after(ticks.next_delay(now, &mut random));
        }
        Duration::from_nanos(now.as_nanos() % 10_000_000_000)
    });
    // Their phases have a deviation of 1.15 periods by now: no tenth of the period is empty.
    let counts = tenths(after_100, PERIOD);
    assert!(counts.iter().all(|count| *count > 500), "{counts:?}");
}

#[test]
fn what_cannot_be_kept_is_refused() {
    assert_eq!(
        JitteredInterval::new(Duration::ZERO),
        Err(InvalidInterval::Zero)
    );
    assert_eq!(
        JitteredInterval::new(Duration::MAX),
        Err(InvalidInterval::TooLong)
    );
    for share in [0.0, -0.1, 1.1, f64::NAN, f64::INFINITY] {
        assert_eq!(
            JitteredInterval::with_share(PERIOD, share),
            Err(InvalidInterval::Share)
        );
        let splayed = splay_with(PERIOD, share, &mut || 0);
        assert_eq!(splayed, Err(InvalidInterval::Share));
    }
    for reason in [
        InvalidInterval::Zero,
        InvalidInterval::TooLong,
        InvalidInterval::Share,
    ] {
        assert!(reason.to_string().contains(';'), "{reason}");
    }
}

#[test]
fn the_extremes_do_not_panic() {
    for period in [Duration::from_nanos(1), Duration::from_nanos(u64::MAX / 2)] {
        for bits in [0, u64::MAX] {
            let mut ticks = JitteredInterval::with_share(period, 1.0).unwrap();
            for now in [Instant::ZERO, Instant::NEVER, Instant::ZERO] {
                ticks.next_delay(now, &mut || bits);
            }
        }
    }
}

#[tokio::test]
async fn the_async_ticker_waits_for_each_tick() {
    let clock = FakeSleeper::auto();
    let mut ticker = interval().ticker_on(clock.clone(), Seed::fixed(1));
    for _ in 0..100 {
        ticker.tick().await;
    }
    let slept = clock.slept();
    assert_eq!(slept.len(), 100);
    assert!(slept[0] <= PERIOD);
    assert!(
        slept[1..].iter().all(|gap| *gap >= PERIOD.mul_f64(0.8)),
        "{slept:?}"
    );
    assert_eq!(clock.now().since(Instant::ZERO), slept.iter().sum());
}

#[test]
fn the_blocking_ticker_keeps_the_same_schedule() {
    let schedule = |tick: fn(&mut becalm::interval::Ticker)| {
        let clock = FakeSleeper::auto();
        let mut ticker = interval().ticker_on(clock.clone(), Seed::fixed(9));
        (0..20).for_each(|_| tick(&mut ticker));
        clock.slept()
    };
    let blocking = schedule(|ticker| assert!(ticker.tick_blocking(None)));
    let asynchronous = schedule(|ticker| {
        let polled = pin!(ticker.tick()).poll(&mut Context::from_waker(Waker::noop()));
        assert_eq!(polled, Poll::Ready(()));
    });
    assert_eq!(blocking, asynchronous);
}

#[test]
fn a_dropped_tick_is_waited_for_again() {
    let clock = FakeSleeper::new();
    let mut ticker = interval().ticker_on(clock.clone(), Seed::fixed(2));
    let mut context = Context::from_waker(Waker::noop());
    assert_eq!(pin!(ticker.tick()).poll(&mut context), Poll::Pending);
    let due = clock.slept()[0];
    clock.advance(due / 2);
    assert_eq!(pin!(ticker.tick()).poll(&mut context), Poll::Pending);
    assert_eq!(clock.slept()[1], due.saturating_sub(due / 2));
    clock.advance(due);
    assert_eq!(pin!(ticker.tick()).poll(&mut context), Poll::Ready(()));
}

#[test]
fn a_cancelled_blocking_tick_does_not_tick() {
    let cancel = Cancel::new();
    cancel.cancel();
    let mut ticker = interval().ticker_on(FakeSleeper::new(), Seed::fixed(4));
    assert!(!ticker.tick_blocking(Some(&cancel)));
}

#[test]
fn two_tickers_of_one_process_are_not_in_step() {
    let first = || {
        let clock = FakeSleeper::auto();
        interval()
            .ticker_on(clock.clone(), Seed::entropy())
            .tick_blocking(None);
        clock.slept()[0]
    };
    let firsts: Vec<_> = (0..20).map(|_| first()).collect();
    let mut distinct = firsts.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), firsts.len(), "{firsts:?}");
}

#[test]
fn a_splayed_expiry_is_spread_and_never_late() {
    let ttl = Duration::from_secs(300);
    let early = (0..10_000).map(|entry| {
        let splayed = splay_with(ttl, 0.5, &mut SplitMix64::new(entry)).unwrap();
        assert!(splayed >= ttl / 2 && splayed <= ttl, "{splayed:?}");
        splayed.saturating_sub(ttl / 2)
    });
    assert_even(tenths(early, ttl / 2));
    assert_eq!(
        splay_with(Duration::ZERO, 0.5, &mut || 1),
        Ok(Duration::ZERO)
    );
    assert!((0..100).all(|_| (ttl * 9 / 10..=ttl).contains(&splay(ttl))));
}
