//! What is a system whose files are read? A row and a file.

use crate::code::{self, Code};
use crate::evidence::Evidence;
use crate::scalars::Scalars;

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
    /// How it repeats less, in its words. `None` of becalm, whose words the lints have.
    pub(crate) fewer: Option<&'static str>,
    /// Lints of what is set in code or in another object, if at all, and not in the file that has the retries.
    pub(crate) elsewhere: &'static [&'static str],
    /// What of a policy that follows from other settings the file asks for.
    pub(crate) follows: Follows,
    /// What of retries its files may hold, and where.
    pub(crate) schema: Schema,
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

/// What of a policy that follows from other settings the file asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follows {
    /// The number of attempts, and what is repeated.
    Attempts,
    /// What is repeated: attempts follow from the number of servers.
    Nothing,
    /// Everything but what is repeated: a mode stands for all.
    All,
}

/// What of retries the files of a system may hold, and where.
#[derive(Debug)]
pub struct Schema {
    /// Whether its files may be TOML as well.
    pub is_toml: bool,
    /// Who reads their numbers.
    pub scalars: Scalars,
    /// What it does with a field that it does not have.
    pub refuses: Option<Refuses>,
    /// Where it reads a key: what to do with one that stands elsewhere.
    pub homes: &'static [(&'static str, &'static str)],
    /// Keys that it has in a mapping of this name (none: in each), and that say nothing of retries where no reader asks for them.
    pub own: &'static [(&'static str, &'static str)],
    /// Keys whose value is a mapping.
    pub tables: &'static [&'static str],
    /// What a value is that stands in place of a mapping.
    pub of_no_table: Code,
    /// Resources of Kubernetes that may hold its settings, as `kubectl get` names them.
    pub kinds: &'static [&'static str],
}

impl Schema {
    /// Fields are ignored where they are not known.
    pub const OPEN: Self = Self {
        is_toml: false,
        scalars: Scalars::Go,
        refuses: None,
        homes: &[],
        own: &[],
        tables: &[],
        of_no_table: code::REFUSED,
        kinds: &[],
    };
}

/// What a system does with a field that it does not have.
#[derive(Debug)]
pub struct Refuses {
    /// Whether a key of the mapping at this path is where it knows all fields.
    pub place: fn(&[&str]) -> bool,
    /// What it does.
    pub how: &'static str,
}

impl System {
    pub(crate) fn newest(&self) -> &'static str {
        self.versions.first().copied().unwrap_or_default()
    }
}
