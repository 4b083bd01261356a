//! Which version of a system holds?

use crate::meant::did_you_mean;
use crate::system::System;

/// Which version of a system holds: `envoy@1.40`, or `envoy` alone for the newest.
///
/// Documents that no system recognises are read as those of the systems that are named so.
#[derive(Debug, Clone, Copy)]
pub struct As {
    pub(crate) system: &'static System,
    pub(crate) version: &'static str,
}

impl As {
    /// Reads `system` or `system@version`.
    ///
    /// # Errors
    ///
    /// A sentence that names the systems or the versions that there are.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, version) = text
            .split_once('@')
            .map_or((text, None), |(name, version)| (name, Some(version)));
        let system = System::all().find(|it| it.name == name).ok_or_else(|| {
            let known: Vec<_> = System::all().map(|it| it.name).collect();
            let remedy = did_you_mean(name, "the systems", &known);
            format!("there is no system `{name}`; {remedy}")
        })?;
        let version = match version {
            None => system.newest(),
            Some(version) => *system
                .versions
                .iter()
                .find(|it| **it == version)
                .ok_or_else(|| {
                    let known = system.versions.join(", ");
                    format!(
                        "{} {version} is not known; the versions are {known}",
                        system.title
                    )
                })?,
        };
        Ok(Self { system, version })
    }
}
