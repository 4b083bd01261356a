//! How does a build on GitHub mark lines of a change?

use std::fmt::Write as _;

use super::bounded::Bounded;
use super::printable::printable;
use crate::document::Span;
use crate::severity::Severity;

/// A workflow command for each finding, one a line (GitHub's documentation, *Workflow commands for
/// GitHub Actions*; the escapes are those of `actions/toolkit`, `command.ts`).
pub fn github(findings: &Bounded<'_>) -> String {
    let mut lines = String::new();
    for it in &findings.shown {
        command(
            &mut lines,
            it.severity,
            &it.file,
            it.span,
            it.code,
            &it.whole(),
        );
    }
    for it in &findings.more {
        command(
            &mut lines,
            it.severity,
            &it.file,
            it.span,
            it.code,
            &it.sentence(),
        );
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
