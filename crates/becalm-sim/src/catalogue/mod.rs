//! Which storms are known? Scenarios by name, each with its parameters, sources and right answer.

mod appointments;
mod asked;
mod cache;
mod cascade;
mod clipped;
mod deadline;
mod flaky;
mod fleet;
mod herd;
mod layers;
mod loops;
mod measure;
mod metastable;
mod moments;
mod occ;
mod one_budget;
mod parameters;
mod priority;
mod queue;
mod runs;
mod small_clients;
mod throttle;
mod tiers;
mod trigger;
mod usual;

pub use parameters::{InvalidParameter, Kind, Parameter, Parameters};

use becalm::Policy;

use crate::change::{Change, changed};
use crate::scenario::Scenario;
use crate::study::{Comparison, Plan, Study};

/// A scenario of the catalogue.
///
/// What it is, as data, and two functions: one that studies it with the parameters and policies
/// given, one that checks the simulator against its right answer.
#[derive(Debug, Clone, Copy)]
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
    pub policy: fn(&Parameters) -> Policy,
    /// Its world under one policy, for searches, sweeps and tests; `None` where it is studied
    /// without one.
    pub scenario: Option<fn(&Parameters, &Policy) -> Scenario>,
    /// Studies it.
    pub study: fn(&Parameters, &[Candidate], &Plan<'_>) -> Result<Study, InvalidParameter>,
    /// Compares the simulator with the right answer, under the plan's seed. `quick` asks for a
    /// subset that takes at most a second or two, with tolerances that are as sound for it.
    pub check: fn(&Plan<'_>, quick: bool) -> Vec<Comparison>,
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
            Some(build) => asked::judgeable(self, &build(parameters, policy)),
            None => Ok(()),
        }
    }
}

/// A publication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// Author, title, year, the section.
    pub title: &'static str,
    /// Its address; empty for a book.
    pub url: &'static str,
}

/// A policy that is asked about.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// What it is called in the results.
    pub name: String,
    /// What decides.
    pub policy: Policy,
    /// What is different at single places of the scenario that this policy makes.
    pub changes: Vec<Change>,
}

impl Candidate {
    /// A policy under this name.
    pub fn new(name: impl Into<String>, policy: Policy) -> Self {
        Self {
            name: name.into(),
            policy,
            changes: Vec::new(),
        }
    }

    /// Adds what is different at single places.
    #[must_use]
    pub fn with(mut self, changes: impl IntoIterator<Item = Change>) -> Self {
        self.changes.extend(changes);
        self
    }

    /// The scenario that `build` makes of its policy, with its changes.
    pub fn scenario(&self, build: impl FnOnce(&Policy) -> Scenario) -> Scenario {
        changed(build(&self.policy), &self.changes)
    }
}

/// All scenarios, in the order of the catalogue.
pub const ENTRIES: &[&Entry] = &[
    &occ::OCC,
    &herd::HERD,
    &clipped::CLIPPED,
    &appointments::APPOINTMENTS,
    &moments::MOMENTS,
    &flaky::FLAKY,
    &layers::LAYERS,
    &cascade::CASCADE,
    &metastable::METASTABLE,
    &trigger::TRIGGER,
    &queue::QUEUE,
    &loops::LOOPS,
    &throttle::THROTTLE,
    &small_clients::SMALL_CLIENTS,
    &one_budget::FLEET,
    &deadline::DEADLINE,
    &priority::PRIORITY,
    &cache::CACHE,
    &tiers::TIERS,
];

/// The scenario of this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    ENTRIES.iter().copied().find(|entry| entry.name == name)
}
