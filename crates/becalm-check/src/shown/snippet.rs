//! What stands at a place of a file, in the width of a terminal?

use super::printable::printable;
use crate::document::{Span, in_lines};

/// A line of a file with the place in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snippet {
    /// The line, safe to print, cut where it is long.
    pub line: String,
    /// Characters of `line` before the place.
    pub before: usize,
    /// Characters of the place: at least 1.
    pub length: usize,
}

/// The longest line that is shown.
const WIDTH: usize = 120;

/// The place of a text; `None` beyond its end.
pub fn snippet(text: &str, span: Span) -> Option<Snippet> {
    let text = in_lines(text);
    let line = text.lines().nth(span.line.checked_sub(1)?)?;
    let line = line.trim_end();
    if line.is_empty() {
        return None;
    }
    let column = span.column.saturating_sub(1);
    let start = column.saturating_sub(WIDTH / 2);
    let part = |from: usize, most: usize| {
        let part: String = line.chars().skip(from).take(most).collect();
        printable(&part.replace('\t', " ")).into_owned()
    };
    let cut = if start > 0 { "..." } else { "" };
    let before = format!("{cut}{}", part(start, column - start));
    let place = part(column, span.length.clamp(1, WIDTH / 2));
    let shown = column + span.length.clamp(1, WIDTH / 2);
    let rest = part(shown, (start + WIDTH).saturating_sub(shown));
    let is_long = line.chars().nth(start + WIDTH).is_some();
    let cut = if is_long { "..." } else { "" };
    Some(Snippet {
        before: before.chars().count(),
        length: place.chars().count().max(1),
        line: format!("{before}{place}{rest}{cut}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_under_its_characters() {
        let shown = snippet("a\n\tb: \u{1b}[0m3", Span::new(2, 5, 5)).unwrap();
        assert_eq!(shown.line, r" b: \u{1b}[0m3");
        assert_eq!((shown.before, shown.length), (4, 10));
        assert_eq!(snippet("a", Span::new(2, 1, 1)), None);
        assert_eq!(snippet("a", Span::new(0, 1, 1)), None);
        assert_eq!(snippet("a\rb\r\nc", Span::new(3, 1, 1)).unwrap().line, "c");
        let beyond = snippet("a", Span::new(1, 9, 3)).unwrap();
        assert_eq!((&*beyond.line, beyond.length), ("a", 1));
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let line = format!("{}here{}", "x".repeat(900), "y".repeat(900));
        let shown = snippet(&line, Span::new(1, 901, 4)).unwrap();
        assert!(shown.line.chars().count() < 140, "{}", shown.line);
        let place: String = shown
            .line
            .chars()
            .skip(shown.before)
            .take(shown.length)
            .collect();
        assert_eq!(place, "here");
    }
}
