//! Are the quantiles of the moving window those of the exact samples?

use std::time::Duration;

use crate::hedge::{Hedge, Hedging, latency::Latencies};
use crate::rng::{Random, SplitMix64};
use crate::time::Instant;

const WINDOW: Duration = Duration::from_secs(30);

fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// From 100 ns to 100 s: each power of two as likely as any other.
fn any_latency(random: &mut SplitMix64) -> u64 {
    let power = random.next_u64() % 30;
    let base = 100_u64 << power;
    base + random.next_u64() % base
}

/// The slow one, obviously right: every sample with its generation; those of this generation and
/// the one before count.
struct Exact {
    generation: u64,
    samples: Vec<(u64, u64)>,
}

impl Exact {
    fn record(&mut self, now: Instant, nanos: u64) {
        self.samples.push((now.as_nanos() / self.generation, nanos));
    }

    fn sorted(&mut self, now: Instant) -> Vec<u64> {
        let this = now.as_nanos() / self.generation;
        self.samples
            .retain(|(generation, _)| generation + 1 >= this);
        let mut sorted: Vec<u64> = self.samples.iter().map(|(_, nanos)| *nanos).collect();
        sorted.sort_unstable();
        sorted
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "at most a million samples"
)]
fn quantile_of(sorted: &[u64], quantile: f64) -> f64 {
    let rank = (quantile * sorted.len() as f64 - 1e-6).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1] as f64
}

#[expect(clippy::cast_precision_loss, reason = "below 2^52")]
fn nanos(duration: Duration) -> f64 {
    duration.as_nanos() as f64
}

