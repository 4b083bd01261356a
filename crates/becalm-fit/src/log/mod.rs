//! How does a log become requests?
//!
//! One file a format; all of them fill in the parts of a line, and one place makes a request of those.

mod alb;
mod csv;
mod format;
mod haproxy;
mod json;
mod lines;
mod names;
mod number;
mod parts;
mod reader;
mod refusal;
mod stamp;
mod template;
mod written;

use std::io::Read;

pub use format::{Format, Kind, Said};
pub use parts::Why;
pub use reader::{Reader, Tally};
pub use refusal::Refusal;
pub use written::{ADVICE, ADVISED};

use crate::Request;
use names::Names;

/// Files that belong to one log, such as those that a rotation left. Their requests come in the order of their ends, as a server
/// writes them, however the files are given.
#[derive(Debug)]
pub struct Log<R> {
    files: Vec<(Reader<R>, Next)>,
    names: Names,
}

#[derive(Debug, Clone, Copy)]
enum Next {
    Unread,
    Request(Request),
    End,
}

impl<R: Read> Log<R> {
    /// The log that these files are.
    pub fn new(files: impl IntoIterator<Item = Reader<R>>) -> Self {
        let files = files.into_iter().map(|file| (file, Next::Unread));
        Self {
            files: files.collect(),
            names: Names::default(),
        }
    }

    /// The next request.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or most of whose lines cannot.
    #[inline]
    pub fn read(&mut self) -> Result<Option<Request>, Refusal> {
        if let [(file, _)] = &mut *self.files {
            return Ok(file.read(&mut self.names)?.map(|seen| seen.request));
        }
        let mut first: Option<(usize, i64)> = None;
        for (at, (file, next)) in self.files.iter_mut().enumerate() {
            if matches!(next, Next::Unread) {
                let seen = file.read(&mut self.names)?;
                *next = seen.map_or(Next::End, |seen| Next::Request(seen.request));
            }
            if let Next::Request(request) = next {
                let end = end(request);
                if first.is_none_or(|(_, earliest)| end < earliest) {
                    first = Some((at, end));
                }
            }
        }
        let Some((at, _)) = first else {
            return Ok(None);
        };
        match std::mem::replace(&mut self.files[at].1, Next::Unread) {
            Next::Request(request) => Ok(Some(request)),
            Next::Unread | Next::End => Ok(None),
        }
    }

    /// What was read of each file so far, in the order in which they were given.
    pub fn tallies(&self) -> impl Iterator<Item = &Tally> {
        self.files.iter().map(|(file, _)| file.tally())
    }

    /// The [upstream](Request::upstream) of this name; one that has not appeared gets the next number.
    pub fn upstream(&mut self, name: &str) -> u32 {
        self.names.upstream(name.as_bytes())
    }
}

fn end(request: &Request) -> i64 {
    let duration = i64::try_from(request.duration).unwrap_or(i64::MAX);
    request.start.saturating_add(duration)
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
