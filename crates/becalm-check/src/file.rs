//! What is a file that is checked?

use std::borrow::Cow;

use crate::document::{LONGEST, in_lines};

/// A file: its name and what stands in it.
#[derive(Debug, Clone, Copy)]
pub struct File<'a> {
    pub(crate) name: &'a str,
    pub(crate) text: &'a str,
}

impl<'a> File<'a> {
    /// A file of this name with this text. The name is only told, never opened.
    pub const fn new(name: &'a str, text: &'a str) -> Self {
        Self { name, text }
    }

    /// Whether it is so long that it is not read.
    pub(crate) const fn is_too_long(&self) -> bool {
        self.text.len() > LONGEST
    }

    /// Nothing of what is too long.
    pub(crate) fn lines(&self) -> Cow<'a, str> {
        if self.is_too_long() {
            return Cow::Borrowed("");
        }
        in_lines(self.text.strip_prefix('\u{feff}').unwrap_or(self.text))
    }
}