#[test]
fn over_a_million_samples_it_is_within_a_sixteenth_of_the_exact_quantile() {
    let latencies = Latencies::new(WINDOW);
    let mut exact = Exact {
        generation: 15_000_000_000,
        samples: Vec::new(),
    };
    let mut random = SplitMix64::new(11);
    let mut now = Instant::ZERO;
    let mut compared = 0;
    for step in 1..=1_000_000 {
        // Ten thousand a second or so; now and then a pause, of up to two windows.
        let pause = if random.next_u64() % 50_000 == 0 {
            random.next_u64() % 60_000_000_000
        } else {
            random.next_u64() % 200_000
        };
        now = now.after(Duration::from_nanos(pause));
        let took = any_latency(&mut random);
        latencies.record(now, Duration::from_nanos(took));
        exact.record(now, took);
        if step % 20_000 == 0 {
            let sorted = exact.sorted(now);
            for q in [0.5, 0.9, 0.95, 0.99, 0.999] {
                let expected = quantile_of(&sorted, q);
                let found = nanos(latencies.quantile(now, q, 1).expect("samples"));
                let error = (found - expected).abs();
                assert!(
                    error <= expected / 16.0 || error <= 64.0,
                    "step {step}, p{q}: {found} instead of {expected}"
                );
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 250);
}

/// Counts exactly: with a minimum of n samples there is a quantile, with n + 1 there is none.
fn count(latencies: &Latencies, now: Instant) -> u32 {
    let (mut there, mut none) = (0, 1 << 20);
    while there + 1 < none {
        let middle = u32::midpoint(there, none);
        match latencies.quantile(now, 0.5, middle) {
            Some(_) => there = middle,
            None => none = middle,
        }
    }
    there
}

#[test]
fn a_latency_counts_for_half_the_window_and_no_longer_than_all_of_it() {
    for offset in [0, 1, 7_000, 14_999] {
        let latencies = Latencies::new(WINDOW);
        latencies.record(at(0), ms(5));
        latencies.record(at(offset), ms(5));
        let there = count(&latencies, at(offset + 14_999));
        assert!(there >= 1, "at {offset}");
        assert_eq!(count(&latencies, at(offset + 30_000)), 0, "at {offset}");
    }
    let latencies = Latencies::new(WINDOW);
    for second in 0..300 {
        latencies.record(at(second * 1_000), ms(5));
        let there = u64::from(count(&latencies, at(second * 1_000)));
        let bounds = (second + 1).min(15)..=30;
        assert!(bounds.contains(&there), "{there} after {second} s");
    }
}

#[test]
fn a_turn_that_comes_late_lets_nothing_count_longer() {
    let latencies = Latencies::new(WINDOW);
    latencies.record(at(0), ms(5));
    latencies.record(at(29_900), ms(5)); // turns half a window late, nearly
    assert_eq!(count(&latencies, at(29_999)), 2);
    assert_eq!(count(&latencies, at(30_000)), 1);
}

#[test]
fn after_a_pause_nothing_old_is_left() {
    for pause in [30_000, 30_001, 45_000, 1_000_000_000] {
        let latencies = Latencies::new(WINDOW);
        for second in 0..20 {
            latencies.record(at(second * 1_000), ms(5));
        }
        let now = at(19_000 + pause);
        latencies.record(now, ms(900));
        assert_eq!(count(&latencies, now), 1, "after {pause} ms");
    }
}

#[test]
fn the_ends_of_what_a_number_can_be() {
    let latencies = Latencies::new(WINDOW);
    latencies.record(at(0), Duration::ZERO);
    let lowest = latencies.quantile(at(0), 0.5, 1).expect("a sample");
    assert!(lowest <= Duration::from_nanos(64), "{lowest:?}");
    latencies.record(at(0), Duration::MAX);
    latencies.record(at(0), Duration::MAX);
    latencies.record_at_least(at(0), Duration::MAX);
    let highest = latencies.quantile(at(0), 1.0, 1).expect("a sample");
    assert_eq!(highest, Duration::from_nanos(1 << 38));
    // The end of time, twice, and a window without a length.
    latencies.record(Instant::NEVER, ms(1));
    latencies.record(Instant::NEVER, ms(1));
    for window in [Duration::ZERO, Duration::MAX] {
        let latencies = Latencies::new(window);
        for now in [Instant::ZERO, Instant::NEVER, at(5)] {
            latencies.record(now, ms(1));
            let _ = latencies.quantile(now, 0.5, 1);
        }
    }
}

#[test]
fn a_thread_that_is_a_moment_behind_turns_nothing_back() {
    let latencies = Latencies::new(WINDOW);
    for second in 0..16 {
        latencies.record(at(second * 1_000), ms(5)); // the last one turns the window
    }
    for _ in 0..10 {
        latencies.record(at(14_999), ms(5));
        latencies.record(at(15_000), ms(5));
    }
    assert_eq!(count(&latencies, at(15_001)), 36);
}

#[test]
fn a_clock_that_goes_back_starts_the_window_anew() {
    let latencies = Latencies::new(WINDOW);
    for _ in 0..200 {
        latencies.record(at(1_000_000), ms(700));
    }
    for step in 0..200 {
        latencies.record(at(step), ms(5));
    }
    assert_eq!(count(&latencies, at(200)), 200);
    let hedging = Hedging::new(Hedge::at_quantile(0.95));
    for now in [at(1_000_000), at(0)] {
        (0..200).for_each(|_| hedging.record(now, ms(700)));
        assert!(hedging.delay(now).is_some());
    }
    (0..20_000).for_each(|_| hedging.record(at(400), ms(5)));
    let delay = hedging.delay(at(400)).expect("enough");
    assert!(delay < ms(6), "{delay:?} is that of another time");
}

#[test]
fn another_window_keeps_what_still_counts_in_it() {
    let latencies = Latencies::new(WINDOW);
    latencies.record(at(0), ms(5));
    latencies.reconfigure(Duration::from_secs(60));
    latencies.record(at(16_000), ms(5));
    latencies.record(at(44_000), ms(5));
    assert_eq!(count(&latencies, at(44_000)), 3);
    latencies.reconfigure(Duration::from_secs(4));
    latencies.record(at(50_000), ms(5));
    assert_eq!(count(&latencies, at(50_000)), 1);
}

#[test]
fn two_threads_lose_no_latency() {
    let latencies = Latencies::new(WINDOW);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for step in 0..100_000_u64 {
                    latencies.record(at(step / 10), ms(1 + step % 50)); // ten seconds
                }
            });
        }
    });
    assert_eq!(count(&latencies, at(10_000)), 200_000);
}

