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

/// The sentences of a text, each with its full stop.
pub fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text.trim();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let ends = rest.match_indices(". ").map(|it| it.0 + 1).find(|at| {
            let next = rest[*at..].trim_start().chars().next();
            next.is_some_and(|it| !it.is_lowercase() && !it.is_ascii_digit())
        });
        let (one, others) = rest.split_at(ends.unwrap_or(rest.len()));
        rest = others.trim_start();
        Some(one)
    })
}

/// The first sentences of a text, as many as hold this; at least one. And whether it is all of it.
pub fn begun(text: &str, holds: impl Fn(&str) -> bool) -> (String, bool) {
    let mut begun = String::new();
    for sentence in sentences(text) {
        let more = if begun.is_empty() {
            sentence.to_owned()
        } else {
            format!("{begun} {sentence}")
        };
        if !begun.is_empty() && !holds(&more) {
            return (begun, false);
        }
        begun = more;
    }
    (begun, true)
}

/// The first sentences of a text in at most this many lines, cut where even the first is longer. And whether it is all of it.
pub fn filled_within(most: usize, columns: usize, text: &str) -> (String, bool) {
    let lines = |it: &str| filled(columns, "", it);
    let (begun, is_all) = begun(text, |it| lines(it).lines().count() <= most);
    let filled = lines(&begun);
    if filled.lines().count() <= most {
        return (filled, is_all);
    }
    let kept: Vec<&str> = filled.lines().take(most).collect();
    let room = columns.saturating_sub(4);
    let mut kept = kept.join("\n");
    let last = kept.rfind('\n').map_or(0, |it| it + 1);
    while kept[last..].chars().count() > room {
        match kept[last..].rfind(' ') {
            Some(at) => kept.truncate(last + at),
            None => break,
        }
    }
    (kept + " ...\n", false)
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

    #[test]
    fn s5_a_text_begins_with_whole_sentences() {
        let text = "Take it: 1.5 s. It holds. Up to e.g. 3 s, and more.";
        assert_eq!(
            sentences(text).collect::<Vec<_>>(),
            ["Take it: 1.5 s.", "It holds.", "Up to e.g. 3 s, and more."]
        );
        let shorter = |most: usize| begun(text, |it| it.len() <= most);
        assert_eq!(shorter(30), ("Take it: 1.5 s. It holds.".into(), false));
        assert_eq!(shorter(0), ("Take it: 1.5 s.".into(), false));
        assert_eq!(shorter(99), (text.into(), true));
        assert_eq!(filled_within(1, 80, text), (format!("{text}\n"), true));
        let (lines, is_all) = filled_within(2, 20, &"word ".repeat(40));
        assert_eq!((lines.lines().count(), is_all), (2, false), "{lines}");
        assert!(lines.ends_with(" ...\n"), "{lines}");
        assert!(lines.lines().all(|it| it.len() <= 20), "{lines}");
    }
}
