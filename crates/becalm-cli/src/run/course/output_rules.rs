//! Which lines of a command's output decide whether it is tried again?

use regex::bytes::RegexSet;

use super::plain_lines::PlainLines;

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
    retry: Option<RegexSet>,
    stop: Option<RegexSet>,
}

impl OutputRules {
    /// The rules of these patterns.
    ///
    /// # Errors
    ///
    /// A pattern that is not a regular expression, with the place of the fault.
    pub fn new(retry: &[String], stop: &[String]) -> Result<Self, regex::Error> {
        Ok(Self {
            retry: set(retry)?,
            stop: set(stop)?,
        })
    }

    /// Whether no line can match: the output need not be looked at.
    pub fn is_empty(&self) -> bool {
        self.retry.is_none() && self.stop.is_none()
    }

    /// A watcher for one stream of output.
    pub fn watch(&self) -> LineWatch {
        LineWatch {
            rules: self.clone(),
            lines: PlainLines::default(),
            found: None,
        }
    }

    /// What this line decides.
    fn of(&self, line: &[u8]) -> Option<OutputMatch> {
        let is_match = |set: &Option<RegexSet>| set.as_ref().is_some_and(|it| it.is_match(line));
        if is_match(&self.stop) {
            Some(OutputMatch::Stop)
        } else {
            is_match(&self.retry).then_some(OutputMatch::Retry)
        }
    }
}

/// A set of no patterns takes as long to build as one of a few.
fn set(patterns: &[String]) -> Result<Option<RegexSet>, regex::Error> {
    let is_any = !patterns.is_empty();
    is_any.then(|| RegexSet::new(patterns)).transpose()
}

/// Looks at one stream line by line as it passes, at the text that a reader sees.
#[derive(Debug)]
pub struct LineWatch {
    rules: OutputRules,
    lines: PlainLines,
    found: Option<OutputMatch>,
}

impl LineWatch {
    /// The next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        let (rules, found) = (&self.rules, &mut self.found);
        // Nothing that follows a stop can change what was found.
        if *found != Some(OutputMatch::Stop) {
            self.lines
                .push(bytes, &mut |line| *found = (*found).max(rules.of(line)));
        }
    }

    /// The stream has ended: what its lines decided. A last line needs no end.
    pub fn finish(mut self) -> Option<OutputMatch> {
        let (rules, found) = (&self.rules, &mut self.found);
        self.lines
            .finish(&mut |line| *found = (*found).max(rules.of(line)));
        self.found
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
    fn an_endless_line_is_matched_too() {
        let rules = OutputRules::new(&["needle".to_owned()], &[]).unwrap();
        let mut watch = rules.watch();
        for _ in 0..1_000 {
            watch.push(&[b'x'; 10_000]);
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
