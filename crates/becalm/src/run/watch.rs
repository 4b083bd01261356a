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
    /// A call starts its first attempt; `None` without an observer.
    #[inline]
    pub fn first_attempt(engine: &'r Engine, started: Option<Instant>) -> Option<Self> {
        let observer = engine.observer.as_ref()?;
        observer.on_event(&Event::Attempt {
            retrier: &engine.name,
            number: 1,
            waited: Duration::ZERO,
        });
        Some(Self {
            engine,
            attempts: 1,
            started,
        })
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
