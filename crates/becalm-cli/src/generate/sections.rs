//! Which section of a manual page does a part of the help belong to?

/// Titles of parts of the help, and the section that readers of manuals look for (man-pages(7)).
const SECTIONS: [(&str, &str); 5] = [
    ("Examples:", "EXAMPLES"),
    ("Exit codes:", "EXIT STATUS"),
    ("Environment:", "ENVIRONMENT"),
    ("Signals:", "SIGNALS"),
    ("Report:", "REPORT"),
];

const NOTES: &str = "NOTES";

/// The sections of the text behind the options, in its order, with their lines. The lines of a
/// titled part are indented; the first that is not ends it.
pub fn of(text: &str) -> Vec<(&'static str, Vec<&str>)> {
    let mut sections: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in text.lines() {
        let title = SECTIONS.iter().find(|(title, _)| *title == line);
        if let Some((_, name)) = title {
            sections.push((name, Vec::new()));
            continue;
        }
        let is_text = !line.is_empty() && !line.starts_with(' ');
        match sections.last_mut() {
            Some((name, lines)) if *name == NOTES || !is_text => lines.push(line),
            _ => sections.push((NOTES, vec![line])),
        }
    }
    for (_, lines) in &mut sections {
        while lines.last().is_some_and(|line| line.is_empty()) {
            lines.pop();
        }
    }
    sections.retain(|(_, lines)| !lines.is_empty());
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_begin_sections_and_other_text_is_a_note() {
        let text = "Some\n  note.\n\nExit codes:\n  0  good\n\nExamples:\n  a\n\nThe end:\n  b";
        let expected = [
            ("NOTES", vec!["Some", "  note."]),
            ("EXIT STATUS", vec!["  0  good"]),
            ("EXAMPLES", vec!["  a"]),
            ("NOTES", vec!["The end:", "  b"]),
        ];
        assert_eq!(of(text), expected);
        assert_eq!(of(""), []);
    }
}
