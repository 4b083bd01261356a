//! What is found?

use crate::change::Change;
use crate::verdict::Ruling;

/// Runs of the search, after which it begins no other step.
pub const MOST_RUNS: u64 = 200;
/// Events in them, after which it begins no other step: some two seconds on a core.
pub const MOST_EVENTS: u64 = 30_000_000;

/// The result of a search for a remedy.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Remedy {
    /// The smallest change that was found, and the ruling on it; `None` where no policy helps.
    pub found: Option<(Step, Ruling)>,
    /// What was found, in a few sentences with its figures.
    pub sentence: String,
    /// Changes that were tried.
    pub tried: usize,
    /// Runs that were made.
    pub runs: u64,
    /// Events that the engine handled.
    pub events: u64,
}

/// A change of one kind at one place or at several.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Step {
    /// What the policy of each place has then, as `--compare` reads it: `budget=ratio:0.1`,
    /// `default;deadline=5s`.
    pub what: String,
    /// The change of each place, the innermost first.
    pub changes: Vec<Change>,
}

impl Step {
    /// The names of its places.
    pub fn places(&self) -> Vec<&str> {
        self.changes.iter().map(Change::place).collect()
    }
}
