//! What is said of a command, and what do its arguments decide of it?

use super::Repeat;
use super::answers::Answer;
use super::arguments::Arguments;
use super::touch::Touch;

/// What the table says of a command.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub rule: Rule,
    /// What it answers the second time, if it may be sent again.
    pub answer: Answer,
    pub touch: Touching,
    pub why: &'static str,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Rule {
    Is(Repeat),
    /// Its arguments decide.
    By(fn(Arguments<'_>) -> Repeat),
}

impl Rule {
    pub fn repeat(self, arguments: Arguments<'_>) -> Repeat {
        match self {
            Self::Is(repeat) => repeat,
            Self::By(decide) => decide(arguments),
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Touching {
    Is(Touch),
    /// Its arguments decide.
    By(fn(Arguments<'_>) -> Touch),
}

impl Touching {
    pub fn of(self, arguments: Arguments<'_>) -> Touch {
        match self {
            Self::Is(touch) => touch,
            Self::By(decide) => decide(arguments),
        }
    }
}
