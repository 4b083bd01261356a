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
    // The last two letters: of `http://x`, a word of YAML, no key of JSON has the colon.
    let mut before = [' '; 2];
    while let Some(c) = left.next() {
        let next = left.peek().copied();
        let (shown, then) = match (within, c, next) {
            (Within::Json, '"', _) => (c, Within::Text),
            (Within::Json, '/', Some('/')) if !is_scheme(before) => (' ', Within::Line),
            (Within::Json, '/', Some('*')) => {
                left.next();
                blank.push(' ');
                (' ', Within::Block)
            }
            (Within::Text, '\\', Some(escaped)) => {
                left.next();
                blank.push(c);
                (escaped, Within::Text)
            }
            (Within::Text, '"' | '\n', _) | (Within::Line, '\n', _) => (c, Within::Json),
            (Within::Block, '*', Some('/')) => {
                left.next();
                blank.push(' ');
                (' ', Within::Json)
            }
            (Within::Json | Within::Text, ..) | (Within::Block, '\n', _) => (c, within),
            (Within::Line | Within::Block, ..) => (' ', within),
        };
        blank.push(shown);
        within = then;
        before = [before[1], c];
    }
    Cow::Owned(blank)
}

fn is_scheme([letter, colon]: [char; 2]) -> bool {
    letter.is_ascii_alphanumeric() && colon == ':'
}

#[derive(Clone, Copy)]
enum Within {
    Json,
    Text,
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
        for no_json in [
            "[http://x, {a: https://y}]",
            "a: http://x",
            "{{- if .x }}\na: http://x",
            "{% if x %}a: http://x",
        ] {
            assert_eq!(blanked(no_json), no_json);
        }
    }
}
