//! Which lines of a command's output decide whether it is tried again?

use regex::bytes::RegexSet;

/// What a line of the output has decided. `Stop` is the greater: it wins over `Retry`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OutputMatch {
    /// A line matched `--retry-on-output`.
    Retry,
    /// A line matched `--stop-on-output`.
    Stop,
}

impl OutputMatch {
    /// The name in reports: one of a closed set.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Stop => "stop",
        }
    }
}

/// The patterns of `--retry-on-output` and `--stop-on-output`.
#[derive(Debug, Clone)]
pub struct OutputRules {
    retry: RegexSet,
    stop: RegexSet,
}

impl OutputRules {
    /// The rules of these patterns.
    ///
    /// # Errors
    ///
    /// A pattern that is not a regular expression, with the place of the fault.
    pub fn new(retry: &[String], stop: &[String]) -> Result<Self, regex::Error> {
        Ok(Self {
            retry: RegexSet::new(retry)?,
            stop: RegexSet::new(stop)?,
        })
    }

    /// Whether no line can match: the output need not be looked at.
    pub fn is_empty(&self) -> bool {
        self.retry.is_empty() && self.stop.is_empty()
    }

    /// A watcher for one stream of output.
    pub fn watch(&self) -> LineWatch {
        LineWatch {
            rules: self.clone(),
            line: Vec::new(),
            found: None,
        }
    }
}

/// The longest piece of a line that is matched as one: bounds the memory that an endless line
/// takes. A longer line is matched piece by piece.
pub const LONGEST_LINE: usize = 64 << 10;

/// Looks at one stream line by line as it passes.
#[derive(Debug)]
pub struct LineWatch {
    rules: OutputRules,
    /// The start of a line whose end has not been seen yet.
    line: Vec<u8>,
    found: Option<OutputMatch>,
}

impl LineWatch {
    /// The next bytes of the stream.
    pub fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.is_decided() {
            let room = LONGEST_LINE - self.line.len();
            let reach = bytes.len().min(room);
            let end = bytes[..reach].iter().position(|byte| *byte == b'\n');
            let (piece, behind) = bytes.split_at(end.unwrap_or(reach));
            let is_whole = end.is_some() || reach == room;
            if !is_whole {
                self.line.extend_from_slice(piece);
            } else if self.line.is_empty() {
                self.look_at(piece);
            } else {
                self.line.extend_from_slice(piece);
                let line = std::mem::take(&mut self.line);
                self.look_at(&line);
            }
            bytes = if end.is_some() { &behind[1..] } else { behind };
        }
    }

    /// The stream has ended: what its lines decided. A last line needs no end.
    pub fn finish(mut self) -> Option<OutputMatch> {
        if !self.line.is_empty() {
            let line = std::mem::take(&mut self.line);
            self.look_at(&line);
        }
        self.found
    }

    /// Nothing that follows can change what was found.
    fn is_decided(&self) -> bool {
        self.found == Some(OutputMatch::Stop)
    }

    fn look_at(&mut self, line: &[u8]) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if self.rules.stop.is_match(line) {
            self.found = Some(OutputMatch::Stop);
        } else if self.found.is_none() && self.rules.retry.is_match(line) {
            self.found = Some(OutputMatch::Retry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found_in(retry: &str, stop: &str, pieces: &[&[u8]]) -> Option<OutputMatch> {
        let patterns = |text: &str| match text {
            "" => Vec::new(),
            _ => vec![text.to_owned()],
        };
        let rules = OutputRules::new(&patterns(retry), &patterns(stop)).unwrap();
        let mut watch = rules.watch();
        for piece in pieces {
            watch.push(piece);
        }
        watch.finish()
    }

    #[test]
    fn a_line_is_matched_however_the_stream_is_cut() {
        let stream = b"all is well\nconnection reset by peer\r\nbye\n";
        for cut in 0..=stream.len() {
            let (head, tail) = stream.split_at(cut);
            let found = found_in("^connection .* peer$", "", &[head, tail]);
            assert_eq!(found, Some(OutputMatch::Retry), "cut at {cut}");
        }
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(
            found_in("^connection .* peer$", "", &bytes),
            Some(OutputMatch::Retry)
        );
    }

    #[test]
    fn no_pattern_spans_two_lines() {
        assert_eq!(found_in("reset.*bye", "", &[b"reset\nbye\n"]), None);
        assert_eq!(found_in(r"reset\sbye", "", &[b"reset\nbye\n"]), None);
    }

    #[test]
    fn a_last_line_needs_no_end() {
        assert_eq!(
            found_in("^bye$", "", &[b"hello\nb", b"ye"]),
            Some(OutputMatch::Retry)
        );
    }

    #[test]
    fn stop_wins_in_either_order() {
        let stop = Some(OutputMatch::Stop);
        assert_eq!(found_in("busy", "denied", &[b"busy\ndenied\n"]), stop);
        assert_eq!(found_in("busy", "denied", &[b"denied\nbusy\n"]), stop);
        assert_eq!(Some(OutputMatch::Retry).max(stop).max(None), stop);
    }

    #[test]
    fn bytes_that_are_not_utf8_are_matched_too() {
        assert_eq!(
            found_in("busy", "", &[b"\xff\xfe busy \xff\n"]),
            Some(OutputMatch::Retry)
        );
    }

    #[test]
    fn an_endless_line_takes_bounded_memory() {
        let rules = OutputRules::new(&["needle".to_owned()], &[]).unwrap();
        let mut watch = rules.watch();
        for _ in 0..1_000 {
            watch.push(&[b'x'; 10_000]);
            assert!(watch.line.capacity() <= 2 * LONGEST_LINE);
        }
        watch.push(b" needle");
        assert_eq!(watch.finish(), Some(OutputMatch::Retry));
    }

    #[test]
    fn a_fault_in_a_pattern_is_named() {
        let error = OutputRules::new(&["(".to_owned()], &[]).unwrap_err();
        assert!(error.to_string().contains("unclosed group"), "{error}");
    }
}
