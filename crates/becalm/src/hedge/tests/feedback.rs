//! Does the live quantile stay where it belongs when the hedges that it starts cancel the very
//! attempts that it is made of?
//!
//! An open loop in virtual time: 2000 calls a second, hedged at the live quantile; the first copy
//! to end wins and the others are cancelled. The true quantile is known, for every first copy's
//! whole latency is drawn beforehand, also that of a loser.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use crate::hedge::{Hedge, Hedging};
use crate::rng::{Random, SplitMix64};
use crate::time::Instant;

/// Between two calls.
const EVERY: Duration = Duration::from_micros(500);
const PER_SECOND: u64 = 2000;
const WINDOW: u64 = 30 * PER_SECOND;

/// How long an attempt takes.
type Service = fn(&mut SplitMix64) -> f64;

/// From 0 to 1.
#[expect(clippy::cast_precision_loss, reason = "53 bits")]
fn unit(random: &mut SplitMix64) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// In milliseconds, p95 95; the product of many factors is log-normal, near enough.
fn log_normal(random: &mut SplitMix64) -> f64 {
    (0..12).fold(10.0, |took, _| took * (0.6 + unit(random)))
}

/// In milliseconds, log-normal, and one in 25 hangs for half a second or more.
fn with_stragglers(random: &mut SplitMix64) -> f64 {
    if unit(random) < 0.04 {
        500.0 + 1000.0 * unit(random)
    } else {
        log_normal(random)
    }
}

/// More hang than a p95 leaves out.
fn with_many_stragglers(random: &mut SplitMix64) -> f64 {
    if unit(random) < 0.08 {
        400.0 + 200.0 * unit(random)
    } else {
        5.0 + 10.0 * unit(random)
    }
}

fn slowed_down(random: &mut SplitMix64) -> f64 {
    4.0 * log_normal(random)
}

#[expect(
    clippy::cast_sign_loss,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss
)]
fn true_quantile(service: Service, quantile: f64) -> Duration {
    let mut random = SplitMix64::new(99);
    let mut all: Vec<f64> = (0..300_000).map(|_| service(&mut random)).collect();
    all.sort_unstable_by(f64::total_cmp);
    Duration::from_secs_f64(all[(quantile * all.len() as f64) as usize] / 1e3)
}

/// What is recorded of an attempt.
#[derive(Clone, Copy, PartialEq)]
enum Record {
    /// Its first copy: how long it took, or how long it ran at least.
    FirstCopy,
    /// Whichever copy won, by its own latency: the obvious thing to do, for contrast.
    Winner,
}

struct World {
    hedging: Hedging,
    record: Record,
    random: SplitMix64,
    now: Instant,
    /// When it ends, how long it took, and whether it was cut off then.
    under_way: BinaryHeap<Reverse<(Instant, Duration, bool)>>,
    hedged: u64,
}

impl World {
    fn new(hedge: Hedge, record: Record) -> Self {
        Self {
            hedging: Hedging::new(hedge),
            record,
            random: SplitMix64::new(3),
            now: Instant::ZERO,
            under_way: BinaryHeap::new(),
            hedged: 0,
        }
    }

    fn calls(&mut self, calls: u64, service: Service) {
        for _ in 0..calls {
            self.now = self.now.after(EVERY);
            while let Some(&Reverse((end, took, cut_off))) = self.under_way.peek() {
                if end > self.now {
                    break;
                }
                self.under_way.pop();
                if cut_off {
                    self.hedging.record_at_least(end, took);
                } else {
                    self.hedging.record(end, took);
                }
            }
            self.call(service);
        }
    }

    fn call(&mut self, service: Service) {
        let delay = self.hedging.delay(self.now);
        let first = Duration::from_secs_f64(service(&mut self.random) / 1e3);
        let mut winner = (first, first);
        if let Some(delay) = delay {
            let mut starts = Duration::ZERO;
            for copy in 0..self.hedging.copies() {
                starts += delay;
                if winner.0 <= starts {
                    break;
                }
                self.hedged += u64::from(copy == 0);
                let took = Duration::from_secs_f64(service(&mut self.random) / 1e3);
                winner = winner.min((starts + took, took));
            }
        }
        let (end, own) = winner;
        let (took, cut_off) = match self.record {
            Record::FirstCopy => (end, end < first),
            Record::Winner => (own, false),
        };
        self.under_way
            .push(Reverse((self.now.after(end), took, cut_off)));
    }

    /// How far the live delay is from this one, in parts of it.
    fn off(&self, expected: Duration) -> f64 {
        let delay = self.hedging.delay(self.now).expect("enough latencies");
        delay.as_secs_f64() / expected.as_secs_f64() - 1.0
    }

