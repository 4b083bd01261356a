//! What does a scenario of one's own ask, and what can be varied of it?

use std::path::Path;
use std::time::Duration;

use becalm::{Policy, duration};
use becalm_sim::catalogue::{Candidate, InvalidParameter, Kind, Parameter, Parameters};
use becalm_sim::scenario::{Scenario, file};
use becalm_sim::study::{Plan, Study};
use becalm_sim::verdict::{self, Brief, longer, louder};

use super::beginning::OWN;

/// A scenario of one's own.
#[derive(Debug)]
pub struct Own<'a> {
    path: &'a Path,
    scenario: Scenario,
    /// The policy of its first clients.
    policy: Policy,
}

impl<'a> Own<'a> {
    /// Reads what is in a file.
    ///
    /// # Errors
    ///
    /// A sentence that names the file, the line and the remedy.
    pub fn open(path: &'a Path) -> Result<Self, String> {
        let refused = |sentence: String| format!("{}: {sentence}", path.display());
        let scenario = file::load(path).map_err(|invalid| refused(invalid.to_string()))?;
        let policy = policies(&scenario).next().cloned();
        Ok(Self {
            path,
            policy: policy.ok_or_else(|| {
                refused("nobody calls; add a [[population]] with its target and arrivals".into())
            })?,
            scenario,
        })
    }

    /// The policy of its first clients.
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// What is asked of it.
    pub fn brief(&self) -> Brief {
        Brief {
            name: self.scenario.name.clone(),
            question: format!("What happens to {}?", self.scenario.name),
            asked: vec![("file".into(), self.path.display().to_string())],
        }
    }

    /// Studies it.
    ///
    /// # Errors
    ///
    /// A policy that cannot be told from the file as it stands; a scenario that cannot be judged.
    pub fn study(&self, candidates: &[Candidate], plan: &Plan<'_>) -> Result<Study, String> {
        if let Some(candidate) = candidates.iter().find(|it| self.is_ambiguous(it)) {
            return Err(format!(
                "--compare `{}` is the policy of the first clients in {}, which has others, too; \
                 write {OWN} for the file as it stands",
                candidate.name,
                self.path.display()
            ));
        }
        for candidate in candidates {
            verdict::judgeable(&candidate.scenario(|policy| self.under(policy)))
                .map_err(|reason| format!("{}: {reason}", self.path.display()))?;
        }
        let studied = verdict::study(&self.brief(), candidates, plan, |policy| self.under(policy));
        studied.map_err(|too_much| format!("{}: {too_much}", self.path.display()))
    }

    /// Whether it cannot be told from the file as it stands, and is something else.
    fn is_ambiguous(&self, candidate: &Candidate) -> bool {
        let is_mixed = policies(&self.scenario).any(|policy| *policy != self.policy);
        let is_first = candidate.policy == self.policy && candidate.changes.is_empty();
        is_mixed && is_first && candidate.name != OWN
    }

    /// The scenario with all its clients under this policy; as it stands for its own.
    pub fn under(&self, policy: &Policy) -> Scenario {
        if *policy == self.policy {
            self.scenario.clone()
        } else {
            self.scenario.under(policy)
        }
    }

    /// The scenario at a point of a sweep. `is_for_all`: whether the policy is that of all clients,
    /// even where it is that of the first ones.
    pub fn at(&self, asked: &Parameters, policy: &Policy, is_for_all: bool) -> Scenario {
        let mut scenario = if is_for_all {
            self.scenario.under(policy)
        } else {
            self.under(policy)
        };
        if let (Some(outage), Some(lasts)) = (outage(asked), self.lasts()) {
            scenario = longer(&scenario, outage.as_secs_f64() / lasts.as_secs_f64());
        }
        let load = asked.number(LOAD.name);
        if (load - 1.0).abs() > 0.0 {
            scenario = louder(&scenario, load);
        }
        scenario
    }

    /// Refuses a point of a sweep that makes no sense.
    ///
    /// # Errors
    ///
    /// The axis at fault; none where it is several together.
    pub fn takes(&self, asked: &Parameters, policy: &Policy) -> Result<(), InvalidParameter> {
        let load = asked.number(LOAD.name);
        if !(LEAST_LOAD..=MOST_LOAD).contains(&load) {
            let sentence = format!(
                "{load} is out of range; it is a multiple of the calls in the file: write a number \
                 from {LEAST_LOAD} to {MOST_LOAD}"
            );
            return Err(InvalidParameter::new(LOAD.name, sentence));
        }
        if outage(asked).is_some_and(|it| it.is_zero()) {
            let sentence = "an outage of no time is none; write one from 1ms up";
            return Err(InvalidParameter::new(OUTAGE.name, sentence));
        }
        if outage(asked).is_some() && self.lasts().is_none() {
            let sentence = "the file has no trigger that lasts; add a [[trigger]]";
            return Err(InvalidParameter::new(OUTAGE.name, sentence));
        }
        verdict::judgeable(&self.at(asked, policy, true))
            .map_err(|reason| InvalidParameter::new("", reason.to_string()))
    }

    /// From the beginning of its first trigger to the end of the last, as the longest outage that is
    /// survived is told.
    fn lasts(&self) -> Option<Duration> {
        let first = self.scenario.triggers.iter().map(|it| it.from).min()?;
        let lasts = self.scenario.triggers_end().saturating_sub(first);
        (!lasts.is_zero()).then_some(lasts)
    }
}

/// What can be swept of it, beside the settings of the policy.
pub const AXES: &[Parameter] = &[LOAD, OUTAGE];

const LOAD: Parameter = Parameter::new(
    "load",
    Kind::Number,
    "1",
    "how many times the calls of the file",
);
/// Without a value it is what the file has.
const OUTAGE: Parameter = Parameter::new(
    "outage",
    Kind::Duration,
    "as in the file",
    "from the beginning of its first trigger to the end of the last",
);

/// Beyond these a run tells nothing, or never ends.
const LEAST_LOAD: f64 = 0.001;
const MOST_LOAD: f64 = 1000.0;

fn outage(asked: &Parameters) -> Option<Duration> {
    duration::parse(asked.text(OUTAGE.name)).ok()
}

/// The policies of all clients.
fn policies(scenario: &Scenario) -> impl Iterator<Item = &Policy> {
    let variants = scenario.populations.iter().flat_map(|it| &it.variants);
    variants.map(|variant| &variant.policy)
}

#[cfg(test)]
mod tests {
    use becalm_sim::scenario::{Arrivals, Population};

    use super::*;

    #[test]
    fn a_file_is_its_own_as_it_stands_and_another_policy_is_that_of_all() {
        let policies_of =
            |scenario: &Scenario| -> Vec<Policy> { policies(scenario).cloned().collect() };
        let [first, second, other] = [3, 4, 5].map(|attempts| Policy::default().attempts(attempts));
        let clients = |policy: &Policy| {
            let arrivals = Arrivals::Constant(1.0);
            Population::new("clients", "orders", arrivals, policy.clone())
        };
        let own = Own {
            path: Path::new("orders.toml"),
            scenario: Scenario::new("orders", Duration::from_secs(1))
                .population(clients(&first))
                .population(clients(&second)),
            policy: first.clone(),
        };
        assert_eq!(policies_of(&own.under(&first)), [first, second]);
        assert_eq!(policies_of(&own.under(&other)), [other.clone(), other]);
    }
}
