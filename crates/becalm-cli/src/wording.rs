//! What does a policy say, in the words of its flags and in 80 columns?

use becalm_report::format::glued;
pub use becalm_report::policy::{delays, limits, protection};

/// The text in lines of at most 80 columns, each ended.
pub fn wrapped(text: &str) -> String {
    indented("", text)
}

/// Fills a text into lines of 80 columns, each behind this indentation.
pub fn indented(indentation: &str, text: &str) -> String {
    filled(80, indentation, text)
}

/// Fills a text into lines of at most this many columns, each behind this indentation.
pub fn filled(columns: usize, indentation: &str, text: &str) -> String {
    let mut lines = String::new();
    let mut column = 0;
    let glued = glued(text);
    for word in glued.split(' ') {
        // The text of a flag may be longer than a line: then it is broken behind a comma.
        let is_long = indentation.len() + word.chars().count() > columns;
        let parts = word.split_inclusive(|it| is_long && it == ',');
        for (index, part) in parts.enumerate() {
            let width = part.chars().count();
            let between = if index == 0 { " " } else { "" };
            if column > 0 && column + between.len() + width > columns {
                lines.push('\n');
                column = 0;
            }
            let before = if column == 0 { indentation } else { between };
            lines.push_str(before);
            lines.push_str(part);
            column += before.len() + width;
        }
    }
    lines.push('\n');
    // No-break spaces have done their work, and are in the way of who searches the text.
    lines.replace('\u{a0}', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_wrapped_between_words() {
        let text = "word ".repeat(40);
        let lines = indented("    ", text.trim_end());
        assert!(
            lines
                .lines()
                .all(|line| line.len() <= 80 && line.starts_with("    word"))
        );
        assert_eq!(lines.split_whitespace().count(), 40);
        let long = "x".repeat(100);
        assert_eq!(wrapped(&format!("a {long} b")), format!("a\n{long}\nb\n"));
        let flag = "parameter:1,".repeat(9);
        let lines = wrapped(&format!("a {flag} b"));
        assert!(lines.lines().all(|line| line.len() <= 80), "{lines}");
        assert_eq!(lines.replace('\n', ""), format!("a {flag} b"));
        assert_eq!(
            filled(10, "", "up to 106 % of 1 000"),
            "up to\n106 % of\n1 000\n"
        );
        let narrow = filled(40, "  ", &text);
        assert!(narrow.lines().all(|line| line.len() <= 40), "{narrow}");
        assert!(narrow.lines().count() > lines.lines().count());
    }
}