    /// The hedged share of these calls.
    fn share_of(&mut self, calls: u64, service: Service) -> f64 {
        self.hedged = 0;
        self.calls(calls, service);
        share(self.hedged, calls)
    }
}

#[expect(clippy::cast_precision_loss, reason = "at most a million")]
fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

/// Runs a window to warm up, then this many thousand calls.
fn stays(service: Service, hedge: Hedge, quantile: f64, thousands: u64, tolerance: f64) {
    let mut world = World::new(hedge, Record::FirstCopy);
    let expected = true_quantile(service, quantile);
    world.calls(WINDOW, service);
    let (mut worst, mut sum, mut hedged) = (0.0_f64, 0.0, 0);
    for _ in 0..thousands {
        world.share_of(1000, service);
        hedged += world.hedged;
        worst = worst.max(world.off(expected).abs());
        sum += world.off(expected);
    }
    let mean = sum / share(thousands, 1);
    let hedged = share(hedged, thousands * 1000);
    assert!(mean.abs() < tolerance / 4.0, "{hedge}: off by {mean}");
    assert!(worst < tolerance, "{hedge}: off by up to {worst}");
    let off = hedged / (1.0 - quantile) - 1.0;
    assert!(
        off.abs() < 0.03,
        "{hedge}: {hedged} of the calls are hedged"
    );
}

#[test]
fn over_a_million_calls_the_p95_is_the_true_one_and_a_twentieth_is_hedged() {
    stays(log_normal, Hedge::at_quantile(0.95), 0.95, 1000, 0.04);
}

#[test]
fn so_it_is_with_other_quantiles_more_copies_and_stragglers() {
    for (service, quantile, copies, tolerance) in [
        (log_normal as Service, 0.95, 2, 0.04),
        (log_normal, 0.5, 1, 0.03),
        (log_normal, 0.99, 1, 0.06),
        // Few attempts end about here: a thousandth more of them is far along the clock.
        (with_stragglers, 0.95, 1, 0.16),
        (with_stragglers, 0.9, 3, 0.04),
    ] {
        let hedge = Hedge::at_quantile(quantile).copies(copies);
        stays(service, hedge, quantile, 200, tolerance);
    }
}

/// The obvious recording closes a loop: what is slow is cancelled, so it is not seen, so less is
/// called slow.
#[test]
fn with_winners_alone_the_quantile_shrinks_and_hedges_multiply() {
    for (service, shrunk) in [(log_normal as Service, -0.25), (with_stragglers, -0.5)] {
        let mut world = World::new(Hedge::at_quantile(0.95), Record::Winner);
        world.calls(WINDOW, service);
        let hedged = world.share_of(WINDOW, service);
        let off = world.off(true_quantile(service, 0.95));
        assert!(off < shrunk, "only {off}");
        assert!(hedged > 0.09, "only {hedged} are hedged instead of 0.05");
    }
}

#[test]
fn where_more_hang_than_the_quantile_leaves_out_it_climbs_to_them_and_no_further() {
    let mut world = World::new(Hedge::at_quantile(0.95), Record::FirstCopy);
    let expected = true_quantile(with_many_stragglers, 0.95);
    world.calls(WINDOW / 2, with_many_stragglers);
    for _ in 0..10 {
        let hedged = world.share_of(WINDOW / 5, with_many_stragglers);
        let off = world.off(expected);
        assert!(off.abs() < 0.05, "off by {off}");
        assert!((0.04..0.06).contains(&hedged), "{hedged} are hedged");
    }
    // A bound keeps the delay where a hedge still helps.
    let bounded = Hedge::at_quantile(0.95).max(Duration::from_millis(30));
    let mut world = World::new(bounded, Record::FirstCopy);
    world.calls(WINDOW / 10, with_many_stragglers);
    let hedged = world.share_of(WINDOW, with_many_stragglers);
    assert!((0.075..0.085).contains(&hedged), "{hedged} are hedged");
}

#[test]
fn it_follows_a_service_that_slows_down_and_recovers_within_the_window() {
    let mut world = World::new(Hedge::at_quantile(0.95), Record::FirstCopy);
    world.calls(WINDOW, log_normal);
    for service in [slowed_down as Service, log_normal] {
        let expected = true_quantile(service, 0.95);
        world.calls(PER_SECOND, service);
        let off = world.off(expected);
        assert!(off.abs() > 0.2, "after a second it is off by {off} only");
        world.calls(WINDOW, service);
        let off = world.off(expected);
        assert!(off.abs() < 0.05, "after a window it is off by {off}");
    }
}
