//! Why can a part of a policy not be read?

use alloc::format;
use alloc::string::String;
use core::fmt;

use crate::policy::InvalidPolicy;

/// Why a text, or a table of a file, is no part of a policy. `Display` names what is at fault and the
/// remedy: the known word that was probably meant, or all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unreadable {
    /// There is no such kind, or none was named.
    Kind {
        /// The part of the policy, such as `breaker`.
        of: &'static str,
        /// The kind as it was written; empty if a table names none.
        kind: String,
        /// What to write instead.
        remedy: String,
    },
    /// The kind has no such parameter.
    Parameter {
        /// The part of the policy.
        of: &'static str,
        /// The kind, such as `consecutive`.
        kind: &'static str,
        /// The parameter as it was written.
        parameter: String,
        /// What to write instead.
        remedy: String,
    },
    /// A parameter was given twice, or two were given of which only one may be.
    Twice {
        /// The part of the policy.
        of: &'static str,
        /// The one that came first, as it was written.
        one: String,
        /// The other.
        other: String,
    },
    /// The value is missing, or of another type.
    Value {
        /// The part of the policy.
        of: &'static str,
        /// The parameter; of a value right behind a kind, that kind.
        parameter: String,
        /// The value as it was written, if there is one.
        value: Option<String>,
        /// What to write instead.
        reason: String,
    },
    /// It was read, and cannot be kept: most often a value that is out of range.
    Invalid(InvalidPolicy),
}

impl Unreadable {
    /// The parameter at fault, as it was written, if it is the fault of one.
    pub fn parameter(&self) -> Option<&str> {
        match self {
            Self::Parameter { parameter, .. } | Self::Value { parameter, .. } => Some(parameter),
            _ => None,
        }
    }
}

impl From<InvalidPolicy> for Unreadable {
    fn from(reason: InvalidPolicy) -> Self {
        Self::Invalid(reason)
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind { of, kind, remedy } if kind.is_empty() => {
                write!(f, "the {of} names no kind; {remedy}")
            }
            Self::Kind { of, kind, remedy } => {
                write!(f, "there is no {of} `{kind}`; {remedy}")
            }
            Self::Parameter {
                of,
                kind,
                parameter,
                remedy,
            } => write!(
                f,
                "the {of} `{kind}` has no parameter `{parameter}`; {remedy}"
            ),
            Self::Twice { of, one, other } => {
                write!(f, "the {of} has both `{one}` and `{other}`; keep one")
            }
            Self::Value {
                of,
                parameter,
                value,
                reason,
            } => {
                write!(f, "the {of}'s {parameter} ")?;
                match value {
                    Some(value) => write!(f, "is `{value}`: {reason}"),
                    None => write!(f, "has no value: {reason}"),
                }
            }
            Self::Invalid(reason) => reason.fmt(f),
        }
    }
}

impl core::error::Error for Unreadable {}

/// Asks for the word that is near, or says something else.
pub(super) fn remedy(nearest: Option<&str>, otherwise: impl FnOnce() -> String) -> String {
    nearest.map_or_else(otherwise, |word| format!("did you mean `{word}`?"))
}

/// The words apart by commas, and the last by `last`.
pub(super) fn list<'a>(start: &str, words: impl Iterator<Item = &'a str>, last: &str) -> String {
    let words: alloc::vec::Vec<_> = words.collect();
    match words[..] {
        [] => format!("{start}none"),
        [word] => format!("{start}{word}"),
        [ref words @ .., end] => format!("{start}{}{last}{end}", words.join(", ")),
    }
}
