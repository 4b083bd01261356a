//! What is a scenario of the catalogue?

use becalm::Policy;
use serde::Serialize;

use super::asked::{World, judgeable};
use super::parameters::{Parameter, Parameters};
use crate::change::Candidate;
use crate::invalid::InvalidParameter;
use crate::scenario::Scenario;
use crate::study::{Comparison, Plan, Study};
use crate::verdict::Brief;

/// A scenario of the catalogue.
///
/// What it is, as data; how it is studied; and a function that checks the simulator against its right
/// answer.
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
    /// The policy that flags and contenders start from.
    #[serde(skip)]
    pub policy: fn() -> Policy,
    #[serde(skip)]
    pub(super) studied: Studied,
    /// Compares the simulator with the right answer, under the plan's seed. `quick` asks for a
    /// subset that takes at most a second or two, with tolerances that are as sound for it.
    #[serde(skip)]
    pub check: fn(&Plan<'_>, quick: bool) -> Vec<Comparison>,
}

/// How a scenario of the catalogue is studied.
#[derive(Debug, Clone, Copy)]
pub(super) enum Studied {
    /// In its world, each candidate judged by the rule.
    In(World),
    /// By a simulator of its own.
    Alone(fn(&Parameters, &[Candidate], &Plan<'_>) -> Result<Study, InvalidParameter>),
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
    /// Its world under one policy, for searches, sweeps and tests; `None` where it is studied
    /// without one.
    pub fn scenario(&self) -> Option<impl Fn(&Parameters, &Policy) -> Scenario + use<>> {
        match self.studied {
            Studied::In(world) => Some(move |parameters: &Parameters, policy: &Policy| {
                world.scenario(parameters, policy)
            }),
            Studied::Alone(_) => None,
        }
    }

    /// Whether a study gives a verdict on a service where one is bounded: what policies are searched for by.
    pub const fn is_judged(&self) -> bool {
        matches!(self.studied, Studied::In(world) if world.is_judged)
    }

    /// Studies it with these parameters and policies.
    ///
    /// # Errors
    ///
    /// A parameter out of its range, or several that make no sense together; a policy that is
    /// refused; more than can be simulated.
    pub fn study(
        &self,
        parameters: &Parameters,
        candidates: &[Candidate],
        plan: &Plan<'_>,
    ) -> Result<Study, InvalidParameter> {
        match self.studied {
            Studied::In(world) => {
                let brief = Brief::of(self, parameters);
                world.study(&brief, parameters, candidates, plan)
            }
            Studied::Alone(study) => study(parameters, candidates, plan),
        }
    }

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
        self.study(parameters, &[], &Plan::default())?;
        match self.scenario() {
            Some(build) => judgeable(parameters, &build(parameters, policy)),
            None => Ok(()),
        }
    }

    /// Its parameters with these values: for checks, which know what they set.
    pub(super) fn given(&self, values: &[(&str, String)]) -> Parameters {
        let mut parameters = Parameters::of(self.parameters);
        for (name, value) in values {
            let set = parameters.set(name, value);
            debug_assert!(set.is_ok(), "{set:?}");
        }
        parameters
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
