//! How much may a run take? Of memory, and of events for the time that passes in it.
//!
//! A run that takes more stops: it says so in its recording, which is then not to be judged. What
//! each thing takes is counted, not measured, so that a run stops at the same event everywhere.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::record::Stopped;
use crate::scenario::Scenario;

use super::at_rest::at_rest;
use super::plan::nanos;

/// What runs may take. One for all runs that are made at once: what they hold counts together.
#[derive(Debug)]
pub struct Ceiling {
    bytes: u64,
    pace: u64,
    held: AtomicU64,
}

/// Parts of the horizon, each of which may take [`Ceiling::PACE`] events.
const PARTS: u64 = 2_000;
/// Events between two looks at what is held: in as many, a run takes some megabytes at most.
pub(super) const STRIDE: u32 = 1 << 12;
impl Ceiling {
    /// Bytes that all runs at once may hold, where nothing else is asked for: 400 MB. With what the
    /// program itself takes that is below half a gigabyte.
    pub const BYTES: u64 = 400_000_000;

    /// Events that may happen within a two-thousandth of the horizon: eight million. A run has less
    /// than 16 000 million of them, which take some twenty minutes; a storm of a hundred thousand
    /// requests a second has a ten-thousandth of it.
    pub const PACE: u64 = 8_000_000;

    /// For runs that may hold so many bytes together.
    pub const fn of(bytes: u64) -> Self {
        Self {
            bytes,
            pace: Self::PACE,
            held: AtomicU64::new(0),
        }
    }

    /// Bytes that all runs at once may hold.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Default for Ceiling {
    fn default() -> Self {
        Self::of(Self::BYTES)
    }
}

/// What one run holds of a ceiling, until it is dropped.
#[derive(Debug)]
pub(super) struct Hold<'c> {
    ceiling: &'c Ceiling,
    /// What was there before anything happened.
    base: u64,
    bytes: u64,
    /// Words that were handled.
    handled: u64,
    /// When the present part of the horizon began, and how many were handled by then.
    part: (u64, u64),
    length: u64,
    pub stopped: Option<Stopped>,
}

impl<'c> Hold<'c> {
    /// For a run of this scenario, before anything of it is made.
    pub fn new(ceiling: &'c Ceiling, scenario: &Scenario) -> Self {
        let mut hold = Self {
            ceiling,
            base: at_rest(scenario),
            bytes: 0,
            handled: 0,
            part: (0, 0),
            length: (nanos(scenario.horizon) / PARTS).max(1),
            stopped: None,
        };
        hold.takes(0);
        hold
    }

    pub(super) fn takes(&mut self, more: u64) {
        let bytes = self.base.saturating_add(more);
        if bytes > self.ceiling.bytes {
            self.stopped = Some(Stopped::Memory);
            return;
        }
        let held = &self.ceiling.held;
        let before = held.fetch_add(bytes, Ordering::Relaxed);
        held.fetch_sub(self.bytes, Ordering::Relaxed);
        let others = before.saturating_sub(self.bytes);
        self.bytes = bytes;
        if others.saturating_add(bytes) > self.ceiling.bytes {
            self.stopped = Some(Stopped::Crowded);
        }
    }

    pub(super) fn goes_on(&mut self, now: u64) {
        self.handled += u64::from(STRIDE);
        let (began, handled) = self.part;
        if now - began >= self.length {
            self.part = (now, self.handled);
        } else if self.handled - handled > self.ceiling.pace {
            self.stopped = Some(Stopped::Pace);
        }
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        self.ceiling.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s3_runs_at_once_share_one_ceiling_and_give_back_what_they_hold() {
        let ceiling = Ceiling::of(2_000);
        let hold = |base| {
            let mut hold = Hold {
                ceiling: &ceiling,
                base,
                bytes: 0,
                handled: 0,
                part: (0, 0),
                length: 1,
                stopped: None,
            };
            hold.takes(0);
            hold
        };
        let first = hold(1_500);
        assert_eq!(first.stopped, None);
        assert_eq!(hold(2_500).stopped, Some(Stopped::Memory), "even alone");
        assert_eq!(hold(1_000).stopped, Some(Stopped::Crowded));
        drop(first);
        let mut alone = hold(1_000);
        assert_eq!(alone.stopped, None);
        alone.takes(900);
        assert_eq!(alone.stopped, None);
        alone.takes(1_100);
        assert_eq!(alone.stopped, Some(Stopped::Memory));
        drop(alone);
        assert_eq!(ceiling.held.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn s3_time_that_does_not_pass_stops_a_run() {
        let ceiling = Ceiling {
            pace: 10 * u64::from(STRIDE),
            ..Ceiling::default()
        };
        let hold = |step: u64| {
            let mut hold = Hold {
                ceiling: &ceiling,
                base: 0,
                bytes: 0,
                handled: 0,
                part: (0, 0),
                length: 1_000,
                stopped: None,
            };
            for look in 0..100 {
                hold.goes_on(look * step);
            }
            hold.stopped
        };
        assert_eq!(hold(101), None);
        assert_eq!(hold(80), Some(Stopped::Pace));
    }
}
