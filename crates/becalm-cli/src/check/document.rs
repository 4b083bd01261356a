//! How does a program read what was found?

use std::collections::BTreeMap;

use becalm::Policy;
use becalm_check::{Evidence, Finding, Mapping, NotExpressible, Origin};
use becalm_sim::study::Verdict;
use becalm_sim::verdict::most_attempts;
use serde::Serialize;

use super::Told;
use super::service::Judged;

#[derive(Debug, Serialize)]
struct Document<'a> {
    becalm: &'static str,
    findings: &'a [Finding],
    mappings: Vec<Mapped<'a>>,
    layers: Option<Layers<'a>>,
}

#[derive(Debug, Serialize)]
struct Mapped<'a> {
    system: &'a str,
    version: &'a str,
    evidence: &'static str,
    file: &'a str,
    line: usize,
    name: &'a str,
    names: &'a [String],
    sentence: String,
    amplification: Option<f64>,
    policy: &'a Policy,
    origins: BTreeMap<&'a str, From<'a>>,
    not_expressible: Vec<Lost<'a>>,
    verdict: Option<Judgement<'a>>,
}

#[derive(Debug, Serialize)]
#[expect(clippy::struct_field_names)] // stable names
struct From<'a> {
    from: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    how: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct Lost<'a> {
    what: &'a str,
    why: &'a str,
    line: Option<usize>,
}

#[derive(Debug, Serialize)]
struct Judgement<'a> {
    verdict: Option<&'static str>,
    evidence: &'a str,
    hidden_capacity: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Layers<'a> {
    name: &'a str,
    attempts: Option<u64>,
    of: Vec<Option<u32>>,
}

/// One line of JSON.
pub fn document(told: &Told<'_>) -> String {
    let mappings = told.checked.mappings.iter().enumerate();
    let judged = |at: usize| told.judged.as_ref().and_then(|all| all.get(at));
    let document = Document {
        becalm: env!("CARGO_PKG_VERSION"),
        findings: &told.checked.findings,
        mappings: mappings.map(|(at, it)| mapped(it, judged(at))).collect(),
        layers: told.layers.as_ref().map(|layers| Layers {
            name: &layers.name,
            attempts: layers.attempts,
            of: layers
                .mappings
                .iter()
                .map(|it| bounded(it.policy.attempts))
                .collect(),
        }),
    };
    let mut line = serde_json::to_string(&document).unwrap_or_default(); // plain data: no error
    line.push('\n');
    line
}

fn bounded(attempts: u32) -> Option<u32> {
    Some(attempts).filter(|it| *it != Policy::UNLIMITED)
}

fn mapped<'a>(mapping: &'a Mapping, judged: Option<&'a Judged>) -> Mapped<'a> {
    let origins = mapping.origins.iter();
    Mapped {
        system: mapping.system,
        version: mapping.version,
        evidence: match mapping.evidence {
            Evidence::Run => "run",
            Evidence::Read => "read",
        },
        file: &mapping.file,
        line: mapping.span.line,
        name: &mapping.name,
        names: &mapping.names,
        sentence: mapping.policy.to_string(),
        amplification: Some(most_attempts(&mapping.policy)).filter(|it| it.is_finite()),
        policy: &mapping.policy,
        origins: origins.map(|(key, origin)| (*key, from(origin))).collect(),
        not_expressible: mapping.lost.iter().map(lost).collect(),
        verdict: judged.map(|it| Judgement {
            verdict: it.verdict.map(Verdict::as_str),
            evidence: &it.evidence,
            hidden_capacity: it.hidden_capacity,
        }),
    }
}

fn from(origin: &Origin) -> From<'_> {
    let (from, line, how) = match origin {
        Origin::Line(span) => ("line", Some(span.line), None),
        Origin::Derived(span, how) => ("line", Some(span.line), Some(&**how)),
        Origin::Unknown(span, text) => ("unknown", Some(span.line), Some(&**text)),
        Origin::NotExpressible(why) => ("not_expressible", None, Some(&**why)),
        _ => ("default", None, None),
    };
    From { from, line, how }
}

fn lost(lost: &NotExpressible) -> Lost<'_> {
    Lost {
        what: &lost.what,
        why: &lost.why,
        line: lost.span.map(|it| it.line),
    }
}
