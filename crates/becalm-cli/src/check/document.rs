//! How does a program read what was found?

use std::collections::BTreeMap;

use becalm::Policy;
use becalm_check::shown::{Bounded, Folded};
use becalm_check::{Evidence, Mapping, More, NotExpressible, Origin};
use becalm_sim::verdict::most_attempts;
use serde::Serialize;

use super::service::Judged;
use super::told::{Stack, Told};

#[derive(Debug, Serialize)]
struct Document<'a> {
    becalm: &'static str,
    findings: &'a [Folded<'a>],
    mappings: Vec<Mapped<'a>>,
    layers: Option<Layers<'a>>,
    more: &'a [More],
    more_mappings: usize,
}

#[derive(Debug, Serialize)]
struct Mapped<'a> {
    system: &'a str,
    version: &'a str,
    evidence: Evidence,
    file: &'a str,
    line: usize,
    name: &'a str,
    names: &'a [String],
    sentence: String,
    amplification: Option<f64>,
    policy: &'a Policy,
    origins: BTreeMap<&'a str, &'a Origin>,
    not_expressible: &'a [NotExpressible],
    verdict: Option<&'a Judged>,
}

#[derive(Debug, Serialize)]
struct Layers<'a> {
    name: &'a str,
    attempts: Option<u64>,
    of: Vec<Option<u32>>,
    verdict: Option<&'a Judged>,
}

/// One line of JSON.
pub fn document(told: &Told<'_>, findings: &Bounded<'_>, policies: usize) -> String {
    let all = &told.checked.mappings;
    let mappings = all.iter().enumerate().take(policies);
    let document = Document {
        becalm: env!("CARGO_PKG_VERSION"),
        findings: &findings.shown,
        more: &findings.more,
        more_mappings: told.policies() - all.len().min(policies),
        mappings: mappings
            .map(|(at, it)| mapped(it, told.judged(at)))
            .collect(),
        layers: told.layers.as_ref().map(|Stack { layers, judged }| Layers {
            verdict: judged.as_ref(),
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
        evidence: mapping.evidence,
        file: &mapping.file,
        line: mapping.span.line,
        name: &mapping.name,
        names: &mapping.names,
        sentence: mapping.policy.to_string(),
        amplification: Some(most_attempts(&mapping.policy)).filter(|it| it.is_finite()),
        policy: &mapping.policy,
        origins: origins.map(|(key, origin)| (*key, origin)).collect(),
        not_expressible: &mapping.lost,
        verdict: judged,
    }
}