#[test]
fn the_delay_is_the_quantile_between_its_bounds_once_there_are_enough() {
    let hedge = Hedge::at_quantile(0.9).copies(2);
    let after = |hedge: Hedge, took: Duration, calls: u32| {
        let hedging = Hedging::new(hedge);
        (0..calls).for_each(|_| hedging.record(at(1), took));
        assert!(hedging.reads_clock());
        hedging.delay(at(1))
    };
    assert_eq!(after(hedge, ms(20), 99), None);
    let delay = after(hedge, ms(20), 100).expect("enough");
    assert!(delay.abs_diff(ms(20)) < ms(2), "{delay:?}");
    assert_eq!(after(hedge.min(ms(30)), ms(20), 100), Some(ms(30)));
    assert_eq!(after(hedge.max(ms(15)), ms(20), 100), Some(ms(15)));
    assert_eq!(after(hedge.min_samples(101), ms(20), 100), None);
    assert!(after(hedge.min_samples(1), ms(20), 50).is_some());
}

#[test]
fn a_delay_is_renewed_soon_and_not_at_every_call() {
    let hedging = Hedging::new(Hedge::at_quantile(0.5));
    (0..100).for_each(|_| hedging.record(at(0), ms(20)));
    let before = hedging.delay(at(0)).expect("enough");
    (0..1000).for_each(|_| hedging.record(at(1), ms(90)));
    assert_eq!(hedging.delay(at(234)), Some(before)); // 30 s / 128
    let renewed = hedging.delay(at(235)).expect("enough");
    assert!(renewed.abs_diff(ms(90)) < ms(6), "{renewed:?}");
    assert_eq!(hedging.delay(at(60_000)), None, "all of it is over");
}

#[test]
fn a_reload_takes_over_at_once() {
    let hedging = Hedging::new(Hedge::after(ms(50)).copies(3));
    assert!(!hedging.reads_clock());
    assert_eq!(
        (hedging.delay(Instant::ZERO), hedging.copies()),
        (Some(ms(50)), 3)
    );
    hedging.record(at(0), ms(20)); // nobody wants it
    hedging.reconfigure(Some(Hedge::at_quantile(0.5).min_samples(10)));
    assert!(hedging.reads_clock());
    assert_eq!((hedging.delay(at(0)), hedging.copies()), (None, 1));
    (0..9).for_each(|_| hedging.record(at(0), ms(20)));
    assert_eq!(hedging.delay(at(300)), None);
    hedging.record(at(0), ms(20));
    assert!(hedging.delay(at(600)).is_some());
    hedging.reconfigure(Some(Hedge::at_quantile(0.5).min_samples(10).min(ms(70))));
    assert_eq!(hedging.delay(at(600)), Some(ms(70)));
    hedging.reconfigure(None);
    assert_eq!((hedging.delay(at(600)), hedging.copies()), (None, 0));
    hedging.reconfigure(Some(Hedge::after(Duration::ZERO)));
    assert_eq!(hedging.delay(at(600)), Some(Duration::ZERO));
}

#[test]
fn a_hedge_out_of_range_saturates_instead_of_panicking() {
    for hedge in [
        Hedge::after(Duration::MAX).copies(u32::MAX),
        Hedge::at_quantile(f64::NAN),
        Hedge::at_quantile(1.0).window(Duration::MAX),
        Hedge::at_quantile(f64::INFINITY).window(Duration::ZERO),
        Hedge::at_quantile(-1.0)
            .min(Duration::MAX)
            .max(Duration::ZERO),
    ] {
        let hedging = Hedging::new(hedge);
        for now in [Instant::ZERO, at(5), Instant::NEVER, at(1)] {
            hedging.record(now, Duration::MAX);
            hedging.record_at_least(now, Duration::ZERO);
            let _ = hedging.delay(now);
        }
    }
}

#[test]
fn it_fits_into_eight_kibibytes() {
    assert!(size_of::<Hedging>() <= 8192, "{}", size_of::<Hedging>());
}
