//! How is a drill held? It is planned, held, judged and told, in this order, whatever it breaks.

use std::fmt;
use std::sync::atomic::AtomicUsize;

use becalm_report::Page;
use serde::Serialize;

use crate::origin::text;
use crate::show::{Section, Show};

/// A drill that is planned: what it takes was read and checked, and nothing has begun.
pub trait Drill: Sized {
    /// What was measured.
    type Held;
    /// What it came to.
    type Outcome: Report;

    /// What will keep it from showing what it is there for, in sentences.
    fn notes(&self) -> &[String] {
        &[]
    }

    /// Holds it. It ends before its time as soon as `signal` is not zero; whatever it broke is whole again then.
    ///
    /// # Errors
    ///
    /// It was ended by a signal, or cannot be held.
    fn hold(&self, show: &Show<'_>, signal: &AtomicUsize) -> Result<Self::Held, Broken>;

    /// Judges what was measured.
    fn judge(self, held: Self::Held) -> Self::Outcome;

    /// Holds it, judges it, and tells what it came to.
    ///
    /// # Errors
    ///
    /// It was ended by a signal, or cannot be held.
    fn run(self, show: &Show<'_>, signal: &AtomicUsize) -> Result<Self::Outcome, Broken> {
        let held = self.hold(show, signal)?;
        let outcome = self.judge(held);
        show.tell(outcome.sections());
        Ok(outcome)
    }
}

/// What a drill came to, for people and, serialized, for programs.
pub trait Report: Serialize {
    /// The figures for a terminal.
    fn sections(&self) -> Vec<Section>;

    /// A page for people who were not there.
    fn page(&self) -> Page;

    /// The figures for programs: JSON, ended by a line break.
    ///
    /// # Errors
    ///
    /// A sentence.
    fn document(&self) -> Result<String, String> {
        text(self)
    }

    /// Whether it showed what it is there to show.
    fn is_as_expected(&self) -> bool;
}

/// Why a drill did not come to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Broken {
    /// A signal has ended it.
    Signal,
    /// It cannot be held: a sentence.
    Sentence(String),
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Signal => "the drill was ended by a signal",
            Self::Sentence(sentence) => sentence,
        })
    }
}

impl std::error::Error for Broken {}

impl From<String> for Broken {
    fn from(sentence: String) -> Self {
        Self::Sentence(sentence)
    }
}
