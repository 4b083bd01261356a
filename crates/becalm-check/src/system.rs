//! What is a system whose files are read? A row and a file.

use crate::document::Document;
use crate::reading::Reading;

/// A system: how a document of it is recognised, and how it is read.
#[derive(Debug)]
pub struct System {
    /// In kebab case: what `--as` takes.
    pub name: &'static str,
    /// For people: `Envoy`.
    pub title: &'static str,
    /// The versions whose differences are known, the newest first: that is the default.
    pub versions: &'static [&'static str],
    /// How it is known what the system does.
    pub evidence: Evidence,
    /// What its files are.
    pub form: Form,
    /// What helps against a lint of a policy, by its code, in the words of the system.
    pub remedies: &'static [(&'static str, &'static str)],
    /// Whether a document is one of the system's. It may be of others as well.
    pub recognises: fn(&Document<'_>) -> bool,
    /// Reads one of the system's documents into mappings and findings.
    pub read: fn(&mut Reading<'_>),
}

/// What a system's files are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// YAML or JSON: the document has a tree.
    Tree,
    /// A format of its own: the document is the text of the file.
    Text,
}

/// How it is known what a system does with what its files say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// It was run with such files, and attempts, delays and refusals were counted.
    Run,
    /// Its source was read, not run.
    Read,
}

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
        let systems = || System::all().map(|it| it.name);
        let system = System::all().find(|it| it.name == name).ok_or_else(|| {
            let meant = becalm::support::nearest(name, systems());
            let remedy = meant.map_or_else(
                || {
                    format!(
                        "the systems are {}",
                        systems().collect::<Vec<_>>().join(", ")
                    )
                },
                |meant| format!("did you mean `{meant}`?"),
            );
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

impl System {
    /// Every system.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        crate::systems::ALL.iter().copied()
    }

    pub(crate) fn newest(&self) -> &'static str {
        self.versions.first().copied().unwrap_or_default()
    }
}
