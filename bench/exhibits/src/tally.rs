//! What happens in one process, and in which tenth of a second?

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::told::Line;
use becalm_drill::ws::clock::{Clock, bucket};

/// Counts what happens.
pub struct Tally {
    clock: Clock,
    lines: Mutex<BTreeMap<usize, Line>>,
}

impl Tally {
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            lines: Mutex::default(),
        }
    }

    pub fn answered(&self) {
        self.count(|line, now| {
            line.answered += 1;
            line.first.get_or_insert(now);
        });
    }

    pub fn failed(&self) {
        self.count(|line, _| line.failed += 1);
    }

    pub fn again(&self) {
        self.count(|line, _| line.again += 1);
    }

    fn count(&self, what: impl FnOnce(&mut Line, Duration)) {
        let now = self.clock.now();
        let number = bucket(now);
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let line = lines.entry(number).or_default();
        line.bucket = number;
        what(line, now);
    }

    /// The buckets that are over, with a bucket's time for those who have read the clock and not yet counted.
    pub fn take(&self) -> impl Iterator<Item = Line> + use<> {
        let over = bucket(self.clock.now()).saturating_sub(1);
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let rest = lines.split_off(&over);
        std::mem::replace(&mut *lines, rest).into_values()
    }
}
