//! What happens in one process of the drill, and in which tenth of a second?

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::clock::{self, Clock};

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// A client begins a dial.
    Dial,
    /// Nobody listened.
    Unconnected,
    /// A dial was refused with 503.
    Refused,
    /// A client has lost its patience with a dial.
    TimedOut,
    /// A dial has failed in another way.
    Broken,
    /// A client has a connection.
    Opened,
    /// A client has lost its connection.
    Lost,
    /// A client does not dial any more.
    GaveUp,
    /// A connection goes on with its session.
    Resumed,
    /// A connection begins a new session, since the server does not know the one before.
    Cold,
    /// The server has done the costly work of a handshake.
    Handshake,
    /// It has done so for a client that had left.
    Wasted,
}

/// How many kinds there are.
pub const KINDS: usize = 12;

/// One number for each kind.
pub type Counts = [u32; KINDS];

/// What happened in one bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    pub bucket: usize,
    /// The connections that there were at its end.
    pub level: u32,
    pub counts: Counts,
}

/// Counts what happens, and the connections that there are.
#[derive(Debug)]
pub struct Tally {
    pub clock: Clock,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    now: Line,
    over: Vec<Line>,
    /// How many connections are all.
    all: u32,
    full_since: Option<Duration>,
}

impl Tally {
    /// An empty one. `all` connections are full.
    pub fn new(clock: Clock, all: u32) -> Self {
        let state = State {
            now: empty(clock::bucket(clock.now()), 0),
            over: Vec::new(),
            all,
            full_since: None,
        };
        Self {
            clock,
            state: Mutex::new(state),
        }
    }

    /// Counts one of a kind, now.
    pub fn add(&self, count: Count) {
        self.state().now.counts[count as usize] += 1;
    }

    /// There is one connection more.
    pub fn enters(&self) {
        let mut state = self.state();
        state.now.level += 1;
        if state.now.level == state.all {
            state.full_since = Some(self.clock.now());
        }
    }

    /// There is one connection less.
    pub fn leaves(&self) {
        let mut state = self.state();
        state.now.level -= 1;
        state.full_since = None;
    }

    /// Since when there have been all connections, if there are.
    pub fn full_since(&self) -> Option<Duration> {
        self.state().full_since
    }

    /// The buckets that are over and were not taken before.
    pub fn take(&self) -> Vec<Line> {
        std::mem::take(&mut self.state().over)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = clock::bucket(self.clock.now());
        while state.now.bucket < bucket {
            let next = empty(state.now.bucket + 1, state.now.level);
            let over = std::mem::replace(&mut state.now, next);
            state.over.push(over);
        }
        state
    }
}

fn empty(bucket: usize, level: u32) -> Line {
    Line {
        bucket,
        level,
        counts: Counts::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bucket_is_told_once_with_its_level() {
        let clock = Clock::start();
        let tally = Tally::new(clock, 2);
        tally.enters();
        tally.add(Count::Dial);
        assert_eq!(tally.full_since(), None);
        tally.enters();
        assert!(tally.full_since().is_some());
        let mut lines = Vec::new();
        while lines.len() < 3 {
            lines.extend(tally.take());
        }
        let buckets: Vec<_> = lines.iter().map(|it| it.bucket).collect();
        assert_eq!(buckets[..3], [0, 1, 2]);
        assert!(lines[1..].iter().all(|it| it.level == 2));
        let dials: u32 = lines.iter().map(|it| it.counts[Count::Dial as usize]).sum();
        assert_eq!(dials, 1);
        tally.leaves();
        assert_eq!(tally.full_since(), None);
    }
}
