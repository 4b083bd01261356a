//! What does a policy of a file do to a service? Simulated.

use std::fmt::Display;
use std::path::Path;

use becalm::Policy;
use becalm_check::code::Code;
use becalm_check::layers::Layers;
use becalm_check::{Finding, Mapping, code, keep_down_together, keeps_down};
use becalm_sim::catalogue::Candidate;
use becalm_sim::scenario::{Scenario, file};
use becalm_sim::study::{Plan, Verdict};
use becalm_sim::verdict::{self, Brief, Thoroughness, hidden_capacity};
use serde::{Serialize, Serializer};

/// The verdict on one mapping, or on layers together.
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
        Some(keeps_down(mapping, judged.code()?, &judged.evidence))
    });
    down.collect()
}

/// What `--strict` fails for: a finding where the service was not seen to come back behind the layers together.
pub fn finding(layers: &Layers, judged: &Judged) -> Option<Finding> {
    keep_down_together(layers, judged.code()?, &judged.evidence)
}

impl Judged {
    /// Of what is told as a finding; `None` where the service comes back.
    fn code(&self) -> Option<Code> {
        let verdict = self.verdict.filter(|it| !it.is_back())?;
        Some(match verdict {
            Verdict::Overloaded => code::OVERLOADED,
            Verdict::TooShort => code::TOO_SHORT,
            _ => code::METASTABLE,
        })
    }
}

#[expect(
    clippy::ref_option,
    clippy::trivially_copy_pass_by_ref,
    reason = "as serde calls it"
)]
fn name<S: Serializer>(verdict: &Option<Verdict>, serializer: S) -> Result<S::Ok, S::Error> {
    verdict.map(Verdict::as_str).serialize(serializer)
}

/// Simulates what clients do to the service of a scenario.
pub struct Judge<'a> {
    path: &'a Path,
    scenario: Scenario,
}

impl<'a> Judge<'a> {
    /// Reads the scenario.
    ///
    /// # Errors
    ///
    /// A sentence that names its file.
    pub fn open(path: &'a Path) -> Result<Self, String> {
        let scenario = file::load(path).map_err(|invalid| refused(path, &invalid))?;
        Ok(Self { path, scenario })
    }

    /// Simulates each policy as that of all clients.
    ///
    /// # Errors
    ///
    /// A sentence that names the scenario's file.
    pub fn each(&self, mappings: &[Mapping]) -> Result<Vec<Judged>, String> {
        let mut judged: Vec<Judged> = Vec::new();
        // Files say the same again and again: equal policies are simulated once.
        let mut seen: Vec<(&Policy, usize)> = Vec::new();
        for (at, mapping) in mappings.iter().enumerate() {
            if let Some((_, first)) = seen.iter().find(|(it, _)| **it == mapping.policy) {
                judged.push(judged[*first].clone());
                continue;
            }
            seen.push((&mapping.policy, at));
            judged.push(self.judged(mapping, |policy| self.scenario.under(policy))?);
        }
        Ok(judged)
    }

    /// Simulates the layers together: all clients are behind them.
    ///
    /// # Errors
    ///
    /// A sentence that names the scenario's file.
    pub fn together(&self, layers: &Layers) -> Result<Option<Judged>, String> {
        let Some((outermost, inner)) = layers.mappings.split_first() else {
            return Ok(None);
        };
        let inner: Vec<Policy> = inner.iter().map(|it| it.policy.clone()).collect();
        let behind = |policy: &Policy| {
            let all = [std::slice::from_ref(policy), &inner].concat();
            self.scenario.behind(&all)
        };
        self.judged(outermost, behind).map(Some)
    }

    fn judged(
        &self,
        mapping: &Mapping,
        under: impl Fn(&Policy) -> Scenario + Sync,
    ) -> Result<Judged, String> {
        let name = &self.scenario.name;
        let brief = Brief {
            name: name.clone(),
            question: format!("What happens to {name}?"),
            asked: Vec::new(),
        };
        let mut plan = Plan::default();
        plan.is_quick = true;
        // As many as `becalm storm` makes: where some come back and some do not, fewer may give another verdict.
        plan.runs = Some(Thoroughness::default().runs);
        plan.threads = std::thread::available_parallelism().map_or(1, Into::into);
        let candidate = Candidate::new(&mapping.name, mapping.policy.clone());
        let scenario = under(&mapping.policy);
        verdict::judgeable(&scenario).map_err(|why| refused(self.path, &why))?;
        let study = verdict::study(&brief, &[candidate], &plan, under);
        let study = study.map_err(|too_much| refused(self.path, &too_much))?;
        let contender = study.contenders.into_iter().next().unwrap_or_default();
        Ok(Judged {
            verdict: contender.verdict,
            evidence: contender.evidence,
            hidden_capacity: hidden_capacity(&scenario),
        })
    }
}

fn refused(path: &Path, why: &dyn Display) -> String {
    format!("{}: {why} (--service)", path.display())
}
