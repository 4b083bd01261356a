//! What does a file say for a value?

use crate::document::Span;

/// What a file says for a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told<T> {
    /// Nothing.
    Absent,
    /// A placeholder, or what is not understood (there is a finding of either), with its text.
    Unknown(Span, String),
    /// This, from there.
    Is(T, Span),
}

impl<T> Told<T> {
    /// What it says, if it does.
    pub fn known(self) -> Option<T> {
        match self {
            Self::Is(value, _) => Some(value),
            _ => None,
        }
    }

    /// What becomes of a value that is there.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Told<U> {
        match self {
            Self::Absent => Told::Absent,
            Self::Unknown(span, text) => Told::Unknown(span, text),
            Self::Is(value, span) => Told::Is(change(value), span),
        }
    }

    /// This, or the other where nothing is said here.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match self {
            Self::Absent => other,
            told => told,
        }
    }
}
