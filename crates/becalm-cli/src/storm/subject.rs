//! What is studied? A scenario of the catalogue, or one's own in a file.

use std::path::{Path, PathBuf};

use becalm::Policy;
use becalm_sim::catalogue::{Candidate, ENTRIES, Entry, Parameters};
use becalm_sim::scenario::{Scenario, file};
use becalm_sim::study::{Plan, Study};
use becalm_sim::sweep::{self, InvalidSweep, Sweep};
use becalm_sim::tune::{self, Space, Tuning};
use becalm_sim::verdict::{self, Brief};

use super::contender::OWN;

/// What the command line names.
#[derive(Debug)]
pub enum Named {
    Entry(&'static Entry, Parameters),
    File(PathBuf),
}

/// What is studied, read and valid.
#[derive(Debug)]
pub enum Subject<'a> {
    Entry(&'static Entry, &'a Parameters),
    Own(Box<Own<'a>>),
}

/// A scenario of one's own.
#[derive(Debug)]
pub struct Own<'a> {
    path: &'a Path,
    scenario: Scenario,
    /// The policy of its first clients.
    policy: Policy,
}

/// Whether the text names a file rather than a scenario of the catalogue.
pub fn is_file(text: &str) -> bool {
    text.contains('/') || text.to_ascii_lowercase().ends_with(".toml")
}

impl Named {
    /// Reads what is in a file.
    ///
    /// # Errors
    ///
    /// A sentence that names the file, the line and the remedy.
    pub fn open(&self) -> Result<Subject<'_>, String> {
        let path = match self {
            Self::Entry(entry, parameters) => return Ok(Subject::Entry(entry, parameters)),
            Self::File(path) => path,
        };
        let refused = |sentence: String| format!("{}: {sentence}", path.display());
        let scenario = file::load(path).map_err(|invalid| refused(invalid.to_string()))?;
        let policy = policies(&scenario).next().cloned();
        Ok(Subject::Own(Box::new(Own {
            path,
            policy: policy.ok_or_else(|| {
                refused("nobody calls; add a [[population]] with its target and arrivals".into())
            })?,
            scenario,
        })))
    }
}

impl Subject<'_> {
    /// The policy that flags start from.
    pub fn policy(&self) -> Policy {
        match self {
            Self::Entry(entry, parameters) => (entry.policy)(parameters),
            Self::Own(own) => own.policy.clone(),
        }
    }

    /// What is compared where nothing is asked for, in the syntax of `--compare`.
    pub fn contenders(&self) -> &'static [&'static str] {
        match self {
            Self::Entry(entry, _) => entry.contenders,
            Self::Own(_) => &[OWN],
        }
    }

    /// Studies it.
    ///
    /// # Errors
    ///
    /// Parameters that make no sense together, in a sentence.
    pub fn study(&self, candidates: &[Candidate], plan: &Plan<'_>) -> Result<Study, String> {
        match self {
            Self::Entry(entry, parameters) => {
                let studied = (entry.study)(parameters, candidates, plan);
                studied.map_err(|invalid| invalid.to_string())
            }
            Self::Own(own) => own.study(candidates, plan),
        }
    }
}

impl Subject<'_> {
    /// Studies every point of a sweep that starts from this policy.
    ///
    /// # Errors
    ///
    /// Axes that make no sense, in a sentence; a scenario without a world.
    pub fn sweep(&self, axes: &str, policy: &Policy, plan: &Plan<'_>) -> Result<Study, String> {
        let none = Parameters::of(&[]);
        let parameters = match self {
            Self::Entry(_, parameters) => parameters,
            Self::Own(_) => &none,
        };
        let world = self.world("--sweep")?;
        let refused = |invalid: InvalidSweep| format!("--sweep: {invalid}");
        let sweep = Sweep::read(axes, parameters).map_err(refused)?;
        let points = sweep.points(policy, parameters).map_err(refused)?;
        for point in &points {
            verdict::judgeable(&world(&point.parameters, &point.policy))
                .map_err(|reason| format!("--sweep: {}: {reason}", point.name))?;
        }
        Ok(sweep::study(&self.brief(), &sweep, &points, plan, world))
    }

    /// Searches for a policy that suits it better than the given one.
    ///
    /// # Errors
    ///
    /// A scenario without a world.
    pub fn tune(&self, space: &Space, given: &Policy, plan: &Plan<'_>) -> Result<Tuning, String> {
        let world = self.world("tune")?;
        let none = Parameters::of(&[]);
        let parameters = match self {
            Self::Entry(_, parameters) => parameters,
            Self::Own(_) => &none,
        };
        let build = |policy: &Policy| world(parameters, policy);
        verdict::judgeable(&build(given)).map_err(|reason| format!("tune: {reason}"))?;
        Ok(tune::tune(&self.brief(), space, given, plan, build))
    }

    fn brief(&self) -> Brief {
        match self {
            Self::Entry(entry, parameters) => Brief::of(entry, parameters),
            Self::Own(own) => own.brief(),
        }
    }

    /// What builds its clients and services under a policy.
    fn world(&self, asker: &str) -> Result<World<'_>, String> {
        let entry = match self {
            Self::Own(own) => return Ok(Box::new(|_, policy| own.under(policy))),
            Self::Entry(entry, _) => entry,
        };
        if let Some(build) = entry.scenario {
            return Ok(Box::new(build));
        }
        let others = ENTRIES.iter().filter(|it| it.scenario.is_some());
        let others: Vec<_> = others.map(|it| it.name).collect();
        Err(format!(
            "{asker}: {} has no services to judge; name a file of your own or one of: {}",
            entry.name,
            others.join(", ")
        ))
    }
}

/// Builds a scenario of parameters and a policy.
type World<'a> = Box<dyn Fn(&Parameters, &Policy) -> Scenario + 'a>;

impl Own<'_> {
    fn brief(&self) -> Brief {
        Brief {
            name: self.scenario.name.clone(),
            question: format!("What becomes of {}?", self.scenario.name),
            asked: vec![("file".into(), self.path.display().to_string())],
        }
    }

    fn study(&self, candidates: &[Candidate], plan: &Plan<'_>) -> Result<Study, String> {
        if let Some(candidate) = candidates.iter().find(|it| self.is_ambiguous(it)) {
            return Err(format!(
                "--compare `{}` is the policy of the first clients in {}, which has others, too; \
                 write {OWN} for the file as it stands",
                candidate.name,
                self.path.display()
            ));
        }
        for candidate in candidates {
            verdict::judgeable(&self.under(&candidate.policy))
                .map_err(|reason| format!("{}: {reason}", self.path.display()))?;
        }
        Ok(verdict::study(&self.brief(), candidates, plan, |policy| {
            self.under(policy)
        }))
    }

    /// Whether it cannot be told from the file as it stands, and is something else.
    fn is_ambiguous(&self, candidate: &Candidate) -> bool {
        let is_mixed = policies(&self.scenario).any(|policy| *policy != self.policy);
        is_mixed && candidate.policy == self.policy && candidate.name != OWN
    }

    /// The scenario with all its clients under this policy; as it stands for its own.
    fn under(&self, policy: &Policy) -> Scenario {
        if *policy == self.policy {
            self.scenario.clone()
        } else {
            self.scenario.under(policy)
        }
    }
}

/// The policies of all clients.
fn policies(scenario: &Scenario) -> impl Iterator<Item = &Policy> {
    let variants = scenario.populations.iter().flat_map(|it| &it.variants);
    variants.map(|variant| &variant.policy)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

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
