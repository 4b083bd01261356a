//! How does a log become requests?
//!
//! One file a format; all of them fill in the parts of a line, and one place makes a request of those.

mod advice;
mod alb;
mod apache;
mod beginning;
mod csv;
mod directive;
mod elb;
mod field;
mod fields;
mod format;
mod front;
mod haproxy;
mod json;
mod kind;
mod lines;
mod members;
mod names;
mod number;
mod packed;
mod parts;
mod reader;
mod refusal;
mod role;
mod shapes;
mod stamp;
mod template;
mod unit;
mod unknown;
mod upstreams;
mod w3c;
mod whole;
mod written;

use std::io::Read;

pub use advice::of_format as advice;
pub use format::{Format, Said};
pub use kind::Kind;
pub use parts::Why;
pub use reader::{Reader, Tally};
pub use refusal::{Refusal, STANDARD_INPUT};
pub use role::Role;
pub use unit::Unit;
pub use written::{ADVICE, ADVISED};

use crate::Request;
use names::Names;

/// Files that belong to one log, such as those that a rotation left. Their requests come in the order of their ends, as a server
/// writes them, however the files are given.
#[derive(Debug)]
pub struct Log<R> {
    files: Vec<File<R>>,
    names: Names,
}

#[derive(Debug)]
struct File<R> {
    reader: Reader<R>,
    next: Next,
    /// Whether another file has the next request, too.
    is_told: bool,
    /// Requests that another file has, too.
    told: u64,
}

#[derive(Debug, Clone, Copy)]
enum Next {
    Unread,
    Request(Request),
    End,
}

/// Of fewer requests, nobody tells a copy from chance.
const LEAST: u64 = 100;

impl<R: Read> Log<R> {
    /// The log that these files are.
    pub fn new(files: impl IntoIterator<Item = Reader<R>>) -> Self {
        let files = files.into_iter().map(|reader| File {
            reader,
            next: Next::Unread,
            is_told: false,
            told: 0,
        });
        Self {
            files: files.collect(),
            names: Names::default(),
        }
    }

    /// The next request.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or most of whose lines cannot; one whose requests are in another, too.
    #[inline]
    pub fn read(&mut self) -> Result<Option<Request>, Refusal> {
        if let [file] = &mut *self.files {
            return Ok(file.reader.read(&mut self.names)?.map(|seen| seen.request));
        }
        let mut first: Option<(usize, Request, (i64, bool))> = None;
        for (at, file) in self.files.iter_mut().enumerate() {
            if matches!(file.next, Next::Unread) {
                let seen = file.reader.read(&mut self.names)?;
                file.next = seen.map_or(Next::End, |seen| Next::Request(seen.request));
                file.is_told = false;
            }
            if let Next::Request(request) = file.next {
                // Of those that end at once, a copy comes first: then the next ones stand side by side again.
                let key = (request.end(), !file.is_told);
                if first.is_none_or(|(_, _, earliest)| key < earliest) {
                    first = Some((at, request, key));
                }
            }
        }
        let Some((at, request, _)) = first else {
            return self.copied().map_or(Ok(None), Err);
        };
        let (before, behind) = self.files.split_at_mut(at + 1);
        let of_copy = |it: &&mut File<R>| {
            !it.is_told && matches!(it.next, Next::Request(other) if other == request)
        };
        if let Some(copy) = behind.iter_mut().find(of_copy) {
            copy.is_told = true;
            let is_its_own = u64::from(is_its_own(&request));
            copy.told += is_its_own;
            before[at].told += is_its_own;
        }
        before[at].next = Next::Unread;
        Ok(Some(request))
    }

    /// A file nine in ten of whose requests are in another, too: two servers' logs hardly have one in common.
    fn copied(&self) -> Option<Refusal> {
        let is_copy = |it: &&File<R>| {
            let requests = it.reader.tally().requests;
            requests >= LEAST && it.told > requests / 10 * 9
        };
        let file = self.files.iter().rev().find(is_copy)?;
        Some(Refusal::Copy {
            file: file.reader.tally().file.clone(),
        })
    }

    /// What was read of each file so far, in the order in which they were given.
    pub fn tallies(&self) -> impl Iterator<Item = &Tally> {
        self.files.iter().map(|file| file.reader.tally())
    }

