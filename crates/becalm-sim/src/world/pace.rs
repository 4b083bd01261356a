//! When is a request done whose speed depends on how many others an instance works on?
//!
//! All that are at work in an instance go at one speed. So the instance counts the work that each of
//! them has been given since the start of the run, and a request is done when that count reaches a
//! mark of its own. The next to be done has the lowest mark, whatever the speed was meanwhile.

use std::collections::BTreeSet;

use super::arrivals::NEVER;
use crate::scenario::Scalability;

/// The requests that an instance works on, by their marks.
#[derive(Debug)]
pub(super) struct Pace {
    law: Scalability,
    given: u64,
    /// What was given beyond whole nanoseconds: at a crawl every step gives less than one.
    fraction: f64,
    /// Up to when `given` counts.
    counted_to: u64,
    marks: BTreeSet<Mark>,
    /// The request whose end is scheduled.
    pub next: Option<u32>,
}

/// What is done first is first; of what is done at once, what was sent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mark {
    pub at: u64,
    pub serial: u64,
    pub request: u32,
}

impl Pace {
    pub fn new(law: Scalability) -> Self {
        Self {
            law,
            given: 0,
            fraction: 0.0,
            counted_to: 0,
            marks: BTreeSet::new(),
            next: None,
        }
    }

    /// Time has passed, in which the service had this speed.
    pub fn count(&mut self, now: u64, speed: f64) {
        let speed = speed * self.speed();
        let elapsed = now - self.counted_to;
        let mut whole = done_in(elapsed, speed);
        if speed < 1.0 {
            #[expect(clippy::cast_precision_loss)] // a step of a run, far below 2^52
            let rest = elapsed as f64 * speed - whole as f64;
            self.fraction += rest;
            if self.fraction >= 1.0 {
                self.fraction -= 1.0;
                whole += 1;
            }
        }
        self.given = self.given.saturating_add(whole);
        self.counted_to = now;
    }

    /// A request begins, with so much work. Returns its mark.
    pub fn enter(&mut self, work: u64, serial: u64, request: u32) -> u64 {
        let at = self.given.saturating_add(work);
        self.marks.insert(Mark {
            at,
            serial,
            request,
        });
        at
    }

    pub fn leave(&mut self, mark: Mark) {
        self.marks.remove(&mark);
        if self.next == Some(mark.request) {
            self.next = None;
        }
    }

    /// Who is done first, and when, if nothing changes.
    pub fn first(&self, speed: f64) -> Option<(u32, u64)> {
        let first = self.marks.first()?;
        let left = at_speed(first.at.saturating_sub(self.given), speed * self.speed());
        Some((first.request, self.counted_to.saturating_add(left)))
    }

    fn speed(&self) -> f64 {
        let at_work = u32::try_from(self.marks.len()).unwrap_or(u32::MAX);
        self.law.speed(at_work)
    }
}

/// How long so much work takes.
#[inline]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]
pub(super) fn at_speed(work: u64, speed: f64) -> u64 {
    if speed >= 1.0 {
        work
    } else if speed <= 0.0 {
        NEVER
    } else {
        (work as f64 / speed).ceil() as u64
    }
}

/// How much work is done in this time.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]
pub(super) fn done_in(time: u64, speed: f64) -> u64 {
    if speed >= 1.0 {
        time
    } else {
        (time as f64 * speed) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thousand go at a thousandth of their speed, and are looked at every 100 ns.
    #[test]
    fn nothing_is_lost_where_a_step_gives_less_than_a_nanosecond() {
        let mut pace = Pace::new(Scalability {
            contention: 1.0,
            coherency: 0.0,
        });
        for request in 0..1000 {
            pace.enter(1_000_000, u64::from(request), request);
        }
        (1..=10_000).for_each(|step| pace.count(100 * step, 1.0));
        assert!((999..=1000).contains(&pace.given), "{}", pace.given);
    }
}
