//! When does the next copy start?

use core::time::Duration;

use super::config::{Hedge, HedgeDelay, QuantileDelay};
use super::latency::Latencies;
use crate::duration::nanos;
use crate::sync::{AtomicU32, AtomicU64, Ordering};
use crate::time::Instant;

/// No delay: do not hedge.
const NONE: u64 = u64::MAX;
/// The delay follows the latencies.
const LIVE: u64 = u64::MAX - 1;
/// A live delay is renewed this many times in half a window.
const RENEWALS: u64 = 64;

/// The state of hedging that all calls to one dependency share: lock-free, below 8 KiB, so its
/// owner boxes it.
///
/// The engine asks for the [delay](Self::delay) when an attempt starts, and records how it ended:
/// **one** record for each attempt that may be hedged, of its first copy, by
/// [`record`](Self::record) if that one succeeded, and by
/// [`record_at_least`](Self::record_at_least) if it failed, timed out or was cancelled, be it
/// because a hedge won. The latencies of hedges are not recorded: they would weigh slow moments
/// twice.
#[derive(Debug)]
#[repr(align(128))]
pub struct Hedging {
    /// The fixed delay in nanoseconds, `NONE` or `LIVE`.
    delay: AtomicU64,
    /// The quantile as it was last renewed, in nanoseconds, or `NONE`.
    live: AtomicU64,
    renew_at: AtomicU64,
    renew_every: AtomicU64,
    /// The bits of an `f64`.
    quantile: AtomicU64,
    min: AtomicU64,
    max: AtomicU64,
    samples_needed: AtomicU32,
    copies: AtomicU32,
    latencies: Latencies,
}

impl Hedging {
    /// Hedging as configured, without latencies yet.
    ///
    /// Values out of range saturate: [`Hedge::validate`] is where they are refused.
    pub fn new(hedge: Hedge) -> Self {
        let new = Self {
            delay: AtomicU64::new(NONE),
            live: AtomicU64::new(NONE),
            renew_at: AtomicU64::new(0),
            renew_every: AtomicU64::new(0),
            quantile: AtomicU64::new(0),
            min: AtomicU64::new(0),
            max: AtomicU64::new(NONE),
            samples_needed: AtomicU32::new(0),
            copies: AtomicU32::new(0),
            latencies: Latencies::new(QuantileDelay::default().window),
        };
        new.reconfigure(Some(hedge));
        new
    }

    /// Takes over another configuration, `None` to hedge no more, and keeps the latencies.
    ///
    /// Safe beside running calls. A live delay of the old configuration may be seen until the next
    /// renewal, a 128th of the window later. Two reloads at once must be kept apart by the caller.
    pub fn reconfigure(&self, hedge: Option<Hedge>) {
        let set = |field: &AtomicU64, value: u64| field.store(value, Ordering::Relaxed);
        let copies = hedge.map_or(0, |hedge| hedge.copies);
        self.copies.store(copies, Ordering::Relaxed);
        let delay = match hedge.map(|hedge| hedge.delay) {
            None => NONE,
            Some(HedgeDelay::After(delay)) => nanos(delay).min(LIVE - 1),
            Some(HedgeDelay::Quantile(delay)) => {
                set(&self.quantile, delay.quantile.to_bits());
                set(&self.min, nanos(delay.min));
                set(&self.max, delay.max.map_or(NONE, nanos));
                self.samples_needed
                    .store(delay.samples_needed(), Ordering::Relaxed);
                self.latencies.reconfigure(delay.window);
                set(&self.renew_every, nanos(delay.window) / (2 * RENEWALS));
                set(&self.live, NONE);
                set(&self.renew_at, 0);
                LIVE
            }
        };
        self.delay.store(delay, Ordering::Release);
    }

    /// How many copies may start beside the first one, at most.
    #[inline]
    pub fn copies(&self) -> u32 {
        self.copies.load(Ordering::Relaxed)
    }

    /// Whether the delay follows the latencies: then calls read the clock at start and end, and
    /// record. Otherwise nobody looks at their times, and they pass [`Instant::ZERO`].
    #[inline]
    pub fn reads_clock(&self) -> bool {
        self.delay.load(Ordering::Relaxed) == LIVE
    }

    /// How long after the start of one copy the next one starts; `None` for never: not configured,
    /// or too few latencies yet.
    #[inline]
    pub fn delay(&self, now: Instant) -> Option<Duration> {
        let mut delay = self.delay.load(Ordering::Acquire);
        if delay == LIVE {
            // Due, or so far ahead that the clock must have gone back, and not just be behind.
            let left = self
                .renew_at
                .load(Ordering::Relaxed)
                .wrapping_sub(now.as_nanos());
            if left.wrapping_sub(1) >= 2 * self.renew_every.load(Ordering::Relaxed) {
                self.renew(now);
            }
            delay = self.live.load(Ordering::Relaxed);
        }
        (delay != NONE).then(|| Duration::from_nanos(delay))
    }

    /// The first copy has succeeded, after `took`.
    #[inline]
    pub fn record(&self, now: Instant, took: Duration) {
        if self.reads_clock() {
            self.latencies.record(now, took);
        }
    }

    /// The first copy was cut off, or failed, after `elapsed`: how long its success would have
    /// taken is not known, only that it would have been longer.
    pub fn record_at_least(&self, now: Instant, elapsed: Duration) {
        if self.reads_clock() {
            self.latencies.record_at_least(now, elapsed);
        }
    }

    #[cold]
    #[inline(never)]
    fn renew(&self, now: Instant) {
        let at = self.renew_at.load(Ordering::Relaxed);
        let every = self.renew_every.load(Ordering::Relaxed);
        let next = now.as_nanos().saturating_add(every);
        let mine = self
            .renew_at
            .compare_exchange(at, next, Ordering::Relaxed, Ordering::Relaxed);
        if mine.is_err() {
            return;
        }
        let quantile = f64::from_bits(self.quantile.load(Ordering::Relaxed));
        let needed = self.samples_needed.load(Ordering::Relaxed);
        let Ok(live) = self.latencies.look(now, quantile, needed) else {
            return; // the next renewal will
        };
        let live = live.map_or(NONE, |live| {
            let (min, max) = (
                self.min.load(Ordering::Relaxed),
                self.max.load(Ordering::Relaxed),
            );
            nanos(live).max(min).min(max).min(LIVE - 1)
        });
        self.live.store(live, Ordering::Relaxed);
    }
}
