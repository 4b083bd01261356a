//! Which figures are in force, so that they can change under running calls?

use super::config::{Breaker, Span, Trip};
use crate::atomic::{AtomicU64, Ordering};
use crate::duration::nanos;
use crate::rng::uniform;

/// How failures are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Consecutive,
    Calls,
    Time,
}

/// A breaker's figures, read-only on every path but a reload's.
#[derive(Debug)]
pub(super) struct Rules {
    /// Odd while a reload changes the others.
    version: AtomicU64,
    kind: AtomicU64,
    /// Nanoseconds; `u64::MAX` for none.
    slow: AtomicU64,
    /// Failures in a row, or millionths of the calls.
    threshold: AtomicU64,
    min_calls: AtomicU64,
    /// Calls, or nanoseconds.
    span: AtomicU64,
    open: AtomicU64,
    open_max: AtomicU64,
    /// Millionths.
    jitter: AtomicU64,
    probes: AtomicU64,
    successes: AtomicU64,
}

impl Rules {
    pub(super) fn of(breaker: &Breaker) -> Self {
        let zero = || AtomicU64::new(0);
        let rules = Self {
            version: zero(),
            kind: zero(),
            slow: zero(),
            threshold: zero(),
            min_calls: zero(),
            span: zero(),
            open: zero(),
            open_max: zero(),
            jitter: zero(),
            probes: zero(),
            successes: zero(),
        };
        rules.store(breaker);
        rules
    }

    /// Changes all figures; `begin_anew` ends the counts that were made under the old ones.
    ///
    /// Two at once must be kept apart by the caller.
    pub(super) fn change(&self, breaker: &Breaker, begin_anew: impl FnOnce()) {
        self.version.fetch_add(1, Ordering::SeqCst);
        self.store(breaker);
        begin_anew();
        self.version.fetch_add(1, Ordering::SeqCst);
    }

    fn store(&self, breaker: &Breaker) {
        let (kind, threshold, span) = match breaker.trip {
            Trip::Consecutive(failures) => (0, u64::from(failures), 0),
            Trip::Share { share, window } => match window {
                Span::Calls(calls) => (1, millionths(share), u64::from(calls)),
                Span::Time(time) => (2, millionths(share), nanos(time)),
            },
        };
        let slow = breaker.slow.map_or(u64::MAX, nanos);
        for (place, value) in [
            (&self.kind, kind),
            (&self.slow, slow),
            (&self.threshold, threshold),
            (&self.min_calls, u64::from(breaker.min_calls)),
            (&self.span, span),
            (&self.open, nanos(breaker.open)),
            (&self.open_max, nanos(breaker.open_max)),
            (&self.jitter, millionths(breaker.jitter)),
            (&self.probes, u64::from(breaker.probes)),
            (&self.successes, u64::from(breaker.successes)),
        ] {
            place.store(value, Ordering::Release);
        }
    }

    /// The version before a decision; `None` while a reload is in progress. What is read between it
    /// and an equal [`is`](Self::is) belongs together.
    pub(super) fn version(&self) -> Option<u64> {
        let version = self.version.load(Ordering::SeqCst);
        (version % 2 == 0).then_some(version)
    }

    /// Whether this version still is in force.
    pub(super) fn is(&self, version: u64) -> bool {
        self.version.load(Ordering::SeqCst) == version
    }

    #[inline]
    pub(super) fn kind(&self) -> Kind {
        match self.kind.load(Ordering::Acquire) {
            0 => Kind::Consecutive,
            1 => Kind::Calls,
            _ => Kind::Time,
        }
    }

    /// Nanoseconds; `u64::MAX` for none.
    #[inline]
    pub(super) fn slow(&self) -> u64 {
        self.slow.load(Ordering::Acquire)
    }

    /// Calls, or nanoseconds.
    #[inline]
    pub(super) fn span(&self) -> u64 {
        self.span.load(Ordering::Acquire)
    }

    pub(super) fn min_calls(&self) -> u64 {
        self.min_calls.load(Ordering::Acquire)
    }

    /// Whether so many failures in a row open it.
    pub(super) fn trips_in_a_row(&self, failures: u64) -> bool {
        failures >= self.threshold.load(Ordering::Acquire)
    }

    /// Whether so many failures of so many calls open it.
    pub(super) fn trips_by_share(&self, failures: u64, calls: u64) -> bool {
        let share = u128::from(self.threshold.load(Ordering::Acquire));
        calls >= self.min_calls()
            && u128::from(failures) * u128::from(MILLION) >= share * u128::from(calls)
    }

    pub(super) fn probes(&self) -> u64 {
        self.probes.load(Ordering::Acquire)
    }

    pub(super) fn successes(&self) -> u64 {
        self.successes.load(Ordering::Acquire)
    }

    /// Nanoseconds.
    pub(super) fn open(&self) -> u64 {
        self.open.load(Ordering::Acquire)
    }

    /// Nanoseconds.
    pub(super) fn open_max(&self) -> u64 {
        self.open_max.load(Ordering::Acquire)
    }

    /// How long the `level`-th opening in a row lasts (from 1), by these random bits.
    pub(super) fn open_time(&self, level: u8, bits: u64) -> u64 {
        let doubled = 1_u64
            .checked_shl(u32::from(level.saturating_sub(1)))
            .unwrap_or(u64::MAX);
        let ceiling = self.open().saturating_mul(doubled).min(self.open_max());
        let jitter = u128::from(self.jitter.load(Ordering::Acquire));
        #[expect(clippy::cast_possible_truncation, reason = "a part of the ceiling")]
        let swing = (u128::from(ceiling) * jitter / u128::from(MILLION)) as u64;
        uniform(&mut || bits, ceiling.saturating_sub(swing), ceiling)
    }
}

const MILLION: u64 = 1_000_000;

/// Rounded to the nearest, so that 0.3 is exactly 300 000.
fn millionths(share: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let millionths = (share * 1e6 + 0.5) as u64;
    millionths.min(MILLION)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0.000249 x 10^6 is a little less than 249 in binary.
    #[test]
    fn a_share_is_kept_to_the_millionth_that_was_written() {
        for share in 1..=MILLION {
            #[expect(clippy::cast_precision_loss, reason = "at most a million")]
            let written = share as f64 / 1e6;
            assert_eq!(millionths(written), share);
        }
    }
}
