//! What does a policy of a file do to a service? Simulated.

use std::path::Path;

use becalm::Policy;
use becalm_check::{Finding, Mapping, code, keeps_down};
use becalm_sim::catalogue::Candidate;
use becalm_sim::scenario::file;
use becalm_sim::study::{Plan, Verdict};
use becalm_sim::verdict::{self, Brief, Thoroughness, hidden_capacity};
use serde::{Serialize, Serializer};

/// The verdict on one mapping.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judged {
    /// `None` where nothing bounds the service.
    #[serde(serialize_with = "name")]
    pub verdict: Option<Verdict>,
    /// On which figures it stands, in a sentence.
    pub evidence: String,
    /// First tries per second up to which the service comes back by itself.
    pub hidden_capacity: Option<f64>,
}

/// What `--strict` fails for: a finding for each policy under which the service was not seen to come back.
pub fn findings(mappings: &[Mapping], judged: &[Judged]) -> Vec<Finding> {
    let down = mappings.iter().zip(judged).filter_map(|(mapping, judged)| {
        let code = match judged.verdict.filter(|it| !it.is_back())? {
            Verdict::Overloaded => code::OVERLOADED,
            Verdict::TooShort => code::TOO_SHORT,
            _ => code::METASTABLE,
        };
        Some(keeps_down(mapping, code, &judged.evidence))
    });
    down.collect()
}

#[expect(
    clippy::ref_option,
    clippy::trivially_copy_pass_by_ref,
    reason = "as serde calls it"
)]
fn name<S: Serializer>(verdict: &Option<Verdict>, serializer: S) -> Result<S::Ok, S::Error> {
    verdict.map(Verdict::as_str).serialize(serializer)
}

/// Simulates each policy as that of all clients of a scenario.
///
/// # Errors
///
/// A sentence that names the scenario's file.
pub fn judge(path: &Path, mappings: &[Mapping]) -> Result<Vec<Judged>, String> {
    let refused = |why: &dyn std::fmt::Display| format!("{}: {why} (--service)", path.display());
    let scenario = file::load(path).map_err(|invalid| refused(&invalid))?;
    let brief = Brief {
        name: scenario.name.clone(),
        question: format!("What happens to {}?", scenario.name),
        asked: Vec::new(),
    };
    let mut plan = Plan::default();
    plan.is_quick = true;
    // As many as `becalm storm` makes: where some come back and some do not, fewer may give another verdict.
    plan.runs = Some(Thoroughness::default().runs);
    plan.threads = std::thread::available_parallelism().map_or(1, Into::into);
    let mut judged: Vec<Judged> = Vec::new();
    // Files say the same again and again: equal policies are simulated once.
    let mut seen: Vec<(&Policy, usize)> = Vec::new();
    for (at, mapping) in mappings.iter().enumerate() {
        if let Some((_, first)) = seen.iter().find(|(it, _)| **it == mapping.policy) {
            judged.push(judged[*first].clone());
            continue;
        }
        seen.push((&mapping.policy, at));
        let candidate = Candidate::new(&mapping.name, mapping.policy.clone());
        let under = scenario.under(&mapping.policy);
        verdict::judgeable(&under).map_err(|why| refused(&why))?;
        let study = verdict::study(&brief, &[candidate], &plan, |policy| scenario.under(policy));
        let study = study.map_err(|too_much| refused(&too_much))?;
        let contender = study.contenders.into_iter().next().unwrap_or_default();
        judged.push(Judged {
            verdict: contender.verdict,
            evidence: contender.evidence,
            hidden_capacity: hidden_capacity(&under),
        });
    }
    Ok(judged)
}
