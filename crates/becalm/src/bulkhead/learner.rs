//! How do many threads teach one limit without a lock?
//!
//! The state of an adaptive limit is a row of words that one call at a time may hold. A call that
//! finds them held goes on: one completed call less is no loss. That it was dropped must not be
//! lost; it leaves a note, which the next holder reads.

use super::learned::{Learned, whole};
use super::lesson::Lesson;
use super::{Limit, Outcome, Sample};
use crate::sync::{AtomicU64, Guarded, Ordering};
use crate::time::Instant;

/// The state of a limit, shared.
#[derive(Debug)]
pub(super) struct Learner {
    /// A fixed limit learns nothing: its kind is read by every call.
    lesson: Guarded<Lesson, 14>,
    /// When the last dropped call began that found the words held, plus 1 ns; 0 for none.
    note: AtomicU64,
}

impl Learner {
    pub(super) fn new(limit: Limit) -> Self {
        let state = Learned::start(limit.initial());
        Self {
            lesson: Guarded::new(&Lesson { limit, state }),
            note: AtomicU64::new(0),
        }
    }

    /// Whether the end of a call teaches anything.
    #[inline]
    pub(super) fn is_adaptive(&self) -> bool {
        self.lesson.peek(Lesson::KIND) != Lesson::FIXED
    }

    /// A call has ended while `in_flight` were running. `publish` is told the limit if it has
    /// changed, and no other change comes between.
    pub(super) fn learn(&self, sample: Sample, in_flight: u32, publish: impl FnOnce(u32)) {
        let learned = self.lesson.try_change(|Lesson { limit, state }| {
            let before = whole(state.limit);
            let mut step = |sample| match limit {
                Limit::Fixed(_) => {}
                Limit::Aimd(aimd) => *state = aimd.step(*state, sample, in_flight),
                Limit::Gradient(gradient) => *state = gradient.step(*state, sample, in_flight),
            };
            if self.note.load(Ordering::Relaxed) != 0 {
                let began = Instant::from_nanos(self.note.swap(0, Ordering::Relaxed) - 1);
                step(Sample {
                    took: sample.now.since(began),
                    now: sample.now,
                    outcome: Outcome::Dropped,
                });
            }
            step(sample);
            if whole(state.limit) != before {
                publish(whole(state.limit));
            }
        });
        if learned.is_none() && sample.is_dropped() {
            let note = sample.began().as_nanos().saturating_add(1);
            self.note.fetch_max(note, Ordering::Relaxed);
        }
    }

    /// Takes over another configuration. A limit of the same kind keeps what it has learned.
    pub(super) fn reconfigure(&self, limit: Limit, publish: impl FnOnce(u32)) {
        self.lesson.change(|lesson| {
            lesson.reconfigure(limit);
            publish(whole(lesson.state.limit));
        });
    }
}
