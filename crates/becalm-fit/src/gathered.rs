//! What is gathered of a log?

use std::time::Duration;

use crate::arrivals::Arrivals;
use crate::queue::Refusals;
use crate::quick::Quick;
use crate::sample::Sample;
use crate::windows::Windows;
use crate::{Ended, Ends, Request};

/// What is gathered of a log.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gathered {
    pub step: Duration,
    pub requests: u64,
    pub late: u64,
    /// Lines that could not be read, and those that were requests.
    pub unread: u64,
    pub lines: u64,
    pub ends: Ends,
    /// Of the first requests, in microseconds.
    pub median: u64,
    pub first: Option<i64>,
    pub last: i64,
    /// The last end.
    pub latest: i64,
    /// How long nothing at all began, in microseconds: it is no part of the time.
    pub silent: i64,
    /// Requests that a proxy answered itself.
    pub unsent: u64,
    /// Requests that are left out because they are long.
    pub long: u64,
    /// Requests that took longer than their upstream.
    pub slow: u64,
    pub windows: Windows,
    pub arrivals: [Arrivals; 2],
    /// How long those waited who left, in microseconds.
    pub left: Sample,
    /// Of those who left, those to whom a proxy or the service said 504.
    pub given_up: u64,
    /// The longest answer, in microseconds.
    pub longest: u64,
    pub refusals: Refusals,
    pub quick: Quick,
    /// Up to [`MOST_UPSTREAMS`] that are not 0.
    pub upstreams: Vec<u32>,
}

/// Told apart up to this many.
pub(crate) const MOST_UPSTREAMS: usize = 1000;

impl Gathered {
    /// Counts those who were not served as work, if they were served: then they were not refused.
    pub fn settle(&mut self) {
        let are_alike = self.quick.are_alike();
        self.windows.settle(are_alike);
        if are_alike {
            let ends = &mut self.ends;
            ends.answered += ends.refused;
            ends.failed += std::mem::take(&mut ends.refused);
            self.refusals.none_was_refused();
        }
    }

    /// Microseconds since the first start, without holes, as time passes to this one.
    pub fn pass(&mut self, start: i64, hole: i64) -> i64 {
        let first = *self.first.get_or_insert(start);
        let gap = start.saturating_sub(self.last);
        if start != first && gap > hole {
            self.silent = self.silent.saturating_add(gap);
        }
        self.last = start;
        self.since(start)
    }

    /// Microseconds since the first start, without holes.
    pub fn since(&self, moment: i64) -> i64 {
        let first = self.first.unwrap_or(moment);
        moment.saturating_sub(first).saturating_sub(self.silent)
    }

    /// How long it took until the last answer.
    pub fn answered_until(&self) -> Duration {
        Duration::from_micros(self.since(self.latest.max(self.last)).unsigned_abs())
    }

    /// Whether a proxy that names those to whom it sends requests sent this one to nobody, and did not refuse it for want of
    /// somebody: what it has on its own disk, a redirect.
    pub fn is_unsent(&self, request: &Request) -> bool {
        let is_own =
            matches!(request.ended, Ended::Answered(status) if !matches!(status, 429 | 502..=504));
        is_own && request.upstream == 0 && !self.upstreams.is_empty()
    }

    pub fn name(&mut self, upstream: u32) {
        let has_room = upstream != 0 && self.upstreams.len() < MOST_UPSTREAMS;
        if has_room && !self.upstreams.contains(&upstream) {
            self.upstreams.push(upstream);
        }
    }

    /// Counts a request that began then, and, as either tells, repeats another.
    pub fn begun(&mut self, since: u64, is_repeat: [bool; 2]) {
        let window = self.windows.at(since);
        window.requests += 1;
        let tries = window.first_tries.iter_mut().zip(&mut self.arrivals);
        for ((tries, arrivals), _) in tries.zip(is_repeat).filter(|it| !it.1) {
            *tries += 1;
            arrivals.add(since);
        }
    }

    /// How a request ended for the service. Where a proxy gave up and answered 504 after longer than most answers take, nobody knows
    /// when the service was done with it, just as if its client had left.
    pub const fn ended(&self, request: &Request) -> Ended {
        match request.ended {
            Ended::Answered(504) if request.duration > self.median => Ended::Abandoned,
            ended => ended,
        }
    }

    /// Counts a request that comes too late to say what it found. The load has it all the same, but not how fast the service
    /// answered: after a clock was set back, the same moments come twice.
    pub fn late(&mut self, request: &Request) {
        self.late += 1;
        let Ok(since) = u64::try_from(self.since(request.start)) else {
            return;
        };
        if self.first.is_some() && !self.is_unsent(request) {
            self.begun(since, [false; 2]);
        }
    }
}
