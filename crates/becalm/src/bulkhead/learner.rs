//! How do many threads teach one limit without a lock?
//!
//! The state of an adaptive limit is a row of words that one call at a time may hold. A call that
//! finds them held goes on: one completed call less is no loss. That it was dropped must not be
//! lost; it leaves a note, which the next holder reads.

use core::time::Duration;

use super::aimd::AimdState;
use super::gradient::{GradientState, Window};
use super::{Aimd, Gradient, Limit, Outcome, Sample};
use crate::atomic::{AtomicU64, Ordering, spin_loop};
use crate::duration::nanos;
use crate::time::Instant;

const WORDS: usize = 13;

/// The state of a limit, shared.
#[derive(Debug)]
pub(super) struct Learner {
    /// 0 for a fixed limit, which learns nothing; read by every call.
    kind: AtomicU64,
    /// 1 while a call holds the words.
    held: AtomicU64,
    /// When the last dropped call began that found the words held, plus 1 ns; 0 for none.
    note: AtomicU64,
    words: [AtomicU64; WORDS],
}

/// A limit with what it has learned.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Lesson {
    Fixed(u32),
    Aimd(Aimd, AimdState),
    Gradient(Gradient, GradientState),
}

impl Learner {
    pub(super) fn new(limit: Limit) -> Self {
        let new = Self {
            kind: AtomicU64::new(0),
            held: AtomicU64::new(0),
            note: AtomicU64::new(0),
            words: core::array::from_fn(|_| AtomicU64::new(0)),
        };
        new.store(Lesson::begin(limit));
        new
    }

    /// Whether the end of a call teaches anything.
    #[inline]
    pub(super) fn is_adaptive(&self) -> bool {
        self.kind.load(Ordering::Relaxed) != FIXED
    }

    /// A call has ended while `in_flight` were running. `publish` is told the limit if it has
    /// changed, and no other change comes between.
    pub(super) fn learn(&self, sample: Sample, in_flight: u32, publish: impl FnOnce(u32)) {
        if !self.try_hold() {
            if sample.is_dropped() {
                let note = sample.began().as_nanos().saturating_add(1);
                self.note.fetch_max(note, Ordering::Relaxed);
            }
            return;
        }
        let before = self.load();
        let mut after = before;
        if self.note.load(Ordering::Relaxed) != 0 {
            let began = Instant::from_nanos(self.note.swap(0, Ordering::Relaxed) - 1);
            let dropped = Sample {
                took: sample.now.since(began),
                now: sample.now,
                outcome: Outcome::Dropped,
            };
            after = after.step(dropped, in_flight);
        }
        after = after.step(sample, in_flight);
        self.store(after);
        if after.limit() != before.limit() {
            publish(after.limit());
        }
        self.let_go();
    }

    /// Takes over another configuration. A limit of the same kind keeps what it has learned.
    pub(super) fn reconfigure(&self, limit: Limit, publish: impl FnOnce(u32)) {
        while !self.try_hold() {
            spin_loop();
        }
        let lesson = self.load().reconfigured(limit);
        self.store(lesson);
        publish(lesson.limit());
        self.let_go();
    }

    fn try_hold(&self) -> bool {
        self.held
            .compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    fn let_go(&self) {
        self.held.store(0, Ordering::Release);
    }

    fn load(&self) -> Lesson {
        let mut words = [0; WORDS];
        for (word, atomic) in words.iter_mut().zip(&self.words) {
            *word = atomic.load(Ordering::Relaxed);
        }
        Lesson::of_words(self.kind.load(Ordering::Relaxed), words)
    }

    fn store(&self, lesson: Lesson) {
        let (kind, words) = lesson.words();
        self.kind.store(kind, Ordering::Relaxed);
        for (word, atomic) in words.into_iter().zip(&self.words) {
            atomic.store(word, Ordering::Relaxed);
        }
    }
}

impl Lesson {
    fn begin(limit: Limit) -> Self {
        match limit {
            Limit::Fixed(limit) => Self::Fixed(limit),
            Limit::Aimd(aimd) => Self::Aimd(aimd, aimd.start()),
            Limit::Gradient(gradient) => Self::Gradient(gradient, gradient.start()),
        }
    }

    fn limit(&self) -> u32 {
        match self {
            Self::Fixed(limit) => *limit,
            Self::Aimd(_, state) => state.limit(),
            Self::Gradient(_, state) => state.limit(),
        }
    }

