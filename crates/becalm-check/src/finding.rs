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
            sentence: sentence.into(),
            remedy: remedy.into(),
        }
    }

    /// The sentence, and what helps.
    pub(crate) fn whole(&self) -> String {
        match &*self.remedy {
            "" => self.sentence.clone(),
            remedy => format!("{}; {remedy}", self.sentence),
        }
    }
}
