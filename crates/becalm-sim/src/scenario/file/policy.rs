//! How is the policy of a place read?

use becalm::Policy;

use super::entry::{Entry, Files};
use super::refusal::Refusal;

/// A table in becalm's own form, or the name of a policy file.
pub(super) fn read(entry: &Entry<'_>, files: Files<'_>) -> Result<Policy, Refusal> {
    let Some(name) = entry.as_text() else {
        return entry.policy();
    };
    let text = entry.open(name, files)?;
    toml::from_str(&text).map_err(|error| {
        let reason = error.message().replace('\n', " ");
        entry.refuse(format!("policy file {name}: {reason}"))
    })
}
