//! How does foreign text get into markup without becoming markup?

/// The text, safe between tags and inside quoted attributes of HTML, XML and SVG.
///
/// Control characters that XML 1.0 (section 2.2) forbids become U+FFFD, so that a picture with a
/// stray byte in a label still opens.
///
/// ```
/// assert_eq!(becalm_report::escape::markup("a < b & \"c\""), "a &lt; b &amp; &quot;c&quot;");
/// ```
pub fn markup(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\t' | '\n' | '\r' => escaped.push(character),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            _ if character.is_control() => escaped.push('\u{fffd}'),
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_opens_markup_survives() {
        let hostile = "</svg><script>alert('1')</script> & \" onload=\"x";
        let escaped = markup(hostile);
        assert!(!escaped.contains(['<', '>', '"', '\'']), "{escaped}");
        assert!(escaped.split('&').skip(1).all(|rest| {
            ["lt;", "gt;", "amp;", "quot;", "#39;"]
                .iter()
                .any(|entity| rest.starts_with(entity))
        }));
    }

    #[test]
    fn characters_that_xml_forbids_are_replaced() {
        assert_eq!(
            markup("a\u{0}b\u{1b}[31mc\u{ffff}"),
            "a\u{fffd}b\u{fffd}[31mc\u{fffd}"
        );
        assert_eq!(markup("tab\tand\nline"), "tab\tand\nline");
    }
}
