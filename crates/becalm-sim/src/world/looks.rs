//! When may a run end before its horizon? When the one who looks at it is certain of what it asks.

use std::time::Duration;

use crate::engine::nanos;
use crate::record::Recording;
use crate::scenario::Scenario;

/// Looks at a run.
type Look<'l> = dyn Fn(&Sight<'_>) -> Option<bool> + Sync + 'l;

/// Times at which a run is looked at, in order, and the one who looks: an answer ends the run.
pub struct Looks<'l> {
    times: Vec<Duration>,
    pub(super) look: &'l Look<'l>,
    pub(super) is_whole: bool,
}

impl<'l> Looks<'l> {
    /// At these times, the earliest first. Each is taken at the end of its last whole bucket.
    pub fn at(times: Vec<Duration>, look: &'l Look<'l>) -> Self {
        Self {
            times,
            look,
            is_whole: false,
        }
    }

    /// Once, where a shorter scenario ends, at the end of a bucket: what is seen is the recording that its run would have left.
    pub fn at_end_of(horizon: Duration, look: &'l Look<'l>) -> Self {
        Self {
            times: vec![horizon],
            look,
            is_whole: true,
        }
    }

    /// Where the shorter scenario ends, of looks [at its end](Self::at_end_of).
    pub fn horizon(&self) -> Option<Duration> {
        self.times.first().copied().filter(|_| self.is_whole)
    }
}

/// What is seen of a run that goes on.
#[derive(Debug)]
pub struct Sight<'s> {
    /// How long it has gone on.
    pub at: Duration,
    /// What was counted until then; latencies and reasons only [at the end](Looks::at_end_of) of a shorter scenario.
    pub recording: &'s Recording,
    /// Whether any call waits for an attempt or is beyond its first one.
    pub is_retrying: bool,
}

/// When a run stops: to be looked at, and at its end.
pub(super) struct Stops<'l> {
    times: std::slice::Iter<'l, Duration>,
    bucket: u64,
    horizon: u64,
    is_last: bool,
}

impl<'l> Stops<'l> {
    pub fn of(looks: Option<&'l Looks<'_>>, scenario: &Scenario) -> Self {
        let times = looks.map_or([].as_slice(), |it| &it.times);
        Self {
            times: times.iter(),
            bucket: nanos(scenario.bucket).max(1),
            horizon: nanos(scenario.horizon),
            is_last: false,
        }
    }

    /// The next time to stop at.
    pub fn next(&mut self) -> u64 {
        let time = self.times.next().map(|it| nanos(*it));
        let time = time.map(|it| it / self.bucket * self.bucket);
        let time = time.filter(|it| *it < self.horizon);
        self.is_last = time.is_none();
        time.unwrap_or(self.horizon)
    }

    /// Whether that was the end.
    pub fn is_last(&self) -> bool {
        self.is_last
    }
}
