//! Which findings does a comment in the file let pass?
//!
//! `# becalm: allow CODE (reason)`, or with `//`, `;` or `!`, at the line of the finding or in the lines of comments above it.

use std::collections::HashMap;

use crate::code;
use crate::document::Span;
use crate::finding::Finding;

/// Where a comment lets something pass.
pub const MARK: &str = "becalm: allow ";

/// Takes out what comments of the files, each with its name and its text, let pass, and tells of comments without a reason, and of
/// those that let nothing pass.
pub fn take<'a>(
    files: impl Iterator<Item = (&'a str, &'a str)>,
    findings: &mut Vec<Finding>,
    allowed: &mut Vec<Finding>,
) {
    let mut told = Vec::new();
    let mut all = HashMap::new();
    for (file, text) in files.filter(|(_, text)| text.contains(MARK)) {
        let comments = comments(file, text, &mut told);
        all.entry(file)
            .or_insert_with(HashMap::new)
            .extend(comments);
    }
    if all.is_empty() {
        return;
    }
    let mut left = Vec::with_capacity(findings.len());
    for finding in findings.drain(..) {
        let comments = all.get_mut(&*finding.file);
        match comments.and_then(|it| it.get_mut(&(finding.span.line, finding.code))) {
            Some(comment) => {
                comment.is_used = true;
                allowed.push(finding);
            }
            None => left.push(finding),
        }
    }
    let mut unused: Vec<_> = all
        .into_iter()
        .flat_map(|(file, comments)| comments.into_iter().map(move |it| (file, it)))
        .filter(|(_, (_, it))| !it.is_used)
        .collect();
    unused.sort_by_key(|(file, (_, it))| (*file, it.span));
    for (file, ((_, code), comment)) in unused {
        let sentence = format!("this comment lets `{code}` pass, which is not found here");
        let mut finding = Finding::new(
            file,
            comment.span,
            code::ALLOWS_NOTHING,
            sentence,
            "leave it out",
        );
        finding.severity = crate::Severity::Note;
        told.push(finding);
    }
    left.append(&mut told);
    *findings = left;
}

struct Comment {
    span: Span,
    is_used: bool,
}

/// By the line that each is about, and its code.
fn comments<'a>(
    file: &str,
    text: &'a str,
    findings: &mut Vec<Finding>,
) -> HashMap<(usize, &'a str), Comment> {
    let mut all = HashMap::new();
    let mut above: Vec<(&str, Span)> = Vec::new();
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
                here.push((code, span));
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
