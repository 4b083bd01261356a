//! What is said about a line of a file?

use serde::Serialize;

use crate::code::Code;
use crate::document::Span;
use crate::severity::Severity;

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// The name of the file, as it was given.
    pub file: String,
    /// Where.
    #[serde(flatten)]
    pub span: Span,
    /// What kind: in kebab case, the same in every version. A lint of the policy has the code of
    /// the [`Lint`](becalm::lint::Lint).
    pub code: &'static str,
    /// How bad.
    pub severity: Severity,
    /// What was found, with the file's own figures: one sentence.
    pub sentence: String,
    /// What helps: one sentence, or empty where the sentence says it.
    pub remedy: String,
    /// Bytes of the sentence that name which part of the file it is about.
    #[serde(skip)]
    pub(crate) about: usize,
}

/// The longest text that is told as it is, and what is kept of a longer one before and after the cut.
const LONGEST: usize = 4000;
const BEFORE: usize = 1000;
const AFTER: usize = 500;

/// The text without its middle where it is very long: what a file says may have as many letters as the file.
pub(crate) fn shortened(mut text: String) -> String {
    if text.len() > LONGEST {
        let begin = (0..=BEFORE).rfind(|at| text.is_char_boundary(*at));
        let mut last = text.len() - AFTER..text.len();
        let end = last.find(|at| text.is_char_boundary(*at));
        text.replace_range(begin.unwrap_or(0)..end.unwrap_or(text.len()), "...");
    }
    text
}

impl Finding {
    /// A finding of this kind, in words of its own.
    pub fn new(
        file: &str,
        span: Span,
        code: Code,
        sentence: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            file: file.to_owned(),
            span,
            code: code.name,
            severity: code.severity,
            sentence: shortened(sentence.into()),
            remedy: shortened(remedy.into()),
            about: 0,
        }
    }

    /// What is said of any part of the file that it is so of.
    pub(crate) fn cause(&self) -> &str {
        self.sentence.get(self.about..).unwrap_or(&self.sentence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code;

    #[test]
    fn what_a_file_says_is_cut_in_its_middle() {
        let said = |text: &str| {
            let sentence = format!("no word is `{text}`, {text}");
            let span = Span::new(1, 1, 1);
            Finding::new("a", span, code::REFUSED, sentence, "").sentence
        };
        assert_eq!(said("x"), "no word is `x`, x");
        for letter in ["x", "é", "漢"] {
            let told = said(&letter.repeat(100_000));
            assert!(told.len() < 2 * BEFORE, "{}", told.len());
            assert!(
                told.starts_with("no word is `") && told.ends_with(letter),
                "{told}"
            );
            assert!(told.contains("..."), "{told}");
        }
    }
}
