//! What of a report is seen first? A screen of lines, and then a line that says what follows.

use super::{Painter, fit, width};
use crate::colour::Colour;

/// Lines above the fold: what to set, the reason, the figures that say so, and the picture.
///
/// A terminal of 80 columns has 24 lines or 25.
pub const FIRST_LINES: usize = 25;

/// The words with which a fold begins.
const MORE: &str = "── more: ";

/// The line between the first screen and the rest, which it names, as wide as the terminal.
///
/// ```
/// use becalm_report::terminal::{Painter, fold};
/// assert_eq!(fold("all figures", 24, Painter::Plain), "── more: all figures ───\n");
/// ```
pub fn fold(rest: &str, columns: usize, painter: Painter) -> String {
    let named = format!("{MORE}{rest} ");
    let left = columns.saturating_sub(width(&named));
    let line = fit(&format!("{named}{}", "─".repeat(left)), columns);
    painter.paint(Colour::Muted, &line) + "\n"
}

/// Whether a line is a [`fold`].
pub fn is_fold(line: &str) -> bool {
    line.contains(MORE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fold_is_one_line_of_the_width_whatever_it_names() {
        for columns in [0, 20, 40, 80, 100] {
            for rest in ["", "all figures", &"a long list ".repeat(20)] {
                let line = fold(rest, columns, Painter::Plain);
                assert_eq!(width(line.trim_end_matches('\n')), columns);
            }
        }
        assert!(is_fold(&fold("x", 80, Painter::Ansi)) && !is_fold("no more: x"));
    }
}
