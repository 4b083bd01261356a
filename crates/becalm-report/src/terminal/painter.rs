//! Does this terminal show colours?

use crate::colour::Colour;

/// Writes text in a colour, or plainly where colours are not wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Painter {
    /// No escape sequences: for files, pipes and `NO_COLOR`.
    #[default]
    Plain,
    /// The sixteen colours of ECMA-48, which follow the user's own theme.
    Ansi,
}

impl Painter {
    /// The text in the colour.
    pub fn paint(self, colour: Colour, text: &str) -> String {
        match (self, colour.terminal_code()) {
            (Self::Ansi, Some(code)) if !text.trim().is_empty() => {
                format!("\u{1b}[{code}m{text}\u{1b}[0m")
            }
            _ => text.into(),
        }
    }

    /// The text in bold.
    pub fn bold(self, text: &str) -> String {
        match self {
            Self::Ansi => format!("\u{1b}[1m{text}\u{1b}[0m"),
            Self::Plain => text.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_painter_writes_no_escape() {
        assert_eq!(Painter::Plain.paint(Colour::Red, "x"), "x");
        assert_eq!(Painter::Plain.bold("x"), "x");
        assert_eq!(
            Painter::Ansi.paint(Colour::Red, "x"),
            "\u{1b}[31mx\u{1b}[0m"
        );
        assert_eq!(Painter::Ansi.paint(Colour::Ink, "x"), "x");
    }
}
