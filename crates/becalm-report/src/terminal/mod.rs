//! How is a measurement shown in a grid of characters?

mod columns;
mod dots;
mod fold;
mod painter;
mod progress;

use unicode_width::UnicodeWidthChar as _;

pub(crate) use columns::sparkbar;
pub use columns::{columns, sparkline};
pub(crate) use dots::Dots;
pub use fold::{FIRST_LINES, fold, is_fold};
pub use painter::Painter;
pub use progress::{Progress, progress};

/// How many columns the text takes: wide characters take two, combining ones none, and a control
/// character the one of the space that [`fit`] makes of it.
pub fn width(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

fn columns_of(character: char) -> usize {
    character.width().unwrap_or(1)
}

/// The text in exactly `width` columns: padded with spaces, or cut with an ellipsis.
///
/// Control characters become spaces.
///
/// ```
/// use becalm_report::terminal::fit;
/// assert_eq!(fit("storm", 7), "storm  ");
/// assert_eq!(fit("amplification", 7), "amplif…");
/// ```
pub fn fit(text: &str, width: usize) -> String {
    let visible = |character: char| {
        if character.is_control() {
            ' '
        } else {
            character
        }
    };
    let length = self::width(text);
    let (room, end) = match width.checked_sub(1) {
        _ if length <= width => (width, None),
        Some(room) => (room, Some('…')),
        None => (0, None),
    };
    let mut used = 0;
    let mut fitted: String = text
        .chars()
        .take_while(|character| {
            used += columns_of(*character);
            used <= room
        })
        .map(visible)
        .chain(end)
        .collect();
    // A wide character that did not fit leaves a column.
    let padding = width.saturating_sub(self::width(&fitted));
    fitted.extend(std::iter::repeat_n(' ', padding));
    fitted
}

/// The text, cut where it is wider than `most` columns.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if width(text) > most {
        fit(text, most)
    } else {
        text.into()
    }
}

/// The text as a line of at most `width` columns, ended by a line break. Empty text has no line.
pub(crate) fn line(text: &str, width: usize) -> String {
    if text.is_empty() {
        return String::new();
    }
    format!("{}\n", fit(text, width).trim_end())
}

/// The text in lines of at most `width` columns, broken between words. A longer word has a line of
/// its own.
///
/// ```
/// use becalm_report::terminal::wrap;
/// assert_eq!(wrap("one two three", 8), ["one two", "three"]);
/// ```
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if self::width(line) + 1 + self::width(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapping_loses_no_word() {
        let text = "a storm that outlives its cause\nis kept alive by retries";
        for width in 0..60 {
            let lines = wrap(text, width);
            let words: Vec<_> = lines.iter().flat_map(|line| line.split(' ')).collect();
            assert_eq!(words, text.split_whitespace().collect::<Vec<_>>());
            let longest = lines.iter().filter(|line| line.contains(' '));
            assert!(
                longest
                    .into_iter()
                    .all(|line| line.chars().count() <= width)
            );
        }
    }

    #[test]
    fn text_fits_whatever_the_width() {
        for width in 0..20 {
            for text in [
                "",
                "a",
                "naïve ✓",
                "再試行の嵐",
                "a long line of text",
                "\u{1b}[31m\n",
            ] {
                let fitted = fit(text, width);
                assert_eq!(self::width(&fitted), width, "{text:?} in {width}");
                assert!(!fitted.contains(char::is_control));
            }
        }
    }
}
