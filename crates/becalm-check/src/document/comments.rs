//! Which JSON is left when its comments are gone?

use std::borrow::Cow;

/// The text with spaces in place of `//` and `/* */` outside of strings, so that every line and
/// column stays; as it stands where it is no JSON.
pub fn blanked(text: &str) -> Cow<'_, str> {
    let starts = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    let begins = |marks: &[&str]| marks.iter().any(|it| starts.starts_with(it));
    let is_json = begins(&["{", "[", "//", "/*"]) && !begins(&["{{", "{%"]);
    if !is_json || !(text.contains("//") || text.contains("/*")) {
        return Cow::Borrowed(text);
    }
    let mut blank = String::with_capacity(text.len());
    let mut left = text.chars().peekable();
    let mut within = Within::Json;
    while let Some(c) = left.next() {
        let next = left.peek().copied();
        let (shown, then) = match (within, c, next) {
            (Within::Json, '"', _) => (c, Within::Text),
            (Within::Json, '\'', _) if blank.ends_with(BEFORE_A_TEXT) => (c, Within::Literal),
            (Within::Json, '/', Some('/')) if !is_of_word(&blank) => (' ', Within::Line),
            (Within::Json, '/', Some('*')) if !is_of_word(&blank) => {
                left.next();
                blank.push(' ');
                (' ', Within::Block)
            }
            (Within::Text, '\\', Some(escaped)) => {
                left.next();
                blank.push(c);
                (escaped, Within::Text)
            }
            (Within::Text, '"' | '\n', _)
            | (Within::Literal, '\'' | '\n', _)
            | (Within::Line, '\n', _) => (c, Within::Json),
            (Within::Block, '*', Some('/')) => {
                left.next();
                blank.push(' ');
                (' ', Within::Json)
            }
            (Within::Json | Within::Text | Within::Literal, ..) | (Within::Block, '\n', _) => {
                (c, within)
            }
            (Within::Line | Within::Block, ..) => (' ', within),
        };
        blank.push(shown);
        within = then;
    }
    Cow::Owned(blank)
}

/// Two quotes in a text are one.
const BEFORE_A_TEXT: [char; 7] = [' ', '\n', '{', '[', ',', ':', '\''];

/// Whether a slash after this text stands in a word of YAML: `http://x`, `Path=/**`. Of JSON only three words have letters.
fn is_of_word(before: &str) -> bool {
    let word = before.strip_suffix(':').unwrap_or(before);
    let is_of_json = ["true", "false", "null"]
        .iter()
        .any(|it| word.ends_with(it));
    !is_of_json && word.ends_with(|it: char| it.is_alphabetic() || "=/.-_*".contains(it))
}

#[derive(Clone, Copy)]
enum Within {
    Json,
    Text,
    Literal,
    Line,
    Block,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_become_blanks_and_texts_stay() {
        let text = "{ // a \"b\"\n \"url\": \"http://x\\\"//y\", /* c\n d */ \"n\": 1 }";
        let blank = blanked(text);
        assert_eq!(
            blank,
            "{         \n \"url\": \"http://x\\\"//y\",     \n      \"n\": 1 }"
        );
        assert_eq!(blank.chars().count(), text.chars().count());
        assert_eq!(
            blanked("{\"a\":true//b\n,\"c\": 1//d"),
            "{\"a\":true   \n,\"c\": 1   "
        );
        for no_json in [
            "[http://x, {a: https://y}]",
            "{'it''s //': 'a /* b', b: [Path=/**, /a/**]}",
            "a: http://x",
            "{{- if .x }}\na: http://x",
            "{% if x %}a: http://x",
        ] {
            assert_eq!(blanked(no_json), no_json);
        }
    }
}
