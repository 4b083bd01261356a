//! What are the latencies of the last half minute, while many threads record them?

use core::time::Duration;

use super::buckets;
use super::survival::{self, Count};
use crate::duration::nanos;
use crate::sync::{AtomicU32, AtomicU64, Flag, Ordering};
use crate::time::Instant;

/// The latencies of a window that moves: lock-free, 8 KiB, nothing on the heap.
///
/// A quantile is within a sixteenth (6.25 %) of the exact one from 1 us to 4 min 35 s, and
/// typically within 1 %; shorter ones are told apart by 64 ns, longer ones not at all.
///
/// Two generations share the window. Each collects for half of it; then the older one is emptied
/// and collects anew. So a latency counts for at least half the window and at most all of it.
///
/// Each recorded latency is counted once. The exceptions: a thread that is stopped in the middle
/// of recording for more than half the window, or that meets the first recording after a pause of
/// that length, may lose its one latency, or have it counted as a later one.
#[derive(Debug)]
#[repr(align(128))] // what all threads read shares no cache line with what a neighbour writes
pub struct Latencies {
    /// When the collecting generation ends, in even nanoseconds, and which one it is, in the last
    /// bit.
    turn: AtomicU64,
    /// How long a generation collects, in nanoseconds.
    length: AtomicU64,
    /// Held while a thread empties a generation or reads all.
    busy: Flag,
    generations: [Generation; 2],
}

#[derive(Debug)]
#[repr(align(128))]
struct Generation {
    ended: Buckets,
    cut_off: Buckets,
}

type Buckets = [AtomicU32; buckets::COUNT];

impl Generation {
    fn new() -> Self {
        Self {
            ended: core::array::from_fn(|_| AtomicU32::new(0)),
            cut_off: core::array::from_fn(|_| AtomicU32::new(0)),
        }
    }

    fn clear(&self) {
        for bucket in self.ended.iter().chain(&self.cut_off) {
            // Taken away, not overwritten: what comes in between stays.
            let count = bucket.load(Ordering::Relaxed);
            if count > 0 {
                bucket.fetch_sub(count, Ordering::Relaxed);
            }
        }
    }
}

/// Another thread is at it.
pub(super) struct Busy;

impl Latencies {
    /// No latencies yet; each will count for at most this time.
    pub fn new(window: Duration) -> Self {
        Self {
            turn: AtomicU64::new(0),
            length: AtomicU64::new(generation_of(window)),
            busy: Flag::default(),
            generations: [Generation::new(), Generation::new()],
        }
    }

    /// Lets latencies count for another time, and keeps what is there; a window cut to less than
    /// half forgets.
    pub fn reconfigure(&self, window: Duration) {
        self.length.store(generation_of(window), Ordering::Relaxed);
    }

    /// An attempt has ended by itself, after `took`.
    #[inline]
    pub fn record(&self, now: Instant, took: Duration) {
        let bucket = buckets::of(nanos(took));
        self.collecting(now).ended[bucket].fetch_add(1, Ordering::Relaxed);
    }

    /// An attempt was cut off after `elapsed`: it would have taken at least as long.
    ///
    /// It counts as one of those that were still running then, and not as one that ended: at or
    /// below `elapsed` the quantiles are as they would be had it been left to run, and above they
    /// are estimated from those that were (Kaplan-Meier).
    pub fn record_at_least(&self, now: Instant, elapsed: Duration) {
        let bucket = buckets::of(nanos(elapsed));
        self.collecting(now).cut_off[bucket].fetch_add(1, Ordering::Relaxed);
    }

    /// The latency that this share of attempts does not exceed, such as 0.95; `None` until
    /// `min_samples` of the window have ended by themselves, and in the moment in which another
    /// thread reads or turns the window.
    ///
    /// Reads all counts, which takes about a microsecond: ask now and then, not per call.
    #[cfg(any(test, becalm_loom))]
    pub fn quantile(&self, now: Instant, quantile: f64, min_samples: u32) -> Option<Duration> {
        self.look(now, quantile, min_samples).unwrap_or(None)
    }

    /// The quantile, for callers that keep the last answer while another thread computes it.
    pub(super) fn look(
        &self,
        now: Instant,
        quantile: f64,
        min_samples: u32,
    ) -> Result<Option<Duration>, Busy> {
        // One at a time: a generation that is half emptied has a quantile of its own.
        let _alone = self.busy.try_hold().ok_or(Busy)?;
        self.turn_if_due(now);
        let count = |bucket: usize| {
            let sum = |of: fn(&Generation) -> &Buckets| {
                let generations = self.generations.iter();
                generations
                    .map(|it| u64::from(of(it)[bucket].load(Ordering::Relaxed)))
                    .sum()
            };
            Count {
                ended: sum(|generation| &generation.ended),
                cut_off: sum(|generation| &generation.cut_off),
            }
        };
        let found = survival::quantile(count, quantile, u64::from(min_samples));
        Ok(found.map(Duration::from_nanos))
    }

    /// The generation that collects now.
    #[inline]
    fn collecting(&self, now: Instant) -> &Generation {
        // Acquire: what is counted in a generation comes after its emptying.
        let mut turn = self.turn.load(Ordering::Acquire);
        // At the end, past it and too far before it are all too large.
        let left = end_of(turn).wrapping_sub(now.as_nanos());
        if left.wrapping_sub(1) >= self.length.load(Ordering::Relaxed) {
            turn = self.turn(now);
        }
        &self.generations[index_of(turn)]
    }

    #[cold]
    #[inline(never)]
    fn turn(&self, now: Instant) -> u64 {
        if self.is_due(self.turn.load(Ordering::Relaxed), now) {
            // A caller that finds another thread at it goes on with the generation that there is.
            if let Some(_alone) = self.busy.try_hold() {
                self.turn_if_due(now);
            }
        }
        self.turn.load(Ordering::Acquire)
    }

    /// Whether the collecting generation has ended, or ends so late that the clock must have gone
    /// back. Not for a thread that is behind the one that turned, by less than a generation.
    fn is_due(&self, turn: u64, now: Instant) -> bool {
        let end = end_of(turn);
        let length = self.length.load(Ordering::Relaxed);
        now.as_nanos() >= end || end - now.as_nanos() > 2 * length
    }

    /// Only for who holds `busy`.
    fn turn_if_due(&self, now: Instant) {
        let turn = self.turn.load(Ordering::Relaxed);
        if !self.is_due(turn, now) {
            return;
        }
        let (end, length) = (end_of(turn), self.length.load(Ordering::Relaxed));
        let now = now.as_nanos();
        let follows = now >= end && now - end < length;
        let start = if follows { end } else { now };
        let next = 1 - index_of(turn);
        self.generations[next].clear();
        let turn = start.saturating_add(length) & !1 | next as u64;
        self.turn.store(turn, Ordering::Release);
        if !follows {
            // Nothing came for so long that this one is over, too.
            self.generations[1 - next].clear();
        }
    }
}

/// Half a window, so that an end and a length twice as long still fit into the word.
fn generation_of(window: Duration) -> u64 {
    (nanos(window) / 2).clamp(2, u64::MAX / 4)
}

fn end_of(turn: u64) -> u64 {
    turn & !1
}

fn index_of(turn: u64) -> usize {
    usize::from(turn & 1 == 1)
}
