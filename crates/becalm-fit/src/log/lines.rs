//! How does a file become lines, in memory that is bounded and without copying them?

use std::io::{self, ErrorKind, Read};

use memchr::memchr;

/// The lines of an input.
#[derive(Debug)]
pub struct Lines<R> {
    input: R,
    buffer: Box<[u8]>,
    /// What of the buffer was read and not yet handed out.
    from: usize,
    to: usize,
    is_at_end: bool,
}

/// Longer lines are no requests: no server takes a request line of this length.
const LONGEST: usize = 64 * 1024;
/// What some programs write before the first line of a text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
const BUFFER: usize = 4 * LONGEST;
/// What goes on for longer without the end of a line is no log: a device never ends.
const ENDLESS: usize = 256 << 20;

const NO_LINES: &str = "a line of it has more than 256 MiB, as no line of a log has; name the file of a log, and take out what else is in it (tr -d '\\0' takes \
                        out the zeros that a rotation may leave)";

/// One line, without its end.
#[derive(Debug, PartialEq, Eq)]
pub enum Text<'a> {
    Line(&'a [u8]),
    /// It was passed over.
    TooLong,
}

impl<R: Read> Lines<R> {
    /// The lines of this input, from where it stands.
    pub fn new(input: R) -> Self {
        Self {
            input,
            buffer: vec![0; BUFFER].into(),
            from: 0,
            to: 0,
            is_at_end: false,
        }
    }

    /// The first of what is left of the input, without taking it, and whether that is all: lines to find out from what it is.
    pub fn beginning(&mut self) -> io::Result<(&[u8], bool)> {
        self.make_room();
        while !self.is_at_end && self.to < self.buffer.len() {
            self.fill()?;
        }
        if self.buffer[self.from..self.to].starts_with(BYTE_ORDER_MARK) {
            self.from += BYTE_ORDER_MARK.len();
        }
        Ok((&self.buffer[self.from..self.to], self.is_at_end))
    }

    /// Takes so many bytes of the beginning.
    pub fn skip(&mut self, length: usize) {
        self.from = self.to.min(self.from + length);
    }

    /// The next line, and how many bytes it and its end took.
    #[inline]
    pub fn next(&mut self) -> io::Result<Option<(Text<'_>, usize)>> {
        let mut searched = 0;
        loop {
            let unread = &self.buffer[self.from + searched..self.to];
            if let Some(at) = memchr(b'\n', unread) {
                let from = self.from;
                let end = from + searched + at;
                self.from = end + 1;
                return Ok(Some((text(&self.buffer[from..end]), end + 1 - from)));
            }
            searched = self.to - self.from;
            if self.is_at_end {
                let from = self.from;
                self.from = self.to;
                let rest = &self.buffer[from..self.to];
                return Ok((!rest.is_empty()).then(|| (text(rest), rest.len())));
            }
            if searched > LONGEST {
                return self.pass_over().map(|length| Some((Text::TooLong, length)));
            }
            self.fill()?;
        }
    }

    /// Reads more behind what is there.
    fn fill(&mut self) -> io::Result<()> {
        if self.to == self.buffer.len() {
            self.make_room();
        }
        let read = loop {
            match self.input.read(&mut self.buffer[self.to..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.to += read;
        self.is_at_end = read == 0;
        Ok(())
    }

    fn make_room(&mut self) {
        self.buffer.copy_within(self.from..self.to, 0);
        self.to -= self.from;
        self.from = 0;
    }

    /// Takes all up to the end of the line; how much that was.
    fn pass_over(&mut self) -> io::Result<usize> {
        let mut length = 0;
        loop {
            let unread = &self.buffer[self.from..self.to];
            if let Some(at) = memchr(b'\n', unread) {
                self.from += at + 1;
                return Ok(length + at + 1);
            }
            length += unread.len();
            (self.from, self.to) = (0, 0);
            if self.is_at_end {
                return Ok(length);
            }
            if length > ENDLESS {
                return Err(io::Error::new(ErrorKind::InvalidData, NO_LINES));
            }
            self.fill()?;
        }
    }
}

fn text(line: &[u8]) -> Text<'_> {
    if line.len() > LONGEST {
        return Text::TooLong;
    }
    Text::Line(line.strip_suffix(b"\r").unwrap_or(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives so many bytes at a time.
    struct Drip<'a>(&'a [u8], usize);

    impl Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = self.0.len().min(self.1).min(buffer.len());
            let (now, later) = self.0.split_at(length);
            buffer[..length].copy_from_slice(now);
            self.0 = later;
            Ok(length)
        }
    }

    fn all(input: &[u8], at_a_time: usize) -> Vec<Option<Vec<u8>>> {
        let mut lines = Lines::new(Drip(input, at_a_time));
        let mut all = Vec::new();
        let mut bytes = 0;
        while let Some((text, length)) = lines.next().unwrap() {
            bytes += length;
            all.push(match text {
                Text::Line(line) => Some(line.to_vec()),
                Text::TooLong => None,
            });
        }
        assert_eq!(bytes, input.len());
        all
    }

    #[test]
    fn lines_are_the_same_however_they_come() {
        let line = |text: &str| Some(text.as_bytes().to_vec());
        for at_a_time in [1, 2, 7, 1000] {
            let lines = all(b"one\r\n\ntwo\nthree", at_a_time);
            assert_eq!(lines, [line("one"), line(""), line("two"), line("three")]);
        }
        assert!(all(b"", 1).is_empty());
        let many = "0123456789\n".repeat(100_000);
        assert_eq!(
            all(many.as_bytes(), 8_191),
            vec![line("0123456789"); 100_000]
        );
    }

    #[test]
    fn a_line_without_end_takes_no_memory_and_the_next_is_read() {
        for length in [LONGEST - 1, LONGEST, LONGEST + 1, BUFFER, 3 * BUFFER + 5] {
            let input = ["a\n", &"x".repeat(length), "\nb"].concat();
            let lines = all(input.as_bytes(), 10_000);
            let long = (length <= LONGEST).then(|| vec![b'x'; length]);
            assert_eq!(
                lines,
                [Some(vec![b'a']), long, Some(vec![b'b'])],
                "{length}"
            );
        }
        assert_eq!(all(&vec![b'x'; 3 * BUFFER], BUFFER), [None]);
    }

    #[test]
    fn a_line_that_never_ends_is_refused() {
        let input = b"a\n".chain(io::repeat(0));
        let mut lines = Lines::new(input);
        assert_eq!(lines.next().unwrap(), Some((Text::Line(b"a"), 2)));
        let why = lines.next().unwrap_err().to_string();
        assert!(why.contains("name the file of a log"), "{why}");
    }

    #[test]
    fn the_beginning_is_seen_and_stays() {
        let mut lines = Lines::new(Drip(b"one\ntwo\n", 3));
        assert_eq!(lines.beginning().unwrap(), (&b"one\ntwo\n"[..], true));
        assert_eq!(lines.next().unwrap(), Some((Text::Line(b"one"), 4)));
        let mut marked = Lines::new(Drip(b"\xef\xbb\xbfone\n", 3));
        assert_eq!(marked.beginning().unwrap(), (&b"one\n"[..], true));
    }
}
