//! Which findings are shown, where there are very many of a kind?

use std::collections::HashMap;

use serde::Serialize;

use crate::document::Span;
use crate::finding::Finding;
use crate::severity::Severity;

/// How many findings of a kind are shown, unless all are asked for.
pub const OF_A_KIND: usize = 100;

/// Findings, with a bound on those of each kind.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bounded<'a> {
    /// In their order.
    pub shown: Vec<&'a Finding>,
    /// What is left out.
    pub more: Vec<More<'a>>,
}

/// How many findings of a kind are left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct More<'a> {
    /// Their code.
    pub code: &'static str,
    /// How bad they are.
    pub severity: Severity,
    /// How many they are.
    pub findings: usize,
    /// The file of the first.
    #[serde(skip)]
    pub file: &'a str,
    /// Where the first stands.
    #[serde(skip)]
    pub span: Span,
}

impl More<'_> {
    /// `and 9,990 more findings of this kind`.
    pub fn sentence(&self) -> String {
        let plural = if self.findings == 1 { "" } else { "s" };
        let many = grouped(self.findings);
        format!("and {many} more finding{plural} of this kind: `--all` tells every one")
    }
}

/// Keeps the first findings of each code and severity, and counts the others.
pub fn bounded(findings: &[Finding], most: usize) -> Bounded<'_> {
    let mut kinds: HashMap<_, usize> = HashMap::new();
    let mut bounded = Bounded {
        shown: Vec::new(),
        more: Vec::new(),
    };
    for it in findings {
        let count = kinds.entry((it.code, it.severity)).or_default();
        *count += 1;
        if *count <= most {
            bounded.shown.push(it);
            continue;
        }
        let mut more = bounded.more.iter_mut();
        match more.find(|more| (more.code, more.severity) == (it.code, it.severity)) {
            Some(more) => more.findings += 1,
            None => bounded.more.push(More {
                code: it.code,
                severity: it.severity,
                findings: 1,
                file: &it.file,
                span: it.span,
            }),
        }
    }
    bounded
}

/// `9990` as `9,990`.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code;

    #[test]
    fn many_of_a_kind_hide_no_other() {
        let mut findings = Vec::new();
        for line in 1..=10_090 {
            let span = Span::new(line, 1, 1);
            findings.push(Finding::new("a", span, code::NOT_UNDERSTOOD, "x", ""));
        }
        let last = Finding::new("a", Span::new(20_000, 1, 1), code::REFUSED, "y", "");
        findings.push(last.clone());
        let bounded = bounded(&findings, OF_A_KIND);
        assert_eq!((bounded.shown.len(), bounded.shown[100]), (101, &last));
        let more = &bounded.more[..];
        assert!(more.len() == 1 && more[0].span.line == 101, "{more:?}");
        assert!(
            more[0].sentence().starts_with("and 9,990 more findings"),
            "{more:?}"
        );
    }
}
