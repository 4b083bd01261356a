//! How does a build on GitHub mark lines of a change?

use std::fmt::Write as _;

use super::bounded::{Bounded, is_for_review};
use super::printable::printable;
use crate::document::Span;
use crate::severity::Severity;

/// A workflow command for each finding, one a line (GitHub's documentation, *Workflow commands for
/// GitHub Actions*; the escapes are those of `actions/toolkit`, `command.ts`).
pub fn github(findings: &Bounded<'_>) -> String {
    let shown = findings.shown.iter();
    let shown = shown.map(|it| (it.finding, it.whole()));
    let shown = shown.map(|(it, told)| (it.severity, &it.file, it.span, it.code, told));
    let more = findings.more.iter();
    let more = more.map(|it| (it.severity, &it.file, it.span, it.code, it.sentence()));
    let mut lines = String::new();
    for (severity, file, span, code, told) in shown.chain(more) {
        if is_for_review(code, severity) {
            command(&mut lines, severity, file, span, code, &told);
        }
    }
    lines
}

fn command(lines: &mut String, severity: Severity, file: &str, span: Span, code: &str, told: &str) {
    let kind = match severity {
        Severity::Note => "notice",
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    let _ = writeln!(
        lines,
        "::{kind} file={},line={},col={},title={}::{}",
        property(file),
        span.line,
        span.column,
        property(code),
        data(&printable(told)),
    );
}

fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn property(text: &str) -> String {
    let text = data(text).replace(':', "%3A").replace(',', "%2C");
    printable(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::super::bounded;
    use super::*;
    use crate::code;
    use crate::finding::Finding;

    #[test]
    fn files_of_no_system_are_marked_where_they_were_asked_for_alone() {
        let note =
            |file: &str| Finding::new(file, Span::new(1, 1, 0), code::UNKNOWN_SYSTEM, "x", "");
        let mut asked = note("c");
        asked.severity = Severity::Error;
        let findings = [note("a"), note("b"), asked];
        let told = github(&bounded(&findings, &[], 1));
        assert_eq!(told.lines().count(), 1, "{told}");
        assert!(told.starts_with("::error file=c"), "{told}");
    }

    #[test]
    fn what_a_file_says_ends_no_command_and_begins_none() {
        let finding = Finding::new(
            "a,line=9::x\n::error::y\u{1b}.yaml",
            Span::new(3, 1, 2),
            code::REFUSED,
            "100 %\r\n::error::no",
            "::set-output name=x::y",
        );
        assert_eq!(
            github(&bounded(&[finding], &[], 1)),
            "::error file=a%2Cline=9%3A%3Ax%0A%3A%3Aerror%3A%3Ay\\u{1b}.yaml,line=3,col=1,title=refused::\
             100 %25\\u{d}\\u{a}::error::no; ::set-output name=x::y\n"
        );
    }
}
