//! Which findings are shown, where there are very many of a kind?

use std::collections::HashMap;

use crate::code;
use crate::finding::Finding;
use crate::kept::More;
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
    pub more: Vec<More>,
}

/// Whether a review of code is told: a file that is of no system is no finding about a line of it.
pub(super) fn is_for_review(code: &str, severity: Severity) -> bool {
    code != code::UNKNOWN_SYSTEM.name || severity > Severity::Note
}

impl More {
    /// `and 9,990 more findings of this kind`.
    pub fn sentence(&self) -> String {
        let plural = if self.findings == 1 { "" } else { "s" };
        let many = grouped(self.findings);
        format!("and {many} more finding{plural} of this kind: `--all` tells every one")
    }
}

/// Shows the first findings of each code and severity, and counts the others with those that were not kept.
pub fn bounded<'a>(findings: &'a [Finding], not_kept: &[More], most: usize) -> Bounded<'a> {
    let mut kinds: HashMap<_, usize> = HashMap::new();
    let mut bounded = Bounded {
        shown: Vec::new(),
        more: Vec::new(),
    };
    for it in findings {
        let kind = (it.code, it.severity);
        let count = kinds.entry(kind).or_default();
        *count += 1;
        if *count <= most {
            bounded.shown.push(it);
        } else {
            More::add(&mut bounded.more, kind, 1, (&it.file, it.span));
        }
    }
    for it in not_kept {
        let kind = (it.code, it.severity);
        More::add(&mut bounded.more, kind, it.findings, (&it.file, it.span));
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
    use crate::document::Span;

    #[test]
    fn many_of_a_kind_hide_no_other() {
        let mut findings = Vec::new();
        for line in 1..=10_090 {
            let span = Span::new(line, 1, 1);
            findings.push(Finding::new("a", span, code::NOT_UNDERSTOOD, "x", ""));
        }
        let last = Finding::new("a", Span::new(20_000, 1, 1), code::REFUSED, "y", "");
        findings.push(last.clone());
        let bounded = bounded(&findings, &[], OF_A_KIND);
        assert_eq!((bounded.shown.len(), bounded.shown[100]), (101, &last));
        let more = &bounded.more[..];
        assert!(more.len() == 1 && more[0].span.line == 101, "{more:?}");
        assert!(
            more[0].sentence().starts_with("and 9,990 more findings"),
            "{more:?}"
        );
    }
}
