//! How is a finding shown with its line, as compilers show an error?

use std::fmt::Write as _;

use becalm_check::shown::{Snippet, printable};
use becalm_check::{Finding, Severity};
use becalm_report::Colour;
use becalm_report::terminal::{Painter, wrap};

use super::input::Input;

/// The finding with its sentence, its place, the line under its number, and the remedy, in this many columns.
pub fn frame(finding: &Finding, file: Option<&Input>, columns: usize, painter: Painter) -> String {
    let colour = colour(finding.severity);
    let kind = format!("{}[{}]:", finding.severity.as_str(), finding.code);
    let sentence = format!("{kind} {}", printable(&finding.sentence));
    let mut text = String::new();
    for (at, line) in hanging(&sentence, columns, 2).into_iter().enumerate() {
        let line = match line.strip_prefix(&kind).filter(|_| at == 0) {
            Some(rest) => painter.paint(colour, &kind) + &painter.bold(rest),
            None => painter.bold(&line),
        };
        text += &(line + "\n");
    }
    let number = finding.span.line.to_string();
    let margin = " ".repeat(number.len());
    let rule = |it: &str| painter.paint(Colour::Blue, it);
    let _ = writeln!(
        text,
        "{margin}{} {}:{}:{}",
        rule("-->"),
        printable(&finding.file),
        finding.span.line,
        finding.span.column
    );
    if let Some(shown) = file.and_then(|it| it.snippet(finding.span)) {
        let shown = narrowed(shown, columns.saturating_sub(margin.len() + 3));
        let bar = rule("|");
        let _ = writeln!(
            text,
            "{margin} {bar}\n{} {bar} {}",
            rule(&number),
            shown.line
        );
        let mark = painter.paint(colour, &"^".repeat(shown.length));
        let _ = writeln!(text, "{margin} {bar} {}{mark}", " ".repeat(shown.before));
    }
    text + &remedy(finding, margin.len() + 1, columns, painter)
}

/// The remedy behind an equals sign; nothing where there is none.
pub fn remedy(finding: &Finding, before: usize, columns: usize, painter: Painter) -> String {
    let margin = " ".repeat(before);
    let lines = hanging(
        &printable(&finding.remedy),
        columns.saturating_sub(before + 2),
        0,
    );
    let lines = lines.iter().zip(0..).map(|(line, at)| match at {
        0 => format!("{margin}{} {line}\n", painter.paint(Colour::Blue, "=")),
        _ => format!("{margin}  {line}\n"),
    });
    lines.collect()
}

/// The line with its number and a mark below the place, as plain text.
pub fn numbered(finding: &Finding, shown: &Snippet) -> String {
    let number = finding.span.line.to_string();
    let margin = " ".repeat(number.len());
    let mark = "^".repeat(shown.length);
    let before = " ".repeat(shown.before);
    format!("{number} | {}\n{margin} | {before}{mark}", shown.line)
}

/// The text in lines of this many columns, those behind the first further in.
pub fn hanging(text: &str, columns: usize, further: usize) -> Vec<String> {
    let mut lines = wrap(text, columns.saturating_sub(further));
    for line in lines.iter_mut().skip(1) {
        line.insert_str(0, &" ".repeat(further));
    }
    lines
}

const CUT: &str = "...";

/// What is shown around the place, in this many columns.
fn narrowed(shown: Snippet, columns: usize) -> Snippet {
    let letters: Vec<char> = shown.line.chars().collect();
    if letters.len() <= columns {
        return shown;
    }
    let room = columns.saturating_sub(2 * CUT.len()).max(1);
    let from = (shown.before + shown.length / 2).saturating_sub(room / 2);
    let from = from.min(letters.len().saturating_sub(room));
    let part: String = letters.iter().skip(from).take(room).collect();
    let start = if from > 0 { CUT } else { "" };
    let end = if from + room < letters.len() { CUT } else { "" };
    let seen = shown.before.max(from);
    let last = (shown.before + shown.length).min(from + room);
    Snippet {
        line: format!("{start}{part}{end}"),
        before: start.len() + seen - from,
        length: last.saturating_sub(seen).max(1),
    }
}

/// As everywhere: red is bad.
pub const fn colour(severity: Severity) -> Colour {
    match severity {
        Severity::Error => Colour::Red,
        Severity::Warning => Colour::Orange,
        Severity::Note => Colour::Blue,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s5_a_line_is_cut_around_its_place() {
        let shown = |before: usize, length: usize| {
            let place = "^".repeat(length);
            let line = format!("{}{place}{}", "x".repeat(before), "y".repeat(100 - before));
            narrowed(
                Snippet {
                    line,
                    before,
                    length,
                },
                40,
            )
        };
        for (before, length) in [(0, 4), (50, 4), (98, 2), (20, 60), (100, 1)] {
            let shown = shown(before, length);
            let width = shown.line.chars().count();
            let place: String = shown
                .line
                .chars()
                .skip(shown.before)
                .take(shown.length)
                .collect();
            assert!(
                width <= 40 && shown.before + shown.length <= 40,
                "{shown:?}"
            );
            assert!(
                !place.is_empty() && place.chars().all(|it| it == '^'),
                "{shown:?}"
            );
        }
        let whole = Snippet {
            line: "abc".into(),
            before: 1,
            length: 1,
        };
        assert_eq!(narrowed(whole.clone(), 40), whole);
    }
}
