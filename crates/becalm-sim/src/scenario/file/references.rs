//! Does every name in a file mean something, and one thing only?

use std::collections::BTreeSet;

use super::entry::{Entry, Section};
use super::refusal::{Refusal, unknown};
use crate::scenario::InvalidScenario;

/// The sections of a file that have names or use them.
pub(super) struct Sections<'a> {
    pub services: Vec<Section<'a>>,
    pub populations: Vec<Section<'a>>,
    pub triggers: Vec<Section<'a>>,
}

impl Sections<'_> {
    /// Refuses a name that is given twice, and one that nothing has.
    pub fn check(&self) -> Result<(), Refusal> {
        let services = names("service", &self.services)?;
        let populations = names("population", &self.populations)?;
        for population in &self.populations {
            refuse_stranger("service", population.get("target"), &services)?;
        }
        for trigger in &self.triggers {
            refuse_stranger("service", trigger.get("service"), &services)?;
            refuse_stranger("population", trigger.get("population"), &populations)?;
        }
        for service in &self.services {
            let Some(calls) = service.get("calls") else {
                continue;
            };
            for call in calls.tables()? {
                let called = call.inside("service");
                refuse_stranger("service", called, &services)?;
            }
        }
        Ok(())
    }

    /// The refusal of what cannot be run, at the section that it names.
    pub fn refusal(&self, invalid: &InvalidScenario) -> Refusal {
        let of = named_by(invalid);
        let sections = self.services.iter().chain(&self.populations);
        let mut named = sections.filter(|section| {
            let name = section.get("name");
            name.is_some_and(|name| name.as_text() == of)
        });
        match (named.next(), named.next()) {
            (Some(section), None) => section.refuse(invalid.to_string()),
            _ => Refusal::whole(invalid.to_string()),
        }
    }
}

/// Whose fault it is.
fn named_by(invalid: &InvalidScenario) -> Option<&str> {
    match invalid {
        InvalidScenario::Duplicate(name)
        | InvalidScenario::Variants { of: name, .. }
        | InvalidScenario::NoCalls(name)
        | InvalidScenario::Trace(name)
        | InvalidScenario::Cycle(name)
        | InvalidScenario::Cache(name)
        | InvalidScenario::Endless(name) => Some(name),
        InvalidScenario::Unknown { of, .. }
        | InvalidScenario::Share { of, .. }
        | InvalidScenario::Rate { of, .. }
        | InvalidScenario::Count { of, .. }
        | InvalidScenario::Time { of, .. }
        | InvalidScenario::Shards { of, .. }
        | InvalidScenario::Policy { of, .. } => Some(of),
        InvalidScenario::Horizon | InvalidScenario::Bucket => None,
    }
}

fn names<'a>(what: &str, sections: &[Section<'a>]) -> Result<BTreeSet<&'a str>, Refusal> {
    let mut names = BTreeSet::new();
    for name in sections.iter().filter_map(|section| section.get("name")) {
        if !names.insert(name.text()?) {
            return Err(name.refuse(format!(
                "another {what} has this name; give each a name of its own"
            )));
        }
    }
    Ok(names)
}

fn refuse_stranger(
    what: &str,
    entry: Option<Entry<'_>>,
    names: &BTreeSet<&str>,
) -> Result<(), Refusal> {
    let Some(entry) = entry else {
        return Ok(());
    };
    let name = entry.text()?;
    if names.contains(name) {
        return Ok(());
    }
    Err(entry.refuse(unknown(what, name, names.iter().copied())))
}
