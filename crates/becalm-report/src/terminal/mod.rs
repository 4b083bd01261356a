//! How is a measurement shown in a grid of characters?

mod columns;
mod painter;

pub use columns::{columns, sparkline};
pub use painter::Painter;

/// The text in exactly `width` columns: padded with spaces, or cut with an ellipsis.
///
/// Every character counts as one column, control characters become spaces.
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
    let length = text.chars().count();
    if length <= width {
        let padding = std::iter::repeat_n(' ', width - length);
        return text.chars().map(visible).chain(padding).collect();
    }
    let kept = text.chars().take(width.saturating_sub(1)).map(visible);
    kept.chain((width > 0).then_some('…')).collect()
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
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
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
            for text in ["", "a", "naïve ✓", "a long line of text", "\u{1b}[31m\n"] {
                let fitted = fit(text, width);
                assert_eq!(fitted.chars().count(), width, "{text:?} in {width}");
                assert!(!fitted.contains(char::is_control));
            }
        }
    }
}
