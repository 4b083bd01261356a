//! What does one file say, line by line, and what of it could not be read?

use std::io::Read;

use serde::{Serialize, Serializer};

use super::beginning::beginning;
use super::format::{Format, Said, says_nothing};
use super::lines::{Lines, Text};
use super::names::Names;
use super::number::SECOND;
use super::parts::{Line, Seen, Why};
use super::refusal::Refusal;

/// Reads one file.
#[derive(Debug)]
pub struct Reader<R> {
    lines: Lines<R>,
    format: Format,
    tally: Tally,
}

/// What was read of a file.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Tally {
    /// The name of the file.
    #[serde(skip)]
    pub file: String,
    /// The name of its format.
    pub format: &'static str,
    /// Bytes that were read.
    #[serde(skip)]
    pub bytes: u64,
    /// Lines that were read, of any kind.
    pub lines: u64,
    /// Of these, the first, which are of another format without durations, or of none that is known.
    #[serde(rename = "left_out")]
    pub passed: u64,
    /// Requests among them.
    pub requests: u64,
    /// Lines that could not be read.
    pub unread: u64,
    /// Numbers of the first of these, from 1, and why.
    #[serde(serialize_with = "lines")]
    pub first_unread: Vec<(u64, Why)>,
    /// Requests that took whole seconds, or more than an hour: their log may mean another unit.
    #[serde(skip)]
    pub whole_seconds: u64,
    /// Requests that the proxy sent again, as it says itself.
    #[serde(skip)]
    pub retried_by_proxy: u64,
    /// The most requests that HAProxy saw at one server.
    #[serde(skip)]
    pub most_at_a_server: u32,
    /// The most requests that waited in HAProxy before another.
    #[serde(skip)]
    pub longest_queue: u32,
}

/// A line that could not be read, for programs.
#[derive(Serialize)]
struct Unread {
    line: u64,
    why: String,
}

fn lines<S: Serializer>(unread: &[(u64, Why)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(unread.iter().map(|(line, why)| Unread {
        line: *line,
        why: why.to_string(),
    }))
}

/// Lines that are named.
const NAMED: usize = 5;
/// An hour, in microseconds.
const LONGEST_USUAL: u64 = 3_600 * SECOND;
/// After so many lines that were not passed over it is plain that a file is of another format.
const PATIENCE: u64 = 1_000;

impl<R: Read> Reader<R> {
    /// A reader of this file; its first lines say what they are, unless somebody did.
    ///
    /// # Errors
    ///
    /// A file that is empty, compressed, of no known format, or says no durations.
    pub fn open(file: impl Into<String>, input: R, said: &Said) -> Result<Self, Refusal> {
        let file = file.into();
        let mut lines = Lines::new(input);
        let (format, passed) = beginning(&file, &mut lines, said)?;
        let tally = Tally {
            file,
            format: format.name(),
            bytes: passed.bytes,
            lines: passed.lines,
            passed: passed.lines,
            requests: 0,
            unread: 0,
            first_unread: Vec::new(),
            whole_seconds: 0,
            retried_by_proxy: 0,
            most_at_a_server: 0,
            longest_queue: 0,
        };
        Ok(Self {
            lines,
            format,
            tally,
        })
    }

    /// The next request.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or most of whose lines cannot.
    #[inline]
    pub(super) fn read(&mut self, names: &mut Names) -> Result<Option<Seen>, Refusal> {
        loop {
            let (text, length) = match self.lines.next() {
                Ok(Some(it)) => it,
                Ok(None) => return self.tally.end().map(|()| None),
                Err(error) => {
                    let file = self.tally.file.clone();
                    return Err(Refusal::Io { file, error });
                }
            };
            self.tally.bytes += length as u64;
            self.tally.lines += 1;
            let line = match text {
                Text::Line(line) if says_nothing(line) => continue,
                Text::Line(line) => self.format.line(line, names),
                Text::TooLong => Err(Why::TooLong),
            };
            match line {
                Ok(Line::Request(seen)) => {
                    self.tally.count(&seen);
                    return Ok(Some(seen));
                }
                Ok(Line::Other) => {}
                Err(why) => self.tally.unread(why)?,
            }
        }
    }

    /// What was read so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }
}

impl Tally {
    #[inline]
    fn count(&mut self, seen: &Seen) {
        self.requests += 1;
        let duration = seen.request.duration;
        self.whole_seconds +=
            u64::from(duration >= SECOND && (duration % SECOND == 0 || duration > LONGEST_USUAL));
        self.retried_by_proxy += u64::from(seen.retries > 0);
        if let Some(server) = seen.server {
            self.most_at_a_server = self.most_at_a_server.max(server.found);
            self.longest_queue = self.longest_queue.max(server.queued);
        }
    }

    #[cold]
    fn unread(&mut self, why: Why) -> Result<(), Refusal> {
        self.unread += 1;
        if self.first_unread.len() < NAMED {
            self.first_unread.push((self.lines, why));
        }
        if self.lines - self.passed == PATIENCE {
            self.end()
        } else {
            Ok(())
        }
    }

    /// Refuses a file most of whose lines are not of its format.
    fn end(&self) -> Result<(), Refusal> {
        if self.unread > self.requests {
            return Err(Refusal::Unreadable {
                file: self.file.clone(),
                format: self.format,
                read: self.lines - self.passed - self.unread,
                unread: self.unread,
                first: self.first_unread.clone(),
            });
        }
        Ok(())
    }
}
