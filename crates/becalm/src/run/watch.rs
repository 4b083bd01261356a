//! Was a call dropped before it ended? Its observer is told.

use core::time::Duration;

use super::retrier::Engine;
use crate::observe::Event;
use crate::stop::StopReason;
use crate::time::Instant;

/// Dropped while armed, tells the observer that the call was cancelled. Exists only where there is
/// an observer.
pub(super) struct Watch<'r> {
    engine: &'r Engine,
    attempts: u32,
    started: Option<Instant>,
}

impl<'r> Watch<'r> {
    /// A call begins that somebody watches.
    pub fn new(engine: &'r Engine, started: Option<Instant>) -> Self {
        Self {
            engine,
            attempts: 0,
            started,
        }
    }

    /// Its first attempt starts, which the observer is told.
    pub fn first_attempt(&mut self) {
        // Told first: should that panic, the attempt never starts.
        self.engine.observe(|retrier| Event::Attempt {
            retrier,
            number: 1,
            waited: Duration::ZERO,
        });
        self.attempts = 1;
    }

    /// A later attempt has started.
    pub fn attempt(&mut self, number: u32) {
        self.attempts = number;
    }

    /// An attempt has failed.
    pub fn failed(&mut self, now: Instant) {
        self.started.get_or_insert(now);
    }

    /// The call has ended in another way.
    #[inline]
    pub fn disarm(self) {
        core::mem::forget(self);
    }
}

impl Drop for Watch<'_> {
    #[inline]
    fn drop(&mut self) {
        self.cancelled();
    }
}

impl Watch<'_> {
    #[cold]
    fn cancelled(&self) {
        // An observer that panics while another panic unwinds would abort the process.
        if std::thread::panicking() {
            return;
        }
        let now = self.engine.sleeper.now();
        self.engine.observe(|retrier| Event::Stopped {
            retrier,
            reason: StopReason::Cancelled,
            attempts: self.attempts,
            elapsed: self
                .started
                .map_or(Duration::ZERO, |started| now.since(started)),
        });
    }
}
