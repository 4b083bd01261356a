//! How is a limit shared, with what it has learned?

use core::time::Duration;

use super::learned::{Learned, Window, within};
use super::{Aimd, Gradient, Limit};
use crate::duration::nanos;
use crate::sync::Packed;
use crate::time::Instant;

/// A limit with what it has learned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Lesson {
    pub limit: Limit,
    pub state: Learned,
}

impl Lesson {
    /// The word that says which kind of limit it is.
    pub const KIND: usize = 0;
    pub const FIXED: u64 = 0;
    const AIMD: u64 = 1;
    const GRADIENT: u64 = 2;

    /// Goes on under this configuration: what a limit of the same kind has learned stays, within
    /// the bounds.
    pub fn reconfigure(&mut self, limit: Limit) {
        let is_same = core::mem::discriminant(&self.limit) == core::mem::discriminant(&limit);
        if is_same {
            let (min, max) = limit.bounds();
            self.state.limit = within(self.state.limit, min, max);
            if self.state.is_probing() {
                self.state.held = within(self.state.held, min, max);
            }
        } else {
            self.state = Learned::start(limit.initial());
        }
        self.limit = limit;
    }
}

/// Of the configuration, `initial` has been used.
impl Packed<14> for Lesson {
    fn words(&self) -> [u64; 14] {
        let Self { limit, state } = self;
        let (kind, factor, time, probe) = match limit {
            Limit::Fixed(_) => (Self::FIXED, 0.0, None, 0),
            Limit::Aimd(aimd) => (Self::AIMD, aimd.backoff, aimd.slow, 0),
            Limit::Gradient(it) => {
                let probe = nanos(it.probe);
                (Self::GRADIENT, it.tolerance, Some(it.window), probe)
            }
        };
        let (min, max) = limit.bounds();
        [
            kind,
            pair(min, max),
            factor.to_bits(),
            time.map_or(0, nanos),
            probe,
            state.limit.to_bits(),
            state.since.as_nanos(),
            state.held.to_bits(),
            state.baseline,
            state.probe_at.as_nanos(),
            state.window.opened.as_nanos(),
            pair(state.window.completed, state.window.dropped),
            state.window.sum,
            u64::from(state.window.peak),
        ]
    }

    fn of_words(words: [u64; 14]) -> Self {
        let [
            kind,
            bounds,
            factor,
            time,
            probe,
            limit,
            since,
            ref rest @ ..,
        ] = words;
        let [held, baseline, probe_at, opened, calls, sum, peak] = *rest;
        let ((min, max), (completed, dropped)) = (unpair(bounds), unpair(calls));
        let (initial, factor, time) = (min, f64::from_bits(factor), Duration::from_nanos(time));
        let config = match kind {
            Self::AIMD => Limit::Aimd(Aimd {
                initial,
                min,
                max,
                backoff: factor,
                slow: (!time.is_zero()).then_some(time),
            }),
            Self::GRADIENT => Limit::Gradient(Gradient {
                initial,
                min,
                max,
                tolerance: factor,
                window: time,
                probe: Duration::from_nanos(probe),
            }),
            _ => Limit::Fixed(max),
        };
        let state = Learned {
            limit: f64::from_bits(limit),
            since: Instant::from_nanos(since),
            held: f64::from_bits(held),
            baseline,
            probe_at: Instant::from_nanos(probe_at),
            window: Window {
                opened: Instant::from_nanos(opened),
                completed,
                dropped,
                sum,
                peak: unpair(peak).1,
            },
        };
        Self {
            limit: config,
            state,
        }
    }
}

fn pair(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn unpair(word: u64) -> (u32, u32) {
    #[expect(clippy::cast_possible_truncation)]
    let halves = ((word >> 32) as u32, word as u32);
    halves
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every field with a value of its own.
    #[test]
    fn nothing_is_lost_or_mixed_up_among_the_words() {
        let at = Instant::from_nanos;
        let aimd = Aimd {
            initial: 2,
            min: 2,
            max: 3,
            backoff: 0.4,
            slow: Some(Duration::from_nanos(5)),
        };
        let gradient = Gradient {
            initial: 8,
            min: 8,
            max: 9,
            tolerance: 1.5,
            window: Duration::from_nanos(11),
            probe: Duration::from_nanos(12),
        };
        let state = Learned {
            limit: 13.5,
            held: 14.5,
            baseline: 15,
            probe_at: at(16),
            since: at(17),
            window: Window {
                opened: at(18),
                completed: 19,
                dropped: 20,
                sum: 21,
                peak: 22,
            },
        };
        for limit in [
            Limit::Fixed(1),
            Limit::Aimd(aimd),
            Limit::Aimd(Aimd { slow: None, ..aimd }),
            Limit::Gradient(gradient),
        ] {
            let lesson = Lesson { limit, state };
            assert_eq!(Lesson::of_words(lesson.words()), lesson);
        }
    }
}