    fn step(self, sample: Sample, in_flight: u32) -> Self {
        match self {
            Self::Fixed(_) => self,
            Self::Aimd(aimd, state) => Self::Aimd(aimd, aimd.step(state, sample, in_flight)),
            Self::Gradient(gradient, state) => {
                Self::Gradient(gradient, gradient.step(state, sample, in_flight))
            }
        }
    }

    fn reconfigured(self, limit: Limit) -> Self {
        match (self, limit) {
            (Self::Aimd(_, state), Limit::Aimd(aimd)) => Self::Aimd(aimd, aimd.resume(state)),
            (Self::Gradient(_, state), Limit::Gradient(gradient)) => {
                Self::Gradient(gradient, gradient.resume(state))
            }
            _ => Self::begin(limit),
        }
    }
}

const FIXED: u64 = 0;
const AIMD: u64 = 1;
const GRADIENT: u64 = 2;

/// The form in which a lesson is shared. Every field of a state has its word; of the configuration,
/// `initial` has been used.
impl Lesson {
    fn words(self) -> (u64, [u64; WORDS]) {
        let mut words = [0; WORDS];
        let kind = match self {
            Self::Fixed(limit) => {
                words[0] = u64::from(limit);
                FIXED
            }
            Self::Aimd(aimd, state) => {
                words[..5].copy_from_slice(&[
                    pair(aimd.min, aimd.max),
                    aimd.backoff.to_bits(),
                    aimd.slow.map_or(0, nanos),
                    state.limit.to_bits(),
                    state.since.as_nanos(),
                ]);
                AIMD
            }
            Self::Gradient(gradient, state) => {
                words = [
                    pair(gradient.min, gradient.max),
                    gradient.tolerance.to_bits(),
                    nanos(gradient.window),
                    nanos(gradient.probe),
                    state.limit.to_bits(),
                    state.held.to_bits(),
                    state.baseline,
                    state.probe_at.as_nanos(),
                    state.since.as_nanos(),
                    state.window.opened.as_nanos(),
                    pair(state.window.completed, state.window.dropped),
                    state.window.sum,
                    u64::from(state.window.peak),
                ];
                GRADIENT
            }
        };
        (kind, words)
    }

    fn of_words(kind: u64, words: [u64; WORDS]) -> Self {
        let (min, max) = unpair(words[0]);
        match kind {
            AIMD => Self::Aimd(
                Aimd {
                    initial: min,
                    min,
                    max,
                    backoff: f64::from_bits(words[1]),
                    slow: (words[2] > 0).then(|| Duration::from_nanos(words[2])),
                },
                AimdState {
                    limit: f64::from_bits(words[3]),
                    since: Instant::from_nanos(words[4]),
                },
            ),
            GRADIENT => {
                let (completed, dropped) = unpair(words[10]);
                let window = Window {
                    opened: Instant::from_nanos(words[9]),
                    completed,
                    dropped,
                    sum: words[11],
                    peak: unpair(words[12]).1,
                };
                let state = GradientState {
                    limit: f64::from_bits(words[4]),
                    held: f64::from_bits(words[5]),
                    baseline: words[6],
                    probe_at: Instant::from_nanos(words[7]),
                    since: Instant::from_nanos(words[8]),
                    window,
                };
                let gradient = Gradient {
                    initial: min,
                    min,
                    max,
                    tolerance: f64::from_bits(words[1]),
                    window: Duration::from_nanos(words[2]),
                    probe: Duration::from_nanos(words[3]),
                };
                Self::Gradient(gradient, state)
            }
            _ => Self::Fixed(unpair(words[0]).1),
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
        let aimd_state = AimdState {
            limit: 6.5,
            since: at(7),
        };
        let gradient = Gradient {
            initial: 8,
            min: 8,
            max: 9,
            tolerance: 1.5,
            window: Duration::from_nanos(11),
            probe: Duration::from_nanos(12),
        };
        let gradient_state = GradientState {
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
        for lesson in [
            Lesson::Fixed(1),
            Lesson::Aimd(aimd, aimd_state),
            Lesson::Aimd(Aimd { slow: None, ..aimd }, aimd_state),
            Lesson::Gradient(gradient, gradient_state),
        ] {
            let (kind, words) = lesson.words();
            assert_eq!(Lesson::of_words(kind, words), lesson);
        }
    }
}
