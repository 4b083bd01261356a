//! What do the processes of clients tell the one that started them? A line of JSON at a time, on their standard output.

use std::io::{self, Write};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Told {
    /// A bucket is over.
    Line(Line),
    /// The process has come to its end.
    Report(Report),
}

/// What went on in one process in one bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Line {
    pub bucket: usize,
    /// Increments that were answered, and the moment of the first.
    pub answered: u32,
    pub first: Option<Duration>,
    /// Increments that failed.
    pub failed: u32,
    /// Increments that were sent again.
    pub again: u32,
}

/// What has become of the increments of one process, as read back from the server at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Report {
    /// All increments, and those of them that came back as errors.
    pub all: u64,
    pub failed: u64,
    /// Of these, those that took effect.
    pub failed_applied: u64,
    /// Increments that counted twice or more, and that were answered and did not count.
    pub twice: u64,
    pub lost: u64,
    /// The longest that one took.
    pub longest: Duration,
}

impl Report {
    /// This one and another.
    pub fn and(self, other: Self) -> Self {
        Self {
            all: self.all + other.all,
            failed: self.failed + other.failed,
            failed_applied: self.failed_applied + other.failed_applied,
            twice: self.twice + other.twice,
            lost: self.lost + other.lost,
            longest: self.longest.max(other.longest),
        }
    }
}

/// Tells it.
///
/// # Errors
///
/// Nobody reads any more.
pub fn tell(told: &Told) -> io::Result<()> {
    let mut line = serde_json::to_string(told)?;
    line.push('\n');
    let mut out = io::stdout().lock();
    out.write_all(line.as_bytes()).and_then(|()| out.flush())
}
