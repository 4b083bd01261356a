//! How do lines, which come when requests end, become requests in the order of their starts?

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::Request;

/// Requests wait here until none that began before them can still come: as long as twice the longest request so far, or twice as
/// long as a line was late; behind a minute, a minute more than that.
#[derive(Debug, Clone, Default)]
pub struct ByStart {
    /// One that is far ahead of all before it.
    ahead: Option<(Request, i64)>,
    strays: u64,
    waiting: BinaryHeap<Waiting>,
    lines: u64,
    latest_end: i64,
    longest: i64,
    given_until: Option<i64>,
}

/// At least this long, in microseconds: the first requests of a log say little about its longest.
const SHORTEST_HOLD: i64 = 2_000_000;
/// The longest so far may be longer by itself, or by so much at most.
const LONGER: i64 = 60_000_000;
/// At most this long: what takes longer comes late, and is counted as such.
const LONGEST_HOLD: i64 = 660_000_000;
/// A line that is so far ahead of all before it was written by a clock that was wrong, unless the next is there, too.
const LEAP: i64 = 3_600_000_000;
/// At most this many requests, some 120 MB.
const MOST_HELD: usize = 1 << 20;

impl ByStart {
    /// Takes in a request that the service has from `start` on; `false` where one that began later was given already.
    pub fn push(&mut self, request: Request, start: i64) -> bool {
        let leaps = |from: i64| start.saturating_sub(from) > LEAP;
        let before = self.ahead.take();
        if self.lines == 0 || !leaps(self.latest_end) {
            self.strays += u64::from(before.is_some());
            return self.add(request, start);
        }
        match before {
            Some((before, at)) if !leaps(at) => self.add(before, at) && self.add(request, start),
            before => {
                self.strays += u64::from(before.is_some());
                self.ahead = Some((request, start));
                true
            }
        }
    }

    /// Requests that were left out, as nobody else was there when they were.
    pub const fn strays(&self) -> u64 {
        self.strays
    }

    fn add(&mut self, request: Request, start: i64) -> bool {
        self.latest_end = if self.lines == 0 {
            request.end()
        } else {
            self.latest_end.max(request.end())
        };
        self.longest = self.longest.max(request.end().saturating_sub(start));
        if self.given_until.is_some_and(|it| start < it) {
            // A server that writes its lines in blocks is late again and again.
            let late = self.latest_end.saturating_sub(start);
            self.longest = self.longest.max(late);
            return false;
        }
        self.lines += 1;
        let line = self.lines;
        self.waiting.push(Waiting {
            request,
            start,
            line,
        });
        true
    }

    /// The next request by start, if no earlier one is to come.
    pub fn next(&mut self) -> Option<Request> {
        let hold = self.longest.saturating_add(self.longest.min(LONGER));
        let hold = hold.clamp(SHORTEST_HOLD, LONGEST_HOLD);
        let is_due = self.waiting.peek().is_some_and(|first| {
            first.start < self.latest_end.saturating_sub(hold) || self.waiting.len() > MOST_HELD
        });
        if is_due { self.rest() } else { None }
    }

    /// The next request by start, where no more lines come.
    pub fn rest(&mut self) -> Option<Request> {
        let first = self.waiting.pop()?;
        self.given_until = Some(first.start);
        Some(first.request)
    }
}

#[derive(Debug, Clone)]
struct Waiting {
    request: Request,
    start: i64,
    /// Of requests that began at once, the first in the log is first.
    line: u64,
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |it: &Self| (it.start, it.line);
        // The heap gives the greatest first.
        key(other).cmp(&key(self))
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Waiting {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ended;

    fn request(start: i64, duration: u64) -> Request {
        Request {
            start,
            duration,
            ended: Ended::Answered(200),
            client: 0,
            target: 0,
            id: 0,
            upstream: 0,
            at_upstream: None,
        }
    }

    fn push(order: &mut ByStart, request: Request) -> bool {
        order.push(request, request.start)
    }

    #[test]
    fn lines_by_end_become_requests_by_start() {
        let mut order = ByStart::default();
        // The second line began first.
        for (start, duration) in [(1_000_000, 10_000), (500_000, 600_000), (1_100_000, 50_000)] {
            assert!(push(&mut order, request(start, duration)));
            assert_eq!(order.next(), None);
        }
        let starts: Vec<i64> = std::iter::from_fn(|| order.rest())
            .map(|it| it.start)
            .collect();
        assert_eq!(starts, [500_000, 1_000_000, 1_100_000]);
    }

    #[test]
    fn what_comes_after_its_turn_is_late() {
        let mut order = ByStart::default();
        assert!(push(&mut order, request(0, 1)));
        assert!(push(&mut order, request(10_000_000, 1)));
        assert_eq!(order.next().map(|it| it.start), Some(0));
        assert!(push(&mut order, request(10_000_000, 1)));
        assert!(!push(&mut order, request(-1, 1)));
    }

    #[test]
    fn a_backlog_that_grows_over_minutes_is_in_order() {
        // They wait up to ten minutes, and each other one takes half as long again.
        let waits = |second: u64| second * (2 + second % 2) * 50_000;
        let starts = (0..4_000_000_000_i64).step_by(1_000_000).zip(0..);
        let mut log: Vec<_> = starts
            .map(|(start, at)| request(start, waits(at)))
            .collect();
        log.sort_by_key(Request::end);
        let mut order = ByStart::default();
        for request in log {
            assert!(push(&mut order, request), "{request:?}");
            while order.next().is_some() {}
        }
    }

    #[test]
    fn after_a_late_line_others_are_waited_for() {
        let mut order = ByStart::default();
        let mut late = 0;
        for second in 0..100 {
            // Two workers, each of which writes ten lines at once.
            for worker in [0, 1] {
                for at in (0..10).filter(|_| second % 10 == 9 * worker) {
                    let start = (second + at - 9) * 1_000_000 + worker;
                    late += u32::from(!push(&mut order, request(start, 1)));
                    while order.next().is_some() {}
                }
            }
        }
        assert!((1..10).contains(&late), "those of one block, not {late}");
    }

    #[test]
    fn a_line_of_a_wrong_clock_moves_nothing() {
        const HOUR: i64 = 3_600_000_000;
        let mut order = ByStart::default();
        for start in [0, 30 * HOUR, 1, 2, 40 * HOUR, 40 * HOUR + 1, 40 * HOUR + 2] {
            assert!(push(&mut order, request(start, 1)), "{start}");
        }
        let starts: Vec<_> = std::iter::from_fn(|| order.rest()).collect();
        let starts: Vec<_> = starts.iter().map(|it| it.start % HOUR).collect();
        assert_eq!(starts, [0, 1, 2, 0, 1, 2]);
        assert_eq!(order.strays(), 1);
    }
}
