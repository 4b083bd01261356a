//! Why can a part of a policy not be read?

use alloc::string::{String, ToString};
use core::fmt;

use crate::policy::InvalidPolicy;

/// Why a text, or a value of a policy file, is no part of a policy. `Display` names what is at fault
/// and the remedy: the known word that was probably meant, or all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    fault: Fault,
    parameter: Option<String>,
    sentence: String,
}

/// What is wrong with a part that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// There is no such kind or word, or a table names none.
    Kind,
    /// The kind has no such parameter.
    Parameter,
    /// A parameter is there twice, or two of which only one may be.
    Twice,
    /// A value is missing, or of another type.
    Value,
    /// It was read and cannot be kept: most often a value is out of range.
    Invalid(InvalidPolicy),
}

impl Unreadable {
    /// What is wrong.
    pub const fn fault(&self) -> Fault {
        self.fault
    }

    /// The parameter at fault as it was written, if one parameter is.
    pub fn parameter(&self) -> Option<&str> {
        self.parameter.as_deref()
    }

    pub(crate) fn new(fault: Fault, sentence: String) -> Self {
        Self {
            fault,
            parameter: None,
            sentence,
        }
    }

    pub(crate) fn at(self, parameter: &str) -> Self {
        Self {
            parameter: Some(parameter.into()),
            ..self
        }
    }
}

impl From<InvalidPolicy> for Unreadable {
    fn from(reason: InvalidPolicy) -> Self {
        Self::new(Fault::Invalid(reason), reason.to_string())
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl core::error::Error for Unreadable {}
