//! What is a scenario of the catalogue?

use becalm::Policy;
use serde::Serialize;

use super::parameters::{InvalidParameter, Parameter, Parameters};
use crate::change::Candidate;
use crate::scenario::{InvalidScenario, Scenario};
use crate::study::{Comparison, Plan, Study};
use crate::verdict::{self, Brief, Unjudgeable};

/// A scenario of the catalogue.
///
/// What it is, as data, and two functions: one that studies it with the parameters and policies
/// given, one that checks the simulator against its right answer.
#[derive(Debug, Clone, Copy, Serialize)]
#[non_exhaustive]
pub struct Entry {
    /// The name on the command line: stable.
    pub name: &'static str,
    /// What it is, in a line.
    pub title: &'static str,
    /// What is asked of it, in a sentence.
    pub question: &'static str,
    /// What is found, in a paragraph.
    pub answer: &'static str,
    /// Where it comes from.
    pub sources: &'static [Source],
    /// What can be set.
    pub parameters: &'static [Parameter],
    /// The policies that are compared where none is asked for, in the syntax of `--compare`.
    pub contenders: &'static [&'static str],
    /// The policy that flags and contenders start from, under these parameters.
    #[serde(skip)]
    pub policy: fn(&Parameters) -> Policy,
    /// Its world under one policy, for searches, sweeps and tests; `None` where it is studied
    /// without one.
    #[serde(skip)]
    pub scenario: Option<fn(&Parameters, &Policy) -> Scenario>,
    /// Studies it.
    #[serde(skip)]
    pub study: fn(&Parameters, &[Candidate], &Plan<'_>) -> Result<Study, InvalidParameter>,
    /// Compares the simulator with the right answer, under the plan's seed. `quick` asks for a
    /// subset that takes at most a second or two, with tolerances that are as sound for it.
    #[serde(skip)]
    pub check: fn(&Plan<'_>, quick: bool) -> Vec<Comparison>,
}

/// A publication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Source {
    /// Author, title, year, the section.
    pub title: &'static str,
    /// Its address; empty for a book.
    pub url: &'static str,
}

impl Entry {
    /// Whether it can be studied with these parameters under this policy; asked before anything runs,
    /// of flags, of every point of a sweep and of what a search starts from alike.
    ///
    /// # Errors
    ///
    /// A parameter out of its range, or several that make no sense together; a policy with which
    /// nothing can be judged.
    pub fn validate(
        &self,
        parameters: &Parameters,
        policy: &Policy,
    ) -> Result<(), InvalidParameter> {
        // A study of nobody asks everything about the parameters, and runs nothing.
        (self.study)(parameters, &[], &Plan::default())?;
        match self.scenario {
            Some(build) => judgeable(self, &build(parameters, policy)),
            None => Ok(()),
        }
    }
}

impl Brief {
    /// Of an entry of the catalogue.
    pub fn of(entry: &Entry, parameters: &Parameters) -> Self {
        let asked = parameters.iter();
        Self {
            name: entry.name.into(),
            question: entry.question.into(),
            asked: asked
                .map(|(parameter, value)| (parameter.name.into(), value.into()))
                .collect(),
        }
    }
}

/// Whether a verdict can be given on a scenario of this entry.
pub(super) fn judgeable(entry: &Entry, scenario: &Scenario) -> Result<(), InvalidParameter> {
    verdict::judgeable(scenario)
        .map_err(|reason| InvalidParameter::new(flag(entry, &reason), reason.to_string()))
}

/// The parameter that is named as the field of the scenario is; empty where there is none.
fn flag(entry: &Entry, reason: &Unjudgeable) -> &'static str {
    let field = match reason {
        Unjudgeable::TooShort { .. } | Unjudgeable::Invalid(InvalidScenario::Horizon) => "horizon",
        Unjudgeable::Coarse { .. } => "bucket",
        Unjudgeable::Invalid(
            InvalidScenario::Time { field, .. }
            | InvalidScenario::Rate { field, .. }
            | InvalidScenario::Count { field, .. }
            | InvalidScenario::Share { field, .. },
        ) => field,
        Unjudgeable::Invalid(_) => return "",
    };
    let name = field.replace(' ', "-");
    let mut parameters = entry.parameters.iter();
    let found = parameters.find(|parameter| parameter.name == name);
    found.map_or("", |parameter| parameter.name)
}
