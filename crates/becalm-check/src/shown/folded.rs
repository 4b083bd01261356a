//! Which findings are one cause, at several places of a file?

use std::collections::HashMap;

use serde::{Serialize, Serializer};

use crate::document::Span;
use crate::finding::Finding;

/// A finding, and where else in its file the same is so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Folded<'a> {
    /// The first of them.
    #[serde(flatten)]
    pub finding: &'a Finding,
    /// The others, in their order: of another place, and most of another name.
    #[serde(serialize_with = "places")]
    pub also: Vec<&'a Finding>,
}

#[derive(Serialize)]
struct Place<'a> {
    #[serde(flatten)]
    span: Span,
    sentence: &'a str,
}

fn places<S: Serializer>(also: &[&Finding], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(also.iter().map(|it| Place {
        span: it.span,
        sentence: &it.sentence,
    }))
}

/// The findings, each cause of a file once: what is as bad, and is said with the same figures and the same remedy of
/// parts of the file that only their names tell apart. What lets findings pass knows each of them, and comes before.
pub fn folded(findings: &[Finding]) -> Vec<Folded<'_>> {
    let mut all: Vec<Folded<'_>> = Vec::new();
    let mut known = HashMap::new();
    for finding in findings {
        let kind = (&finding.file, finding.code, finding.severity);
        let cause = (kind, finding.cause(), &finding.remedy);
        let at = *known.entry(cause).or_insert(all.len());
        match all.get_mut(at) {
            Some(first) => first.also.push(finding),
            None => all.push(Folded {
                finding,
                also: Vec::new(),
            }),
        }
    }
    all
}

impl Folded<'_> {
    /// `also at lines 12, 30, 41`; nothing of a single place. A line with several of them is told with its columns.
    pub fn places(&self) -> Option<String> {
        let all = || std::iter::once(&self.finding).chain(&self.also);
        let mut many: HashMap<usize, usize> = HashMap::new();
        for it in all() {
            *many.entry(it.span.line).or_default() += 1;
        }
        let places = self.also.iter().map(|it| match it.span {
            Span { line, .. } if many[&line] == 1 => line.to_string(),
            Span { line, column, .. } => format!("{line}:{column}"),
        });
        let plural = if self.also.len() == 1 { "" } else { "s" };
        let places = places.collect::<Vec<_>>().join(", ");
        (!self.also.is_empty()).then(|| format!("also at line{plural} {places}"))
    }

    /// The sentence, what helps, and where else.
    pub(super) fn whole(&self) -> String {
        let said = [&*self.finding.sentence, &self.finding.remedy];
        let said = said.into_iter().filter(|it| !it.is_empty());
        let said: Vec<_> = said.map(str::to_owned).chain(self.places()).collect();
        said.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code;

    fn of(file: &str, line: usize, name: &str, said: &str, remedy: &str) -> Finding {
        let (span, sentence) = (Span::new(line, 3, 1), format!("{name}: {said}"));
        let mut finding = Finding::new(file, span, code::REFUSED, sentence, remedy);
        finding.about = name.len() + 2;
        finding
    }

    #[test]
    fn names_alone_do_not_tell_causes_apart() {
        let findings = [
            of("a", 1, "to x", "4 attempts", "fewer"),
            of("a", 2, "to x", "10 attempts", "fewer"),
            of("a", 3, "to long", "4 attempts", "fewer"),
            of("a", 4, "to y", "4 attempts", "none"),
            of("b", 1, "to x", "4 attempts", "fewer"),
            of("a", 5, "to y", "4 attempts", "fewer"),
        ];
        let folded = folded(&findings);
        let lines: Vec<Vec<usize>> = (folded.iter())
            .map(|it| it.also.iter().map(|it| it.span.line).collect())
            .collect();
        assert_eq!(lines, [vec![3, 5], vec![], vec![], vec![]]);
        let whole = folded[0].whole();
        assert_eq!(whole, "to x: 4 attempts; fewer; also at lines 3, 5");
        let json = serde_json::to_value(&folded[0]).unwrap();
        assert_eq!(json["also"][1]["line"], 5);
        assert_eq!(json["also"][1]["sentence"], "to y: 4 attempts");
    }

    #[test]
    fn what_is_worse_stands_alone() {
        let mut findings = [1, 2].map(|line| of("a", line, "to x", "no", ""));
        findings[1].severity = crate::Severity::Note;
        assert_eq!(folded(&findings).len(), 2);
    }

    #[test]
    fn places_of_one_line_are_told_by_their_columns() {
        let findings = [1, 1, 2].map(|line| of("a", line, "x", "no", ""));
        let told = folded(&findings)[0].places();
        assert_eq!(told.as_deref(), Some("also at lines 1:3, 2"));
    }
}
