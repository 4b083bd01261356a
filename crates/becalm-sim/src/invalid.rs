//! Which parameter of a study or of a simulator makes no sense, and what would be right?

use std::fmt;

use becalm::policy::InvalidPolicy;

/// A parameter that makes no sense. `Display` names it and the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidParameter {
    /// Which; empty where several together make no sense.
    pub name: &'static str,
    /// What is wrong with it, and what would be right.
    pub sentence: String,
}

impl InvalidParameter {
    /// Says what is wrong with a parameter, and what would be right.
    pub fn new(name: &'static str, sentence: impl Into<String>) -> Self {
        Self {
            name,
            sentence: sentence.into(),
        }
    }
}

impl fmt::Display for InvalidParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.name.is_empty() {
            write!(f, "--{}: ", self.name)?;
        }
        f.write_str(&self.sentence)
    }
}

impl std::error::Error for InvalidParameter {}

/// A policy that is refused, as the flag at fault.
impl From<InvalidPolicy> for InvalidParameter {
    fn from(reason: InvalidPolicy) -> Self {
        Self::new(reason.field(), reason.to_string())
    }
}