    /// The [upstream](Request::upstream) of this name; one that has not appeared gets the next number.
    pub fn upstream(&mut self, name: &str) -> u32 {
        self.names.upstream(name.as_bytes())
    }
}

/// The moment that this text says, in microseconds since the epoch: in a form that lines of logs have.
pub fn moment(text: &str) -> Option<i64> {
    let text = text.as_bytes();
    let stamp = stamp::Stamp::read(text).or_else(|| stamp::Stamp::by_size(text));
    stamp.map(|it| it.micros)
}

/// Whether no other request is likely to be the same.
fn is_its_own(request: &Request) -> bool {
    request.id != 0 || request.client != 0 || request.end() % 1_000_000 != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(files: &[&str]) -> Result<Log<std::io::Cursor<String>>, Refusal> {
        let files = files.iter().enumerate().map(|(at, lines)| {
            let text = format!("start,duration,status,upstream\n{lines}");
            Reader::open(at.to_string(), std::io::Cursor::new(text), &Said::Nothing)
        });
        Ok(Log::new(files.collect::<Result<Vec<_>, _>>()?))
    }

    fn starts(log: &mut Log<std::io::Cursor<String>>) -> Result<Vec<i64>, Refusal> {
        let mut starts = Vec::new();
        while let Some(request) = log.read()? {
            starts.push(request.start / 1_000_000);
        }
        Ok(starts)
    }

    #[test]
    fn files_of_a_rotation_come_in_the_order_of_time() {
        let mut log = log(&[
            "7,0,200,a\n9,0,200,b\n",
            "1,9.5,200,b\n2,9,200,a",
            "8,0,200,a\n",
        ])
        .unwrap();
        assert_eq!(log.upstream("b"), 1);
        assert_eq!(starts(&mut log).unwrap(), [7, 8, 9, 1, 2]);
        assert_eq!(
            (log.upstream("b"), log.upstream("a"), log.upstream("c")),
            (1, 2, 3)
        );
        let requests: Vec<_> = log.tallies().map(|it| it.requests).collect();
        assert_eq!(requests, [2, 2, 1]);
    }

    #[test]
    fn a_file_whose_requests_are_in_another_is_refused() {
        use std::fmt::Write as _;

        let lines = |from: u32, to: u32, upstream: &str| {
            let mut lines = String::new();
            for at in from..to {
                // Three end at once.
                let (second, tenth) = (at / 3, at % 3);
                let _ = writeln!(lines, "{second}.{tenth},0.{},200,{upstream}", 9 - tenth);
            }
            lines
        };
        let [whole, part, later, of_another] = [
            lines(0, 1000, "a"),
            lines(300, 600, "a"),
            lines(1000, 2000, "a"),
            lines(0, 1000, "b"),
        ];
        for copies in [[&whole, &whole], [&whole, &part], [&part, &whole]] {
            let mut log = log(&[&later, copies[0], copies[1]]).unwrap();
            let refusal = starts(&mut log).unwrap_err().to_string();
            assert!(
                refusal.contains("are in another of these files"),
                "{refusal}"
            );
        }
        let mut apart = log(&[&whole, &of_another, &later]).unwrap();
        assert_eq!(starts(&mut apart).unwrap().len(), 3000);
    }

    #[test]
    fn lines_that_cannot_be_read_are_counted_and_told_with_their_numbers() {
        let mut log =
            log(&["1.5,0,200,a\nrubbish\n2.5,0,200,a\n\n3.5,0,20x,a\n4.5,0,200,a\n"]).unwrap();
        assert_eq!(starts(&mut log).unwrap().len(), 3);
        let tally = log.tallies().next().unwrap();
        assert_eq!(tally.first_unread, [(3, Why::Moment), (6, Why::Status)]);
        assert_eq!((tally.unread, tally.lines), (2, 7));
    }

    #[test]
    fn a_file_most_of_whose_lines_cannot_be_read_is_refused_early() {
        let sound = "1,0,200,a\n".repeat(100);
        let rubbish = "secret\n".repeat(1_000_000);
        let mut log = log(&[&[sound, rubbish].concat()]).unwrap();
        let refusal = starts(&mut log).unwrap_err().to_string();
        assert!(
            refusal.contains("899 of 1000 lines") && refusal.contains("line 102"),
            "{refusal}"
        );
        assert!(!refusal.contains("secret"));
    }
}
