//! What is a system whose files are read? A row and a file.

use crate::evidence::Evidence;

/// A system, as far as words tell it.
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
    pub remedies: Remedies,
}

/// What a system's files are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// YAML or JSON: the document has a tree.
    Tree,
    /// A format of its own: the document is the text of the file.
    Text,
}

/// What helps against a lint, by its code.
pub type Remedies = &'static [(&'static str, &'static str)];

impl System {
    pub(crate) fn newest(&self) -> &'static str {
        self.versions.first().copied().unwrap_or_default()
    }
}
