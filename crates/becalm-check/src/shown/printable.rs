//! Which text is safe to print, whatever a file says?

use std::borrow::Cow;
use std::fmt::Write as _;

/// The text with control characters and marks of direction as `\u{1b}`, so that no file moves the
/// cursor, colours the terminal or turns a line round.
///
/// ```
/// use becalm_check::shown::printable;
///
/// assert_eq!(printable("a\u{1b}[31m\n"), r"a\u{1b}[31m\u{a}");
/// ```
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) {
            let _ = write!(shown, "\\u{{{:x}}}", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// What is not seen, or changes what is (Unicode's `Bidi_Control`, zero-width characters, separators
/// of lines, tags).
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_or_hides_is_told_by_its_number() {
        assert_eq!(printable("plain é 漢"), "plain é 漢");
        assert_eq!(printable("\u{202e}x\u{9b}m\r"), r"\u{202e}x\u{9b}m\u{d}");
    }
}
