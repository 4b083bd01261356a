//! Which findings does a comment in the file let pass?
//!
//! `# becalm: allow CODE (reason)`, or with `//`, `;` or `!`, at the line of the finding or in the lines of comments above it.

use std::collections::HashMap;

use crate::code;
use crate::document::Span;
use crate::finding::Finding;

/// Where a comment lets something pass.
pub const MARK: &str = "becalm: allow ";

/// Takes out what comments of the file let pass, and tells of comments without a reason, and of those that let nothing pass.
pub fn take(file: &str, text: &str, findings: &mut Vec<Finding>, allowed: &mut Vec<Finding>) {
    if !text.contains(MARK) {
        return;
    }
    let mut comments = comments(file, text, findings);
    let mut left = Vec::with_capacity(findings.len());
    for finding in findings.drain(..) {
        let comment = comments.get_mut(&(finding.span.line, finding.code.to_owned()));
        match comment.filter(|_| finding.file == file) {
            Some(comment) => {
                comment.is_used = true;
                allowed.push(finding);
            }
            None => left.push(finding),
        }
    }
    let mut unused: Vec<_> = comments.into_iter().filter(|(_, it)| !it.is_used).collect();
    unused.sort_by_key(|(_, it)| it.span);
    for ((_, code), comment) in unused {
        let sentence = format!("this comment lets `{code}` pass, which is not found here");
        let mut finding = Finding::new(
            file,
            comment.span,
            code::ALLOWS_NOTHING,
            sentence,
            "leave it out",
        );
        finding.severity = crate::Severity::Note;
        left.push(finding);
    }
    *findings = left;
}

struct Comment {
    span: Span,
    is_used: bool,
}

/// By the line that each is about, and its code.
fn comments(
    file: &str,
    text: &str,
    findings: &mut Vec<Finding>,
) -> HashMap<(usize, String), Comment> {
    let mut all = HashMap::new();
    let mut above: Vec<(String, Span)> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let number = at + 1;
        let trimmed = line.trim_start();
        let stands_alone = trimmed.starts_with(['#', ';', '!']) || trimmed.starts_with("//");
        let comment = line.find(MARK).filter(|at| {
            let before = line[..*at].trim_end();
            ["#", "//", ";", "!", "/*"]
                .iter()
                .any(|it| before.ends_with(it))
        });
        let mut here = std::mem::take(&mut above);
        if let Some(start) = comment {
            let span = Span::new(number, line[..start].chars().count() + 1, MARK.len() - 1);
            let rest = line[start + MARK.len()..]
                .trim()
                .trim_end_matches("*/")
                .trim_end();
            let (code, reason) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            let reason = reason
                .trim()
                .strip_prefix('(')
                .and_then(|it| it.strip_suffix(')'));
            if reason.is_none_or(|it| it.trim().is_empty()) {
                let sentence = format!(
                    "this comment says no reason to let `{code}` pass, and lets nothing pass"
                );
                let remedy = "write `becalm: allow CODE (reason)`";
                findings.push(Finding::new(
                    file,
                    span,
                    code::ALLOWS_NOTHING,
                    sentence,
                    remedy,
                ));
            } else {
                here.push((code.to_owned(), span));
            }
        }
        if stands_alone {
            above = here;
            continue;
        }
        for (code, span) in here {
            all.insert(
                (number, code),
                Comment {
                    span,
                    is_used: false,
                },
            );
        }
    }
    all
}
