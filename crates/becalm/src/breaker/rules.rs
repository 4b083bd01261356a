//! Which figures are in force, so that they can change under running calls?

use core::time::Duration;

use super::config::{Breaker, Refuses, Span, Trip};
use crate::duration::nanos;
use crate::rng::uniform;
use crate::sync::{AtomicU64, MILLION, Ordering, millionths};

/// How failures are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Consecutive,
    Calls,
    Time,
}

/// One of a breaker's figures.
#[derive(Debug, Clone, Copy)]
pub(super) enum Figure {
    Kind,
    /// Nanoseconds; `u64::MAX` for none.
    Slow,
    /// Failures in a row, or millionths of the calls.
    Threshold,
    MinCalls,
    /// Calls, or nanoseconds.
    Span,
    /// Nanoseconds.
    Open,
    /// Nanoseconds.
    OpenMax,
    /// Millionths.
    Jitter,
    Probes,
    Successes,
    /// 1 where it refuses retries alone.
    Refuses,
}

/// A breaker's figures, read-only on every path but a reload's.
#[derive(Debug, Default)]
pub(super) struct Rules {
    /// Odd while a reload changes the others.
    version: AtomicU64,
    figures: [AtomicU64; 11],
}

impl Rules {
    pub(super) fn of(breaker: &Breaker) -> Self {
        let rules = Self::default();
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
        for (figure, value) in [
            (Figure::Kind, kind),
            (Figure::Slow, slow),
            (Figure::Threshold, threshold),
            (Figure::MinCalls, u64::from(breaker.min_calls)),
            (Figure::Span, span),
            (Figure::Open, nanos(breaker.open)),
            (Figure::OpenMax, nanos(breaker.open_max)),
            (Figure::Jitter, millionths(breaker.jitter)),
            (Figure::Probes, u64::from(breaker.probes)),
            (Figure::Successes, u64::from(breaker.successes)),
            (
                Figure::Refuses,
                u64::from(breaker.refuses == Refuses::Retries),
            ),
        ] {
            self.figures[figure as usize].store(value, Ordering::Release);
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
    pub(super) fn get(&self, figure: Figure) -> u64 {
        self.figures[figure as usize].load(Ordering::Acquire)
    }

    pub(super) fn time(&self, figure: Figure) -> Duration {
        Duration::from_nanos(self.get(figure))
    }

    #[inline]
    pub(super) fn kind(&self) -> Kind {
        match self.get(Figure::Kind) {
            0 => Kind::Consecutive,
            1 => Kind::Calls,
            _ => Kind::Time,
        }
    }

    /// Whether so many failures in a row open it.
    pub(super) fn trips_in_a_row(&self, failures: u64) -> bool {
        failures >= self.get(Figure::Threshold)
    }

    /// Whether so many failures of so many calls open it.
    pub(super) fn trips_by_share(&self, failures: u64, calls: u64) -> bool {
        let share = u128::from(self.get(Figure::Threshold));
        calls >= self.get(Figure::MinCalls)
            && u128::from(failures) * u128::from(MILLION) >= share * u128::from(calls)
    }

    /// How long the `level`-th opening in a row lasts (from 1), by these random bits.
    pub(super) fn open_time(&self, level: u8, bits: u64) -> u64 {
        let doubled = 1_u64
            .checked_shl(u32::from(level.saturating_sub(1)))
            .unwrap_or(u64::MAX);
        let longest = self.get(Figure::OpenMax);
        let ceiling = self.get(Figure::Open).saturating_mul(doubled).min(longest);
        let jitter = u128::from(self.get(Figure::Jitter));
        #[expect(clippy::cast_possible_truncation, reason = "a part of the ceiling")]
        let swing = (u128::from(ceiling) * jitter / u128::from(MILLION)) as u64;
        uniform(&mut || bits, ceiling.saturating_sub(swing), ceiling)
    }
}
