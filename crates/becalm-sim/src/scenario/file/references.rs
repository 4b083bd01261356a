//! Does every name in a file mean something, and one thing only?

use std::collections::BTreeSet;

use super::entry::{Entry, Section};
use super::refusal::{Refusal, unknown};

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
            for call in calls.list("tables")? {
                let called = call.inside("service");
                refuse_stranger("service", called, &services)?;
            }
        }
        Ok(())
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
