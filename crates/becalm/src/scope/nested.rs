//! What does a retry inside a retry do?

use core::fmt;
use core::str::FromStr;

/// What a retry inside another retry of the same task or thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Nested {
    /// The inner one runs once and leaves the repetition to the outer one. The default: 4 x 4 x 4
    /// attempts are 64.
    #[default]
    Suppress,
    /// The inner one retries as if it stood alone.
    Allow,
    /// The inner one retries, and its retries are paid from the outer one's budget: of the outermost
    /// where each in between shares too, and from its own where the two are on different clocks
    /// or the outer one is in another process.
    ShareBudget,
}

impl fmt::Display for Nested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Suppress => "suppress",
            Self::Allow => "allow",
            Self::ShareBudget => "share-budget",
        })
    }
}

/// The text names no way with nested retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownNested;

impl fmt::Display for UnknownNested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the way with nested retries is not one of suppress, allow, share-budget")
    }
}

impl core::error::Error for UnknownNested {}

impl FromStr for Nested {
    type Err = UnknownNested;

    fn from_str(text: &str) -> Result<Self, UnknownNested> {
        Ok(match text {
            "suppress" => Self::Suppress,
            "allow" => Self::Allow,
            "share-budget" => Self::ShareBudget,
            _ => return Err(UnknownNested),
        })
    }
}
