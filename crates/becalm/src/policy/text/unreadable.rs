//! Why can a part of a policy not be read?

use alloc::string::{String, ToString};
use core::fmt;

use crate::policy::InvalidPolicy;

/// Why a text, or a value of a policy file, is no part of a policy. `Display` names what is at fault
/// and the remedy: the known word that was probably meant, or all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    parameter: Option<String>,
    sentence: String,
}

impl Unreadable {
    /// The parameter at fault as it was written, if one parameter is.
    pub fn parameter(&self) -> Option<&str> {
        self.parameter.as_deref()
    }

    pub(crate) fn new(sentence: String) -> Self {
        Self {
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
        Self::new(reason.to_string())
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl core::error::Error for Unreadable {}
