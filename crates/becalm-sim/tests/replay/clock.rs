//! Until when did a call want to sleep? Virtual time that remembers the last wish.

use std::sync::{Arc, Mutex};

use becalm::time::Instant;
use becalm::time::{ClockId, FakeSleeper, Sleep, Sleeper};

use super::locked;

/// The clock that all calls of a replay are on.
#[derive(Debug, Clone)]
pub struct Clock {
    time: FakeSleeper,
    asked: Arc<Mutex<Option<Instant>>>,
}

impl Clock {
    pub fn new() -> Self {
        Self {
            time: FakeSleeper::new(),
            asked: Arc::default(),
        }
    }

    /// Moves the time, and wakes who was waiting for it.
    pub fn advance(&self, to: Instant) {
        self.time.advance(to.since(self.time.now()));
    }

    /// The end of the last timer that was made since the last look.
    pub fn take_asked(&self) -> Option<Instant> {
        locked(&self.asked).take()
    }
}

impl Sleeper for Clock {
    fn now(&self) -> Instant {
        self.time.now()
    }

    fn sleep_until(&self, at: Instant) -> Sleep {
        *locked(&self.asked) = Some(at);
        self.time.sleep_until(at)
    }

    fn clock(&self) -> ClockId {
        self.time.clock()
    }
}
