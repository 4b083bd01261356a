//! How does a build on GitHub mark lines of a change?

use std::fmt::Write as _;

use super::printable::printable;
use crate::finding::Finding;
use crate::severity::Severity;

/// A workflow command for each finding, one a line (GitHub's documentation, *Workflow commands for
/// GitHub Actions*; the escapes are those of `actions/toolkit`, `command.ts`).
pub fn github(findings: &[Finding]) -> String {
    let mut lines = String::new();
    for finding in findings {
        let kind = match finding.severity {
            Severity::Note => "notice",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        let _ = writeln!(
            lines,
            "::{kind} file={},line={},col={},title={}::{}",
            property(&finding.file),
            finding.span.line,
            finding.span.column,
            property(finding.code),
            data(&printable(&finding.whole())),
        );
    }
    lines
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
    use super::*;
    use crate::code;
    use crate::document::Span;

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
            github(&[finding]),
            "::error file=a%2Cline=9%3A%3Ax%0A%3A%3Aerror%3A%3Ay\\u{1b}.yaml,line=3,col=1,title=refused::\
             100 %25\\u{d}\\u{a}::error::no; ::set-output name=x::y\n"
        );
    }
}
