//! What is kept of an attempt that has ended?

use std::time::Duration;

use becalm::{Failure, classify::Verdict, time::Instant};

use super::exit_code::{Ending, FAILED_BY_OUTPUT};
use super::progress::Cause;
use super::report;
use super::seen::Seen;

/// An attempt that has ended.
#[derive(Debug)]
pub struct Ended {
    /// Its number, from 1.
    pub number: u32,
    /// How it ended.
    pub ending: Ending,
    /// What its output told.
    pub seen: Seen,
    /// When it started.
    pub started: Instant,
    /// How long it took.
    pub took: Duration,
    /// What it came to.
    pub verdict: Verdict,
    /// How long the command wants to be left alone.
    pub hint: Option<Duration>,
    /// The report has its line.
    pub is_told: bool,
}

impl Ended {
    /// The exit code that tells a shell what the attempt came to: no failure tells it 0.
    pub fn code(&self) -> u8 {
        match (self.ending.code(), self.verdict) {
            (0, Verdict::Failure(_)) => FAILED_BY_OUTPUT,
            (code, _) => code,
        }
    }

    /// Why it failed.
    pub fn cause(&self) -> Cause {
        Cause {
            ending: self.ending,
            matched: self.seen.matched,
        }
    }

    /// The report's line on it, and on what follows.
    pub fn line(&self, begun: Instant, next: report::Next) -> report::Attempt {
        report::Attempt {
            number: self.number,
            started: self.started.since(begun),
            duration: self.took,
            ending: self.ending,
            matched: self.seen.matched,
            class: match self.verdict {
                Verdict::Failure(Failure { class, .. }) => Some(class),
                _ => None,
            },
            hint: self.hint,
            next,
        }
    }
}
