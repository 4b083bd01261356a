//! What is wrong with a scenario file, and where?

use std::fmt;
use std::ops::Range;

use becalm::support::nearest;

/// Why a scenario file is refused. `Display` names the line, the key and the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidFile {
    /// The line, from 1, if the fault is in one.
    pub line: Option<usize>,
    /// The key with the sections around it, such as `service.queue`; empty if it is no key's fault.
    pub key: String,
    /// What is wrong, and what would be right.
    pub sentence: String,
}

impl fmt::Display for InvalidFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.sentence)
    }
}

impl std::error::Error for InvalidFile {}

/// A refusal whose line is not known yet.
#[derive(Debug)]
pub(super) struct Refusal {
    /// The bytes of the text that it is about.
    pub span: Option<Range<usize>>,
    pub key: String,
    pub sentence: String,
}

impl Refusal {
    /// One that is about the file as a whole.
    pub fn whole(sentence: impl Into<String>) -> Self {
        Self {
            span: None,
            key: String::new(),
            sentence: sentence.into(),
        }
    }

    pub fn at_line_of(self, text: &str) -> InvalidFile {
        InvalidFile {
            line: self.span.map(|span| line(text, span.start)),
            key: self.key,
            sentence: self.sentence,
        }
    }
}

/// The line of this byte, from 1.
fn line(text: &str, offset: usize) -> usize {
    let before = text.bytes().take(offset);
    1 + before.filter(|byte| *byte == b'\n').count()
}

/// The refusal of an unknown word: the known one that was probably meant, or all.
pub(super) fn unknown<'a>(
    what: &str,
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> String {
    let known: Vec<_> = known.into_iter().collect();
    match nearest(word, known.iter().copied()) {
        Some(nearest) => format!("unknown {what} `{word}`; did you mean `{nearest}`?"),
        None if known.is_empty() => format!("unknown {what} `{word}`; there is none"),
        None => format!("unknown {what} `{word}`; there are {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word_and_a_stranger_is_told_all() {
        let known = ["workers", "queue", "fan_out"];
        assert!(unknown("key", "wokrers", known).contains("did you mean `workers`?"));
        assert!(unknown("key", "fan-out", known).contains("did you mean `fan_out`?"));
        let told = unknown("key", "colour", known);
        assert!(
            told.ends_with("there are workers, queue, fan_out"),
            "{told}"
        );
        assert!(unknown("service", "x", []).ends_with("there is none"));
    }

    #[test]
    fn a_line_is_counted_from_one() {
        assert_eq!(line("a\nb\nc", 0), 1);
        assert_eq!(line("a\nb\nc", 2), 2);
        assert_eq!(line("a", 99), 1);
    }
}
