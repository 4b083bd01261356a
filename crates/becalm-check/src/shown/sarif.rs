//! How do tools of code review read findings?

use becalm::lint::Lint;
use serde_json::{Value, json};

use super::bounded::{Bounded, is_for_review};
use super::printable::printable;
use crate::code;
use crate::document::Span;
use crate::finding::Finding;
use crate::severity::Severity;

/// The findings as SARIF 2.1.0 (OASIS, March 2020), in one line.
pub fn sarif(findings: &Bounded<'_>) -> String {
    let rules: Vec<_> = rules().collect();
    let rule = |code: &str| rules.iter().position(|(name, _)| *name == code);
    let shown = findings.shown.iter();
    let shown = shown.filter(|it| is_for_review(it.finding.code, it.finding.severity));
    let more = findings.more.iter();
    let more = more.filter(|it| is_for_review(it.code, it.severity));
    let shown = shown.map(|folded| {
        let it = folded.finding;
        let place = (&*it.file, it.span);
        let told = folded.whole();
        let mut result = result(rule(it.code), it.code, it.severity, place, &told);
        if !folded.also.is_empty() {
            result["relatedLocations"] = folded.also.iter().map(|it| related(it)).collect();
        }
        result
    });
    let results = shown.chain(more.map(|it| {
        let place = (&*it.file, it.span);
        result(rule(it.code), it.code, it.severity, place, &it.sentence())
    }));
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "becalm check",
                "version": env!("CARGO_PKG_VERSION"),
                "informationUri": "https://github.com/becalm-rs/becalm",
                "rules": rules.iter().map(|(name, about)| json!({
                    "id": name,
                    "shortDescription": { "text": about },
                    "helpUri": PAGE,
                })).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": results.collect::<Vec<_>>(),
        }],
    });
    format!("{document}\n")
}

/// The page that tells of each rule.
const PAGE: &str = "https://github.com/becalm-rs/becalm/blob/main/docs/check.md#what-it-finds";

/// Each kind of finding with its sentence.
fn rules() -> impl Iterator<Item = (&'static str, &'static str)> {
    let ours = code::ALL.iter().map(|it| (it.name, it.about));
    ours.chain(
        Lint::CODES
            .iter()
            .map(|name| (*name, "a danger of the policy (becalm's lint)")),
    )
}

fn result(
    rule: Option<usize>,
    code: &str,
    severity: Severity,
    (file, span): (&str, Span),
    told: &str,
) -> Value {
    let mut result = json!({
        "ruleId": code,
        "level": severity,
        "message": { "text": printable(told) },
        "locations": [{ "physicalLocation": physical(file, span) }],
    });
    if let Some(rule) = rule {
        result["ruleIndex"] = json!(rule);
    }
    result
}

/// Where else the same is so, and of what.
fn related(also: &Finding) -> Value {
    json!({
        "physicalLocation": physical(&also.file, also.span),
        "message": { "text": printable(&also.sentence) },
    })
}

fn physical(file: &str, span: Span) -> Value {
    let mut region = json!({ "startLine": span.line, "startColumn": span.column });
    if span.length > 0 {
        region["endColumn"] = json!(span.column + span.length);
    }
    json!({ "artifactLocation": { "uri": uri(file) }, "region": region })
}

/// A relative reference, or a `file:` one of an absolute path (RFC 3986, RFC 8089).
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    if path.starts_with('/') {
        uri.push_str("file://");
    }
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let hex = |it: u8| char::from(b"0123456789ABCDEF"[usize::from(it)]);
            uri.extend(['%', hex(byte >> 4), hex(byte & 15)]);
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::super::bounded;
    use super::*;

    #[test]
    fn a_result_names_its_rule_and_its_place() {
        let finding = Finding::new(
            "a b/é.yaml",
            Span::new(3, 5, 4),
            code::REFUSED,
            "no\u{1b}",
            "yes",
        );
        let document: Value = serde_json::from_str(&sarif(&bounded(&[finding], &[], 1))).unwrap();
        let run = &document["runs"][0];
        let result = &run["results"][0];
        let rule = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(run["tool"]["driver"]["rules"][rule]["id"], "refused");
        assert_eq!(result["level"], "error");
        assert_eq!(result["message"]["text"], r"no\u{1b}; yes");
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "a%20b/%C3%A9.yaml");
        assert_eq!(
            place["region"],
            json!({"startLine": 3, "startColumn": 5, "endColumn": 9})
        );
        assert_eq!(result["relatedLocations"], Value::Null);
        assert_eq!(uri("/a"), "file:///a");
    }

    #[test]
    fn a_result_names_its_other_places() {
        let findings = [3, 7].map(|line| {
            let span = Span::new(line, 5, 4);
            Finding::new("a", span, code::REFUSED, "no", "yes")
        });
        let document: Value = serde_json::from_str(&sarif(&bounded(&findings, &[], 9))).unwrap();
        let results = document["runs"][0]["results"].as_array().unwrap();
        let [result] = &results[..] else {
            panic!("{results:?}");
        };
        assert_eq!(result["message"]["text"], "no; yes; also at line 7");
        let also = &result["relatedLocations"][0];
        let region = &also["physicalLocation"]["region"];
        let [line, column] = [&region["startLine"], &region["endColumn"]];
        assert_eq!((line, column), (&json!(7), &json!(9)));
        assert_eq!(also["message"]["text"], "no");
    }
}
