//! What can happen to a service in a run?

use std::time::Duration;

use crate::engine::float;
use crate::record::Histogram;

use super::by_phase::ByPhase;
use super::recovery::Recovery;
use super::services::{Seen, per_second};

/// What happened to the service in one run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// Before the first trigger.
    pub before: Phase,
    /// From then until the last trigger is over.
    pub during: Phase,
    /// From then to the end.
    pub after: Phase,
    /// The whole run.
    pub whole: Phase,
    /// The last quarter of what is after the triggers, without the calls that may still be running.
    pub tail: Phase,
    /// The share of calls that usually succeed: before the trigger. Without one, at the start, and
    /// then no more than the share of attempts that do: what the burst of a full budget repairs in
    /// the first seconds is not usual.
    pub usual: f64,
    /// Whether goodput came back, and when.
    pub recovery: Recovery,
    /// How long after the triggers the first call was answered once goodput was back: calls that begin from then on succeed, and
    /// take their time for it. `None` where it did not come back.
    pub first_answer: Option<Duration>,
    /// Whether it was still on its way back when the run ended: what waits shrank, or more and more calls succeeded.
    pub is_settling: bool,
    /// Requests that arrive at a service in the tail, over what it can serve: of the service with
    /// the most. 0 where nothing bounds a service.
    pub pressure: f64,
    /// What that service is asked per second.
    pub offered: f64,
    /// Its place among the services of the scenario; `None` where nothing bounds a service.
    pub pressed: Option<usize>,
    /// What each service got, in the order of the scenario; empty of a scenario with one service,
    /// where the attempts of clients are all that it gets.
    pub services: Vec<Seen>,
    /// Calls that gave up, over those that ended.
    pub given_up: f64,
    /// How long the calls took that succeeded.
    pub latency: Histogram,
    /// How the calls ended before, during and after the triggers.
    pub by_phase: ByPhase,
    /// Events that the engine handled.
    pub events: u64,
}

/// Counts of a stretch of a run, of all populations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Phase {
    /// How long it is.
    pub length: Duration,
    /// Calls that began in it.
    pub calls: u64,
    /// Of these, the ones that succeeded, whenever that was.
    pub succeeded: u64,
    /// First tries that were sent.
    pub first_tries: u64,
    /// Attempts that were sent.
    pub attempts: u64,
    /// Attempts in the bucket that had most.
    pub peak: u64,
}

impl Phase {
    /// The share of its calls that succeeded; 1 without calls.
    pub fn success(&self) -> f64 {
        ratio(self.succeeded, self.calls)
    }

    /// Attempts over first tries; 1 without first tries.
    ///
    /// Where first tries stop and retries go on, as with a fleet that all failed at once, this is
    /// without bound: look at the whole run.
    pub fn amplification(&self) -> f64 {
        ratio(self.attempts, self.first_tries)
    }

    /// Calls that began and succeeded, per second.
    pub fn goodput(&self) -> f64 {
        per_second(self.succeeded, self.length)
    }

    /// Attempts per second.
    pub fn attempts_per_second(&self) -> f64 {
        per_second(self.attempts, self.length)
    }
}

impl Outcome {
    /// Whether a longer run may show that the service comes back: it was on its way, or it was offered no more than it can serve.
    /// Where nothing bounds a service, the second says nothing.
    pub fn is_open(&self) -> bool {
        !self.holds() && (self.is_settling || self.pressure <= 1.0)
    }

    /// Whether goodput held to the end: it is as usual, or as good as all calls succeed. Where no
    /// call ever succeeds there is none to hold, however usual that is.
    pub fn holds(&self) -> bool {
        let is_pressed = self.pressure > 1.0 && self.tail.success() < 0.95;
        let is_dead = self.whole.calls > 0 && self.whole.succeeded == 0;
        self.recovery.is_back() && !is_pressed && !is_dead
    }

    /// The amplification from the first trigger on.
    pub fn amplification_since(&self) -> f64 {
        ratio(
            self.during.attempts + self.after.attempts,
            self.during.first_tries + self.after.first_tries,
        )
    }
}

/// Seconds until each run came back; infinite for those that did not.
pub(super) fn recovery_times(outcomes: &[Outcome]) -> Vec<f64> {
    let time = |it: &Outcome| match it.recovery.time() {
        Some(time) if it.holds() => time.as_secs_f64(),
        _ => f64::INFINITY,
    };
    outcomes.iter().map(time).collect()
}

pub(crate) fn ratio(part: u64, all: u64) -> f64 {
    if all == 0 {
        1.0
    } else {
        float(part) / float(all)
    }
}
