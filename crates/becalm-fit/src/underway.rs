//! What does a request find when it begins?

use crate::Request;
use crate::levels::Levels;

/// Requests that the service has, by their ends, while time goes on from start to start.
#[derive(Debug, Clone, Default)]
pub struct Underway {
    /// In order; those before `gone` are over.
    ends: Vec<i64>,
    gone: usize,
    unknown: Unknown,
    levels: Levels,
}

/// Whether the log knows what the service works on.
///
/// The log says when a client left, and not when the service was done with its request. In a queue that serves in order it has
/// begun with it when it answers somebody who came after that, and is done when it answers one who came after that answer.
#[derive(Debug, Clone, Copy, Default)]
enum Unknown {
    /// It does.
    #[default]
    Nothing,
    /// Not until one who comes from here on is answered, and then one who comes after.
    UntilAnswersFrom(i64),
    /// Not until one who comes from here on is answered.
    UntilAnswerFrom(i64),
    /// Not before this.
    Until(i64),
}

impl Underway {
    /// Nobody knows what the service had before the log began: until this moment at least.
    pub fn since(first_end: i64) -> Self {
        Self {
            ends: Vec::new(),
            gone: 0,
            unknown: Unknown::Until(first_end),
            levels: Levels::default(),
        }
    }

    /// Counts answers from now on, in stretches of this many microseconds, for a clock of such steps.
    pub fn begin(&mut self, stretch: i64, step: i64) {
        self.levels.begin(stretch, step);
    }

    /// How fast it answered.
    pub fn levels(self) -> Levels {
        self.levels
    }

    /// The ends of those that are under way when this one begins, in order.
    pub fn found_by(&mut self, request: &Request) -> &[i64] {
        let over = self.ends[self.gone..].partition_point(|end| *end <= request.start);
        for end in &self.ends[self.gone..self.gone + over] {
            self.levels.over(*end);
        }
        self.levels.pass(request.start);
        self.gone += over;
        if self.gone > 64 && self.gone * 2 > self.ends.len() {
            self.ends.drain(..self.gone);
            self.gone = 0;
        }
        &self.ends[self.gone..]
    }

    /// Whether the ends are all that the service works on, for this request and those behind it.
    pub fn is_known(&mut self, request: &Request) -> bool {
        if let Unknown::Until(moment) = self.unknown {
            if request.start >= moment {
                self.unknown = Unknown::Nothing;
            }
        }
        matches!(self.unknown, Unknown::Nothing)
    }

    /// Adds a request that the service took in; it was answered.
    pub fn answered(&mut self, start: i64, end: i64) {
        self.add(end);
        self.unknown = match self.unknown {
            Unknown::UntilAnswersFrom(moment) if start >= moment => Unknown::UntilAnswerFrom(end),
            Unknown::UntilAnswerFrom(moment) if start >= moment => Unknown::Until(end),
            unknown => unknown,
        };
    }

    /// Adds a request whose client left.
    pub fn abandoned(&mut self, request: &Request) {
        self.add(request.end());
        let before = match self.unknown {
            Unknown::UntilAnswersFrom(moment) => moment,
            _ => i64::MIN,
        };
        self.unknown = Unknown::UntilAnswersFrom(before.max(request.end()));
    }

    /// Adds a request of which nothing but its end counts.
    pub fn add(&mut self, end: i64) {
        let at = self.gone + self.ends[self.gone..].partition_point(|it| *it <= end);
        self.ends.insert(at, end);
        self.levels.add();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ended;

    fn request(start: i64, end: i64) -> Request {
        Request {
            start,
            duration: u64::try_from(end - start).unwrap(),
            ended: Ended::Answered(200),
            client: 0,
            target: 0,
            id: 0,
            upstream: 0,
            at_upstream: None,
        }
    }

    #[test]
    fn a_request_finds_those_that_began_before_it_and_end_after() {
        let mut underway = Underway::default();
        for (start, end) in [(0, 30), (1, 10), (2, 20)] {
            underway.answered(start, end);
        }
        assert_eq!(underway.found_by(&request(5, 6)), [10, 20, 30]);
        assert_eq!(underway.found_by(&request(10, 11)), [20, 30]);
        assert!(underway.found_by(&request(40, 41)).is_empty());
    }

    #[test]
    fn after_a_client_left_nothing_is_known_until_two_generations_were_answered() {
        let mut underway = Underway::default();
        underway.abandoned(&request(0, 100));
        let mut is_known_at = |start, end| {
            let is_known = underway.is_known(&request(start, end));
            underway.answered(start, end);
            is_known
        };
        assert!(!is_known_at(50, 60), "before it left");
        assert!(!is_known_at(100, 130), "the first to come after it left");
        assert!(!is_known_at(120, 140));
        assert!(
            !is_known_at(130, 150),
            "the first to come after that answer"
        );
        assert!(!is_known_at(149, 160));
        assert!(is_known_at(150, 170));
    }
}
