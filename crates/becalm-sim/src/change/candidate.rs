//! Which policy is asked about, and what is different at single places?

use becalm::Policy;

use crate::scenario::Scenario;

use super::at_place::{Change, changed};

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
