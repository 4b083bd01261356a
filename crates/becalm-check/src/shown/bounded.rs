//! Which findings are shown, where there are very many of a kind?

use std::collections::HashMap;

use super::folded::{Folded, folded};
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
    pub shown: Vec<Folded<'a>>,
    /// What is left out.
    pub more: Vec<More>,
}

/// Whether a review of code is told: a file that is of no system is no finding about a line of it.
pub(super) fn is_for_review(code: &str, severity: Severity) -> bool {
    code != code::UNKNOWN_SYSTEM.name || severity > Severity::Note
}

impl More {
    /// `and 9,990 more findings of this kind`, or places of those that are told.
    pub fn sentence(&self) -> String {
        let many = [(self.findings, "finding"), (self.places, "place")];
        let many = many.into_iter().filter(|(many, _)| *many > 0);
        let many = many.map(|(many, noun)| {
            let plural = if many == 1 { "" } else { "s" };
            format!("{} more {noun}{plural}", grouped(many))
        });
        let many = many.collect::<Vec<_>>().join(" and ");
        format!("and {many} of this kind: `--all` tells every one")
    }
}

/// Shows the first findings of each code and severity, each cause of a file once, and counts the others with those that
/// were not kept. As many of a kind are shown as there may be findings: what room these leave is that of further places.
pub fn bounded<'a>(findings: &'a [Finding], not_kept: &[More], most: usize) -> Bounded<'a> {
    let all = folded(findings);
    let mut left: HashMap<_, [usize; 2]> = HashMap::new();
    for it in &all {
        let kind = (it.finding.code, it.finding.severity);
        let [shown, places] = left.entry(kind).or_insert([0, most]);
        *shown = most.min(*shown + 1);
        *places = most - *shown;
    }
    let mut bounded = Bounded {
        shown: Vec::new(),
        more: Vec::new(),
    };
    for mut it in all {
        let kind = (it.finding.code, it.finding.severity);
        let [shown, places] = left.entry(kind).or_default();
        let room = if *shown == 0 { 0 } else { *places };
        let hidden = it.also.split_off(room.min(it.also.len()));
        *places -= it.also.len();
        let findings = usize::from(*shown == 0);
        let first = if findings == 1 {
            Some(&it.finding)
        } else {
            hidden.first()
        };
        if let Some(first) = first {
            let place = (&*first.file, first.span);
            More::add(&mut bounded.more, kind, [findings, hidden.len()], place);
        }
        if findings == 0 {
            *shown -= 1;
            bounded.shown.push(it);
        }
    }
    for it in not_kept {
        let kind = (it.code, it.severity);
        let many = [it.findings, it.places];
        More::add(&mut bounded.more, kind, many, (&it.file, it.span));
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

    fn refused(line: usize, sentence: &str) -> Finding {
        Finding::new("a", Span::new(line, 1, 1), code::REFUSED, sentence, "")
    }

    #[test]
    fn many_of_a_kind_hide_no_other() {
        let mut findings = Vec::new();
        for line in 1..=10_090 {
            let span = Span::new(line, 1, 1);
            let sentence = format!("x{line}");
            findings.push(Finding::new("a", span, code::NOT_UNDERSTOOD, sentence, ""));
        }
        let last = refused(20_000, "y");
        findings.push(last.clone());
        let bounded = bounded(&findings, &[], OF_A_KIND);
        assert_eq!(
            (bounded.shown.len(), bounded.shown[100].finding),
            (101, &last)
        );
        let more = &bounded.more[..];
        assert!(more.len() == 1 && more[0].span.line == 101, "{more:?}");
        assert!(
            more[0].sentence().starts_with("and 9,990 more findings"),
            "{more:?}"
        );
    }

    #[test]
    fn many_places_of_a_cause_hide_no_other() {
        let mut findings: Vec<_> = (1..=500).map(|line| refused(line, "x")).collect();
        findings.push(refused(501, "y"));
        findings.push(refused(502, "y"));
        let told = bounded(&findings, &[], OF_A_KIND);
        let shown: Vec<_> = told.shown.iter().map(|it| 1 + it.also.len()).collect();
        assert_eq!(shown, [99, 1]);
        let sentence = told.more[0].sentence();
        assert!(sentence.starts_with("and 402 more places of"), "{sentence}");
        let few = bounded(&findings, &told.more, 1);
        let sentence = few.more[0].sentence();
        let begins = "and 1 more finding and 902 more places of";
        assert!(sentence.starts_with(begins), "{sentence}");
        let all = bounded(&findings, &[], usize::MAX);
        assert!(all.more.is_empty() && all.shown[0].also.len() == 499);
    }
}
